package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/learning"
)

// Outcomes that are passed to Arrivals.Observe.
const (
	ArrivalTold   = "told"   // a run waits for the scope to be quiet
	ArrivalFailed = "failed" // the run could not be started: the schedule consolidates the scope later
)

// Arrivals starts the consolidation of scopes that have enough new evidence. A nil Arrivals does nothing.
type Arrivals struct {
	Store *store.Store
	Rule  due.Rule
	// Tell signals the run that waits for a scope to be quiet, and starts it if there is none.
	Tell    func(ctx context.Context, c client.Client, taskQueue string, scope api.LearnScope) error
	Observe func(outcome string) // may be nil
	Now     func() time.Time
}

// Arrived checks the scopes of episodes that an activity has written, and signals the runs of those with enough new
// evidence. It must be called after the commit, so that of two concurrent activities, the one that counts last sees the
// episodes of both. A repeated delivery signals again.
//
// It returns an error if the Temporal server is unavailable. The activity could not report its own result either, and
// is retried. Any other failure is logged and counted; the episodes stay, and the schedule consolidates the scope.
func (a *Arrivals) Arrived(ctx context.Context, tenant string, ids ...uuid.UUID) error {
	if !a.counts(ctx, ids) {
		return nil
	}
	scopes, err := a.Store.Learning.ScopesOf(ctx, tenant, ids)
	if err != nil {
		return err
	}
	return a.arrived(ctx, scopes)
}

// Reported is Arrived for memories whose outcome was reported.
func (a *Arrivals) Reported(ctx context.Context, tenant string, ids ...uuid.UUID) error {
	if !a.counts(ctx, ids) {
		return nil
	}
	scopes, err := a.Store.Learning.ScopesOfReported(ctx, tenant, ids)
	if err != nil {
		return err
	}
	return a.arrived(ctx, scopes)
}

func (a *Arrivals) counts(ctx context.Context, ids []uuid.UUID) bool {
	return a != nil && a.Rule.Least > 0 && len(ids) > 0 && activity.IsActivity(ctx)
}

func (a *Arrivals) arrived(ctx context.Context, scopes []learning.Scope) error {
	for _, sc := range scopes {
		pending, err := a.Store.Learning.Pending(ctx, sc, a.Rule, Now(a.Now))
		if err != nil {
			return err
		}
		if !pending.Enough {
			continue
		}
		if err := a.tell(ctx, sc); err != nil {
			return err
		}
	}
	return nil
}

func (a *Arrivals) tell(ctx context.Context, sc learning.Scope) error {
	err := a.Tell(ctx, activity.GetClient(ctx), activity.GetInfo(ctx).TaskQueue, LearnScope(sc))
	outcome := ArrivalTold
	var away *serviceerror.Unavailable
	var busy *serviceerror.ResourceExhausted
	switch {
	case err == nil:
	case errors.As(err, &away), errors.As(err, &busy), ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("tell of new evidence: %w", err)
	default:
		activity.GetLogger(ctx).Warn("consolidation is left to the schedule", slog.Any("error", err))
		outcome = ArrivalFailed
	}
	if a.Observe != nil {
		a.Observe(outcome)
	}
	return nil
}

// LearnScope converts a scope for workflows.
func LearnScope(s learning.Scope) api.LearnScope {
	return api.LearnScope{Tenant: s.Tenant, Agent: s.Agent, Project: s.Project, Scope: s.Scope}
}
