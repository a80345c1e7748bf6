package doctor

import (
	"cmp"
	"context"
	"time"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/store/learning"
)

// sessionsIdle looks for sessions that should have closed. A session closes after at most api.MaxIdleSeconds without an
// event, if its workflow runs. Another day allows for an outage of the workers.
func (d *Doctor) sessionsIdle(ctx context.Context) (verdict, error) {
	ledger, err := d.Store.LedgerState(ctx)
	if err != nil {
		return verdict{}, err
	}
	if ledger.Oldest == nil {
		return fine("none is open"), nil
	}
	idle := d.Now().Sub(*ledger.Oldest)
	if idle > api.MaxIdleSeconds*time.Second+24*time.Hour {
		return warn("Their workflows no longer exist, perhaps because they were terminated. `mneme session list --open "+
			"--every-agent --all-scopes --tenant T` names them, `mneme session close SESSION --agent A --tenant T` (with "+
			"`--user U` for one of a user) closes one; a new event restarts it.",
			"%d are open, the oldest has had no event for %s", ledger.OpenSessions, app.Span(idle)), nil
	}
	return fine("%d are open, the oldest has had no event for %s", ledger.OpenSessions, app.Span(idle)), nil
}

// evidenceOverdue is how long a scope may wait with enough new evidence: two intervals of the schedule that
// consolidates scopes that did not start by themselves, and the time of a run.
const evidenceOverdue = 3 * time.Hour

// evidenceWaiting looks for scopes that should have been consolidated. A scope with enough new evidence is consolidated
// when it is quiet or, at the latest, by the schedule.
func (d *Doctor) evidenceWaiting(ctx context.Context) (verdict, error) {
	rule := due.Rule{Least: cmp.Or(d.A.Cfg.Due.Least, due.DefaultRule().Least), Quiet: d.A.Cfg.Due.Quiet}
	late, rest, err := d.withCount(ctx, func(ctx context.Context, tenant string) (int, error) {
		page, err := d.Store.Learning.Scopes(ctx, learning.Scope{Tenant: tenant}, true, 1, doctorCounts)
		if err != nil {
			return 0, err
		}
		n := 0
		for _, scope := range page.Due {
			pending, err := d.Store.Learning.Pending(ctx, scope, rule, d.Now())
			if err != nil {
				return n, err
			}
			if pending.Enough && d.Now().Sub(pending.DueAt) > evidenceOverdue {
				n++
			}
		}
		return n, nil
	}, " scopes")
	if err != nil {
		return verdict{}, err
	}
	if len(late) > 0 {
		return warn("`mneme schedules list` says whether `consolidation` runs; the runs "+
			"consolidate-when-quiet/… and consolidate/… in the UI say what failed.",
			"enough new evidence has waited for more than %s, such as %s", app.Span(evidenceOverdue), listed(late)), nil
	}
	return fine("no scope has waited for more than %s%s", app.Span(evidenceOverdue), rest), nil
}

// eventPartitions checks that the ledger has partitions for the coming months, which the purge creates.
func (d *Doctor) eventPartitions(ctx context.Context) (verdict, error) {
	ledger, err := d.Store.LedgerState(ctx)
	if err != nil {
		return verdict{}, err
	}
	if ledger.Unplaced {
		return warn("The retention purge makes the partitions of the next months: `mneme schedules list` says "+
			"whether it runs. "+
			"Old events in events_rest are purged row by row.",
			"there are events outside the monthly partitions (events_rest)"), nil
	}
	return fine("about %d events, all in monthly partitions", ledger.Events), nil
}
