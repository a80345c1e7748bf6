package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func (d *Doctor) jobsWaiting(ctx context.Context) (verdict, error) {
	queue, err := d.Store.JobQueue(ctx)
	if err != nil {
		return verdict{}, err
	}
	if queue.Oldest == nil {
		return fine("none waits"), nil
	}
	waited, most := d.Now().Sub(*queue.Oldest), d.A.Cfg.ReadyJobAge
	if most > 0 && waited > most {
		return fail("`mneme jobs show ID --tenant T` names its run: look at it "+
			"in the UI; usually the model endpoint fails or throttles.",
			"%d wait, the oldest for %s, longer than MNEME_READY_JOB_AGE (%s)%s", queue.Waiting,
			app.Span(waited), app.Span(most), d.someJobs(ctx, most)), nil
	}
	return fine("%d wait, the oldest for %s", queue.Waiting, app.Span(waited)), nil
}

// someJobs names a few jobs that have waited for longer than the given time, among those that it reads.
func (d *Doctor) someJobs(ctx context.Context, most time.Duration) string {
	const few = 3
	var names []string
	_, _, err := d.eachTenant(ctx, func(ctx context.Context, tenant string) error {
		jobs, err := d.Store.OpenJobs(ctx, tenant, d.Now().Add(-most), few-len(names))
		for _, job := range jobs {
			names = append(names, fmt.Sprintf("%s of tenant %s", job.ID, tenant))
		}
		if len(names) == few {
			return errEnough
		}
		return err
	})
	if len(names) == 0 || err != nil && !errors.Is(err, errEnough) {
		return ""
	}
	return ", such as " + listed(names)
}

// errEnough ends a scan of tenants.
var errEnough = errors.New("enough")

func (d *Doctor) jobsDead(ctx context.Context) (verdict, error) {
	queue, err := d.Store.JobQueue(ctx)
	if err != nil {
		return verdict{}, err
	}
	if queue.Dead > 0 {
		return warn(
			fmt.Sprintf("`mneme jobs list --state dead --tenant T` says why; `mneme jobs retry ID --tenant "+
				"T` replays one, and `--all` every one of the tenant. After %s they are purged.",
				days(lifecycle.DeadJobsWindow)),
			"%d jobs are dead%s", queue.Dead, d.whose(ctx, func(ctx context.Context, tenant string) (int, error) {
				dead, err := d.Store.Jobs(ctx, tenant, pipeline.JobFilter{State: schema.JobDead, Limit: doctorCounts})
				return len(dead), err
			}, "")), nil
	}
	return fine("none"), nil
}

// doctorCounts is the limit of a count for a tenant. An operator needs the tenant and the order of magnitude.
const doctorCounts = 100

// whose names a few tenants with a count above 0, and the count, because a sum over all tenants does not show where the
// problem is. It reads tenants until its time is up. Without names it may say how far it came.
func (d *Doctor) whose(ctx context.Context, count func(context.Context, string) (int, error), what string) string {
	names, rest, _ := d.withCount(ctx, count, what) // the caller knows already that there is a problem
	if len(names) > 0 {
		return ", such as " + listed(names)
	}
	return rest
}

// withCount describes a few tenants with a count above 0. If there is none, rest says so if it has not read them all,
// and err says why it could not read them.
func (d *Doctor) withCount(ctx context.Context, count func(context.Context, string) (int, error),
	what string) (names []string, rest string, err error) {
	const few = 3
	checked, more, err := d.eachTenant(ctx, func(ctx context.Context, tenant string) error {
		n, err := count(ctx, tenant)
		if err != nil || n == 0 {
			return err
		}
		atLeast := ""
		if n == doctorCounts {
			atLeast = "at least "
		}
		if names = append(names, fmt.Sprintf("%s%d%s of tenant %s", atLeast, n, what, tenant)); len(names) == few {
			return errEnough
		}
		return nil
	})
	switch {
	case len(names) > 0: // even if the time was up after them
		return names, "", nil
	case err == nil && more:
		return nil, fmt.Sprintf(", none of them of the first %d tenants by name", checked), nil
	}
	return nil, "", err
}

// JobsOrphaned looks for open jobs without a run: the run was terminated, or its namespace is lost.
func (d *Doctor) JobsOrphaned(ctx context.Context) (verdict, error) {
	queue, err := d.Store.JobQueue(ctx)
	if err != nil {
		return verdict{}, err
	}
	if queue.Waiting == 0 || d.Now().Sub(*queue.Oldest) < operate.JobGrace {
		return fine("none"), nil
	}
	const perTenant, few = 200, 3
	limited, cancel := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok { // report the results by then
		limited, cancel = context.WithTimeout(ctx, time.Until(deadline)*4/5)
	}
	defer cancel()
	runs, seen, orphans, names := map[string]bool{}, 0, 0, []string(nil)
	checked, more, err := d.eachTenant(limited, func(ctx context.Context, tenant string) error {
		jobs, err := d.Store.OpenJobs(ctx, tenant, d.Now().Add(-operate.JobGrace), perTenant)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			run, asked := runs[tenant+"\x00"+job.WorkflowID]
			if !asked {
				if run, err = operate.RunsStill(ctx, d.Client, job.WorkflowID); err != nil {
					return err
				}
				runs[tenant+"\x00"+job.WorkflowID] = run
			}
			if !run { // a replayed job has another run
				if run, err = operate.RunsStill(ctx, d.Client,
					api.ResumeWorkflowID(tenant, job.ID.String())); err != nil {
					return err
				}
			}
			if seen++; !run {
				if orphans++; len(names) < few {
					names = append(names, fmt.Sprintf("%s of tenant %s", job.ID, tenant))
				}
			}
		}
		return nil
	})
	if err != nil && (seen == 0 || limited.Err() == nil || ctx.Err() != nil) {
		return verdict{}, err
	}
	among := ofTenants(checked, more)
	if err != nil { // the time was up
		among = fmt.Sprintf(" (of the first %d open jobs)", seen)
	}
	if orphans > 0 {
		return fail("`mneme jobs retry ID --tenant T` replays one, and `mneme jobs show ID "+
			"--tenant T` shows its progress. Its run was terminated, or was in another namespace.",
			"%d open jobs have no run%s, such as %s", orphans, among, listed(names)), nil
	}
	return fine("none%s", among), nil
}

// eachTenant visits tenants by name until none is left, the bound is reached or the time is nearly up, and returns
// how many it has checked.
func (d *Doctor) eachTenant(
	ctx context.Context,
	fn func(context.Context, string) error,
) (checked int, more bool, err error) {
	const page = 100
	after := ""
	for {
		tenants, err := d.Store.Tenants(ctx, after, page)
		if err != nil {
			return checked, false, err
		}
		for _, tenant := range tenants {
			if deadline, ok := ctx.Deadline(); checked >= doctorTenants ||
				ok && time.Until(deadline) < checkTimeout/5 {
				return checked, true, nil
			}
			if err := fn(ctx, tenant); err != nil {
				return checked, false, err
			}
			checked, after = checked+1, tenant
		}
		if len(tenants) < page {
			return checked, false, nil
		}
	}
}

// ofTenants returns a note if not all tenants were checked.
func ofTenants(checked int, more bool) string {
	if more {
		return fmt.Sprintf(" (of the first %d tenants by name)", checked)
	}
	return ""
}

// overdueIntervals is the number of intervals after which due memories should have been swept.
const overdueIntervals = 2

// decayOverdue looks for tenants with memories that were due long ago, judging by the interval of the schedule. A
// tenant with an open question is skipped: a sweep removes nothing before the answer, and sweep_holds reports it. A
// tenant whose question was answered is listed for the next sweep, so the age of its due memories is read for each.
func (d *Doctor) decayOverdue(ctx context.Context) (verdict, error) {
	every := time.Hour
	for _, s := range d.Specs {
		if s.Name == mneme.ScheduleDecay {
			every = s.Every
		}
	}
	for _, s := range d.scheduled { // its current state, if it could be read
		if s.Name == mneme.ScheduleDecay && !s.Missing {
			every = s.Every
		}
	}
	if every == 0 {
		return verdict{Status: CheckSkipped, Found: "decay runs by a calendar: no limit for the delay can be derived"},
			nil
	}
	holds, err := d.Store.SweepHolds(ctx)
	if err != nil {
		return verdict{}, err
	}
	held := map[string]bool{}
	for _, h := range holds {
		held[h.Tenant] = held[h.Tenant] || h.Sweep == schema.SweepDecay
	}
	before := d.Now().Add(-overdueIntervals * every)
	named, err := d.Store.DecayTenants(ctx, "", doctorTenants, before)
	if err != nil {
		return verdict{}, err
	}
	var late []string
	atLeast := ""
	if len(named) == doctorTenants {
		atLeast = "at least "
	}
	for _, tenant := range named {
		if held[tenant] {
			continue
		}
		if deadline, ok := ctx.Deadline(); len(late) > 0 && ok && time.Until(deadline) < checkTimeout/5 {
			atLeast = "at least "
			break
		}
		outlook, err := d.Store.DecayOutlook(ctx, tenant, before)
		if err != nil {
			return verdict{}, err
		}
		if outlook.Due > 0 {
			late = append(late, tenant)
		}
	}
	if len(late) > 0 {
		return warn("`mneme schedules list` says whether decay runs; `mneme schedules trigger "+
			"decay` runs it now. If it runs and they remain, an open job may hold them: see jobs_orphaned.",
			"memories of %s%d tenants have been due for more than %s, such as %s", atLeast,
			len(late), app.Span(overdueIntervals*every), late[0]), nil
	}
	return fine("nothing has been due for more than %s", app.Span(overdueIntervals*every)), nil
}

func (d *Doctor) sweepHolds(ctx context.Context) (verdict, error) {
	holds, err := d.Store.SweepHolds(ctx)
	if err != nil {
		return verdict{}, err
	}
	if len(holds) == 0 {
		return fine("none waits for an answer"), nil
	}
	h := holds[0]
	return warn("`mneme sweeps` lists them: fix the cause, or admit them with `mneme "+
		"sweeps admit SWEEP --tenant T --up-to N --reason …`.",
		"%d sweeps wait for an answer: %s of tenant %s would remove %d of %d", len(holds), h.Sweep,
		h.Tenant, h.WouldTake, h.Stored), nil
}

// retentionWindows looks for policies that purge a deleted memory before the documented end of its recovery window
// (document 002 "Soft-Delete and Recovery").
func (d *Doctor) retentionWindows(ctx context.Context) (verdict, error) {
	var short []string
	checked, more, err := d.eachTenant(ctx, func(ctx context.Context, tenant string) error {
		rules, err := d.Store.RetentionPolicies(ctx, tenant)
		if err != nil {
			return err
		}
		for _, p := range rules {
			keep := time.Duration(p.KeepSeconds) * time.Second
			if !p.Default && p.Domain.OfMemories() && p.OnExpiry == schema.ExpiryPurge && keep > 0 &&
				keep < revision.RecoveryWindow {
				short = append(short, fmt.Sprintf("%s: %s, tier %s, typology %s after %s", tenant,
					p.Domain, p.Tier, p.Typology, days(keep)))
			}
		}
		return nil
	})
	if err != nil {
		return verdict{}, err
	}
	if len(short) > 0 {
		return warn("`mneme retention set` with a longer window, or `reset`, unless it is meant: "+
			"a purge cannot be undone.",
			"deleted memories are removed before the recovery window of %s ends%s: %s", days(revision.RecoveryWindow),
			ofTenants(checked, more), listed(short)), nil
	}
	return fine("nothing is purged within the %s of recovery%s", days(revision.RecoveryWindow),
		ofTenants(checked, more)), nil
}
