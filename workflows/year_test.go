package workflows_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

var (
	yearSeed   = flag.Uint64("year.seed", 2026, "seed of TestYear")
	yearSweeps = flag.Int("year.sweeps", 2, "days between two decay sweeps of TestYear; make soak has 1")
)

// A year of an agent's life, in the time-skipping environment and on a real Postgres: it puts, ingests, recalls, gives
// feedback, forgets and recovers, changes retention, and has a week without sweeps. Decay sweeps run every other day at
// a random hour, and purges every six hours in two weeks and every third day in the others. Only their times matter,
// which the model knows. The sessions of Postgres and the activities' clock are in a zone with daylight saving time.
// The state of every memory must be exactly what the documents' rules predict (yearModel).
func TestYear(t *testing.T) {
	t.Parallel()
	t.Logf("-year.seed=%d", *yearSeed)
	y := newYear(t, *yearSeed)
	y.plan()
	y.env.ExecuteWorkflow(y.run)
	require.True(t, y.env.IsWorkflowCompleted())
	require.NoError(t, y.env.GetWorkflowError())
	require.Empty(t, strings.Join(y.wrong, "\n"))
	t.Logf("%d memories, %v", len(y.model.order), y.did)
	// The year must include all cases.
	for _, what := range []string{"put", "ingest", "job dead", "recall", "feedback", "feedback too late",
		"feedback corrected", "feedback unchanged", "feedback gone", "forget soft", "forget force", "forget erase",
		"recover recovered", "recover retention_expired", "recover not_found", "policy", "decay sweep", "purge",
		"check"} {
		require.Positive(t, y.did[what], what)
	}
	for _, state := range []string{"live", "tombstone", "archived", "kept for good", "erased", "gone"} {
		require.Positive(t, y.did["found "+state], state)
	}
}

// year is the state of one simulated year.
type year struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	store   *store.Store
	db      *pgx.Conn
	p       schema.Principal
	model   *yearModel
	chance  *rand.Rand
	start   time.Time
	end     time.Time
	events  []yearEvent // ordered by time
	ids     int         // number of child workflows
	names   int         // number of memories
	job     func(context.Context) error
	did     map[string]int
	wrong   []string
	checked bool // by the last event
}

type yearEvent struct {
	at time.Time
	do func(workflow.Context)
}

func newYear(t *testing.T, seed uint64) *year {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	u, err := url.Parse(testkit.DatabaseURL(t))
	require.NoError(t, err)
	q := u.Query()
	q.Set("timezone", zone.String())
	u.RawQuery = q.Encode()

	y := &year{t: t, env: harness.Environment(), store: testkit.OpenStore(t, u.String()),
		db: testkit.Owner(t, u.String()), p: testkit.Principal(),
		model: newYearModel(), chance: rand.New(rand.NewPCG(seed, seed)), did: map[string]int{}}
	y.start = time.Date(2026, 1, 5, 5, 17, 31, 123_457_000, time.UTC)
	y.end = y.start.Add(365*yearDay + 13*time.Hour)
	y.env.SetStartTime(y.start)
	y.env.SetTestTimeout(2 * time.Minute)
	brain := rules.New()
	brain.Extractor = unreadable{brain.Extractor}
	workflows.Register(y.env, workflows.Dependencies{Store: y.store, Brain: brain,
		Index: vector.PGVector{Store: y.store}, Policy: proposals.DefaultWritePolicy(),
		Concurrency: 1, Now: func() time.Time { return y.env.Now().In(zone) }})
	y.env.RegisterActivityWithOptions(func(ctx context.Context) error { return y.job(ctx) },
		activity.RegisterOptions{Name: "step of the year"})
	// There is no Temporal server here whose runs an erasure could delete.
	y.env.OnActivity(forgettingOf.ForgetRuns, mock.Anything, mock.Anything).Return(activities.ForgetRunsResult{},
		nil).Maybe()
	return y
}

// unreadable fails on texts that contain its name.
type unreadable struct{ inference.Extractor }

func (u unreadable) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	if strings.Contains(src.Content, "unreadable") {
		return memory.Extraction{}, inference.Usage{}, errors.New("cannot be read")
	}
	return u.Extractor.Extract(ctx, src)
}

// at plans an event. Events at the same time run in the order of their planning.
func (y *year) at(at time.Time, do func(workflow.Context)) {
	at = at.Truncate(time.Microsecond)
	i, _ := slices.BinarySearchFunc(y.events, at, func(e yearEvent, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	y.events = slices.Insert(y.events, i, yearEvent{at, do})
}

// within returns a random time between two days.
func (y *year) within(from, to float64) time.Time {
	return y.start.Add(time.Duration((from + (to-from)*y.chance.Float64()) * float64(yearDay)))
}

func (y *year) run(ctx workflow.Context) error {
	for len(y.events) > 0 {
		e := y.events[0]
		y.events = y.events[1:]
		if e.at.After(y.end) {
			continue
		}
		if err := workflow.Sleep(ctx, e.at.Sub(workflow.Now(ctx))); err != nil {
			return err
		}
		e.do(ctx)
		if len(y.wrong) > 0 && y.checked { // the other differences would only follow from these
			return nil
		}
		y.checked = false
	}
	return nil
}

// now is the time of the current event.
func (y *year) now() time.Time { return y.env.Now().UTC() }

// must ends the year at an unexpected error.
func (y *year) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (y *year) complain(format string, args ...any) {
	if len(y.wrong) < 60 {
		y.wrong = append(y.wrong, fmt.Sprintf("day %3d, %s: %s", int(y.now().Sub(y.start)/yearDay), yearClock(y.now()),
			fmt.Sprintf(format, args...)))
	}
}

func yearClock(at time.Time) string { return yearTime(&at) }

// step runs code outside of the workflow.
func (y *year) step(ctx workflow.Context, do func(context.Context) error) {
	y.job = do
	y.must(workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}), "step of the year").Get(ctx, nil))
}

func (y *year) child(ctx workflow.Context, fn, in any) workflow.ChildWorkflowFuture {
	y.ids++
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: fmt.Sprintf("year/%s/%d", y.p.Tenant,
		y.ids)})
	return workflow.ExecuteChildWorkflow(ctx, fn, in)
}

func (y *year) operation() schema.Operation {
	return schema.Operation{Principal: y.p, Reason: "so it went"}
}

// plan plans the year.
func (y *year) plan() {
	const outage, back = 101, 109 // days
	for day := 0.0; day < 366; day++ {
		if day >= outage && day < back {
			continue
		}
		if int(day)%*yearSweeps == 0 {
			y.at(y.within(day, day+1), y.decaySweep)
		}
		if week := int(day) / 7; week == 9 || week == 42 { // the change to daylight saving time, and the change back
			for quarter := 0.0; quarter < 1; quarter += 0.25 {
				y.at(y.within(day+quarter, day+quarter+0.02), y.purge)
			}
		} else if int(day)%3 == 0 {
			y.at(y.within(day, day+3), y.purge)
		}
	}
	for i := range 38 {
		y.at(y.within(float64(i)*7, float64(i)*7+7), y.put)
	}
	for i := range 8 {
		y.at(y.within(float64(i)*40, float64(i)*40+40), y.ingest)
	}
	for range 80 {
		y.at(y.within(3, 365), y.recall)
	}
	for range 20 {
		y.at(y.within(10, 350), func(ctx workflow.Context) { y.forget(ctx, schema.ForgetSoft) })
	}
	for range 4 {
		y.at(y.within(30, 350), func(ctx workflow.Context) { y.forget(ctx, schema.ForgetForce) })
		y.at(y.within(30, 350), func(ctx workflow.Context) { y.forget(ctx, schema.ForgetErase) })
	}
	for range 15 { // mostly of hidden memories, and sometimes of others
		y.at(y.within(40, 360), func(ctx workflow.Context) {
			if m := y.one(func(m *yearMemory) bool { return !m.live() || y.chance.IntN(20) == 0 }); m != nil {
				y.recover(ctx, m)
			}
		})
	}
	y.at(y.within(70, 75), func(ctx workflow.Context) { y.putThese(ctx, y.fadingOfAWorld) })
	y.planPolicies()
	for day := 30; day < 365; day += 30 {
		y.at(y.within(float64(day), float64(day+1)), y.check)
	}
	y.at(y.end, y.check)
}

// planPolicies plans changes of retention. None shortens history, because such a run would ask for confirmation.
func (y *year) planPolicies() {
	const day = int64(86_400)
	session := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierSession, Typology: schema.Any,
		KeepSeconds: 10 * day, OnExpiry: schema.ExpiryPurge}
	others := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 45 * day, OnExpiry: schema.ExpiryPurge}
	skills := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierPersistent,
		Typology: schema.TypologyProcedural, KeepSeconds: 40 * day, OnExpiry: schema.ExpiryPurge, DecayExempt: true}
	facts := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.Any, Typology: schema.TypologySemantic,
		KeepSeconds: 20 * day, OnExpiry: schema.ExpiryArchive}
	worlds := schema.RetentionPolicy{Domain: schema.RetainWorld, Tier: schema.Any, Typology: schema.Any, KeepSeconds: 0,
		OnExpiry: schema.ExpiryArchive}
	// A policy may purge memories of a world after deletion; decayed ones are archived nevertheless.
	episodes := schema.RetentionPolicy{Domain: schema.RetainWorld, Tier: schema.TierSession,
		Typology: schema.TypologyEpisodic, KeepSeconds: 15 * day, OnExpiry: schema.ExpiryPurge}
	jobs := schema.RetentionPolicy{Domain: schema.RetainJobsCompleted, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 40 * day, OnExpiry: schema.ExpiryPurge}
	retrievals := schema.RetentionPolicy{Domain: schema.RetainRetrievals, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 12 * day, OnExpiry: schema.ExpiryPurge}
	history := schema.RetentionPolicy{Domain: schema.RetainHistory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 210 * day, OnExpiry: schema.ExpiryPurge}
	for _, c := range []struct {
		policy     schema.RetentionPolicy
		from, till float64 // days; 0: for the rest of the year
	}{{session, 140, 0}, {others, 160, 320}, {skills, 90, 250}, {facts, 220, 300}, {worlds, 170, 290},
		{episodes, 60, 280}, {jobs, 150, 240}, {retrievals, 180, 270}, {history, 255, 0}} {
		p := c.policy
		y.at(y.within(c.from, c.from+5), func(ctx workflow.Context) { y.setPolicy(ctx, p, false) })
		if c.till > 0 {
			y.at(y.within(c.till, c.till+5), func(ctx workflow.Context) { y.setPolicy(ctx, p, true) })
		}
	}
}

func (y *year) setPolicy(ctx workflow.Context, p schema.RetentionPolicy, reset bool) {
	now := y.now()
	class := yearPolicy{domain: string(p.Domain), tier: string(p.Tier), typology: string(p.Typology),
		keep:     time.Duration(p.KeepSeconds) * time.Second,
		archives: p.OnExpiry == schema.ExpiryArchive, exempt: p.DecayExempt}
	if reset {
		y.step(ctx, func(ctx context.Context) error {
			return y.store.ResetRetention(ctx, y.p.Tenant, p, "operator", "no longer", now)
		})
		y.model.set(class, nil, now)
	} else {
		p.UpdatedBy, p.Reason = "operator", "from now on"
		y.step(ctx, func(ctx context.Context) error {
			_, err := y.store.SetRetention(ctx, y.p.Tenant, p, &p.OnExpiry, &p.DecayExempt, now)
			return err
		})
		y.model.set(class, &class, now)
	}
	y.did["policy"]++
}

func (y *year) decaySweep(ctx workflow.Context) {
	now := y.now()
	in := api.SweepInput{BatchSize: 1 + y.chance.IntN(5)}
	if y.chance.IntN(2) == 0 {
		in.Tenant = y.p.Tenant
	}
	var out api.SweepResult
	y.must(y.child(ctx, workflows.DecaySweep, in).Get(ctx, &out))
	if len(out.Held) > 0 {
		y.complain("the sweep asks")
	}
	y.model.decaySweep(now)
	y.did["decay sweep"]++
}

func (y *year) purge(ctx workflow.Context) {
	now := y.now()
	var out api.SweepResult
	y.must(y.child(ctx, workflows.RetentionPurge, api.SweepInput{BatchSize: 1 + y.chance.IntN(20)}).Get(ctx, &out))
	if len(out.Held) > 0 {
		y.complain("the purge asks")
	}
	y.model.purge(now)
	y.did["purge"]++
}

// around purges and checks, for the first few of a kind, just before and just after the retention is over.
func (y *year) around(what string, began time.Time, domain schema.RetentionDomain) {
	if y.did[what] >= 2 {
		return
	}
	over := began.Add(y.model.policy(domain, schema.Any, schema.Any).keep)
	for _, at := range []time.Time{over.Add(-30 * time.Minute), over.Add(30 * time.Minute)} {
		y.at(at, y.purge)
		y.at(at, y.check)
	}
}

// one returns a random memory.
func (y *year) one(holds func(*yearMemory) bool) *yearMemory {
	if some := y.model.pick(holds); len(some) > 0 {
		return some[y.chance.IntN(len(some))]
	}
	return nil
}

// name returns a word that no other memory contains.
func (y *year) name() string {
	y.names++
	return fmt.Sprintf("quark%03d", y.names)
}
