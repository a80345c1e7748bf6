package operate

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
)

// TenantStats is the output of `stats`.
type TenantStats struct {
	Tenant string    `json:"tenant"`
	At     time.Time `json:"at"`

	Live        int64                       `json:"live"`
	ByType      map[schema.MemoryType]int64 `json:"by_type"`
	Contested   int64                       `json:"contested"`
	Salience    []salienceBucket            `json:"salience"`
	MeanWorth   float64                     `json:"mean_salience"`
	Retrievals  admin.Spans                 `json:"retrievals"`
	Judged      admin.Spans                 `json:"judged_retrievals"`
	Useful      admin.Spans                 `json:"useful_retrievals"`
	Verdicts    map[string]admin.Spans      `json:"verdicts"`
	Procedures  []procedureStats            `json:"procedures"`
	Contests    int64                       `json:"contradictions_1d"`
	Revisions   int64                       `json:"revisions_1d"`
	ToReview    int64                       `json:"proposals_to_review"`
	Disputed    int64                       `json:"proposals_that_contradict"`
	Due         int64                       `json:"decay_due"`
	OldestDue   *time.Time                  `json:"decay_due_since,omitempty"`
	Swept       map[string]map[string]int64 `json:"swept_1d"` // by sweep and outcome
	DeadJobs    int64                       `json:"dead_jobs"`
	Recall      admin.RecallLatency         `json:"recall"`
	Tokens      []admin.TokenSpend          `json:"tokens_1d"`
	Days        []admin.DayMetrics          `json:"days"`
	WholeSystem admin.SystemMetrics         `json:"system"`
}

// salienceBucket is the number of live memories whose current salience is above From and at most To.
type salienceBucket struct {
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Memories int64   `json:"memories"`
}

// procedureStats are the outcomes of procedures or plans.
type procedureStats struct {
	Type      schema.MemoryType `json:"type"`
	Reused    int64             `json:"retrievals_1d"` // retrievals that returned one
	Successes admin.Spans       `json:"successes"`
	Failures  admin.Spans       `json:"failures"`
}

// NewStats returns the command that shows the statistics of a tenant.
func NewStats(a *app.App) *cobra.Command {
	var plain bool
	days := 14
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show statistics of a tenant's memory: growth, value, usefulness, contradictions, decay",
		Long: `Show statistics of a tenant's memory: the numbers that workers give Prometheus for it
(docs/operations.md), with the last days as charts. For more than 2,000 live memories, types and
salience are estimated from a sample.

Contradictions and revisions count each operation once, no matter how many memories it changes. "created" counts the
memories created, "gone" those deleted, archived or erased. Neither counts superseded, merged and retracted memories, so
their difference is not the growth of the live memories.

Days are UTC. Charts need a terminal; without one, with --plain or with NO_COLOR set only numbers are printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > admin.MaxMetricsDays {
				return app.Invalid("days", "must be between 1 and %d", admin.MaxMetricsDays)
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			now, tenant := time.Now().UTC(), a.Cfg.Principal.Tenant
			m, err := st.TenantMetrics(ctx, tenant, now)
			if err != nil {
				return err
			}
			series, err := st.TenantDays(ctx, tenant, days, now)
			if err != nil {
				return err
			}
			whole, err := st.SystemMetrics(ctx)
			if err != nil {
				return err
			}
			s := StatsOf(tenant, now, m, series, whole)
			draw := !plain && os.Getenv("NO_COLOR") == "" && app.Columns(a.Out) > 0
			return a.Print(s, func(t *app.Text) { s.Text(t, Charts{draw}) })
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "no charts")
	cmd.Flags().IntVar(&days, "days", days, fmt.Sprintf("days of the charts, up to %d", admin.MaxMetricsDays))
	return cmd
}

// StatsOf combines the metrics of a tenant, of its last days and of the whole system.
func StatsOf(
	tenant string,
	at time.Time,
	m admin.TenantMetrics,
	series admin.TenantDays,
	whole admin.SystemMetrics,
) TenantStats {
	s := TenantStats{Tenant: tenant, At: at, Live: m.Live, ByType: m.ByType, Contested: m.Contested,
		Retrievals: m.Retrievals, Judged: m.Judged,
		Useful: m.Useful, Verdicts: m.Verdicts, Contests: m.Revisions[schema.AuditContest],
		Revisions: revisions(m.Revisions), ToReview: m.ToReview,
		Disputed: m.Disputed, Due: m.Due, OldestDue: m.OldestDue, Swept: map[string]map[string]int64{},
		DeadJobs: m.DeadJobs, Recall: series.Recall,
		Tokens: series.Tokens, Days: series.Days, WholeSystem: whole}
	for i, n := range m.Salience {
		s.Salience = append(s.Salience, salienceBucket{From: float64(i) / admin.SalienceBuckets,
			To: float64(i+1) / admin.SalienceBuckets, Memories: n})
	}
	if m.Live > 0 {
		s.MeanWorth = m.SalienceSum / float64(m.Live)
	}
	for _, t := range []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph} {
		s.Procedures = append(s.Procedures, procedureStats{Type: t, Reused: m.Reused[t].Day,
			Successes: m.Outcomes[admin.ProcedureOutcome{Type: t, Outcome: "success"}],
			Failures:  m.Outcomes[admin.ProcedureOutcome{Type: t, Outcome: "failure"}]})
	}
	for of, n := range m.Swept {
		if s.Swept[of.Sweep] == nil {
			s.Swept[of.Sweep] = map[string]int64{}
		}
		s.Swept[of.Sweep][of.Done] = n
	}
	return s
}

// revisions counts the operations that change a known fact (document 004 §7). A contest is counted as a contradiction
// instead.
func revisions(of map[schema.AuditAction]int64) int64 {
	return of[schema.AuditRevise] + of[schema.AuditFork] + of[schema.AuditMerge] + of[schema.AuditRetract] +
		of[schema.AuditResolve]
}

// gone counts the changes after which a memory is no longer recalled.
func gone(changes map[schema.AuditAction]int64) int64 {
	return changes[schema.AuditDelete] + changes[schema.AuditArchive] + changes[schema.AuditErase]
}

// Text prints the statistics for people.
func (s TenantStats) Text(t *app.Text, c Charts) {
	days := func(of func(admin.DayMetrics) int64) string {
		values := make([]int64, len(s.Days))
		for i, d := range s.Days {
			values[i] = of(d)
		}
		return c.Line(values)
	}
	change := func(action schema.AuditAction) func(admin.DayMetrics) int64 {
		return func(d admin.DayMetrics) int64 { return d.Changes[action] }
	}
	today := s.Days[len(s.Days)-1]
	t.Fields("tenant", s.Tenant, "at", app.When(s.At), "live memories",
		fmt.Sprintf("%d: %s", s.Live, app.Counts(s.ByType)))
	t.Line("")
	t.Table(strings.TrimSpace("MEASURE TODAY 24H 7D "+c.header(len(s.Days))), trim(c.Drawn, [][]string{
		{"created", fmt.Sprint(today.Changes[schema.AuditCreate]), "", "", days(change(schema.AuditCreate))},
		{"gone", fmt.Sprint(gone(today.Changes)), "", "",
			days(func(d admin.DayMetrics) int64 { return gone(d.Changes) })},
		{"recalls", fmt.Sprint(today.Retrievals), fmt.Sprint(s.Retrievals.Day), fmt.Sprint(s.Retrievals.Week),
			days(func(d admin.DayMetrics) int64 { return d.Retrievals })},
		{"degraded", fmt.Sprint(today.Degraded), "", "", days(func(d admin.DayMetrics) int64 { return d.Degraded })},
		{"judged", "", fmt.Sprint(s.Judged.Day), fmt.Sprint(s.Judged.Week), ""},
		{"useful", "", share(s.Useful.Day, s.Judged.Day), share(s.Useful.Week, s.Judged.Week), ""},
		{"contradictions", fmt.Sprint(today.Revisions[schema.AuditContest]), fmt.Sprint(s.Contests),
			"", days(func(d admin.DayMetrics) int64 { return d.Revisions[schema.AuditContest] })},
		{"revisions", fmt.Sprint(revisions(today.Revisions)), fmt.Sprint(s.Revisions), "",
			days(func(d admin.DayMetrics) int64 { return revisions(d.Revisions) })},
		{"reinforced", fmt.Sprint(today.Changes[schema.AuditReinforce]), "", "", days(change(schema.AuditReinforce))},
		{"penalised", fmt.Sprint(today.Changes[schema.AuditPenalise]), "", "", days(change(schema.AuditPenalise))},
	}))
	t.Line("")
	rows := make([][]string, 0, len(s.Procedures))
	for _, p := range s.Procedures {
		rows = append(rows, []string{string(p.Type), fmt.Sprint(p.Reused),
			share(p.Successes.Day, p.Successes.Day+p.Failures.Day),
			share(p.Successes.Week, p.Successes.Week+p.Failures.Week)})
	}
	t.Table("PROCEDURES RECALLED_24H SUCCESS_24H SUCCESS_7D", rows)
	t.Line("")
	rows = rows[:0]
	most := int64(0)
	for _, b := range s.Salience {
		most = max(most, b.Memories)
	}
	for _, b := range s.Salience {
		rows = append(rows, []string{fmt.Sprintf("%.1f-%.1f", b.From, b.To), fmt.Sprint(b.Memories),
			c.Bar(b.Memories, most)})
	}
	t.Table(strings.TrimSpace("SALIENCE MEMORIES "+c.title("SHARE")), rows)
	t.Line("")
	due := "nothing"
	if s.Due > 0 {
		due = fmt.Sprintf("%d, the first since %s", s.Due, app.WhenSet(s.OldestDue))
	}
	if s.Due >= admin.MaxDueCounted {
		due = fmt.Sprintf("%d or more, the first since %s", s.Due, app.WhenSet(s.OldestDue))
	}
	t.Fields(
		"mean salience", app.Number(s.MeanWorth),
		"contested", fmt.Sprint(s.Contested),
		"to review", fmt.Sprintf("%d (%d contradict what is known)", s.ToReview, s.Disputed),
		"due to decay", due,
		"decay, 24 h", app.Counts(s.Swept["decay"]),
		"retention, 24 h", app.Counts(s.Swept["retention"]),
		"recall, 24 h", fmt.Sprintf("p50 %.1f ms, p95 %.1f ms, p99 %.1f ms", s.Recall.P50, s.Recall.P95, s.Recall.P99),
		"tokens, 24 h", spent(s.Tokens),
		"dead jobs", fmt.Sprint(s.DeadJobs),
		"all tenants", fmt.Sprintf("%d jobs wait (oldest %s), %d are dead; %d changes to index (oldest %s)",
			s.WholeSystem.Jobs.Waiting, orNone(s.WholeSystem.Jobs.Oldest),
			s.WholeSystem.Jobs.Dead, s.WholeSystem.Index.Pending, orNone(s.WholeSystem.Index.Oldest)),
	)
}

func orNone(at *time.Time) string {
	if at == nil {
		return "none"
	}
	return app.When(*at)
}

// share formats a part, its whole, and the percentage.
func share(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%% (%d/%d)", 100*float64(part)/float64(whole), part, whole)
}

func spent(tokens []admin.TokenSpend) string {
	if len(tokens) == 0 {
		return "none"
	}
	parts := make([]string, len(tokens))
	for i, u := range tokens {
		parts[i] = fmt.Sprintf("%s by %s: %d in, %d out", u.Phase, u.Model, u.Prompt, u.Completion)
	}
	return strings.Join(parts, "; ")
}

// trim removes the last column if nothing is drawn.
func trim(drawn bool, rows [][]string) [][]string {
	if drawn {
		return rows
	}
	for i, row := range rows {
		rows[i] = row[:len(row)-1]
	}
	return rows
}

// Charts draws numbers in block characters, or not at all.
type Charts struct{ Drawn bool }

const BarWidth = 30

func (c Charts) title(s string) string {
	if !c.Drawn {
		return ""
	}
	return s
}

func (c Charts) header(days int) string { return c.title(fmt.Sprintf("%d_DAYS", days)) }

// Line draws values in one line: a dot for 0, the tallest block for the largest.
func (c Charts) Line(values []int64) string {
	if !c.Drawn {
		return ""
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	most := int64(0)
	for _, v := range values {
		most = max(most, v)
	}
	out := make([]rune, len(values))
	for i, v := range values {
		out[i] = '·'
		if v > 0 {
			out[i] = blocks[(v*int64(len(blocks))-1)/most]
		}
	}
	return string(out)
}

// Bar draws a value as a share of the largest, to an eighth of a character.
func (c Charts) Bar(value, most int64) string {
	if !c.Drawn || most == 0 {
		return ""
	}
	eighths := int(float64(value) / float64(most) * BarWidth * 8)
	out := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		out += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return out
}
