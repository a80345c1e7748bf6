package activities

import (
	"context"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/schema"
)

// EpisodesOf are episodes of one agent that tell of erased events.
type EpisodesOf struct {
	Principal schema.Principal `json:"principal"`
	IDs       []string         `json:"ids"`
}

// ApproveErasureRequest names a run of Forget that the erasing of events has started.
type ApproveErasureRequest struct {
	Principal  schema.Principal `json:"principal"`
	WorkflowID string           `json:"workflow_id"`
	Actor      string           `json:"actor,omitempty"`
}

// ApproveErasure lets such a run go ahead. The token is read and given here, so that it is in no history. Delivered
// again, it finds the run confirmed.
func (a *Forgetting) ApproveErasure(ctx context.Context, in ApproveErasureRequest) error {
	ctx, stop := step.HeartbeatLong(ctx)
	defer stop()
	token := func(runID string) (string, error) {
		id, err := uuid.Parse(runID)
		if err != nil {
			return "", err
		}
		return a.Store.ForgetToken(ctx, in.Principal, id, step.Now(a.Now))
	}
	return step.Fail(a.Approve(ctx, activity.GetClient(ctx), in.WorkflowID, in.Actor, token))
}

// ownersOf groups episodes by the agent and the user whose they are.
func (a *Forgetting) ownersOf(ctx context.Context, tenant string, episodes []uuid.UUID) ([]EpisodesOf, error) {
	owners, err := a.Store.EpisodeOwners(ctx, tenant, episodes)
	if err != nil {
		return nil, err
	}
	out := make([]EpisodesOf, 0, len(owners))
	for _, o := range owners {
		of := EpisodesOf{Principal: schema.Principal{Tenant: tenant, Agent: o.Agent}}
		for _, id := range o.IDs {
			of.IDs = append(of.IDs, id.String())
		}
		out = append(out, of)
	}
	return out, nil
}
