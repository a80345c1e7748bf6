package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
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

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	y := &year{t: t, env: suite.NewTestWorkflowEnvironment(), store: testkit.OpenStore(t, u.String()),
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

// put puts one to three records.
func (y *year) put(ctx workflow.Context) {
	y.putThese(ctx, slices.Repeat([]func(time.Time) (map[string]any, *yearMemory){y.invent}, 1+y.chance.IntN(3))...)
}

func (y *year) putThese(ctx workflow.Context, records ...func(time.Time) (map[string]any, *yearMemory)) {
	now := y.now()
	req := schema.PutRequest{Operation: y.operation()}
	var made []*yearMemory
	for _, invent := range records {
		record, m := invent(now)
		encoded, err := json.Marshal(record)
		y.must(err)
		var r schema.MemoryRecord
		y.must(json.Unmarshal(encoded, &r))
		req.Records = append(req.Records, r)
		made = append(made, m)
	}
	var out schema.PutResult
	y.must(y.child(ctx, workflows.Put, req).Get(ctx, &out))
	for i, m := range made {
		if out.Items[i].Status != schema.PutCreated {
			y.must(fmt.Errorf("put of %s: %s %s", m.name, out.Items[i].Status, out.Items[i].Problem))
		}
		m.id = out.Items[i].ID
		m.note("create", now)
		y.model.add(m)
	}
	y.step(ctx, y.learnMentions)
	y.around("put", now, schema.RetainHistory)
	y.did["put"]++
}

// ingest runs the pipeline on two texts. The model adopts the resulting memories as they are; one text in six cannot be
// read.
func (y *year) ingest(ctx workflow.Context) {
	person, other := y.name(), y.name()
	texts := []string{person + " uses Postgres. " + person + " works at Corvex.",
		other + " likes Corvex. " + other + " speaks Danish."}
	if y.chance.IntN(3) == 0 {
		texts[1] += " The rest is unreadable."
	}
	var out api.IngestResult
	y.must(y.child(ctx, workflows.Ingest, testkit.Request(y.p, schema.SourceMemory, texts...)).Get(ctx, &out))
	if out.ToReview > 0 || len(out.Deduped) > 0 || len(out.Deferred) > 0 {
		y.must(fmt.Errorf("want only new memories: %+v", out))
	}
	now := y.now()
	for i := range texts {
		y.model.jobs = append(y.model.jobs, yearJob{dead: i >= len(texts)-out.Dead, finished: now})
	}
	y.step(ctx, y.learnNew)
	y.step(ctx, y.learnMentions)
	y.around("ingest", now, schema.RetainJobsCompleted)
	if out.Dead > 0 {
		y.around("job dead", now, schema.RetainJobsDead)
	}
	y.did["ingest"]++
	y.did["job dead"] += out.Dead
}

// recall asks for one to three memories by their names.
func (y *year) recall(ctx workflow.Context) {
	var names []string
	for range 1 + y.chance.IntN(3) {
		if m := y.one((*yearMemory).live); m != nil && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	if len(names) == 0 {
		return
	}
	var out schema.RecallResponse
	now := y.now()
	y.must(y.child(ctx, workflows.Recall,
		schema.RecallRequest{Principal: y.p, Query: strings.Join(names, " "), Limit: len(names),
			IDsOnly: true}).Get(ctx, &out))
	if slices.Contains(out.Meta.Degraded, "track") { // on an overloaded machine
		tracked := false
		y.step(ctx, func(ctx context.Context) error {
			return y.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM retrievals WHERE tenant = $1 AND id = $2)`,
				y.p.Tenant, out.RetrievalID).Scan(&tracked)
		})
		if !tracked {
			return
		}
	}
	var ids []string
	for _, r := range out.Results {
		if r.Supplementary {
			continue
		}
		if m := y.model.memories[r.ID]; m == nil || !m.live() {
			y.complain("a recall returned %s, which is not live", r.ID)
			continue
		}
		ids = append(ids, r.ID)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(y.model.memories[a].name, y.model.memories[b].name)
	})
	y.model.recalled(out.RetrievalID, ids, now)
	y.around("recall", now, schema.RetainRetrievals)
	y.did["recall"]++
	// Feedback comes within the hour, after days, or after the retrieval has been deleted.
	after := now
	for range 1 + y.chance.IntN(3) {
		after = after.Add(time.Duration([]float64{0.02, 0.3, 4, 11,
			35}[y.chance.IntN(5)] * (0.5 + y.chance.Float64()) * float64(yearDay)))
		y.at(after, func(ctx workflow.Context) { y.feedback(ctx, out.RetrievalID, ids) })
	}
}

// feedback gives feedback on the results of a retrieval, in one of the possible ways.
func (y *year) feedback(ctx workflow.Context, retrieval string, ids []string) {
	c := y.chance
	all := []schema.Verdict{schema.VerdictSucceeded, schema.VerdictPartly, schema.VerdictFailed, schema.VerdictUnused,
		schema.VerdictSucceeded}
	req := schema.FeedbackRequest{Operation: y.operation(), RetrievalID: retrieval}
	said, rest := map[string]schema.Verdict{}, schema.Verdict("")
	if way := c.IntN(5); way == 0 {
		which := c.IntN(3)
		req.Outcome = []schema.Outcome{schema.OutcomeSuccess, schema.OutcomeFailure, schema.OutcomePartial}[which]
		rest = []schema.Verdict{schema.VerdictSucceeded, schema.VerdictFailed, schema.VerdictPartly}[which]
	} else {
		for _, id := range ids {
			if v := all[c.IntN(len(all))]; way != 1 || c.IntN(2) == 0 {
				req.Items, said[id] = append(req.Items, schema.FeedbackItem{MemoryID: id, Verdict: v}), v
			}
		}
		if way == 1 {
			req.AllOthersUnused, rest = true, schema.VerdictUnused
		}
		if c.IntN(8) == 0 || len(req.Items) == 0 && rest == "" {
			stranger := uuid.NewString()
			req.Items, said[stranger] = append(req.Items,
				schema.FeedbackItem{MemoryID: stranger, Verdict: schema.VerdictFailed}), schema.VerdictFailed
		}
	}
	now := y.now()
	var out schema.FeedbackResult
	err := y.child(ctx, workflows.Feedback, req).Get(ctx, &out)
	want, there := y.model.feedback(retrieval, said, rest, req.AllOthersUnused, now)
	y.did["feedback"]++
	if !there {
		y.did["feedback too late"]++
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != api.ErrTypeNotFound {
			y.complain("feedback on a retrieval that is gone: %v", err)
		}
		return
	}
	y.must(err)
	got := map[string]schema.FeedbackStatus{}
	for _, item := range out.Items {
		got[item.MemoryID] = item.Status
		y.did["feedback "+string(item.Status)]++
	}
	for id, status := range want {
		if got[id] != status {
			y.complain("feedback on %s: %s, want %s", y.nameOf(id), got[id], status)
		}
	}
	if len(got) != len(want) {
		y.complain("feedback on %d memories, want %d", len(got), len(want))
	}
}

func (y *year) nameOf(id string) string {
	if m := y.model.memories[id]; m != nil {
		return m.name
	}
	return id
}

// forget forgets one to three memories. Soft deletions are often undone, sometimes too late.
func (y *year) forget(ctx workflow.Context, mode schema.ForgetMode) {
	var chosen []*yearMemory
	for range 1 + y.chance.IntN(3) {
		// Memories of worlds and those that actions rest on cannot be removed by force (document 003 D10).
		m := y.one(func(m *yearMemory) bool {
			return !m.gone && !m.erased && (m.live() || y.chance.IntN(4) == 0) &&
				(mode != schema.ForgetForce || !m.world && !m.bearing())
		})
		if m != nil && !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
		if mode != schema.ForgetSoft {
			break
		}
	}
	if len(chosen) == 0 {
		return
	}
	req := schema.ForgetRequest{Operation: y.operation(), Mode: mode, Execute: mode == schema.ForgetSoft}
	for _, m := range chosen {
		req.Selector.IDs = append(req.Selector.IDs, m.id)
	}
	req.Selector.OnlyNamed = mode == schema.ForgetErase // the model knows the named memories only
	run := y.child(ctx, workflows.Forget, req)
	id := fmt.Sprintf("year/%s/%d", y.p.Tenant, y.ids)
	if mode != schema.ForgetSoft { // the run waits for confirmation
		y.must(workflow.Sleep(ctx, 10*time.Minute))
		var token string
		now := y.now()
		y.step(ctx, func(ctx context.Context) error {
			var runID uuid.UUID
			err := y.db.QueryRow(ctx, `SELECT id FROM forget_runs WHERE tenant = $1 AND workflow_id = $2`, y.p.Tenant,
				id).Scan(&runID)
			if err == nil {
				token, err = y.store.ForgetToken(ctx, y.p, runID, now)
			}
			return err
		})
		y.must(run.SignalChildWorkflow(ctx, api.SignalConfirm, schema.ForgetConfirmation{Token: token}).Get(ctx, nil))
	}
	var out schema.ForgetReceipt
	y.must(run.Get(ctx, &out))
	now, forgotten := y.now(), 0
	for _, m := range chosen {
		if y.model.forget(mode, m.id, now) {
			forgotten++
		}
	}
	if out.Forgotten != forgotten {
		y.complain("%d forgotten (%s), want %d", out.Forgotten, mode, forgotten)
	}
	y.did["forget "+string(mode)]++
	for _, m := range chosen {
		if m.deleted == nil || y.chance.IntN(3) == 0 {
			continue
		}
		// Early, at the last possible moment, at the first moment that is too late, and long after.
		window := y.model.policyOf(m).keep
		delay := []time.Duration{5 * yearDay, window - time.Millisecond, window, window + 5*yearDay}[y.chance.IntN(4)]
		y.at(m.deleted.Add(delay), func(ctx workflow.Context) { y.recover(ctx, m) })
	}
}

func (y *year) recover(ctx workflow.Context, m *yearMemory) {
	now := y.now()
	var out schema.RecoverResult
	y.must(y.child(ctx, workflows.Recover,
		schema.RecoverRequest{Operation: y.operation(), Targets: []schema.Target{{ID: m.id}}}).Get(ctx, &out))
	want := y.model.recover(m.id, now)
	if got := out.Items[0].Status; got != want {
		y.complain("recovery of %s: %s, want %s", m.name, got, want)
	}
	y.did["recover "+string(want)]++
}
