package forgetting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vectorindex"
)

// ForgetBatchSize is the number of memories that one transaction forgets, unless the request sets a smaller one.
const ForgetBatchSize = schema.MaxForgetBatch

// ForgetBatchResult is the result of one batch.
type ForgetBatchResult struct {
	Receipt   schema.ForgetReceipt // of the run so far
	Forgotten []uuid.UUID          // in this batch
	Stop      []string             // workflow ids of pipelines that have no open job left
	Taken     int                  // memories of the batch, even if it failed
}

// ForgetBatch forgets at most limit of the waiting memories of a confirmed run, in one transaction. A repeated
// batch continues where the run stopped, so no memory is forgotten twice. If the run is not confirmed, or was
// cancelled, nothing changes; the receipt has the state. If a statement times out, a batch with fewer memories may
// succeed.
func (s *Forgetter) ForgetBatch(ctx context.Context, tenant string, run uuid.UUID, limit int,
	now time.Time) (ForgetBatchResult, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out ForgetBatchResult
	err := pg.RetryChange(ctx, func() error {
		out = ForgetBatchResult{}
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			r, err := lockForget(ctx, c, run)
			if err != nil {
				return err
			}
			if r.State == schema.ForgetConfirmed {
				f := Forgetting{Change: c, Run: &r}
				err := f.batch(ctx, limit)
				out.Taken = f.taken
				if err != nil {
					return err
				}
				out.Forgotten, out.Stop = f.Gone, f.stop
			}
			out.Receipt = r.progress()
			return nil
		})
	})
	if err != nil {
		return ForgetBatchResult{Taken: out.Taken}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

// Forgetting is the state of one batch.
type Forgetting struct {
	*commit.Change
	Run  *ForgetRow
	Gone []uuid.UUID // memories that are forgotten in this batch
	live []uuid.UUID // the memories in Gone that were live
	stop []string
	// taken is the number of memories in this batch, including those that cannot be forgotten.
	taken int

	// Sources also removes the history of proposals from the memories' own history. Otherwise a later step removes
	// that history, or it keeps its text until its retention window is over.
	Sources bool
}

func (f *Forgetting) batch(ctx context.Context, limit int) error {
	items, err := f.nextItems(ctx, limit)
	if err != nil || len(items) == 0 {
		return err
	}
	f.taken = len(items)
	ordinals, ids := make([]int32, len(items)), make([]uuid.UUID, len(items))
	for i, item := range items {
		ordinals[i], ids[i] = item.Ordinal, item.MemoryID
	}
	if err := f.lockAhead(ctx, ids); err != nil {
		return err
	}
	outcomes, err := f.judge(ctx, items, ids)
	if err != nil {
		return err
	}
	if len(f.Gone) > 0 {
		if err := f.closeJobs(ctx); err != nil {
			return err
		}
		switch f.Run.Mode {
		case schema.ForgetSoft:
			err = f.markDead(ctx)
		default:
			err = f.remove(ctx)
		}
		if err == nil {
			err = f.EndContests(ctx) // before the next items are read: it changes versions
		}
		if err != nil {
			return err
		}
	}
	f.Queue.Queue(`
		UPDATE forget_items i
		SET outcome = x.outcome
		FROM unnest(@ordinals::integer[], @outcomes::text[]) x(ordinal, outcome)
		WHERE i.tenant = @tenant AND i.run_id = @run AND i.ordinal = x.ordinal`,
		pg.Args{"tenant": f.Tenant, "run": f.Run.ID, "ordinals": ordinals, "outcomes": outcomes})
	for _, outcome := range outcomes {
		if outcome == lifecycle.OutcomeForgotten {
			f.Run.Receipt.Forgotten++
		} else {
			f.Run.Receipt.Skip(outcome, 1)
		}
	}
	return saveReceipt(f.Change, f.Run)
}

// waitingItem is a selected memory that a run has yet to forget.
type waitingItem struct {
	Ordinal  int32
	MemoryID uuid.UUID
	Version  int // at selection
}

// nextItems reads the next items. The run's row is locked, so no other delivery works on them.
func (f *Forgetting) nextItems(ctx context.Context, limit int) ([]waitingItem, error) {
	rows, err := f.Tx.Query(ctx, `
		SELECT ordinal, memory_id, version
		FROM forget_items
		WHERE tenant = @tenant AND run_id = @run AND outcome = ''
		ORDER BY ordinal
		LIMIT @limit
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "run": f.Run.ID, "limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[waitingItem])
}

// LockJobs locks the open jobs of memories.
func (f *Forgetting) LockJobs(ctx context.Context, ids []uuid.UUID) error {
	_, err := f.Tx.Exec(ctx, `
		SELECT
		FROM jobs
		WHERE tenant = @tenant AND kind = 'ingest' AND memory_id = ANY(@memories)
			AND `+pg.JobIsOpen+`
		ORDER BY id
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "memories": ids})
	return err
}

// lockAhead takes the locks that pipelines take before those of memories, in the same order: jobs, candidates,
// proposals.
func (f *Forgetting) lockAhead(ctx context.Context, ids []uuid.UUID) error {
	if err := f.LockJobs(ctx, ids); err != nil || f.Run.Mode == schema.ForgetSoft {
		return err
	}
	rows, err := f.Tx.Query(ctx, `
		SELECT id
		FROM memory_candidates
		WHERE tenant = @tenant AND memory_id = ANY(@memories)
		ORDER BY id
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "memories": ids})
	if err != nil {
		return err
	}
	candidates, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	_, err = f.Tx.Exec(ctx, `
		SELECT
		FROM proposals
		WHERE tenant = @tenant
			AND (candidate_id = ANY(@candidates) OR memory_id = ANY(@memories) OR target_id = ANY(@memories))
		ORDER BY id
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "candidates": candidates, "memories": ids})
	return err
}

// lockedMemory is a selected memory, locked.
type lockedMemory struct {
	lifecycle.Forgettable
	ID   uuid.UUID
	Live bool
}

// judge locks the memories and returns the outcome of each.
func (f *Forgetting) judge(ctx context.Context, items []waitingItem, ids []uuid.UUID) ([]string, error) {
	if err := f.LockContests(ctx, ids, ids...); err != nil {
		return nil, err
	}
	rows, err := f.Tx.Query(ctx, `
		SELECT id, version, pinned,
			deleted_at IS NOT NULL AS deleted,
			erased_at IS NOT NULL AS erased,
			agent_id <> @agent AS foreign,
			world_id IS NOT NULL AS world,
			live
		FROM memories
		WHERE tenant = @tenant AND id = ANY(@ids)
		ORDER BY id
		FOR UPDATE`,
		pg.Args{"tenant": f.Tenant, "ids": ids, "agent": f.Run.Agent})
	if err != nil {
		return nil, err
	}
	locked, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[lockedMemory])
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]lockedMemory, len(locked))
	for _, m := range locked {
		found[m.ID] = m
	}
	var linked map[uuid.UUID]bool
	if lifecycle.DeletesRows(f.Run.Mode) {
		if linked, err = ActionLinkedAmong(ctx, f.Change, ids); err != nil {
			return nil, err
		}
	}
	outcomes := make([]string, len(items))
	for i, item := range items {
		m, ok := found[item.MemoryID]
		m.ActionLinked = linked[item.MemoryID]
		outcomes[i] = lifecycle.OutcomeNotFound
		if ok {
			outcomes[i] = lifecycle.ForgetOutcome(f.Run.Mode, item.Version, m.Forgettable)
		}
		if outcomes[i] == lifecycle.OutcomeForgotten {
			f.Gone = append(f.Gone, item.MemoryID)
			if m.Live {
				f.live = append(f.live, item.MemoryID)
			}
		}
	}
	return outcomes, nil
}

// closedJobs names the batch of closed jobs.
type closedJobs struct {
	BatchID    uuid.UUID
	WorkflowID string
}

// closeJobs ends the jobs of forgotten memories and removes their candidates from the pipeline, so that a run that
// still works on them writes nothing.
func (f *Forgetting) closeJobs(ctx context.Context) error {
	rows, err := f.Tx.Query(ctx, `
		WITH closed AS (
			UPDATE jobs
			SET state = 'dead', last_error = 'forgotten', updated_at = @now, finished_at = @now
			WHERE tenant = @tenant AND kind = 'ingest' AND memory_id = ANY(@memories)
				AND `+pg.JobIsOpen+`
			RETURNING candidate_id, batch_id, workflow_id
		), out AS (
			UPDATE memory_candidates c
			SET state = 'dead'
			FROM closed
			WHERE c.tenant = @tenant AND c.id = closed.candidate_id AND c.state = 'staged'
		)
		SELECT DISTINCT batch_id, workflow_id
		FROM closed`,
		pg.Args{"tenant": f.Tenant, "memories": f.Gone, "now": f.Now})
	if err != nil {
		return err
	}
	closed, err := pgx.CollectRows(rows, pgx.RowToStructByName[closedJobs])
	if err != nil || len(closed) == 0 {
		return err
	}
	batches, workflows := make([]uuid.UUID, len(closed)), make([]string, len(closed))
	for i, c := range closed {
		batches[i], workflows[i] = c.BatchID, c.WorkflowID
	}
	rows, err = f.Tx.Query(ctx, `
		SELECT DISTINCT x.workflow_id
		FROM unnest(@batches::uuid[], @workflows::text[]) x(batch_id, workflow_id)
		WHERE NOT EXISTS (
			SELECT FROM jobs j
			WHERE j.tenant = @tenant AND j.batch_id = x.batch_id AND j.`+pg.JobIsOpen+`)
		ORDER BY 1`,
		pg.Args{"tenant": f.Tenant, "batches": batches, "workflows": workflows})
	if err != nil {
		return err
	}
	f.stop, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// metadata returns the run's metadata for history. An erasure searches for workflow_id, because the run's request
// may quote the memories.
func (f *Forgetting) metadata() (string, error) {
	m := map[string]any{"mode": f.Run.Mode, "forget_run": f.Run.ID, "workflow_id": f.Run.WorkflowID}
	if f.Run.RequestedBy != f.Run.ConfirmedBy {
		m["requested_by"] = f.Run.RequestedBy
	}
	encoded, err := json.Marshal(m)
	return string(encoded), err
}

// markDead makes tombstones (document 002 "Soft-Delete and Recovery"): embeddings, graph and texts remain for the
// window, hidden from every reader. It is one statement, so that a batch costs little more than the update itself.
func (f *Forgetting) markDead(ctx context.Context) error {
	metadata, err := f.metadata()
	if err != nil {
		return err
	}
	_, err = f.Tx.Exec(ctx, `
		WITH dead AS (
			UPDATE memories m
			SET deleted_at = @now, updated_at = @now, version = m.version + 1
			FROM unnest(@memories::uuid[], @entries::uuid[]) x(id, entry)
			WHERE m.tenant = @tenant AND m.id = x.id
			RETURNING m.id, m.version, m.content, x.entry
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, metadata,
				created_at, action, version)
			SELECT @tenant, d.entry, d.id, 'deleted', d.content, @changed_by, @reason, @metadata,
				@now, 'delete', d.version
			FROM dead d
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT @tenant, d.id, d.version, 'delete', @now
		FROM dead d`,
		pg.Args{
			"tenant":     f.Tenant,
			"memories":   f.Gone,
			"entries":    pg.NewIDs(len(f.Gone)), // of history
			"changed_by": f.Run.ConfirmedBy,
			"reason":     f.Run.Reason,
			"metadata":   metadata,
			"now":        f.Now,
		})
	f.Uncounted = append(f.Uncounted, f.live...)
	f.Run.Receipt.Remove("memories", len(f.Gone))
	return err
}

// pendingDeletion is a forgotten memory whose deletion has not reached the vector index.
type pendingDeletion struct {
	MemoryID uuid.UUID
	Seq      int64 // of the newest change
	Changes  int
}

// ForgottenVectors returns at most limit pending index deletions of a run's memories.
func (s *Forgetter) ForgottenVectors(ctx context.Context, tenant string, run uuid.UUID,
	limit int) ([]vectorindex.OutboxEntry, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []vectorindex.OutboxEntry
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT o.memory_id, max(o.seq) AS seq, count(*) AS changes
			FROM forget_items i
			JOIN index_outbox o ON o.tenant = i.tenant AND o.memory_id = i.memory_id
			LEFT JOIN memories m ON m.tenant = i.tenant AND m.id = i.memory_id
			WHERE i.tenant = @tenant AND i.run_id = @run AND i.outcome = @forgotten AND m.live IS NOT TRUE
			GROUP BY 1
			LIMIT @limit`,
			pg.Args{
				"tenant":    tenant,
				"run":       run,
				"forgotten": lifecycle.OutcomeForgotten,
				"limit":     limit,
			})
		if err != nil {
			return err
		}
		deletions, err := pgx.CollectRows(rows, pgx.RowToStructByName[pendingDeletion])
		for _, d := range deletions {
			out = append(out, vectorindex.OutboxEntry{
				MemoryID: d.MemoryID, Seq: d.Seq, Changes: d.Changes, Delete: true})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}
