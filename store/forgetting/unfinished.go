package forgetting

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// UnfinishedForget is a confirmed run that is not done.
type UnfinishedForget struct {
	ID         uuid.UUID
	WorkflowID string
	Agent      string
}

// UnfinishedForgets lists at most limit of the tenant's runs that were confirmed before a time and are not done, oldest
// first. The workflow of such a run may be working on it, or may have ended.
func (s *Forgetter) UnfinishedForgets(ctx context.Context, tenant string, before time.Time,
	limit int) ([]UnfinishedForget, error) {
	var out []UnfinishedForget
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = pg.CollectByName[UnfinishedForget](ctx, tx, `
			SELECT id, workflow_id, agent_id AS agent
			FROM forget_runs
			WHERE tenant = @tenant AND state = 'confirmed' AND confirmed_at < @before
			ORDER BY confirmed_at, id
			LIMIT @limit`, pg.Args{"tenant": tenant, "before": before.UTC(), "limit": limit})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list unfinished runs of forget: %w", err)
	}
	return out, nil
}
