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
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
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

	closed, err := jobs.BuryJobs(ctx, activities.CloseRequest{Range: r, Phase: "write", Reason: "gave up"})
	require.NoError(t, err)
	require.Equal(t, 1, closed.Dead)
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
