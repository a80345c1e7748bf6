package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// SweepBatchSize is how many rows one transaction of a sweep touches (document 002 "Retention Worker":
// each step is capped, so that no writer waits long).
const SweepBatchSize = 500

// SweepTenants lists tenants behind one, by name, limit at most.
func (s *Store) SweepTenants(ctx context.Context, after string, limit int) ([]string, error) {
	return s.tenantNames(ctx, `SELECT mneme_tenants($1, $2)`, after, limit)
}

// DecayTenants lists tenants behind one of which something was due at a time, by name, limit at most.
func (s *Store) DecayTenants(ctx context.Context, after string, limit int, at time.Time) ([]string, error) {
	return s.tenantNames(ctx, `SELECT mneme_decay_tenants($1, $2, $3)`, after, limit, at)
}

func (s *Store) tenantNames(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return out, nil
}

// BeginSweep counts what a run would take of a tenant. A run that would take more than its share asks, once,
// and may take nothing until somebody has answered: then it returns the question. What is admitted is used up by
// what is taken, by whatever run. A run that would not take too much takes the question back, and what is left
// of an answer with it.
func (s *Store) BeginSweep(ctx context.Context, tenant string, sweep schema.Sweep, share float64, now time.Time) (*schema.SweepHold, error) {
	var out *schema.SweepHold
	err := s.write(ctx, tenant, now, func(c *change) error {
		var err error
		if sweep == schema.SweepDecay {
			out, err = c.guard(ctx, sweep, share, c.decayTake)
		} else {
			out, err = c.guard(ctx, sweep, share, c.retentionTake)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", sweep, err)
	}
	return out, nil
}

// take is how much a run would take of so much. Counting ends where the allowance is passed.
type take struct{ Would, Stored int64 }

func (c *change) guard(ctx context.Context, sweep schema.Sweep, share float64, count func(context.Context, float64) ([]take, error)) (*schema.SweepHold, error) {
	takes, err := count(ctx, share)
	if err != nil {
		return nil, err
	}
	var worst *take
	for i, t := range takes {
		if t.Would > memory.SweepAllowance(t.Stored, share) && (worst == nil || t.Would > worst.Would) {
			worst = &takes[i]
		}
	}
	if worst == nil {
		c.queue.Queue(`DELETE FROM sweep_holds WHERE tenant = $1 AND sweep = $2`, c.tenant, sweep)
		return nil, nil
	}
	hold := schema.SweepHold{Tenant: c.tenant, Sweep: sweep}
	// An answer that is used up is no answer: it asks again.
	err = c.tx.QueryRow(ctx, `INSERT INTO sweep_holds AS h (tenant, sweep, would_take, stored, share, asked_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, sweep) DO UPDATE SET would_take = excluded.would_take, stored = excluded.stored, share = excluded.share,
			asked_at = CASE WHEN h.admitted = 0 THEN excluded.asked_at ELSE h.asked_at END, answered_by = CASE WHEN h.admitted = 0 THEN '' ELSE h.answered_by END,
			reason = CASE WHEN h.admitted = 0 THEN '' ELSE h.reason END, answered_at = CASE WHEN h.admitted > 0 THEN h.answered_at END, admitted = nullif(h.admitted, 0)
		RETURNING would_take, stored, share, asked_at, admitted`, c.tenant, sweep, worst.Would, worst.Stored, share, c.now).
		Scan(&hold.WouldTake, &hold.Stored, &hold.Share, &hold.AskedAt, &hold.Admitted)
	if err != nil || hold.Admitted != nil {
		return nil, err
	}
	return &hold, nil
}

// admitted is how much of want a batch may take: less where a question stands, whose answer it uses up. The
// question is locked, so that no two batches use the same answer. Without one, all of it: what was due when the
// run began was counted then.
func (c *change) admitted(ctx context.Context, sweep schema.Sweep, want int) (int, error) {
	var left *int64
	err := c.tx.QueryRow(ctx, `SELECT admitted FROM sweep_holds WHERE tenant = $1 AND sweep = $2 FOR UPDATE`, c.tenant, sweep).Scan(&left)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return want, nil
	case err != nil || left == nil:
		return 0, err
	}
	return int(min(int64(want), *left)), nil
}

// used takes what a batch took from what was admitted, if anything was.
func (c *change) used(sweep schema.Sweep, n int) {
	if n > 0 {
		c.queue.Queue(`UPDATE sweep_holds SET admitted = greatest(0, admitted - $3) WHERE tenant = $1 AND sweep = $2 AND admitted IS NOT NULL`, c.tenant, sweep, n)
	}
}

// ErrClockAhead means that a clock is far ahead of the database's: nothing is to be taken away by it.
var ErrClockAhead = errors.New("the clock is ahead of the database's")

// CheckClock returns ErrClockAhead where a time is further ahead of the database's clock than a minute.
func (s *Store) CheckClock(ctx context.Context, at time.Time) error {
	var ahead bool
	if err := s.pool.QueryRow(ctx, `SELECT $1::timestamptz > now() + interval '1 minute'`, at).Scan(&ahead); err != nil {
		return fmt.Errorf("compare clocks: %w", err)
	}
	if ahead {
		return ErrClockAhead
	}
	return nil
}

// noteSweep adds to what a run did to the tenant, in the transaction that does it.
func (c *change) noteSweep(sweep schema.Sweep, run string, counts map[string]int) error {
	for name, n := range counts {
		if n == 0 {
			delete(counts, name)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	encoded, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	c.queue.Queue(`INSERT INTO sweep_runs AS r (tenant, id, sweep, counts, started_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (tenant, id) DO UPDATE SET updated_at = excluded.updated_at, counts = (
			SELECT jsonb_object_agg(key, n) FROM (
				SELECT key, sum(value::bigint) AS n FROM (SELECT * FROM jsonb_each_text(r.counts) UNION ALL SELECT * FROM jsonb_each_text(excluded.counts)) x GROUP BY key) y)`,
		c.tenant, run, sweep, string(encoded), c.now)
	return nil
}

// AdmitSweep lets a sweep that has asked take up to so much more of the tenant. ErrNotFound where it has
// not asked.
func (s *Store) AdmitSweep(ctx context.Context, tenant string, sweep schema.Sweep, upTo int64, by, reason string, now time.Time) (schema.SweepHold, error) {
	out := schema.SweepHold{Tenant: tenant, Sweep: sweep}
	err := s.write(ctx, tenant, now, func(c *change) error {
		err := c.tx.QueryRow(ctx, `UPDATE sweep_holds SET admitted = $3, answered_by = $4, reason = $5, answered_at = $6 WHERE tenant = $1 AND sweep = $2
			RETURNING would_take, stored, share, asked_at, admitted, answered_by, reason, answered_at`, tenant, sweep, upTo, by, reason, c.now).
			Scan(&out.WouldTake, &out.Stored, &out.Share, &out.AskedAt, &out.Admitted, &out.AnsweredBy, &out.Reason, &out.AnsweredAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return schema.SweepHold{}, fmt.Errorf("admit %s: %w", sweep, err)
	}
	return out, nil
}

// SweepHolds lists the sweeps of all tenants that wait for an answer: names and numbers.
func (s *Store) SweepHolds(ctx context.Context) ([]schema.SweepHold, error) {
	rows, err := s.pool.Query(ctx, `SELECT tenant, sweep, would_take, stored, share, asked_at FROM mneme_sweep_holds()`)
	if err == nil {
		var out []schema.SweepHold
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h schema.SweepHold, err error) {
			err = row.Scan(&h.Tenant, &h.Sweep, &h.WouldTake, &h.Stored, &h.Share, &h.AskedAt)
			return h, err
		})
		if err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("list sweeps that wait: %w", err)
}

// SweepRun is what a run did to a tenant.
type SweepRun struct {
	ID        string           `json:"id"`
	Sweep     schema.Sweep     `json:"sweep"`
	Counts    map[string]int64 `json:"counts"` // by what was done
	StartedAt time.Time        `json:"started_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

// SweepRuns lists the latest runs that did something to the tenant, newest first, limit at most.
func (s *Store) SweepRuns(ctx context.Context, tenant string, sweep schema.Sweep, limit int) ([]SweepRun, error) {
	var out []SweepRun
	err := s.read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = collect[SweepRun](ctx, tx, `SELECT id, sweep, counts, started_at, updated_at FROM sweep_runs WHERE tenant = $1 AND sweep = $2
			ORDER BY started_at DESC, id DESC LIMIT $3`, tenant, sweep, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", sweep, err)
	}
	return out, nil
}
