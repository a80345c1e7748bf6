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

// ForgetBatchResult is what one batch did.
type ForgetBatchResult struct {
	Receipt   schema.ForgetReceipt // of the run so far
	Forgotten []uuid.UUID          // in this batch
	Stop      []string             // workflow ids of pipelines that have no open job left
}

// ForgetBatch forgets the next waiting memories of a confirmed run, limit at most, in one transaction. A batch that
// is delivered again continues where the run stopped: no memory is forgotten twice. Of a run that is not confirmed,
// or has been cancelled, it changes nothing; the receipt's state tells.
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
				if err := f.batch(ctx, limit); err != nil {
					return err
				}
				out.Forgotten, out.Stop = f.Gone, f.stop
			}
			out.Receipt = r.progress()
			return nil
		})
	})
	if err != nil {
		return ForgetBatchResult{}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

// Forgetting is one batch at work.
type Forgetting struct {
	*commit.Change
	Run  *ForgetRow
	Gone []uuid.UUID // memories that are forgotten in this batch
	live []uuid.UUID // those of them that were live
	stop []string

	// Sources has what was proposed from them go from their own history as well, which otherwise is removed by
	// itself, or keeps what it says until its window is over.
	Sources bool
}

func (f *Forgetting) batch(ctx context.Context, limit int) error {
	ordinals, ids, versions, err := f.nextItems(ctx, limit)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := f.lockAhead(ctx, ids); err != nil {
		return err
	}
	outcomes, err := f.judge(ctx, ids, versions)
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
		if err != nil {
			return err
		}
	}
	f.Queue.Queue(`UPDATE forget_items i SET outcome = x.outcome FROM unnest($3::integer[], $4::text[]) x(ordinal,
		outcome)
		WHERE i.tenant = $1 AND i.run_id = $2 AND i.ordinal = x.ordinal`, f.Tenant, f.Run.ID, ordinals, outcomes)
	for _, outcome := range outcomes {
		if outcome == lifecycle.OutcomeForgotten {
			f.Run.Receipt.Forgotten++
		} else {
			f.Run.Receipt.Skip(outcome, 1)
		}
	}
	return saveReceipt(f.Change, f.Run)
}

// nextItems reads the next items. The run's row is locked: no other delivery works on them.
func (f *Forgetting) nextItems(ctx context.Context, limit int) (ordinals []int32, ids []uuid.UUID,
	versions []int, err error) {
	rows, err := f.Tx.Query(ctx, `SELECT ordinal, memory_id, version FROM forget_items WHERE tenant = $1 AND run_id = $2
		AND outcome = ''
		ORDER BY ordinal LIMIT $3 FOR UPDATE`, f.Tenant, f.Run.ID, limit)
	if err != nil {
		return nil, nil, nil, err
	}
	var ordinal int32
	var id uuid.UUID
	var version int
	_, err = pgx.ForEachRow(rows, []any{&ordinal, &id, &version}, func() error {
		ordinals, ids, versions = append(ordinals, ordinal), append(ids, id), append(versions, version)
		return nil
	})
	return ordinals, ids, versions, err
}

// LockJobs locks the open jobs of memories.
func (f *Forgetting) LockJobs(ctx context.Context, ids []uuid.UUID) error {
	_, err := f.Tx.Exec(ctx, `SELECT FROM jobs WHERE tenant = $1 AND kind = 'ingest' AND memory_id = ANY($2)
		AND state IN ('pending', 'leased', 'failed')
		ORDER BY id FOR UPDATE`, f.Tenant, ids)
	return err
}

// lockAhead locks what pipelines lock ahead of memories, in their order: jobs, candidates, proposals.
func (f *Forgetting) lockAhead(ctx context.Context, ids []uuid.UUID) error {
	if err := f.LockJobs(ctx, ids); err != nil || f.Run.Mode == schema.ForgetSoft {
		return err
	}
	var candidates []uuid.UUID
	rows, err := f.Tx.Query(ctx, `SELECT id FROM memory_candidates WHERE tenant = $1 AND memory_id = ANY($2)
		ORDER BY id FOR UPDATE`, f.Tenant, ids)
	if err != nil {
		return err
	}
	if candidates, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
		return err
	}
	_, err = f.Tx.Exec(ctx, `SELECT FROM proposals WHERE tenant = $1 AND (candidate_id = ANY($2) OR memory_id = ANY($3)
		OR target_id = ANY($3))
		ORDER BY id FOR UPDATE`, f.Tenant, candidates, ids)
	return err
}

// judge locks the memories and says what becomes of each.
func (f *Forgetting) judge(ctx context.Context, ids []uuid.UUID, versions []int) ([]string, error) {
	rows, err := f.Tx.Query(ctx, `SELECT id, version, pinned, deleted_at IS NOT NULL, erased_at IS NOT NULL,
		agent_id <> $3,
			world_id IS NOT NULL, live FROM memories
		WHERE tenant = $1 AND id = ANY($2) ORDER BY id FOR UPDATE`, f.Tenant, ids, f.Run.Agent)
	if err != nil {
		return nil, err
	}
	type state struct {
		lifecycle.Forgettable
		live bool
	}
	found := make(map[uuid.UUID]state, len(ids))
	var id uuid.UUID
	var m state
	_, err = pgx.ForEachRow(rows, []any{&id, &m.Version, &m.Pinned, &m.Deleted, &m.Erased, &m.Foreign, &m.World,
		&m.live}, func() error { found[id] = m; return nil })
	if err != nil {
		return nil, err
	}
	var linked map[uuid.UUID]bool
	if f.Run.Mode == schema.ForgetForce {
		if linked, err = ActionLinkedAmong(ctx, f.Change, ids); err != nil {
			return nil, err
		}
	}
	outcomes := make([]string, len(ids))
	for i, id := range ids {
		m, ok := found[id]
		m.ActionLinked = linked[id]
		outcomes[i] = lifecycle.OutcomeNotFound
		if ok {
			outcomes[i] = lifecycle.ForgetOutcome(f.Run.Mode, versions[i], m.Forgettable)
		}
		if outcomes[i] == lifecycle.OutcomeForgotten {
			f.Gone = append(f.Gone, id)
			if m.live {
				f.live = append(f.live, id)
			}
		}
	}
	return outcomes, nil
}

// closeJobs ends the jobs of what is forgotten and takes its candidates out of the pipeline, so that a
// run that still works on them writes nothing.
func (f *Forgetting) closeJobs(ctx context.Context) error {
	rows, err := f.Tx.Query(ctx, `
		WITH closed AS (
			UPDATE jobs SET state = 'dead', last_error = 'forgotten', updated_at = $3, finished_at = $3
			WHERE tenant = $1 AND kind = 'ingest' AND memory_id = ANY($2) AND state IN ('pending', 'leased', 'failed')
			RETURNING candidate_id, batch_id, workflow_id
		), out AS (
			UPDATE memory_candidates c SET state = 'dead' FROM closed WHERE c.tenant = $1 AND c.id = closed.candidate_id
			AND c.state = 'staged'
		)
		SELECT DISTINCT batch_id, workflow_id FROM closed`, f.Tenant, f.Gone, f.Now)
	if err != nil {
		return err
	}
	var batches []uuid.UUID
	var ids []string
	var batch uuid.UUID
	var id string
	_, err = pgx.ForEachRow(rows, []any{&batch, &id}, func() error {
		batches, ids = append(batches, batch),
			append(ids, id)
		return nil
	})
	if err != nil || len(batches) == 0 {
		return err
	}
	rows, err = f.Tx.Query(ctx, `SELECT DISTINCT x.workflow_id FROM unnest($2::uuid[], $3::text[]) x(batch_id,
		workflow_id)
		WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.tenant = $1 AND j.batch_id = x.batch_id
			AND j.state IN ('pending', 'leased', 'failed')) ORDER BY 1`,
		f.Tenant, batches, ids)
	if err != nil {
		return err
	}
	f.stop, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// metadata is what history says of the run. Erasing looks for workflow_id: the run's request may quote
// what it forgot.
func (f *Forgetting) metadata() (string, error) {
	m := map[string]any{"mode": f.Run.Mode, "forget_run": f.Run.ID, "workflow_id": f.Run.WorkflowID}
	if f.Run.RequestedBy != f.Run.ConfirmedBy {
		m["requested_by"] = f.Run.RequestedBy
	}
	encoded, err := json.Marshal(m)
	return string(encoded), err
}

// markDead makes tombstones (document 002 "Soft-Delete and Recovery"): embeddings, graph and texts stay for
// the window, out of every reader's sight. One statement, so that a batch costs little more than the
// update itself.
func (f *Forgetting) markDead(ctx context.Context) error {
	metadata, err := f.metadata()
	if err != nil {
		return err
	}
	_, err = f.Tx.Exec(ctx, `
		WITH buried AS (
			UPDATE memories m SET deleted_at = $4, updated_at = $4, version = m.version + 1
			FROM unnest($2::uuid[], $3::uuid[]) x(id, entry) WHERE m.tenant = $1 AND m.id = x.id
			RETURNING m.id, m.version, m.content, x.entry
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, metadata,
				created_at, action, version)
			SELECT $1, b.entry, b.id, 'deleted', b.content, $5, $6, $7, $4, 'delete', b.version FROM buried b
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT $1, b.id, b.version, 'delete', $4
		FROM buried b`,
		f.Tenant, f.Gone, pg.NewIDs(len(f.Gone)), f.Now, f.Run.ConfirmedBy, f.Run.Reason, metadata)
	f.Uncounted = append(f.Uncounted, f.live...)
	f.Run.Receipt.Remove("memories", len(f.Gone))
	return err
}

// ForgottenVectors returns pending index deletions of a run's memories, limit at most.
func (s *Forgetter) ForgottenVectors(ctx context.Context, tenant string, run uuid.UUID,
	limit int) ([]vectorindex.OutboxEntry, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []vectorindex.OutboxEntry
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT o.memory_id, max(o.seq), count(*) FROM forget_items i
			JOIN index_outbox o ON o.tenant = i.tenant AND o.memory_id = i.memory_id
			LEFT JOIN memories m ON m.tenant = i.tenant AND m.id = i.memory_id
			WHERE i.tenant = $1 AND i.run_id = $2 AND i.outcome = '`+lifecycle.OutcomeForgotten+`'
			AND m.live IS NOT TRUE GROUP BY 1 LIMIT $3`, tenant, run, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (vectorindex.OutboxEntry, error) {
			e := vectorindex.OutboxEntry{Delete: true}
			err := row.Scan(&e.MemoryID, &e.Seq, &e.Changes)
			return e, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}
