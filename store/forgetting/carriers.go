package forgetting

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/pg"
)

// ForgetRemoved reports whether a run has removed texts permanently, or was to erase memories that an earlier run has
// emptied, which may have ended before it removed the rest. Tombstones still have their text.
func (s *Forgetter) ForgetRemoved(ctx context.Context, tenant string, run uuid.UUID) (bool, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var removed bool
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT mode <> 'soft' AND coalesce((receipt->>'forgotten')::integer, 0) > 0
				OR mode = 'erase' AND coalesce((receipt->'skipped'->>@erased)::integer, 0) > 0
			FROM forget_runs
			WHERE tenant = @tenant AND id = @run`,
			pg.Args{"tenant": tenant, "run": run, "erased": lifecycle.OutcomeErased}).Scan(&removed)
	})
	if err != nil {
		return false, fmt.Errorf("read run %s: %w", run, err)
	}
	return removed, nil
}

// Carriers are the workflows and reviews that may have a text of the memories that a run has forgotten.
type Carriers struct {
	Workflows []string    // ids; not that of the run itself
	Sessions  []string    // ids of workflows of sessions, which continue with a new history
	Batches   []uuid.UUID // their reviews may have quoted the memories in a reviewer's reason
	Next      int         // the next ordinal; 0 if none is left
}

// goneItems are the memories that a run has forgotten, or found erased, among its items between two ordinals.
const goneItems = `
	gone AS (
		SELECT memory_id
		FROM forget_items
		WHERE tenant = @tenant AND run_id = @run
			AND ordinal BETWEEN @first AND @last
			AND outcome = ANY(@gone)
	)`

// Statements of ForgottenWorkflows.
const (
	carryingWorkflows = `
		WITH ` + goneItems + `, carried AS (
			SELECT b.workflow_id
			FROM gone g
			JOIN memory_candidates c ON c.tenant = @tenant AND c.memory_id = g.memory_id
			JOIN ingest_batches b ON b.tenant = @tenant AND b.id = c.batch_id
			UNION
			SELECT coalesce(h.metadata->>'workflow_id', h.metadata->>'workflowId')
			FROM gone g
			JOIN memory_history h ON h.tenant = @tenant AND h.memory_id = g.memory_id
			UNION
			SELECT r.workflow_id
			FROM gone g
			JOIN forget_items i ON i.tenant = @tenant AND i.memory_id = g.memory_id
			JOIN forget_runs r ON r.tenant = @tenant AND r.id = i.run_id
			WHERE r.state <> 'confirmed'
		)
		SELECT workflow_id
		FROM carried
		WHERE workflow_id <> ''
			AND workflow_id <> (SELECT workflow_id FROM forget_runs WHERE tenant = @tenant AND id = @run)
		ORDER BY 1`
	carryingBatches = `
		WITH ` + goneItems + `
		SELECT p.batch_id
		FROM gone g
		JOIN proposals p ON p.tenant = @tenant AND p.memory_id = g.memory_id
		UNION
		SELECT p.batch_id
		FROM gone g
		JOIN proposals p ON p.tenant = @tenant AND p.target_id = g.memory_id
		UNION
		SELECT c.batch_id
		FROM gone g
		JOIN memory_candidates c ON c.tenant = @tenant AND c.memory_id = g.memory_id
		ORDER BY 1`
)

// ForgottenWorkflows returns the workflows whose input had a text of the memories that a run has forgotten or found
// erased, for at most limit of the run's items from an ordinal on: workflows that created or changed the memories, and
// forget runs that had selected them, possibly by a query, and have ended or still wait. The ids come from history,
// which may have been imported, so the caller must check the owner of a workflow before it acts on it.
func (s *Forgetter) ForgottenWorkflows(ctx context.Context, tenant string, run uuid.UUID, from,
	limit int) (Carriers, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out Carriers
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var last *int
		err := tx.QueryRow(ctx, `
			SELECT max(ordinal)
			FROM (
				SELECT ordinal
				FROM forget_items
				WHERE tenant = @tenant AND run_id = @run AND ordinal >= @first
				ORDER BY ordinal
				LIMIT @limit) i`,
			pg.Args{"tenant": tenant, "run": run, "first": from, "limit": limit}).Scan(&last)
		if err != nil || last == nil {
			return err
		}
		out.Next = *last + 1
		items := pg.Args{
			"tenant": tenant,
			"run":    run,
			"first":  from,
			"last":   *last,
			"gone":   []string{lifecycle.OutcomeForgotten, lifecycle.OutcomeErased},
		}
		rows, err := tx.Query(ctx, carryingWorkflows, items)
		if err != nil {
			return err
		}
		if out.Workflows, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `
			SELECT workflow_id
			FROM sessions
			WHERE tenant = @tenant AND workflow_id = ANY(@workflows)
			ORDER BY 1`,
			pg.Args{"tenant": tenant, "workflows": out.Workflows})
		if err != nil {
			return err
		}
		if out.Sessions, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		out.Workflows = slices.DeleteFunc(out.Workflows, func(id string) bool {
			return slices.Contains(out.Sessions, id)
		})
		if rows, err = tx.Query(ctx, carryingBatches, items); err != nil {
			return err
		}
		out.Batches, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return Carriers{}, fmt.Errorf("list workflows of what is forgotten: %w", err)
	}
	return out, nil
}
