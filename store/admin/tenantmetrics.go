package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// TenantMetrics reads a tenant's numbers as of a time, in one round trip. Its cost depends on the tenant's activity
// in the last seven days, not on its number of memories.
func (s *Admin) TenantMetrics(ctx context.Context, tenant string, at time.Time) (TenantMetrics, error) {
	if tenant == "" {
		return TenantMetrics{}, pg.ErrNoTenant
	}
	at = at.UTC().Truncate(time.Microsecond)
	ctx = pg.WithClass(ctx, pg.ClassLong)
	r := &tenantReader{
		Batch:  s.NewQueryBatch(ctx, tenant, pg.PlanForValues),
		tenant: tenant,
		at:     at,
		day:    at.Add(-MetricsDay),
		week:   at.Add(-MetricsWeek),
		out: TenantMetrics{ByType: map[schema.MemoryType]int64{}, Changes: map[schema.AuditAction]int64{},
			Revisions: map[schema.AuditAction]int64{}, Verdicts: map[string]Spans{},
			Reused: map[schema.MemoryType]Spans{}, Outcomes: map[ProcedureOutcome]Spans{},
			Swept: map[SweepCount]int64{}},
		procedures: map[schema.MemoryType]int64{},
	}
	r.queueTotals()
	r.queueProcedures()
	r.queueSample()
	r.queueChanges()
	r.queueRetrievals()
	r.queueDegraded()
	r.queueReused()
	r.queueVerdicts()
	r.queueJudged()
	r.queueOutcomes()
	r.queueProposals()
	r.queueDue()
	r.queueSwept()
	if err := s.SendQueryBatch(ctx, r.Batch); err != nil {
		return TenantMetrics{}, fmt.Errorf("measure a tenant: %w", err)
	}
	r.out.spread(r.sample, r.procedures, at)
	return r.out, nil
}

// tenantReader queues the statements of TenantMetrics. Their results go into out, procedures and sample when the batch
// is sent.
type tenantReader struct {
	*pgx.Batch
	tenant        string
	at, day, week time.Time
	out           TenantMetrics
	procedures    map[schema.MemoryType]int64 // live procedures and plans
	sample        []sampled
}

func (r *tenantReader) queueTotals() {
	r.Queue(`
		SELECT
			coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0),
			(SELECT count(*) FROM memories WHERE tenant = $1 AND status = 'contested' AND deleted_at IS NULL),
			(SELECT count(*) FROM jobs WHERE tenant = $1 AND state = 'dead')`, r.tenant).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.out.Live, &r.out.Contested, &r.out.DeadJobs) })
}

func (r *tenantReader) queueProcedures() {
	r.Queue(`
		SELECT type, count(*)
		FROM memories
		WHERE tenant = $1 AND live AND `+pg.IsProcedure+`
		GROUP BY type`, r.tenant).
		Query(into(r.procedures))
}

func (r *tenantReader) queueSample() {
	r.Queue(`
		SELECT type, salience, salience_at, pinned, decay_curve, half_life, decay_floor, decay_points
		FROM memories
		WHERE tenant = @tenant AND live
		ORDER BY content_hash
		LIMIT @limit`, pg.Args{"tenant": r.tenant, "limit": SalienceSample}).
		Query(func(rows pgx.Rows) (err error) {
			r.sample, err = pgx.CollectRows(rows, pgx.RowToStructByName[sampled])
			return err
		})
}

func (r *tenantReader) queueChanges() {
	r.Queue(`
		SELECT action, count(*) AS entries, `+countRevisions+` AS revisions
		FROM memory_history
		WHERE tenant = @tenant AND created_at > @day AND action IS NOT NULL
		GROUP BY action`, pg.Args{"tenant": r.tenant, "day": r.day}).
		Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[actionRow])
			for _, a := range found {
				r.out.Changes[a.Action] = a.Entries
				if a.Revisions > 0 {
					r.out.Revisions[a.Action] = a.Revisions
				}
			}
			return err
		})
}

func (r *tenantReader) queueRetrievals() {
	r.Queue(`
		SELECT count(*) FILTER (WHERE created_at > @day), count(*)
		FROM retrievals
		WHERE tenant = @tenant AND created_at > @week`, r.spans()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.out.Retrievals.Day, &r.out.Retrievals.Week) })
}

func (r *tenantReader) queueDegraded() {
	r.Queue(`
		SELECT count(*)
		FROM retrievals
		WHERE tenant = @tenant AND created_at > @day AND degraded <> '{}'`, pg.Args{"tenant": r.tenant, "day": r.day}).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.out.Degraded.Day) })
}

// queueReused counts the recalls that returned procedures and plans, which count whether or not they are still live.
// Each memory is read once, because few are returned often.
func (r *tenantReader) queueReused() {
	r.Queue(`
		WITH r AS MATERIALIZED (
			SELECT r.id, u.id AS memory
			FROM retrievals r
			CROSS JOIN LATERAL unnest(r.memory_ids) u(id)
			WHERE r.tenant = @tenant AND r.created_at > @day
		), p AS MATERIALIZED (
			SELECT m.id, m.type
			FROM (SELECT DISTINCT memory FROM r) d
			JOIN memories m ON m.tenant = @tenant AND m.id = d.memory AND m.`+pg.IsProcedure+`
		)
		SELECT p.type, count(DISTINCT r.id), 0::bigint
		FROM r
		JOIN p ON p.id = r.memory
		GROUP BY p.type`, pg.Args{"tenant": r.tenant, "day": r.day}).
		Query(intoSpans(r.out.Reused))
}

func (r *tenantReader) queueVerdicts() {
	r.Queue(`
		SELECT verdict, count(*) FILTER (WHERE updated_at > @day), count(*)
		FROM retrieval_feedback
		WHERE tenant = @tenant AND updated_at > @week
		GROUP BY verdict`, r.spans()).
		Query(intoSpans(r.out.Verdicts))
}

func (r *tenantReader) queueJudged() {
	r.Queue(`
		SELECT
			count(DISTINCT retrieval_id) FILTER (WHERE updated_at > @day) AS judged_day,
			count(DISTINCT retrieval_id) AS judged_week,
			count(DISTINCT retrieval_id)
				FILTER (WHERE updated_at > @day AND verdict IN ('succeeded', 'partly')) AS useful_day,
			count(DISTINCT retrieval_id) FILTER (WHERE verdict IN ('succeeded', 'partly')) AS useful_week
		FROM retrieval_feedback
		WHERE tenant = @tenant AND updated_at > @week`, r.spans()).
		Query(func(rows pgx.Rows) error {
			type judgedRow struct{ JudgedDay, JudgedWeek, UsefulDay, UsefulWeek int64 }
			n, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[judgedRow])
			r.out.Judged, r.out.Useful = Spans{n.JudgedDay, n.JudgedWeek}, Spans{n.UsefulDay, n.UsefulWeek}
			return err
		})
}

func (r *tenantReader) queueOutcomes() {
	r.Queue(`
		SELECT m.type, f.counted AS outcome, count(*) FILTER (WHERE f.updated_at > @day) AS day, count(*) AS week
		FROM retrieval_feedback f
		JOIN memories m ON m.tenant = @tenant AND m.id = f.memory_id AND m.`+pg.IsProcedure+`
		WHERE f.tenant = @tenant AND f.updated_at > @week AND f.counted IS NOT NULL
		GROUP BY 1, 2`, r.spans()).
		Query(func(rows pgx.Rows) error {
			type outcomeRow struct {
				ProcedureOutcome
				Spans
			}
			found, err := pgx.CollectRows(rows, pgx.RowToStructByName[outcomeRow])
			for _, o := range found {
				r.out.Outcomes[o.ProcedureOutcome] = o.Spans
			}
			return err
		})
}

func (r *tenantReader) queueProposals() {
	r.Queue(`
		SELECT count(*), count(*) FILTER (WHERE contradiction_risk)
		FROM proposals p
		WHERE p.tenant = $1 AND `+pg.WaitsForReview, r.tenant).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.out.ToReview, &r.out.Disputed) })
}

func (r *tenantReader) queueDue() {
	r.Queue(`
		SELECT count(*), min(decay_due_at)
		FROM (
			SELECT decay_due_at
			FROM memories
			WHERE tenant = @tenant AND live AND decay_due_at IS NOT NULL AND decay_due_at <= @at
			ORDER BY decay_due_at
			LIMIT @most
		) due`, pg.Args{"tenant": r.tenant, "at": r.at, "most": MaxDueCounted}).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.out.Due, &r.out.OldestDue) })
}

func (r *tenantReader) queueSwept() {
	r.Queue(`
		SELECT r.sweep, c.key AS done, sum(c.value::bigint)::bigint AS n
		FROM sweep_runs r
		CROSS JOIN LATERAL jsonb_each(r.counts) c
		WHERE r.tenant = @tenant AND r.sweep IN ('decay', 'retention') AND r.started_at > @day
			AND jsonb_typeof(c.value) = 'number' AND c.key <> 'without_words'
		GROUP BY 1, 2`, pg.Args{"tenant": r.tenant, "day": r.day}).
		Query(func(rows pgx.Rows) error {
			type sweptRow struct {
				SweepCount
				N int64
			}
			found, err := pgx.CollectRows(rows, pgx.RowToStructByName[sweptRow])
			for _, c := range found {
				r.out.Swept[c.SweepCount] = c.N
			}
			return err
		})
}

// spans are the arguments of statements over a day and a week.
func (r *tenantReader) spans() pg.Args {
	return pg.Args{"tenant": r.tenant, "day": r.day, "week": r.week}
}

func into[K ~string](counts map[K]int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var k K
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&k, &n}, func() error { counts[k] = n; return nil })
		return err
	}
}

func intoSpans[K ~string](counts map[K]Spans) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var k K
		var n Spans
		_, err := pgx.ForEachRow(rows, []any{&k, &n.Day, &n.Week}, func() error { counts[k] = n; return nil })
		return err
	}
}
