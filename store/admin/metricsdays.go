package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// MaxMetricsDays is the largest number of days for TenantDays.
const MaxMetricsDays = 90

// TenantDays holds a tenant's daily metrics, the latency of its recalls and its token use.
type TenantDays struct {
	Days   []DayMetrics  `json:"days"`   // oldest first, the last is today so far
	Recall RecallLatency `json:"recall"` // of the last 24 hours
	Tokens []TokenSpend  `json:"tokens"` // of the jobs that ended in the last 24 hours
}

// DayMetrics are the numbers of one day, in UTC.
type DayMetrics struct {
	Day        time.Time                    `json:"day"`
	Changes    map[schema.AuditAction]int64 `json:"changes"`   // entries in history, by action
	Revisions  map[schema.AuditAction]int64 `json:"revisions"` // changes of belief, as TenantMetrics counts them
	Retrievals int64                        `json:"retrievals"`
	Degraded   int64                        `json:"degraded"` // of them
}

// RecallLatency is the duration of recalls in milliseconds; 0 if there were none.
type RecallLatency struct {
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	P99 float64 `json:"p99_ms"`
}

// TokenSpend is the token use of the attempts in the logs of jobs.
type TokenSpend struct {
	Phase      string `json:"phase"`
	Model      string `json:"model"`
	Calls      int64  `json:"attempts"`
	Prompt     int64  `json:"prompt_tokens"`
	Completion int64  `json:"completion_tokens"`
}

// TenantDays reads the metrics of a tenant's last 1 to MaxMetricsDays days as of a time. Its cost grows with the
// activity in these days, so it is for interactive use and not for scraping.
func (s *Admin) TenantDays(ctx context.Context, tenant string, days int, at time.Time) (TenantDays, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	at = at.UTC().Truncate(time.Microsecond)
	days = min(max(days, 1), MaxMetricsDays)
	today := at.Truncate(MetricsDay)
	out := TenantDays{Days: make([]DayMetrics, days), Tokens: []TokenSpend{}}
	for i := range out.Days {
		out.Days[i] = DayMetrics{Day: today.AddDate(0, 0, i-days+1), Changes: map[schema.AuditAction]int64{},
			Revisions: map[schema.AuditAction]int64{}}
	}
	from := out.Days[0].Day
	place := func(day time.Time) (*DayMetrics, bool) {
		i := int(day.Sub(from) / MetricsDay)
		if i < 0 || i >= days {
			return nil, false // a later day: the clocks differ
		}
		return &out.Days[i], true
	}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		since := pg.Args{"tenant": tenant, "from": from}
		changes, err := pg.CollectByName[actionRow](ctx, tx, `
			SELECT date_trunc('day', created_at, 'UTC') AS day, action,
				count(*) AS entries,
				`+countRevisions+` AS revisions
			FROM memory_history
			WHERE tenant = @tenant AND created_at >= @from AND action IS NOT NULL
			GROUP BY 1, 2`, since)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if d, ok := place(c.Day); ok {
				d.Changes[c.Action] = c.Entries
				if c.Revisions > 0 {
					d.Revisions[c.Action] = c.Revisions
				}
			}
		}
		type retrievalRow struct {
			Day                  time.Time
			Retrievals, Degraded int64
		}
		recalled, err := pg.CollectByName[retrievalRow](ctx, tx, `
			SELECT date_trunc('day', created_at, 'UTC') AS day,
				count(*) AS retrievals,
				count(*) FILTER (WHERE degraded <> '{}') AS degraded
			FROM retrievals
			WHERE tenant = @tenant AND created_at >= @from
			GROUP BY 1`, since)
		if err != nil {
			return err
		}
		for _, r := range recalled {
			if d, ok := place(r.Day); ok {
				d.Retrievals, d.Degraded = r.Retrievals, r.Degraded
			}
		}
		lastDay := pg.Args{"tenant": tenant, "after": at.Add(-MetricsDay)}
		if err := tx.QueryRow(ctx, `
			SELECT coalesce(p[1], 0), coalesce(p[2], 0), coalesce(p[3], 0)
			FROM (
				SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY took_ms) AS p
				FROM retrievals
				WHERE tenant = @tenant AND created_at > @after
			) t`, lastDay).Scan(&out.Recall.P50, &out.Recall.P95, &out.Recall.P99); err != nil {
			return err
		}
		spent, err := pg.CollectByName[TokenSpend](ctx, tx, `
			SELECT l.phase, l.model,
				count(*) AS calls,
				coalesce(sum(l.prompt_tokens), 0)::bigint AS prompt,
				coalesce(sum(l.completion_tokens), 0)::bigint AS completion
			FROM jobs j
			CROSS JOIN LATERAL jsonb_to_recordset(j.log) l(phase text, model text, prompt_tokens bigint,
				completion_tokens bigint)
			WHERE j.tenant = @tenant AND j.state IN ('completed', 'dead') AND j.finished_at > @after AND l.model <> ''
			GROUP BY 1, 2
			ORDER BY 1, 2`, lastDay)
		out.Tokens = append(out.Tokens, spent...)
		return err
	})
	if err != nil {
		return TenantDays{}, fmt.Errorf("measure a tenant's days: %w", err)
	}
	return out, nil
}
