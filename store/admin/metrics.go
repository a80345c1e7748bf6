package admin

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Sample sizes and limits of a tenant's metrics.
const (
	// SalienceSample is the number of live memories from which a tenant's salience is estimated. They are the first
	// by content hash: a random choice that an index serves and that is the same each time. In 19 of 20 cases a
	// share is off by at most 2 %.
	SalienceSample = 2000
	// MaxDueCounted is the number at which counting due memories stops.
	MaxDueCounted = 10_000
	// SalienceBuckets is the number of equal parts of [0,1] in the distribution of salience.
	SalienceBuckets = 10
)

// Time windows of a tenant's metrics.
const (
	MetricsDay  = 24 * time.Hour
	MetricsWeek = 7 * MetricsDay
)

// SystemMetrics are metrics over all tenants (document 004 §15.10): counts and times without content.
type SystemMetrics struct {
	Jobs  JobQueue        `json:"jobs"`
	Index schema.IndexLag `json:"index"`
	// Holds are the sweeps with an open question, by kind of sweep, with the time of the first.
	Holds  map[string]HeldSweeps `json:"holds"`
	Ledger LedgerState           `json:"ledger"`
}

// LedgerState holds counts of sessions and events.
type LedgerState struct {
	OpenSessions int64 `json:"open_sessions"`
	// last event of the open session that has waited longest
	Oldest   *time.Time `json:"oldest_session,omitempty"`
	Events   int64      `json:"events"`   // estimated by Postgres
	Unplaced bool       `json:"unplaced"` // some events are outside the monthly partitions
}

const ledgerStateSQL = `SELECT open_sessions, oldest_session, events, unplaced FROM mneme_ledger_state()`

// LedgerState counts the sessions and events of all tenants.
func (s *Admin) LedgerState(ctx context.Context) (out LedgerState, err error) {
	err = s.Pool.QueryRow(ctx, ledgerStateSQL).Scan(&out.OpenSessions, &out.Oldest, &out.Events, &out.Unplaced)
	if err != nil {
		return LedgerState{}, fmt.Errorf("state of the ledger: %w", err)
	}
	return out, nil
}

// HeldSweeps are the sweeps of one kind with an open question.
type HeldSweeps struct {
	Tenants int64     `json:"tenants"`
	Since   time.Time `json:"since"`
}

// SystemMetrics reads the numbers over all tenants, in one round trip.
func (s *Admin) SystemMetrics(ctx context.Context) (SystemMetrics, error) {
	out := SystemMetrics{Holds: map[string]HeldSweeps{}}
	b := &pgx.Batch{}
	b.Queue(jobQueueSQL).QueryRow(func(row pgx.Row) error {
		return row.Scan(&out.Jobs.Waiting, &out.Jobs.Oldest, &out.Jobs.Dead)
	})
	b.Queue(pg.OutboxLagSQL).QueryRow(func(row pgx.Row) error {
		return row.Scan(&out.Index.Pending, &out.Index.Parked, &out.Index.Oldest)
	})
	b.Queue(`
		SELECT sweep, count(*) AS tenants, min(asked_at) AS since
		FROM mneme_sweep_holds()
		GROUP BY sweep`).Query(func(rows pgx.Rows) error {
		type holdRow struct {
			Sweep string
			HeldSweeps
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[holdRow])
		for _, h := range found {
			out.Holds[h.Sweep] = h.HeldSweeps
		}
		return err
	})
	b.Queue(ledgerStateSQL).QueryRow(func(row pgx.Row) error {
		return row.Scan(&out.Ledger.OpenSessions, &out.Ledger.Oldest, &out.Ledger.Events, &out.Ledger.Unplaced)
	})
	if err := s.Pool.SendBatch(ctx, b).Close(); err != nil {
		return SystemMetrics{}, fmt.Errorf("measure the system: %w", err)
	}
	return out, nil
}

// MetricsTenants lists at most `most` tenants after the given one, by name.
func (s *Admin) MetricsTenants(ctx context.Context, after string, most int) ([]string, error) {
	rows, err := s.Pool.Query(ctx, `SELECT mneme_tenants($1, $2)`, after, most)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return out, nil
}

// Spans are counts of the last day and of the last seven days.
type Spans struct {
	Day  int64 `json:"day"`
	Week int64 `json:"week"`
}

func (s Spans) plus(o Spans) Spans { return Spans{Day: s.Day + o.Day, Week: s.Week + o.Week} }

// ProcedureOutcome names an outcome and the type of memory that it was counted for.
type ProcedureOutcome struct {
	Type    schema.MemoryType
	Outcome string // success or failure
}

// SweepCount identifies an outcome of a kind of sweep.
type SweepCount struct {
	Sweep string // decay or retention
	Done  string // pruned, archived, kept, graph_links, …
}

// TenantMetrics are the eight measures of document 004 §14 and §15.10 of one tenant, or summed over several. All
// are counts and times.
type TenantMetrics struct {
	// Live memories. By type they are exact for a tenant with at most SalienceSample memories. For a larger tenant
	// procedures and plans are counted exactly, and the other types are estimated from the sample.
	Live      int64
	ByType    map[schema.MemoryType]int64
	Contested int64 // both sides of each open contradiction

	// Current salience of the live memories, by bucket of equal width, estimated from the sample.
	Salience    [SalienceBuckets]int64
	SalienceSum float64

	// entries in history of the last day: one for each memory that a change touches
	Changes map[schema.AuditAction]int64
	// changes of belief of the last day: one each, however many memories it touches
	Revisions map[schema.AuditAction]int64

	Retrievals Spans
	Degraded   Spans                       // retrievals without some channels or stages; the last day only
	Judged     Spans                       // retrievals with feedback on an item
	Useful     Spans                       // judged retrievals with an item that helped, at least partly
	Verdicts   map[string]Spans            // items by outcome
	Reused     map[schema.MemoryType]Spans // retrievals that returned a procedure or a plan; the last day only
	Outcomes   map[ProcedureOutcome]Spans  // of reused procedures and plans
	ToReview   int64                       // proposals that wait for a person
	Disputed   int64                       // proposals to review that contradict a memory
	DeadJobs   int64
	Due        int64                // memories that a sweep has yet to check; at most MaxDueCounted a tenant
	OldestDue  *time.Time           // when the first of them became due
	Swept      map[SweepCount]int64 // outcomes of the sweeps of the last day
}

// Add adds another tenant's numbers.
func (m *TenantMetrics) Add(o TenantMetrics) {
	m.Live += o.Live
	m.Contested += o.Contested
	m.ByType = addCounts(m.ByType, o.ByType)
	for i, n := range o.Salience {
		m.Salience[i] += n
	}
	m.SalienceSum += o.SalienceSum
	m.Changes, m.Revisions = addCounts(m.Changes, o.Changes), addCounts(m.Revisions, o.Revisions)
	m.Retrievals, m.Degraded = m.Retrievals.plus(o.Retrievals), m.Degraded.plus(o.Degraded)
	m.Judged, m.Useful = m.Judged.plus(o.Judged), m.Useful.plus(o.Useful)
	m.Verdicts, m.Reused, m.Outcomes = addSpans(m.Verdicts, o.Verdicts), addSpans(m.Reused, o.Reused),
		addSpans(m.Outcomes, o.Outcomes)
	m.ToReview, m.Disputed, m.DeadJobs, m.Due = m.ToReview+o.ToReview, m.Disputed+o.Disputed, m.DeadJobs+o.DeadJobs,
		m.Due+o.Due
	if o.OldestDue != nil && (m.OldestDue == nil || o.OldestDue.Before(*m.OldestDue)) {
		m.OldestDue = o.OldestDue
	}
	m.Swept = addCounts(m.Swept, o.Swept)
}

func addCounts[K comparable](sum, more map[K]int64) map[K]int64 {
	if sum == nil {
		return maps.Clone(more)
	}
	for k, n := range more {
		sum[k] += n
	}
	return sum
}

func addSpans[K comparable](sum, more map[K]Spans) map[K]Spans {
	if sum == nil {
		return maps.Clone(more)
	}
	for k, n := range more {
		sum[k] = sum[k].plus(n)
	}
	return sum
}

// sampled is a live memory with the fields that its salience needs.
type sampled struct {
	Type       schema.MemoryType
	Salience   float64
	SalienceAt time.Time
	Pinned     bool
	Curve      schema.DecayCurve `db:"decay_curve"`
	HalfLife   time.Duration
	Floor      float64             `db:"decay_floor"`
	Points     []schema.DecayPoint `db:"decay_points"`
}

// now returns the current salience.
func (m sampled) now(at time.Time) float64 {
	d := memory.Decay{Curve: m.Curve, HalfLife: m.HalfLife, Floor: m.Floor, Points: memory.DecayPoints(m.Points)}
	return d.SalienceOf(m.Salience, at.Sub(m.SalienceAt), m.Pinned)
}

// TenantMetrics reads a tenant's numbers as of a time, in one round trip. Its cost depends on the tenant's activity
// in the last seven days, not on its number of memories.
func (s *Admin) TenantMetrics(ctx context.Context, tenant string, at time.Time) (TenantMetrics, error) {
	if tenant == "" {
		return TenantMetrics{}, pg.ErrNoTenant
	}
	at = at.UTC().Truncate(time.Microsecond)
	day, week := at.Add(-MetricsDay), at.Add(-MetricsWeek)
	m := TenantMetrics{ByType: map[schema.MemoryType]int64{}, Changes: map[schema.AuditAction]int64{},
		Revisions: map[schema.AuditAction]int64{},
		Verdicts:  map[string]Spans{}, Reused: map[schema.MemoryType]Spans{}, Outcomes: map[ProcedureOutcome]Spans{},
		Swept: map[SweepCount]int64{}}
	procedures := map[schema.MemoryType]int64{}
	var sample []sampled

	ctx = pg.WithClass(ctx, pg.ClassLong)
	b := s.NewQueryBatch(ctx, tenant, pg.PlanForValues)
	b.Queue(`
		SELECT
			coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0),
			(SELECT count(*) FROM memories WHERE tenant = $1 AND status = 'contested' AND deleted_at IS NULL),
			(SELECT count(*) FROM jobs WHERE tenant = $1 AND state = 'dead')`, tenant).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.Live, &m.Contested, &m.DeadJobs) })
	b.Queue(`
		SELECT type, count(*)
		FROM memories
		WHERE tenant = $1 AND live AND `+pg.IsProcedure+`
		GROUP BY type`, tenant).
		Query(into(procedures))
	b.Queue(`
		SELECT type, salience, salience_at, pinned, decay_curve, half_life, decay_floor, decay_points
		FROM memories
		WHERE tenant = @tenant AND live
		ORDER BY content_hash
		LIMIT @limit`, pg.Args{"tenant": tenant, "limit": SalienceSample}).
		Query(func(rows pgx.Rows) (err error) {
			sample, err = pgx.CollectRows(rows, pgx.RowToStructByName[sampled])
			return err
		})
	b.Queue(`
		SELECT action, count(*) AS entries, `+countRevisions+` AS revisions
		FROM memory_history
		WHERE tenant = @tenant AND created_at > @day AND action IS NOT NULL
		GROUP BY action`, pg.Args{"tenant": tenant, "day": day}).
		Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[actionRow])
			for _, a := range found {
				m.Changes[a.Action] = a.Entries
				if a.Revisions > 0 {
					m.Revisions[a.Action] = a.Revisions
				}
			}
			return err
		})
	spans := pg.Args{"tenant": tenant, "day": day, "week": week}
	b.Queue(`
		SELECT count(*) FILTER (WHERE created_at > @day), count(*)
		FROM retrievals
		WHERE tenant = @tenant AND created_at > @week`, spans).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.Retrievals.Day, &m.Retrievals.Week) })
	b.Queue(`
		SELECT count(*)
		FROM retrievals
		WHERE tenant = @tenant AND created_at > @day AND degraded <> '{}'`, pg.Args{"tenant": tenant, "day": day}).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.Degraded.Day) })
	// Returned memories count whether or not they are still live. Each is read once, because few are returned
	// often.
	b.Queue(`
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
		GROUP BY p.type`, pg.Args{"tenant": tenant, "day": day}).
		Query(intoSpans(m.Reused))
	b.Queue(`
		SELECT verdict, count(*) FILTER (WHERE updated_at > @day), count(*)
		FROM retrieval_feedback
		WHERE tenant = @tenant AND updated_at > @week
		GROUP BY verdict`, spans).
		Query(intoSpans(m.Verdicts))
	b.Queue(`
		SELECT
			count(DISTINCT retrieval_id) FILTER (WHERE updated_at > @day) AS judged_day,
			count(DISTINCT retrieval_id) AS judged_week,
			count(DISTINCT retrieval_id)
				FILTER (WHERE updated_at > @day AND verdict IN ('succeeded', 'partly')) AS useful_day,
			count(DISTINCT retrieval_id) FILTER (WHERE verdict IN ('succeeded', 'partly')) AS useful_week
		FROM retrieval_feedback
		WHERE tenant = @tenant AND updated_at > @week`, spans).
		Query(func(rows pgx.Rows) error {
			type judgedRow struct{ JudgedDay, JudgedWeek, UsefulDay, UsefulWeek int64 }
			n, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[judgedRow])
			m.Judged, m.Useful = Spans{n.JudgedDay, n.JudgedWeek}, Spans{n.UsefulDay, n.UsefulWeek}
			return err
		})
	b.Queue(`
		SELECT m.type, f.counted AS outcome, count(*) FILTER (WHERE f.updated_at > @day) AS day, count(*) AS week
		FROM retrieval_feedback f
		JOIN memories m ON m.tenant = @tenant AND m.id = f.memory_id AND m.`+pg.IsProcedure+`
		WHERE f.tenant = @tenant AND f.updated_at > @week AND f.counted IS NOT NULL
		GROUP BY 1, 2`, spans).
		Query(func(rows pgx.Rows) error {
			type outcomeRow struct {
				ProcedureOutcome
				Spans
			}
			found, err := pgx.CollectRows(rows, pgx.RowToStructByName[outcomeRow])
			for _, o := range found {
				m.Outcomes[o.ProcedureOutcome] = o.Spans
			}
			return err
		})
	b.Queue(`
		SELECT count(*), count(*) FILTER (WHERE contradiction_risk)
		FROM proposals p
		WHERE p.tenant = $1 AND `+pg.WaitsForReview, tenant).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.ToReview, &m.Disputed) })
	b.Queue(`
		SELECT count(*), min(decay_due_at)
		FROM (
			SELECT decay_due_at
			FROM memories
			WHERE tenant = @tenant AND live AND decay_due_at IS NOT NULL AND decay_due_at <= @at
			ORDER BY decay_due_at
			LIMIT @most
		) due`, pg.Args{"tenant": tenant, "at": at, "most": MaxDueCounted}).
		QueryRow(func(row pgx.Row) error { return row.Scan(&m.Due, &m.OldestDue) })
	b.Queue(`
		SELECT r.sweep, c.key AS done, sum(c.value::bigint)::bigint AS n
		FROM sweep_runs r
		CROSS JOIN LATERAL jsonb_each(r.counts) c
		WHERE r.tenant = @tenant AND r.sweep IN ('decay', 'retention') AND r.started_at > @day
			AND jsonb_typeof(c.value) = 'number' AND c.key <> 'without_words'
		GROUP BY 1, 2`, pg.Args{"tenant": tenant, "day": day}).
		Query(func(rows pgx.Rows) error {
			type sweptRow struct {
				SweepCount
				N int64
			}
			found, err := pgx.CollectRows(rows, pgx.RowToStructByName[sweptRow])
			for _, c := range found {
				m.Swept[c.SweepCount] = c.N
			}
			return err
		})
	if err := s.SendQueryBatch(ctx, b); err != nil {
		return TenantMetrics{}, fmt.Errorf("measure a tenant: %w", err)
	}
	m.spread(sample, procedures, at)
	return m, nil
}

// countRevisions counts the revisions of document 004 §7 among history entries of one action. A merge, a contest or
// a fork has an entry for each memory that it changes, all with the same operation. A pipeline's supersession is
// identified by its proposal: its old memory counts as revised, its successor as created.
const countRevisions = `count(DISTINCT coalesce(metadata->>'operationId', metadata->>'proposalId', id::text))
	FILTER (WHERE action IN ('revise', 'fork', 'merge', 'contest', 'resolve', 'retract'))`

// actionRow is the number of history entries with an action, on one day if the statement groups by day.
type actionRow struct {
	Day                time.Time
	Action             schema.AuditAction
	Entries, Revisions int64
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

// spread computes the distribution of salience, and the estimated types, from the sample.
func (m *TenantMetrics) spread(sample []sampled, procedures map[schema.MemoryType]int64, at time.Time) {
	if len(sample) < SalienceSample {
		m.Live = int64(len(sample)) // all of them were read
	}
	var buckets [SalienceBuckets]int64
	others := map[schema.MemoryType]int64{}
	sum := 0.0
	for _, row := range sample {
		worth := row.now(at)
		sum += worth
		buckets[bucketOf(worth)]++
		if _, counted := procedures[row.Type]; !counted {
			others[row.Type]++
		}
	}
	rest := m.Live
	for t, n := range procedures {
		m.ByType[t] = n
		rest -= n
	}
	for t, n := range Shares(others, max(rest, 0)) {
		m.ByType[t] = n
	}
	for i, n := range Shares(indexed(buckets), m.Live) {
		m.Salience[i] = n
	}
	if len(sample) > 0 {
		m.SalienceSum = sum / float64(len(sample)) * float64(m.Live)
	}
}

// bucketOf returns the bucket of a salience. A bucket includes its upper bound and not its lower one, as le means
// "at most"; the first also includes 0.
func bucketOf(worth float64) int {
	return min(max(int(math.Ceil(worth*SalienceBuckets))-1, 0), SalienceBuckets-1)
}

func indexed(buckets [SalienceBuckets]int64) map[int]int64 {
	out := make(map[int]int64, len(buckets))
	for i, n := range buckets {
		out[i] = n
	}
	return out
}

// Shares scales counts to a total. The rest from rounding is added to the largest.
func Shares[K int | schema.MemoryType](counts map[K]int64, total int64) map[K]int64 {
	all := int64(0)
	for _, n := range counts {
		all += n
	}
	out := make(map[K]int64, len(counts))
	if all == 0 {
		return out
	}
	given, largest, most := int64(0), *new(K), int64(-1)
	for k, n := range counts {
		out[k] = n * total / all // integers, because in floating point a share of 49 of 49 can be 48
		given += out[k]
		if n > most || n == most && k < largest {
			largest, most = k, n
		}
	}
	out[largest] += total - given
	return out
}
