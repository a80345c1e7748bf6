package doctor

import (
	"context"
	"time"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
)

// sessionsIdle: a session closes after at most api.MaxIdleSeconds without an event, if its workflow runs. A day more is
// for an outage of the workers.
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
		return warn("Their workflows are gone, as after they were terminated. `mneme session list --open "+
			"--every-agent --tenant T` "+
			"names them, `mneme session close SESSION --agent A --tenant T` closes one; an event would start it again.",
			"%d are open, the oldest has had no event for %s", ledger.OpenSessions, app.Span(idle)), nil
	}
	return fine("%d are open, the oldest has had no event for %s", ledger.OpenSessions, app.Span(idle)), nil
}

// eventPartitions: the purge makes the partitions of the months to come.
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
