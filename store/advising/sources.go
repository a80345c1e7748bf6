package advising

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// figures says where the outcomes of a memory are kept.
type figures struct {
	table string          // empty for an episode, which has only reports
	base  *evidence.Stats // without the reports that are not based; nil if the outcomes include all
}

// counting is a report that is counted.
type counting struct {
	pgx.Tx
	tenant string
	advice uuid.UUID
	report advice.Report
	now    time.Time
}

// save stores the effect of the report on a memory. If others follow the memory, its outcomes are counted again from
// all reports. It returns why the outcome counts only in the reporter's own advice, or "".
func (c counting) save(ctx context.Context, m advice.Candidate, change advice.Change, of figures) (
	held schema.ReportHeld, err error) {
	if m.Shared || m.Foreign {
		if held, err = c.recount(ctx, m, &change, &of); err != nil {
			return "", err
		}
	}
	sql := saveSQL[of.table]
	if sql == "" {
		return held, nil
	}
	stats, err := json.Marshal(change.Stats)
	if err != nil {
		return "", err
	}
	base, err := json.Marshal(of.base)
	if err != nil {
		return "", err
	}
	_, err = c.Exec(ctx, sql, pg.Args{"stats": string(stats), "base": string(base), "now": c.now, "tenant": c.tenant,
		"id": change.ID})
	return held, err
}

// reportRow is a stored report.
type reportRow struct {
	AdviceID uuid.UUID
	Used     string
	Outcome  evidence.Outcome
}

// recount counts the reports on a memory that others follow, by evidence.Reports.
func (c counting) recount(ctx context.Context, m advice.Candidate, change *advice.Change, of *figures) (
	schema.ReportHeld, error) {
	if of.table != "" && of.base == nil { // all reports until now are in the figures
		before := m.Stats.Clone()
		of.base = &before
		if _, err := c.Exec(ctx, `
			UPDATE outcome_reports
			SET based = true
			WHERE tenant = @tenant AND memory_id = @memory AND (advice_id, used) <> (@advice, @used)`,
			pg.Args{"tenant": c.tenant, "memory": m.ID, "advice": c.advice, "used": c.report.Used}); err != nil {
			return "", err
		}
	}
	rows, err := pg.CollectByName[reportRow](ctx, c.Tx, `
		SELECT o.advice_id, o.used, `+reportedJSON+` AS outcome
		FROM `+reportsOf("x.memory_id = @memory::uuid")+` o
		ORDER BY o.at, o.advice_id, o.used`, pg.Args{"memory": m.ID, "newest": newestReports})
	if err != nil {
		return "", err
	}
	reports := evidence.Reports{Shared: m.Shared}
	for _, row := range rows {
		reports.List = append(reports.List, row.Outcome)
	}
	if of.table != "" {
		reports = reports.On(*of.base)
	}
	counts := reports.Public()
	if of.table != "" {
		change.Stats = reports.Counted(counts)
		// A result that another one has replaced has no weight, but stays in the counts.
		all := &change.Stats.All
		all.Successes, all.Failures = max(all.Successes, m.Stats.All.Successes), max(all.Failures, m.Stats.All.Failures)
	}
	i := slices.IndexFunc(rows, func(row reportRow) bool {
		return row.AdviceID == c.advice && row.Used == c.report.Used
	})
	switch {
	case i < 0 || counts[i]:
		return "", nil
	case reports.Repeats(i):
		return schema.HeldRepeated, nil
	}
	return schema.HeldOneSource, nil
}
