package workflows_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// errIndexAway is the error of an unreachable index. It is not retryable, so that a test need not wait for retries.
var errIndexAway = temporal.NewNonRetryableApplicationError("the index is away", "IndexAway", nil)

// faultyIndex is a vector index that can be unreachable and that never drops an id on its own.
type faultyIndex struct {
	vector.PGVector // unused
	away            atomic.Bool
	mu              sync.Mutex
	points          map[uuid.UUID]bool
}

func (*faultyIndex) Name() string { return "faulty" }

func (*faultyIndex) Create(context.Context, vector.Generation) error { return nil }

func (x *faultyIndex) Apply(_ context.Context, _ vector.Generation, _ string, c vector.Changes) error {
	if x.away.Load() {
		return errIndexAway
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range c.Upserts {
		x.points[p.MemoryID] = true
	}
	for _, d := range c.Deletes {
		delete(x.points, d.MemoryID)
	}
	return nil
}

// Search returns all ids, whatever the query.
func (x *faultyIndex) Search(context.Context, pg.Filter, pg.Embedding, int) ([]search.Hit, error) {
	if x.away.Load() {
		return nil, errIndexAway
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var hits []search.Hit
	for id := range x.points {
		hits = append(hits, search.Hit{ID: id, Score: 0.9})
	}
	return hits, nil
}

func (x *faultyIndex) holds() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ids := []string{}
	for id := range x.points {
		ids = append(ids, id.String())
	}
	slices.Sort(ids)
	return ids
}

// TestSection15_1AuthoritativeStore: one relational store holds metadata, lifecycle, revision chains, salience,
// confidence, relations and audit, with transactions and invariants.
func TestSection15_1AuthoritativeStore(t *testing.T) {
	t.Parallel()

	t.Run("it needs no other store", func(t *testing.T) {
		t.Parallel()
		index := &faultyIndex{points: map[uuid.UUID]bool{}}
		index.away.Store(true)
		h := harness.New(t, func(d *workflows.Dependencies) { d.Index = index })
		o := onlooker{t, h, testkit.Principal()}
		old := putRecord(t, h.Temporal, h.TaskQueue, o.p, prefers("go", ""))
		python := prefers("python", "")
		result := o.revise(schema.ReviseSupersede, &python, nil, old)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		fresh := result.Created[0]
		m, before := o.get(fresh), o.get(old)
		require.Equal(t, []string{old, fresh}, []string{m.Supersedes, before.SupersededBy})
		require.Equal(t, schema.StatusSuperseded, before.Status)
		require.NotZero(t, m.Confidence)
		require.NotZero(t, m.Salience)
		require.NotZero(t, m.Lifecycle.Decay.HalfLifeSeconds)
		require.NotZero(t, m.Lifecycle.LastReinforcedAt)
		require.NotEmpty(t, m.Provenance.Sources)
		require.Equal(t, []schema.Relation{{Predicate: revision.RelationSupersedes, TargetID: old, Weight: 1,
			Reason: "said so later"}}, m.Relations)
		require.Equal(t, []schema.AuditAction{schema.AuditCreate, schema.AuditRevise},
			[]schema.AuditAction{before.AuditLog[0].Action, before.AuditLog[1].Action})
		require.Equal(t, []string{"new supersedes old"}, o.edges(old, map[string]string{old: "old", fresh: "new"}))
		answer := o.recall(schema.RecallRequest{Query: "What does the user prefer?"})
		require.Len(t, answer.Results, 1)
		require.Equal(t, fresh, answer.Results[0].ID)
		require.Contains(t, answer.Meta.Degraded, rank.ChannelVector) // others may be late too
		testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
	})

	t.Run("one active fact per condition set, with concurrent writers", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t, nil)
		o := onlooker{t, h, testkit.Principal()}
		const writers = 8
		statuses := make(chan string, 2*writers)
		atOnce := func(fn func(n int) string) map[string]int {
			var wg sync.WaitGroup
			for n := range writers {
				wg.Go(func() { statuses <- fn(n) })
			}
			wg.Wait()
			count := map[string]int{}
			for range writers {
				count[<-statuses]++
			}
			return count
		}
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		put := atOnce(func(n int) string {
			run, err := mneme.StartPut(ctx, h.Temporal, h.TaskQueue,
				schema.PutRequest{Operation: schema.Operation{Principal: o.p, Reason: "at once"},
					Records: []schema.MemoryRecord{prefers(fmt.Sprintf("language %d", n), "")}})
			if err != nil {
				return err.Error()
			}
			result, err := mneme.Outcome[schema.PutResult](ctx, run)
			if err != nil {
				return err.Error()
			}
			return string(result.Items[0].Status)
		})
		require.Equal(t, map[string]int{string(schema.PutCreated): 1, string(schema.PutConflict): writers - 1}, put)
		first := o.live()[0]
		revised := atOnce(func(n int) string {
			record := prefers(fmt.Sprintf("newer language %d", n), "")
			run, err := mneme.StartRevise(ctx, h.Temporal, h.TaskQueue,
				reviseRequest(o.p, schema.ReviseSupersede, &record, schema.Target{ID: first, IfVersion: 1}))
			if err != nil {
				return err.Error()
			}
			result, err := mneme.Outcome[schema.ReviseResult](ctx, run)
			if err != nil {
				return err.Error()
			}
			return string(result.Status)
		})
		require.Equal(t, map[string]int{string(schema.ReviseApplied): 1,
			string(schema.ReviseVersionConflict): writers - 1}, revised)
		require.Len(t, o.live(), 1)
		require.Equal(t, o.get(first).SupersededBy, o.live()[0])
		testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
	})

	t.Run("deletion is deterministic and can be explained", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t, nil)
		o := onlooker{t, h, testkit.Principal()}
		ids := known(t, h, o.p, "The kettle is made of copper.", "critical: The kettle must not boil dry.")
		req := forgetRequest(o.p, schema.ForgetSoft, schema.Selector{IDs: ids})
		req.Execute = true
		run, _ := startForget(t, h, req)
		receipt := receiptOf(t, run)
		require.Equal(t, []any{1, map[string]int{lifecycle.OutcomePinned: 1}},
			[]any{receipt.Forgotten, receipt.Skipped})
		require.Equal(t, []string{ids[1]}, o.live())
		step := o.lastStep(ids[0])
		require.Equal(t, []string{"delete", "person:mia", "not wanted any more"},
			[]string{string(step.Action), step.ChangedBy, step.Reason})
		require.Equal(t, "The kettle is made of copper.", o.get(ids[0]).Content, "still recoverable")
	})
}

// TestSection15_2PayloadStores: data outside of the authoritative store is a replaceable cache. Payloads are stored
// inside, so only vectors can be lost.
func TestSection15_2PayloadStores(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	first := putRecord(t, h.Temporal, h.TaskQueue, o.p, prefers("go", ""))
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memory_embeddings", ""))
	_, err := db.Exec(context.Background(), `DELETE FROM memory_embeddings`)
	require.NoError(t, err)
	require.Equal(t, []string{first}, o.found("What does the user prefer?", ""))
	python := prefers("python", `{"project_kind": "data_science"}`)
	result := o.revise(schema.ReviseFork, &python, func(req *schema.ReviseRequest) {
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project_kind": "backend_service"}`)}
	}, first)
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	require.Equal(t, sorted(result.Created...), o.live())
	require.Equal(t, 2, testkit.Rows(t, db, "memory_embeddings", ""), "new memories have vectors")
	testkit.CheckInvariants(t, db)
}

// TestSection15_2CanonicalStructures: the pipeline, too, writes complete records.
func TestSection15_2CanonicalStructures(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	req := schema.IngestRequest{Principal: o.p, Candidates: []schema.Candidate{
		{Content: "I moved to Lisbon. I work at Acme on the Atlas project.", SourceKind: schema.SourceUserInput,
			Speaker: "Ana", Refs: []schema.Ref{{Kind: "event", Ref: "evt://1"}}},
		{Content: "go: build failed: ld: cache mismatch", SourceKind: schema.SourceToolOutput,
			Refs: []schema.Ref{{Kind: "tool_call", Ref: "tool://1"}}},
		{Content: "Never deploy on Fridays.", SourceKind: schema.SourceMemory,
			Refs: []schema.Ref{{Kind: "human", Ref: "Ana"}}},
		{Content: "The gate of the yard was left open.", SourceKind: schema.SourceObservation}, // without references
	}}
	_, result := h.Ingest(t, req)
	require.Zero(t, result.Dead)
	ids, types := o.live(), map[schema.MemoryType]int{}
	require.Greater(t, len(ids), len(req.Candidates), "facts were extracted")
	for _, id := range ids {
		m := o.get(id)
		types[m.Type]++
		for _, shape := range []schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical} {
			encoded, err := schema.EncodeRecord(m, shape)
			require.NoError(t, err)
			_, err = schema.DecodeRecord(encoded)
			require.NoError(t, err, "%s: %s", shape, encoded)
		}
		require.NoError(t, uuid.Validate(m.ID))
		require.True(t, m.Type.Valid() && m.Sensitivity.Valid())
		require.True(t, m.Confidence > 0 && m.Confidence <= 1)
		require.True(t, m.Salience > 0 && m.Salience <= 1)
		require.NotZero(t, m.CreatedAt)
		require.NotZero(t, m.Lifecycle.LastReinforcedAt)
		require.NotZero(t, m.Lifecycle.Decay.Curve)
		require.NotZero(t, m.Lifecycle.Decay.HalfLifeSeconds)
		require.NotEmpty(t, m.Provenance.Sources)
		var payload struct {
			Kind     schema.MemoryType
			Timeline []json.RawMessage
		}
		require.NoError(t, json.Unmarshal(m.Payload, &payload))
		require.Equal(t, m.Type, payload.Kind)
		require.Equal(t, m.Type == schema.TypeEpisodic, len(payload.Timeline) > 0, "an episode has an event")
	}
	require.NotZero(t, types[schema.TypeEpisodic])
	require.NotZero(t, types[schema.TypeSemantic])
}

// TestSection15_3VectorIndexes: the index is advisory. A deletion or revision has effect at once, while the index still
// contains the old entry; the index is updated afterwards.
func TestSection15_3VectorIndexes(t *testing.T) {
	t.Parallel()
	index := &faultyIndex{points: map[uuid.UUID]bool{}}
	h := harness.New(t, func(d *workflows.Dependencies) { d.Index = index })
	o := onlooker{t, h, testkit.Principal()}
	tea := known(t, h, o.p, "Tea is served hot.")[0]
	golang := putRecord(t, h.Temporal, h.TaskQueue, o.p, prefers("go", ""))
	require.Equal(t, sorted(tea, golang), index.holds())

	index.away.Store(true)
	python := prefers("python", "")
	result := o.revise(schema.ReviseSupersede, &python, nil, golang)
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	fresh := result.Created[0]
	req := forgetRequest(o.p, schema.ForgetSoft, schema.Selector{IDs: []string{tea}})
	req.Execute = true
	run, _ := startForget(t, h, req)
	require.Equal(t, 1, receiptOf(t, run).Forgotten)
	require.Equal(t, []string{fresh}, o.found("What does the user prefer?", ""), "without the index")
	index.away.Store(false)
	require.Equal(t, sorted(tea, golang), index.holds(), "the index still contains the deleted memory")
	require.Equal(t, []string{fresh}, o.found("What does the user prefer?", ""))
	require.Empty(t, o.found("Tea is served", ""), "the deleted memory is not returned")
	_, synced, err := syncIndex(t, h)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{synced.Upserted, synced.Deleted})
	require.Equal(t, []string{fresh}, index.holds())
}

// TestSection15_3StorageLayout: artifacts are addressed by their content, also in the references of an episode.
func TestSection15_3StorageLayout(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	ctx := context.Background()
	const log = "ld: cache mismatch"
	address := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(log)))
	_, _, result := runPut(t, h, putRequest(t, o.p, linkerFailure(1, "macos", address)))
	require.Equal(t, schema.PutBadRef, result.Items[0].Status, "no artifact has this hash")
	_, err := h.Store.PutArtifact(ctx, o.p, strings.NewReader(log+"!"), "text/plain", address, time.Now())
	require.ErrorIs(t, err, pipeline.ErrAddressMismatch)
	for range 2 {
		artifact, err := h.Store.PutArtifact(ctx, o.p, strings.NewReader(log), "text/plain", address, time.Now())
		require.NoError(t, err)
		require.Equal(t, address, artifact.Address)
	}
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "artifacts", ""), "once")
	_, _, result = runPut(t, h, putRequest(t, o.p, linkerFailure(1, "macos", address)))
	require.Equal(t, schema.PutCreated, result.Items[0].Status)
}
