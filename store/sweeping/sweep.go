package sweeping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// SweepBatchSize is the number of rows that one transaction of a sweep changes (document 002 "Retention Worker":
// each step is capped, so that no writer waits long).
const SweepBatchSize = 500

// DecayTenants lists at most limit tenants after the given one with a memory due at a time, by name.
func (s *Sweeping) DecayTenants(ctx context.Context, after string, limit int, at time.Time) ([]string, error) {
	return s.TenantNames(ctx, `SELECT mneme_decay_tenants(@after, @limit, @at)`,
		pg.Args{"after": after, "limit": limit, "at": at})
}

// SweepStart is what a run may remove.
type SweepStart struct {
	// Held is the first question that waits for an answer; nil if there is none.
	Held *schema.SweepHold
	// Ahead means that the run may continue: no question is open, or another one was answered. Rows covered by an
	// open question are not removed.
	Ahead bool
	// Rules identifies the retention policies used for the count. A batch with other policies in force refuses to
	// run.
	Rules string
}

// BeginSweep counts how much a run would remove of a tenant. If it is more than the run's share, the run asks once
// and removes nothing until the question is answered. Every run subtracts what it removes from the admitted
// number. A run within its share withdraws the question and the rest of an answer.
func (s *Sweeping) BeginSweep(ctx context.Context, tenant string, sweep schema.Sweep, share float64,
	now time.Time) (SweepStart, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var out SweepStart
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		rules, err := RetentionRules(ctx, c.Tx, c.Tenant)
		if err != nil {
			return err
		}
		out.Rules = fingerprint(rules)
		var takes []volume
		if sweep == schema.SweepDecay {
			takes, err = decayVolumes(ctx, c, rules, share)
		} else {
			takes, err = retentionVolumes(ctx, c, rules, share)
		}
		if err != nil {
			return err
		}
		out.Held = nil
		answered := false
		for _, t := range takes {
			held, err := guard(ctx, c, t, share)
			if err != nil {
				return err
			}
			if out.Held == nil {
				out.Held = held
			}
			answered = answered || held == nil && t.tooMuch(share)
		}
		out.Ahead = out.Held == nil || answered
		return nil
	})
	if err != nil {
		return SweepStart{}, fmt.Errorf("begin %s: %w", sweep, err)
	}
	return out, nil
}

// ErrRulesChanged means that retention policies have changed since the run began. The run must begin with the
// tenant again.
var ErrRulesChanged = errors.New("retention policies have changed since the run began")

// fingerprint identifies the content of rules, not their author or time.
func fingerprint(rules lifecycle.RetentionRules) string {
	digest := sha256.New()
	for _, p := range rules {
		fmt.Fprintf(digest, "%s %s %s %d %s %t\n", p.Domain, p.Tier, p.Typology, p.KeepSeconds, p.OnExpiry,
			p.DecayExempt)
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// rulesAsBegun reads the rules in force. If begun is set, it returns ErrRulesChanged unless they are the rules with
// which the run began.
func rulesAsBegun(ctx context.Context, c *commit.Change, begun string) (lifecycle.RetentionRules, error) {
	rules, err := RetentionRules(ctx, c.Tx, c.Tenant)
	if err != nil || begun == "" {
		return rules, err
	}
	if fingerprint(rules) != begun {
		err = ErrRulesChanged
	}
	return rules, err
}

// volume is how much of the stored data a run would remove, for one question. Counting ends when the allowance is
// exceeded.
type volume struct {
	Question      schema.Sweep
	Would, Stored int64
}

// tooMuch reports whether the run must ask.
func (t volume) tooMuch(share float64) bool {
	return t.Would > lifecycle.SweepAllowance(t.Stored, share)
}

// holdColumns are the columns of a schema.SweepHold.
const holdColumns = `tenant, sweep, would_take, stored, share, asked_at, admitted, answered_by, reason, answered_at`

// ofSweep is the condition of the tenant's question about a sweep.
const ofSweep = `tenant = @tenant AND sweep = @sweep`

// oneHold runs a statement that returns one hold.
func oneHold(ctx context.Context, c *commit.Change, query string, args pg.Args) (schema.SweepHold, error) {
	rows, err := c.Tx.Query(ctx, query, args)
	if err != nil {
		return schema.SweepHold{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[schema.SweepHold])
}

// guard opens a question if the run would remove too much, and otherwise withdraws the question. It returns the
// open question, or nil.
func guard(ctx context.Context, c *commit.Change, t volume, share float64) (*schema.SweepHold, error) {
	if !t.tooMuch(share) {
		c.Queue.Queue(`DELETE FROM sweep_holds WHERE `+ofSweep,
			pg.Args{"tenant": c.Tenant, "sweep": t.Question})
		return nil, nil
	}
	// An answer that is used up does not count: the run asks again.
	hold, err := oneHold(ctx, c, `
		INSERT INTO sweep_holds AS h (tenant, sweep, would_take, stored, share, asked_at)
		VALUES (@tenant, @sweep, @would_take, @stored, @share, @now)
		ON CONFLICT (tenant, sweep) DO UPDATE
		SET would_take = excluded.would_take,
			stored = excluded.stored,
			share = excluded.share,
			asked_at = CASE WHEN h.admitted = 0 THEN excluded.asked_at ELSE h.asked_at END,
			answered_by = CASE WHEN h.admitted = 0 THEN '' ELSE h.answered_by END,
			reason = CASE WHEN h.admitted = 0 THEN '' ELSE h.reason END,
			answered_at = CASE WHEN h.admitted > 0 THEN h.answered_at END,
			admitted = nullif(h.admitted, 0)
		RETURNING `+holdColumns,
		pg.Args{
			"tenant":     c.Tenant,
			"sweep":      t.Question,
			"would_take": t.Would,
			"stored":     t.Stored,
			"share":      share,
			"now":        c.Now,
		})
	if err != nil || hold.Admitted != nil {
		return nil, err
	}
	return &hold, nil
}

// admittedBy returns how many of want memories a batch may remove. Without a question that is all of them, because
// BeginSweep has counted the due memories. It is none while a question waits for its answer, and after that at most
// what the answer still admits. The row is locked, so that no two batches use the same answer.
func admittedBy(ctx context.Context, c *commit.Change, sweep schema.Sweep, want int) (int, error) {
	var left *int64
	err := c.Tx.QueryRow(ctx, `SELECT admitted FROM sweep_holds WHERE `+ofSweep+` FOR UPDATE`,
		pg.Args{"tenant": c.Tenant, "sweep": sweep}).Scan(&left)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return want, nil
	case err != nil || left == nil:
		return 0, err
	}
	return int(min(int64(want), *left)), nil
}

// used subtracts the removed number from the admitted one, if there is an answer.
func used(c *commit.Change, sweep schema.Sweep, n int) {
	if n > 0 {
		c.Queue.Queue(`
			UPDATE sweep_holds
			SET admitted = greatest(0, admitted - @taken)
			WHERE `+ofSweep+` AND admitted IS NOT NULL`,
			pg.Args{"tenant": c.Tenant, "sweep": sweep, "taken": n})
	}
}

// ErrClockAhead means that a clock is far ahead of the database's clock. Nothing may be removed by that clock.
var ErrClockAhead = errors.New("the clock is ahead of the database's")

// CheckClock returns ErrClockAhead if one of the times is more than a minute ahead of the database's clock.
func (s *Sweeping) CheckClock(ctx context.Context, at ...time.Time) error {
	var ahead bool
	err := s.Pool.QueryRow(ctx, `
		SELECT coalesce(max(x) > now() + interval '1 minute', false)
		FROM unnest($1::timestamptz[]) x`, at).Scan(&ahead)
	if err != nil {
		return fmt.Errorf("compare clocks: %w", err)
	}
	if ahead {
		return ErrClockAhead
	}
	return nil
}

// noteSweep adds counts to the record of a run for the tenant, within the change.
func noteSweep(c *commit.Change, sweep schema.Sweep, run string, counts map[string]int) error {
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
	c.Queue.Queue(`
		INSERT INTO sweep_runs AS r (tenant, id, sweep, counts, started_at, updated_at)
		VALUES (@tenant, @run, @sweep, @counts, @now, @now)
		ON CONFLICT (tenant, id) DO UPDATE
		SET updated_at = excluded.updated_at,
			counts = (
				SELECT jsonb_object_agg(key, n)
				FROM (
					SELECT key, sum(value::bigint) AS n
					FROM (
						SELECT * FROM jsonb_each_text(r.counts)
						UNION ALL
						SELECT * FROM jsonb_each_text(excluded.counts)) x
					GROUP BY key) y)`,
		pg.Args{
			"tenant": c.Tenant,
			"run":    run,
			"sweep":  sweep,
			"counts": string(encoded),
			"now":    c.Now,
		})
	return nil
}

// AdmitSweep lets a sweep that has asked remove up to this many more rows of the tenant. If the sweep has not
// asked, it returns ErrNotFound.
func (s *Sweeping) AdmitSweep(ctx context.Context, tenant string, sweep schema.Sweep, upTo int64, by, reason string,
	now time.Time) (schema.SweepHold, error) {
	var out schema.SweepHold
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) (err error) {
		out, err = oneHold(ctx, c, `
			UPDATE sweep_holds
			SET admitted = @admitted, answered_by = @answered_by, reason = @reason, answered_at = @now
			WHERE `+ofSweep+`
			RETURNING `+holdColumns,
			pg.Args{
				"tenant":      tenant,
				"sweep":       sweep,
				"admitted":    upTo,
				"answered_by": by,
				"reason":      reason,
				"now":         c.Now,
			})
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		return err
	})
	if err != nil {
		return schema.SweepHold{}, fmt.Errorf("admit %s: %w", sweep, err)
	}
	return out, nil
}

// SweepHolds lists the open questions of sweeps of all tenants, as names and numbers.
func (s *Sweeping) SweepHolds(ctx context.Context) ([]schema.SweepHold, error) {
	rows, err := s.Pool.Query(ctx, `
		SELECT tenant, sweep, would_take, stored, share, asked_at
		FROM mneme_sweep_holds()`)
	if err == nil {
		var out []schema.SweepHold
		// Lax: the columns of the answer are not selected, because a waiting sweep has none.
		if out, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[schema.SweepHold]); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("list sweeps that wait: %w", err)
}

// SweepRun is the result of a run for a tenant.
type SweepRun struct {
	ID        string           `json:"id"`
	Sweep     schema.Sweep     `json:"sweep"`
	Counts    map[string]int64 `json:"counts"` // by outcome
	StartedAt time.Time        `json:"started_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

// SweepRuns lists at most limit of the latest runs that changed the tenant, newest first.
func (s *Sweeping) SweepRuns(ctx context.Context, tenant string, sweep schema.Sweep, limit int) ([]SweepRun, error) {
	var out []SweepRun
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT id, sweep, counts - 'without_words' AS counts, started_at, updated_at
			FROM sweep_runs
			WHERE `+ofSweep+`
			ORDER BY started_at DESC, id DESC
			LIMIT @limit`,
			pg.Args{"tenant": tenant, "sweep": sweep, "limit": limit})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[SweepRun])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", sweep, err)
	}
	return out, nil
}
