package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

var ctx = context.Background()

// beats counts the heartbeats of all tests, and carried holds the details of the last one. The test environment
// itself batches them.
var (
	beats   atomic.Int32
	carried atomic.Value
)

func TestMain(m *testing.M) {
	activities.ListenToHeartbeats(50*time.Millisecond, func(details []any) {
		beats.Add(1)
		if len(details) > 0 {
			carried.Store(details)
		}
	})
	os.Exit(m.Run())
}

// canary is in every text. No error or result of an activity may quote it.
const canary = "XyzzyCanary"

// world is a store with one tenant and an environment that runs activities.
type world struct {
	url   string
	t     *testing.T
	store *store.Store
	owner *pgx.Conn
	env   *testsuite.TestActivityEnvironment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	url := testkit.DatabaseURL(t)
	w := &world{t: t, url: url, store: testkit.OpenStore(t, url), owner: testkit.Owner(t, url),
		env: (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()}
	return w
}

func (w *world) stage(n int) (schema.IngestAck, schema.Range) {
	w.t.Helper()
	req := schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	for i := range n {
		req.Candidates = append(req.Candidates, schema.Candidate{Content: fmt.Sprintf("%s says number %d", canary, i)})
	}
	return w.stageRequest(req)
}

func (w *world) stageRequest(req schema.IngestRequest) (schema.IngestAck, schema.Range) {
	w.t.Helper()
	staging := &activities.Staging{Store: w.store, Policy: proposals.DefaultWritePolicy(), MaxAttempts: 3}
	ack, err := staging.StageCandidates(ctx, activities.StageRequest{OperationID: uuid.NewString(), WorkflowID: "wf",
		Request: req})
	require.NoError(w.t, err)
	return ack.Ack(), schema.Range{Tenant: "t", BatchID: uuid.MustParse(ack.BatchID), From: 0, To: len(ack.MemoryIDs)}
}

// run executes an activity and returns its result and error.
func run[T any](w *world, fn, in any) (T, error) {
	w.t.Helper()
	w.env.RegisterActivity(fn)
	var out T
	value, err := w.env.ExecuteActivity(fn, in)
	if err != nil {
		require.NotContains(w.t, err.Error(), canary, "errors do not contain content")
		return out, err
	}
	require.NoError(w.t, value.Get(&out))
	return out, nil
}

func (w *world) jobs() map[schema.JobState]int64 {
	w.t.Helper()
	counts, err := w.store.JobCounts(ctx, "t")
	require.NoError(w.t, err)
	return counts
}

func (w *world) exec(sql string) {
	w.t.Helper()
	_, err := w.owner.Exec(ctx, sql)
	require.NoError(w.t, err)
}

func (w *world) count(table, where string) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE `+where).Scan(&n))
	return n
}

// extractor answers as a test sets it to, and counts its calls.
type extractor struct {
	calls atomic.Int32
	mu    sync.Mutex
	seen  []string
	fn    func(context.Context, inference.Source) error
}

func (e *extractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	e.calls.Add(1)
	e.mu.Lock()
	e.seen = append(e.seen, src.Content)
	e.mu.Unlock()
	if e.fn != nil {
		if err := e.fn(ctx, src); err != nil {
			return memory.Extraction{}, inference.Usage{}, err
		}
	}
	return memory.Extraction{Facts: []memory.Fact{{Content: "a fact about " + src.Content,
		Category: schema.CategoryFact, Confidence: 0.9}}}, inference.Usage{Model: "m", Calls: 1, PromptTokens: 3}, nil
}

// decider answers as a test sets it to.
type decider struct {
	calls atomic.Int32
	away  bool
	fn    func(context.Context) (memory.Proposal, error)
}

func (d *decider) Decide(ctx context.Context, f memory.Fact,
	_ []memory.Neighbor) (memory.Proposal, inference.Usage, error) {
	d.calls.Add(1)
	if !d.away && !strings.Contains(f.Content, canary) { // it can decide on the text of a probe
		return memory.Proposal{Action: schema.ActionNone}, inference.Usage{Model: "m", Calls: 1}, nil
	}
	p, err := d.fn(ctx)
	return p, inference.Usage{Model: "m", Calls: 1}, err
}

// only returns err for one candidate.
func only(n int, err error) func(context.Context, inference.Source) error {
	return func(_ context.Context, src inference.Source) error {
		if src.Content == fmt.Sprintf("%s says number %d", canary, n) {
			return err
		}
		return nil
	}
}

func pending(t *testing.T, err error) *temporal.ApplicationError {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeItemsPending, app.Type())
	require.False(t, app.NonRetryable())
	return app
}

func TestExtractRetriesOnlyTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(5)
	e := &extractor{fn: only(2, errors.New("connection reset"))}
	// Sequentially: a failure before the first answer would make the activity probe the model.
	a := &activities.Extraction{Store: w.store, Extractor: e, Concurrency: 1}
	_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	app := pending(t, err)
	var failed int
	require.NoError(t, app.Details(&failed))
	require.Equal(t, 1, failed)
	require.EqualValues(t, 5, e.calls.Load())
	require.Equal(t, map[schema.JobState]int64{schema.JobLeased: 4, schema.JobFailed: 1}, w.jobs())

	e.fn = nil
	out, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.EqualValues(t, 6, e.calls.Load())
	require.Equal(t, schema.ExtractCounts{Candidates: 5, Facts: 5}, out, "the totals of the range, over both attempts")
	_, err = run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.EqualValues(t, 6, e.calls.Load(), "a third run finds nothing to do")
}

func TestPermanentFailureOfOneCandidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(4)
	e := &extractor{fn: only(1, &inference.PermanentError{Reason: "status 400"})}
	out, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e,
		Concurrency: 2}).ExtractFacts, r)
	require.NoError(t, err, "a dead job is not tried again")
	require.Equal(t, schema.ExtractCounts{Candidates: 3, Facts: 3, Dead: 1}, out)
	require.EqualValues(t, 1, w.jobs()[schema.JobDead])
	dead, err := w.store.Jobs(ctx, "t", pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Contains(t, dead[0].LastError, "status 400")
}

func TestACandidateThatKeepsFailingDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(2)
	e := &extractor{fn: only(0, errors.New("boom"))}
	a := &activities.Extraction{Store: w.store, Extractor: e}
	for range 2 {
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		spread(t, time.Second, pending(t, err).NextRetryDelay())
	}
	out, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.Equal(t, 1, out.Dead)
	require.EqualValues(t, 1+3+3, e.calls.Load(),
		"each failure was confirmed by a probe of the endpoint with another text")
}

// spread requires that a delay is the expected one plus jitter.
func spread(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+lifecycle.RetryJitterMax)
}

func TestThrottlingCountsNoAttempt(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{7 * time.Second: 7 * time.Second, 0: time.Second,
		5 * time.Hour: 10 * time.Minute} {
		w := newWorld(t)
		_, r := w.stage(3)
		e := &extractor{fn: only(1, fmt.Errorf("extract: %w", &inference.RateLimitError{RetryAfter: asked}))}
		a := &activities.Extraction{Store: w.store, Extractor: e}
		var most time.Duration // of jitter
		for range 5 {          // more often than a job may fail
			_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
			delay := pending(t, err).NextRetryDelay()
			spread(t, want, delay)
			most = max(most, delay-want)
		}
		require.Positive(t, most, "the delay has jitter")
		require.Zero(t, w.jobs()[schema.JobDead])
		e.fn = nil
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		require.NoError(t, err)
	}
}

func TestUnavailableEndpointCountsNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(30)
	e := &extractor{fn: func(context.Context, inference.Source) error { return errors.New("connection refused") }}
	a := &activities.Extraction{Store: w.store, Extractor: e}
	for n := range int32(5) { // more often than a job may fail
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		spread(t, time.Second, pending(t, err).NextRetryDelay())
		require.ErrorContains(t, err, "connection refused", "the error says what the run waits for")
		require.Equal(t, 2*(n+1), e.calls.Load(), "the remaining candidates are not sent to it")
	}
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
	require.Zero(t, w.jobs()[schema.JobDead])
	e.fn = nil
	_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	for _, text := range e.seen {
		require.True(t, strings.Contains(text, canary) || text == "Nothing happened.",
			"the answer to a probe is not stored")
	}
}

// The attempts of a phase outlast a long outage, and the next one starts soon after its end.
func TestRetryWait(t *testing.T) {
	t.Parallel()
	total := time.Duration(0)
	for attempt := range int32(29) { // between thirty attempts
		wait := activities.RetryWait(attempt + 1)
		require.LessOrEqual(t, wait, 10*time.Minute)
		total += wait
	}
	require.Equal(t, time.Second, activities.RetryWait(1))
	require.Equal(t, 8*time.Second, activities.RetryWait(4))
	require.Equal(t, 10*time.Minute, activities.RetryWait(1<<30))
	require.Greater(t, total, 3*time.Hour)
}

func TestExtractStopsAtTheFirstInfrastructureError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(300)
	e := &extractor{}
	e.fn = func(ctx context.Context, _ inference.Source) error {
		// if the activity continued after the first failed save, it would call the extractor again here
		if e.calls.Load() > 100 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
			}
		}
		return nil
	}
	w.exec(`ALTER TABLE memory_candidates ADD CONSTRAINT broken CHECK (extraction IS NULL) NOT VALID`)
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e,
		Concurrency: 4}).ExtractFacts, r)
	require.Error(t, err)
	require.Less(t, e.calls.Load(), int32(120), "it stops at the first save that fails")
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.False(t, app.NonRetryable(), "Postgres may be available again")
	require.Zero(t, w.count("jobs", "attempts > 1 OR state <> 'leased'"), "no candidate is counted as failed")
}

func TestStoppedActivityCountsNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(3)
	stop, cancel := context.WithCancel(ctx)
	e := &extractor{fn: func(ctx context.Context, _ inference.Source) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}
	_, err := (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts(stop, r)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
}

func TestASlowModelCallStillSendsHeartbeats(t *testing.T) { // not parallel, because it counts heartbeats
	before := beats.Load()
	w := newWorld(t)
	_, r := w.stage(1)
	e := &extractor{fn: func(context.Context, inference.Source) error {
		time.Sleep(600 * time.Millisecond)
		return nil
	}}
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts, r)
	require.NoError(t, err)
	require.GreaterOrEqual(t, beats.Load()-before, int32(3), "one call may take longer than the heartbeat timeout")
}

func TestExtractValidatesAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := make([]byte, normalize.MaxExtractInput+100)
	for i := range long {
		long[i] = 'a' + byte(i%7)
	}
	ack, r := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: string(long)}}})
	e := &extractor{}
	out, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts, r)
	require.NoError(t, err)
	require.Len(t, []rune(e.seen[0]), normalize.MaxExtractInput)
	require.Contains(t, e.seen[0], "[truncated]")
	require.Zero(t, out.Facts, "a fact of 12,000 characters is dropped")
	require.Equal(t, 3, out.Warnings, "the rules extract from a source if no fact is left")
	m, err := w.store.Get(ctx, schema.Principal{Tenant: "t", Agent: "a"}, uuid.MustParse(ack.MemoryIDs[0]))
	require.NoError(t, err)
	require.Equal(t, string(long), m.Content, "the memory itself has the whole text")
}

// extracted stages candidates and extracts one fact from each.
func (w *world) extracted(n int) schema.Range {
	w.t.Helper()
	_, r := w.stage(n)
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store,
		Extractor: &extractor{}}).ExtractFacts, r)
	require.NoError(w.t, err)
	return r
}

func TestDecideCallsTheModelOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &decider{fn: func(context.Context) (memory.Proposal, error) {
		return memory.Proposal{Action: "update", TargetID: uuid.NewString(), Confidence: 1, Reason: "obey"}, nil
	}}
	a := &activities.Decision{Store: w.store, Decider: d, Embedder: rules.New().Embedder}
	r := w.extracted(1)
	out, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Zero(t, d.calls.Load(), "without neighbours a fact is new")
	require.Equal(t, 1, out.Actions.Add)

	r = w.extracted(2)
	out, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Positive(t, d.calls.Load())
	require.Zero(t, out.Actions.Update, "a target that was not offered is ignored")
	require.Zero(t, w.count("proposals", "target_id IS NOT NULL AND action <> 'none'"))
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	before := d.calls.Load()
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Equal(t, before, d.calls.Load(), "what is decided is not decided again")
}

func TestDecideTreatsFailuresAsExtractDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(1)
	var fail error
	d := &decider{fn: func(context.Context) (memory.Proposal, error) {
		return memory.Proposal{Action: schema.ActionAdd, Confidence: 1, Reason: "new"}, fail
	}}
	other, _ := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: "a fact about " + canary + " who says number zero"}}})
	require.Empty(t, other.Deduped)
	a := &activities.Decision{Store: w.store, Decider: d, Embedder: rules.New().Embedder}
	fail = &inference.RateLimitError{RetryAfter: 3 * time.Second}
	_, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	spread(t, 3*time.Second, pending(t, err).NextRetryDelay())
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
	fail, d.away = errors.New("boom"), true
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	spread(t, time.Second, pending(t, err).NextRetryDelay())
	require.Zero(t, w.count("jobs", "attempts > 1"), "the probe of the model has no answer either")
	d.away = false
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	pending(t, err)
	require.Equal(t, 1, w.count("jobs", "attempts = 1 AND state = 'failed'"))
	fail = &inference.PermanentError{Reason: "no"}
	out, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Equal(t, 1, out.Dead)
	require.EqualValues(t, 1, w.jobs()[schema.JobDead])
}

func TestUnavailableEmbedderDelaysOnlyVectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := rules.New().Embedder
	down := testkit.BrokenEmbedder{Embedder: good}
	r := w.extracted(3)
	decided, err := run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: down}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.True(t, decided.WithoutVectors)
	require.Equal(t, 3, decided.Candidates)
	written, err := run[schema.WriteCounts](w, (&activities.Writing{Store: w.store, Embedder: down}).WriteProposals,
		activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, written.Added)
	require.Zero(t, w.count("memory_embeddings", "true"))
	question, err := w.store.Analyse(ctx, "t", search.Wording{Query: canary})
	require.NoError(t, err)
	ranking, err := w.store.RankText(ctx, pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}}, question, 10)
	require.NoError(t, err)
	require.NotEmpty(t, ranking.Hits, "still found by its words")

	index := vector.PGVector{Store: w.store}
	_, err = run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: down,
		Index: index}).DrainOutbox, indexing.DrainRequest{MaxPages: 10})
	require.Error(t, err)
	before := w.count("index_outbox", "true")
	require.Positive(t, before, "the outbox still requests the vectors")
	drained, err := run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: good,
		Index: index}).DrainOutbox, indexing.DrainRequest{MaxPages: 10})
	require.NoError(t, err)
	require.Equal(t, w.count("memories", "live"), drained.Embedded)
	require.False(t, drained.More)
	require.Zero(t, w.count("index_outbox", "true"))
	require.Equal(t, drained.Embedded, w.count("memory_embeddings", "true"))
}

func TestWriteEmbedsSourcesBeforeTheTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(2)
	_, err := run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: rules.New().Embedder}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	a := &activities.Writing{Store: w.store, Embedder: rules.New().Embedder}
	first, err := run[schema.WriteCounts](w, a.WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, first.Added)
	require.Equal(t, w.count("memories", "live"), w.count("memory_embeddings", "true"))
	again, err := run[schema.WriteCounts](w, a.WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Equal(t, schema.WriteCounts{Stale: first.Stale}, again, "only stale proposals are left")
}

// A write that is repeated because its result was lost counts what the lost attempt has written, and nothing that was
// written before.
func TestARepeatedWriteCountsWhatTheFirstHasWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(4)
	all := r
	var earlier pipeline.WrittenCounts
	a := &activities.Writing{Store: w.store, Embedder: rules.New().Embedder}
	decide := (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: rules.New().Embedder}).DecideFacts
	for _, r.To = range []int{2, 4} { // an earlier run has written the first half
		decided, err := run[activities.DecideResult](w, decide, activities.DecideRequest{Range: all})
		require.NoError(t, err)
		require.Equal(t, &earlier, decided.Written)
		request := activities.WriteRequest{Range: r, MaxRounds: 3, Before: decided.Written}
		request.Range.To = r.To
		first, err := run[schema.WriteCounts](w, a.WriteProposals, request)
		require.NoError(t, err)
		require.Positive(t, first.Added)
		for range 2 {
			again, err := run[schema.WriteCounts](w, a.WriteProposals, request)
			require.NoError(t, err)
			require.Equal(t, first, again)
		}
		earlier.Added, earlier.Skipped = earlier.Added+first.Added, earlier.Skipped+first.Skipped
	}
	require.Equal(t, w.count("proposals", "state = 'applied' AND action = 'add'"), earlier.Added)
}

// brokenIndex refuses every change.
type brokenIndex struct{ vector.PGVector }

func (brokenIndex) Apply(context.Context, vector.Generation, string, vector.Changes) error {
	return errors.New("index is down")
}

// recordingIndex records the changes that it gets.
type recordingIndex struct {
	vector.PGVector
	mu      sync.Mutex
	upserts []vector.Point
	deletes []uuid.UUID
}

func (x *recordingIndex) Apply(_ context.Context, _ vector.Generation, _ string, c vector.Changes) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.upserts = append(x.upserts, c.Upserts...)
	for _, d := range c.Deletes {
		x.deletes = append(x.deletes, d.MemoryID)
	}
	return nil
}

func TestIndexBatchSettlesTheOutboxAfterTheIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(3)
	_, other := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: "of another batch"}}})
	_ = other
	gone := uuid.MustParse(ack.MemoryIDs[1])
	_, err := w.owner.Exec(ctx, `UPDATE memories SET deleted_at = now() WHERE id = $1`, gone)
	require.NoError(t, err)
	_, err = run[api.IndexResult](w, (&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder,
		Index: brokenIndex{vector.PGVector{Store: w.store}}}).IndexBatch, r)
	require.Error(t, err)
	require.Equal(t, 4, w.count("index_outbox", "true"), "changes that the index refused stay")
	x := &recordingIndex{PGVector: vector.PGVector{Store: w.store}}
	out, err := run[api.IndexResult](w, (&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder,
		Index: x}).IndexBatch, r)
	require.NoError(t, err)
	require.Equal(t, api.IndexResult{Upserted: 2, Deleted: 1}, out, "the vectors were stored already")
	require.Equal(t, 2, w.count("memory_embeddings", "true"))
	require.Equal(t, []uuid.UUID{gone}, x.deletes)
	for _, p := range x.upserts {
		require.Len(t, p.Vector, 384)
		require.NotEqual(t, gone, p.MemoryID)
	}
	require.Equal(t, 1, w.count("index_outbox", "true"), "another batch's change is left to its own run")
}

func TestDrainContinuesAfterFoldedChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _ = w.stage(2)
	// There are more pending changes than fit a page, all of a few memories.
	w.exec(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT 't', (SELECT id FROM memories
		ORDER BY id LIMIT 1), g, 'upsert', now() FROM generate_series(1, 1200) g`)
	out, err := run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder,
		Index: &recordingIndex{PGVector: vector.PGVector{Store: w.store}}}).DrainOutbox,
		indexing.DrainRequest{MaxPages: 50})
	require.NoError(t, err)
	require.False(t, out.More)
	require.Zero(t, w.count("index_outbox", "true"), "without More, none is left")

	w.exec(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT 't', gen_random_uuid(), g, 'upsert', now() FROM generate_series(1, 1200) g`)
	out, err = run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder,
		Index: &recordingIndex{PGVector: vector.PGVector{Store: w.store}}}).DrainOutbox,
		indexing.DrainRequest{MaxPages: 2})
	require.NoError(t, err)
	require.True(t, out.More, "the result reports that there are more")
	require.Equal(t, 1000, out.Deleted)
}

func TestStagingNarrowsAndRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	loose := 0.1
	p := schema.Principal{Tenant: "t", Agent: "a"}
	ack, _ := w.stageRequest(schema.IngestRequest{Principal: p, Candidates: []schema.Candidate{{Content: "x"}},
		Mode: schema.ModeFrozen, NoUpdateDelete: true, MinFactConfidence: &loose})
	b, err := w.store.Batch(ctx, "t", uuid.MustParse(ack.BatchID))
	require.NoError(t, err)
	require.Equal(t, schema.ModeFrozen, b.Policy.Mode)
	require.False(t, b.Policy.AllowUpdateDelete)
	require.InDelta(t, proposals.DefaultMinFactConfidence, b.Policy.MinFactConfidence, 1e-6,
		"a request can only narrow")
	require.Equal(t, schema.VisibilityPrivate, b.Visibility)

	_, err = (&activities.Staging{Store: w.store, Policy: proposals.DefaultWritePolicy(),
		MaxAttempts: 3}).StageCandidates(ctx,
		activities.StageRequest{OperationID: "op",
			Request: schema.IngestRequest{Principal: p, Candidates: []schema.Candidate{{Content: canary + "\x00"}}}})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
	require.True(t, app.NonRetryable())
	require.Contains(t, err.Error(), "candidates[0].content")
	require.NotContains(t, err.Error(), canary)
	require.Equal(t, 1, w.count("memory_candidates", "true"), "nothing is written")
}

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jobs := &activities.Jobs{Store: w.store}
	for name, c := range map[string]struct {
		err  error
		kind string
	}{
		"job id": {second(jobs.ReviveJob(ctx, activities.ReviveRequest{Tenant: "t", JobID: "x"})),
			api.ErrTypeInvalidRequest},
		"unknown job": {second(jobs.ReviveJob(ctx, activities.ReviveRequest{Tenant: "t", JobID: uuid.NewString()})),
			api.ErrTypeNotFound},
		"unknown batch": {second((&activities.Decision{Store: w.store}).DecideFacts(ctx,
			activities.DecideRequest{Range: schema.Range{Tenant: "t", BatchID: uuid.New(), To: 1}})),
			api.ErrTypeNotFound},
	} {
		var app *temporal.ApplicationError
		require.ErrorAs(t, c.err, &app, name)
		require.Equal(t, c.kind, app.Type(), name)
		require.True(t, app.NonRetryable(), name)
	}
	_, r := w.stage(1)
	list, err := w.store.Jobs(ctx, "t", pipeline.JobFilter{})
	require.NoError(t, err)
	_, err = jobs.ReviveJob(ctx, activities.ReviveRequest{Tenant: "t", JobID: list[0].ID, Actor: "ops"})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeConflict, app.Type())

	buried, err := jobs.BuryJobs(ctx, activities.CloseRequest{Range: r, Phase: "write", Reason: "gave up"})
	require.NoError(t, err)
	require.Equal(t, 1, buried.Dead)
	back, err := jobs.ReviveJob(ctx, activities.ReviveRequest{Tenant: "t", JobID: list[0].ID, Actor: "ops"})
	require.NoError(t, err)
	require.Equal(t, r, back)
	require.NoError(t, jobs.NoteFailure(ctx, activities.CloseRequest{Range: r, Phase: "link", Reason: "down"}))
	_, err = jobs.CompleteJobs(ctx, activities.CloseRequest{Range: r, Phase: "done"})
	require.NoError(t, err)
	require.EqualValues(t, 1, w.jobs()[schema.JobCompleted])
}

func second[T any](_ T, err error) error { return err }

func TestErrorsOfEveryPhaseCarryNoContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(2)
	embedder := rules.New().Embedder
	decide := (&activities.Decision{Store: w.store, Decider: rules.New().Decider, Embedder: embedder}).DecideFacts
	breaking := func(table string, fn func() error) {
		w.exec(`ALTER TABLE ` + table + ` ADD CONSTRAINT broken CHECK (false) NOT VALID`)
		require.Error(t, fn(), table) // run refuses an error that quotes content
		w.exec(`ALTER TABLE ` + table + ` DROP CONSTRAINT broken`)
	}
	breaking("proposals", func() error {
		return second(run[schema.DecideCounts](w, decide, activities.DecideRequest{Range: r}))
	})
	_, err := run[schema.DecideCounts](w, decide, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	for _, table := range []string{"memories", "memory_history", "memory_embeddings"} {
		breaking(table, func() error {
			return second(run[schema.WriteCounts](w, (&activities.Writing{Store: w.store,
				Embedder: embedder}).WriteProposals, activities.WriteRequest{Range: r, MaxRounds: 3}))
		})
	}
	_, err = run[schema.WriteCounts](w, (&activities.Writing{Store: w.store, Embedder: embedder}).WriteProposals,
		activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	require.Positive(t, w.count("memory_embeddings", "true"))
}

// failingFor is an index that refuses the changes of one tenant.
type failingFor struct {
	recordingIndex
	tenant string
}

func (x *failingFor) Apply(ctx context.Context, g vector.Generation, tenant string, c vector.Changes) error {
	if tenant == x.tenant {
		return errors.New("index is down for " + tenant)
	}
	return x.recordingIndex.Apply(ctx, g, tenant, c)
}

// If the changes of one tenant cannot be indexed, or staged requests cannot be swept, the other tenants are still
// drained.
func TestDrainContinuesAfterAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tenant := range []string{"a", "b", "c"} {
		w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: tenant, Agent: "a"},
			Candidates: []schema.Candidate{{Content: "of " + tenant}}})
	}
	w.exec(`DROP FUNCTION mneme_sweep_staged()`)
	x := &failingFor{recordingIndex: recordingIndex{PGVector: vector.PGVector{Store: w.store}}, tenant: "a"}
	_, err := run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder,
		Index: x}).DrainOutbox, indexing.DrainRequest{MaxPages: 50})
	require.ErrorContains(t, err, "index is down for a")
	require.Len(t, x.upserts, 2)
	require.Equal(t, 1, w.count("index_outbox", "true"), "failed changes stay")
}

// short is an embedder that omits one vector.
type short struct{ inference.Embedder }

func (e short) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	vectors, usage, err := e.Embedder.Embed(ctx, texts)
	return vectors[1:], usage, err
}

// An embedder that answers with too few vectors delays only the embeddings.
func TestEmbedderWithTooFewVectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	embedder := short{rules.New().Embedder}
	op := schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Reason: "told"}
	accept := func(kind string, request any) schema.OperationRef {
		ref := schema.OperationRef{Tenant: "t", ID: uuid.NewString(), WorkflowID: "wf"}
		body, err := json.Marshal(request)
		require.NoError(t, err)
		_, err = (&activities.Accepting{Store: w.store}).Accept(ctx, activities.AcceptRequest{Operation: ref,
			Kind: kind, Body: body})
		require.NoError(t, err)
		return ref
	}
	var record schema.MemoryRecord
	require.NoError(t,
		record.UnmarshalJSON([]byte(`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "tea",
		"predicate": "is_served", "object": "hot", "validity": {"mode": "global"}}}`)))
	put, err := run[schema.PutResult](w, (&activities.Putting{Store: w.store, Embedder: embedder,
		Policy: proposals.DefaultWritePolicy()}).Put,
		accept("put", schema.PutRequest{Operation: op, Records: []schema.MemoryRecord{record}}))
	require.NoError(t, err)
	require.Equal(t, schema.PutCreated, put.Items[0].Status)
	content := "Tea is served cold."
	modified, err := run[schema.ModifyResult](w, (&activities.Modifying{Store: w.store, Embedder: embedder,
		Policy: proposals.DefaultWritePolicy()}).Modify,
		accept("modify", schema.ModifyRequest{Operation: op,
			Patches: []schema.Patch{{ID: put.Items[0].ID, Content: &content}}}))
	require.NoError(t, err)
	require.Equal(t, schema.PatchUpdated, modified.Results[0].Status)
	_, err = run[indexing.DrainResult](w, (&indexing.Indexing{Store: w.store, Embedder: embedder,
		Index: &recordingIndex{PGVector: vector.PGVector{Store: w.store}}}).DrainOutbox,
		indexing.DrainRequest{MaxPages: 5})
	require.ErrorContains(t, err, "0 vectors for 1")
}
