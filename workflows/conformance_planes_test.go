package workflows_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
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
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// The requirements of document 004 §12 and §15.0 to §15.8 for the system as a whole, and its examples, run through
// workflows. docs/reference/conformance.md maps each requirement to its test.

// onlooker reads what the commands show a principal: recall, get, history, lineage, contradictions.
type onlooker struct {
	t testing.TB
	h *harness.Harness
	p schema.Principal
}

func (o onlooker) recall(req schema.RecallRequest) schema.RecallResponse {
	o.t.Helper()
	if req.Principal == (schema.Principal{}) {
		req.Principal = o.p
	}
	r := o.h.Recaller()
	answer, err := r.Recall(context.Background(), req)
	require.NoError(o.t, err)
	return answer
}

// found lists the ids of the query's results of the given types, sorted. The situation may be empty.
func (o onlooker) found(query, situation string, types ...schema.MemoryType) []string {
	o.t.Helper()
	ids := []string{}
	for _, r := range o.recall(schema.RecallRequest{Query: query, Context: json.RawMessage(situation),
		Types: types}).Results {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

func (o onlooker) get(id string) schema.MemoryRecord {
	o.t.Helper()
	m, err := o.h.Store.Get(context.Background(), o.p, uuid.MustParse(id), policy.UpTo(schema.SensitivityHyper))
	require.NoError(o.t, err)
	return m
}

// live lists the ids of the live memories of the given types, sorted.
func (o onlooker) live(types ...schema.MemoryType) []string {
	o.t.Helper()
	page, err := o.h.Store.List(context.Background(), pg.Filter{Principal: o.p, Types: types}, pg.Page{})
	require.NoError(o.t, err)
	ids := []string{}
	for _, m := range page {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// lastStep is the latest history entry that changed a memory.
func (o onlooker) lastStep(id string) schema.HistoryEntry {
	o.t.Helper()
	steps := testkit.History(o.t, o.h.Store, o.p, uuid.MustParse(id))
	for _, step := range slices.Backward(steps) {
		if step.Action != "" {
			return step
		}
	}
	require.FailNow(o.t, "no history entry")
	return schema.HistoryEntry{}
}

// edges lists the relations of a lineage as "from predicate to", with the test's names for ids.
func (o onlooker) edges(id string, name map[string]string) []string {
	o.t.Helper()
	l, err := o.h.Store.Lineage(context.Background(), o.p, uuid.MustParse(id), 0)
	require.NoError(o.t, err)
	require.Empty(o.t, l.Cut)
	out := []string{}
	for _, e := range l.Edges {
		out = append(out, strings.Join([]string{name[e.From], e.Predicate, name[e.To]}, " "))
	}
	slices.Sort(out)
	return out
}

func (o onlooker) contradictions() []schema.Contradiction {
	o.t.Helper()
	out, err := o.h.Store.Contradictions(context.Background(), o.p, pg.Page{})
	require.NoError(o.t, err)
	return out
}

func (o onlooker) revise(action schema.ReviseAction, record *schema.MemoryRecord, change func(*schema.ReviseRequest),
	targets ...string) schema.ReviseResult {
	o.t.Helper()
	var named []schema.Target
	for _, id := range targets {
		named = append(named, schema.Target{ID: id, IfVersion: o.get(id).Version})
	}
	req := reviseRequest(o.p, action, record, named...)
	if change != nil {
		change(&req)
	}
	_, result := revise(o.t, o.h.Temporal, o.h.TaskQueue, req)
	return result
}

// sorted returns the ids in order.
func sorted(ids ...string) []string {
	slices.Sort(ids)
	return ids
}

// recordOf reads a record from JSON.
func recordOf(t testing.TB, text string) schema.MemoryRecord {
	t.Helper()
	var m schema.MemoryRecord
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

// TestSection12ConflictsAndSolutions: several solutions of one problem are kept, and conflicts are resolved by context
// and evidence. TestLinkerError and TestContradictionRules test the examples.
func TestSection12ConflictsAndSolutions(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)

	t.Run("several solutions of one problem are kept, each with its conditions", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		plan := func(platform, op string) string {
			return fmt.Sprintf(`{"type": "plan_graph", "confidence": 0.8, "payload": {"kind": "plan_graph", "plan_id": "setup-%[1]s", "version": "1", "intent": "setup_project",
				"constraints": {"platform": %[1]q}, "nodes": [{"id": "a", "op": "git.init"}, {"id": "b", "op": %[2]q}], "edges": [{"from": "a", "to": "b", "kind": "control"}]}}`, platform, op)
		}
		skill := func(os, step string, successes int) string {
			return fmt.Sprintf(`{"type": "competence", "confidence": 0.8, "payload": {"kind": "competence", "skill_name": "free_the_port", "triggers": [{"signal": "address already in use", "conditions": {"os": %q}}],
				"recipe": [{"step": %q}], "performance": {"success_count": %d, "failure_count": 1}}}`, os, step,
				successes)
		}
		_, _, result := runPut(t, h, putRequest(t, o.p, plan("linux", "go.mod"), plan("macos", "swift.package"),
			skill("linux", "Run fuser", 3), skill("macos", "Run lsof", 9)))
		var ids []string
		for _, item := range result.Items {
			require.Equal(t, schema.PutCreated, item.Status, item.Problem)
			ids = append(ids, item.ID)
			require.Equal(t, schema.StatusActive, o.get(item.ID).Status)
		}
		require.Equal(t, sorted(ids[0], ids[1]), o.found("setup project", "", schema.TypePlanGraph))
		require.Equal(t, sorted(ids[2], ids[3]), o.found("address already in use", "", schema.TypeCompetence))
		third := recordOf(t, plan("windows", "winget"))
		forked := o.revise(schema.ReviseFork, &third, nil, ids[0])
		require.Equal(t, schema.ReviseApplied, forked.Status, forked.Why)
		require.Equal(t, sorted(ids[0], ids[1], forked.Created[0]), o.live(schema.TypePlanGraph))
		require.Contains(t, string(o.get(ids[3]).Payload), `"success_count": 9`, "each keeps its outcomes")
	})

	t.Run("a conflicting fact does not overwrite the first", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		golang, python := prefers("go", ""), prefers("python", "")
		first := putRecord(t, h.Temporal, h.TaskQueue, o.p, golang)
		_, _, result := runPut(t, h, schema.PutRequest{Operation: schema.Operation{Principal: o.p, Reason: "imported"},
			Records: []schema.MemoryRecord{python}})
		require.Equal(t, schema.PutItem{ID: first, Status: schema.PutConflict}, result.Items[0],
			"it names the stored record, so that a revision can decide")
		require.Equal(t, []string{first}, o.live())
		require.Equal(t, golang.Content, o.get(first).Content)
	})

	t.Run("the context selects among conditional facts", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		byDay := putRecord(t, h.Temporal, h.TaskQueue, o.p, prefers("tea", `{"time": "morning"}`))
		byNight := putRecord(t, h.Temporal, h.TaskQueue, o.p, prefers("wine", `{"time": ["evening", "night"]}`))
		require.Equal(t, []string{byDay}, o.found("What does the user prefer?", `{"time": "morning"}`))
		require.Equal(t, []string{byNight}, o.found("What does the user prefer?", `{"time": "night"}`))
		require.Empty(t, o.found("What does the user prefer?", `{"time": "noon"}`))
		require.Equal(t, sorted(byDay, byNight), o.found("What does the user prefer?", ""))
	})
}

// TestSection15_0StoragePhilosophy: learning semantics are application logic on top of a proven store.
func TestSection15_0StoragePhilosophy(t *testing.T) {
	t.Parallel()
	imports := func(dir string) (out []string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, i := range parsed.Imports {
				out = append(out, strings.Trim(i.Path.Value, `"`))
			}
		}
		return out
	}

	t.Run("the learning rules use no database", func(t *testing.T) {
		t.Parallel()
		for _, path := range imports("memory") {
			for _, engine := range []string{"pgx", "database/sql", "pgvector", "qdrant", "temporal", "net", "os",
				"mneme/store"} {
				require.False(t, path == engine || strings.Contains(path, engine+"/") || strings.HasSuffix(path,
					engine), "memory imports %s", path)
			}
		}
	})
	t.Run("one package accesses the database, with a proven driver", func(t *testing.T) {
		t.Parallel()
		require.Contains(t, imports("store/pg"), "github.com/jackc/pgx/v5")
		for _, dir := range []string{"schema", "memory", "inference", "inference/rules", "recall", "activities",
			"workflows", "starter", "worker"} {
			for _, path := range imports(dir) {
				require.NotContains(t, path, "jackc/pgx", dir)
				require.NotEqual(t, "database/sql", path, dir)
			}
		}
	})
}

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

// TestSection15_4GraphRepresentation: relations are part of the record in the authoritative store.
func TestSection15_4GraphRepresentation(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	_, _, result := runPut(t, h, putRequest(t, o.p,
		`{"id": "9a2b0000-0000-4000-8000-000000000001", "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "cache", "predicate": "is", "object": "shared", "validity": {"mode": "global"}}}`,
		`{"id": "9a2b0000-0000-4000-8000-000000000002", "type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "build", "predicate": "needs", "object": "the cache", "validity": {"mode": "global"}},
			"relations": [{"predicate": "derived_from", "target_id": "9a2b0000-0000-4000-8000-000000000001", "weight": 0.5}, {"predicate": "depends_on", "target_id": "9a2b0000-0000-4000-8000-000000000001"}]}`))
	a, b := result.Items[0].ID, result.Items[1].ID
	var predicates []string
	for _, r := range o.get(b).Relations {
		require.Equal(t, a, r.TargetID)
		predicates = append(predicates, r.Predicate)
	}
	require.ElementsMatch(t, []string{"derived_from", "depends_on"}, predicates)
	require.Equal(t, []string{"b depends_on a", "b derived_from a"}, o.edges(a, map[string]string{a: "a", b: "b"}))
	require.Equal(t, 2, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memory_links", ""))
	_, _, result = runPut(t, h, putRequest(t, o.p,
		`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "x", "predicate": "is", "object": "y", "validity": {"mode": "global"}},
		"relations": [{"predicate": "supports", "target_id": "9a2b0000-0000-4000-8000-00000000000f"}]}`))
	require.Equal(t, schema.PutBadRef, result.Items[0].Status, "a relation has two ends")
}

// TestSection15_4IngestionAPI: user inputs, tool outputs, observations and outcomes are ingested, and each becomes a
// candidate in the staging area.
func TestSection15_4IngestionAPI(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	db := testkit.Owner(t, h.DatabaseURL)
	for _, kind := range []schema.SourceKind{schema.SourceUserInput, schema.SourceToolOutput, schema.SourceObservation,
		schema.SourceOutcome} {
		t.Run(string(kind), func(t *testing.T) {
			o := onlooker{t, h, testkit.Principal()}
			started, result := h.Ingest(t, testkit.Request(o.p, kind, "The build of Atlas takes an hour.",
				"The tests of Atlas take a minute."))
			require.Zero(t, result.Dead)
			require.Len(t, started.Ack.MemoryIDs, 2)
			require.Equal(t, 2, testkit.Rows(t, db, "memory_candidates", "tenant = $1 AND source_kind = $2", o.p.Tenant,
				string(kind)))
			for _, id := range started.Ack.MemoryIDs {
				require.Equal(t, schema.TypeEpisodic, o.get(id).Type, "an event is an episode")
			}
		})
	}
}

// gatedExtractor blocks until it is released.
type gatedExtractor struct {
	inference.Extractor
	gate chan struct{}
}

func (e gatedExtractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	select {
	case <-e.gate:
	case <-ctx.Done():
		return memory.Extraction{}, inference.Usage{}, ctx.Err()
	}
	return e.Extractor.Extract(ctx, src)
}

// TestSection15_5ProcessModel: ingestion answers at once; facts are extracted later.
func TestSection15_5ProcessModel(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Extractor = gatedExtractor{d.Brain.Extractor, gate}
	})
	o := onlooker{t, h, testkit.Principal()}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	req := testkit.Request(o.p, schema.SourceUserInput, "I moved to Lisbon.")
	req.Candidates[0].Speaker = "Ana"
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.Equal(t, started.Ack.MemoryIDs, o.live(), "it is stored")
	require.Equal(t, started.Ack.MemoryIDs, o.found("moved to Lisbon", ""), "and can be found")
	close(gate)
	require.Zero(t, harness.Wait(t, started.Run).Dead)
	require.Len(t, o.live(), 2, "a fact was extracted from it")
}

// TestSection15_5Classification: candidates are classified before they are persisted, and rules
// override the classifier.
func TestSection15_5Classification(t *testing.T) {
	t.Parallel()
	var rules atomic.Pointer[policy.Policy]
	h := harness.New(t, func(d *workflows.Dependencies) { d.Rules = rules.Load })
	o := onlooker{t, h, testkit.Principal()}
	plain := o.get(known(t, h, o.p, "The office plants are watered on Mondays.")[0])
	require.Equal(t, []any{schema.TypeSemantic, schema.SensitivityLow, 1.0, schema.CurveExponential, "",
		schema.VisibilityPrivate},
		[]any{plain.Type, plain.Sensitivity, plain.Confidence, plain.Lifecycle.Decay.Curve, plain.Scope,
			plain.Visibility}, "of the classifier, with a value in every field")
	require.NotZero(t, plain.Lifecycle.Decay.HalfLifeSeconds)
	require.NotZero(t, plain.Lifecycle.DeletionPolicy)

	parsed, err := policy.Parse([]byte(`
rules:
  - name: plants
    when: candidate.content.contains("plants")
    set: {type: episodic, sensitivity: medium, confidence: 0.3, decay: {curve: linear, half_life: 3d}, scope: garden, visibility: shared, deletion_policy: manual_only}
`))
	require.NoError(t, err)
	rules.Store(parsed)
	started, result := h.Ingest(t, testkit.Request(o.p, schema.SourceMemory,
		"The kitchen plants are watered on Fridays."))
	require.Zero(t, result.Dead)
	m := o.get(started.Ack.MemoryIDs[0])
	require.Equal(t, []any{schema.TypeEpisodic, schema.SensitivityMedium, 0.3, schema.CurveLinear, "garden",
		schema.VisibilityShared, schema.DeleteManualOnly},
		[]any{m.Type, m.Sensitivity, m.Confidence, m.Lifecycle.Decay.Curve, m.Scope, m.Visibility,
			m.Lifecycle.DeletionPolicy})
	require.EqualValues(t, 3*86400, m.Lifecycle.Decay.HalfLifeSeconds)
	history := testkit.History(t, h.Store, o.p, uuid.MustParse(m.ID))
	require.Contains(t, string(history[0].Metadata), `"plants"`, "history names the rule")

	// A record that is put whole is classified in the same way, except for its type.
	_, _, put := runPut(t, h, putRequest(t, o.p,
		`{"type": "semantic", "sensitivity": "low", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "plants", "predicate": "need", "object": "light for plants", "validity": {"mode": "global"}}}`))
	m = o.get(put.Items[0].ID)
	require.Equal(t, []any{schema.TypeSemantic, schema.SensitivityMedium, schema.CurveLinear},
		[]any{m.Type, m.Sensitivity, m.Lifecycle.Decay.Curve})
}

// TestSection15_6DistinctSchemas: memories of different types keep their own schemas.
func TestSection15_6DistinctSchemas(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	req := testkit.Request(o.p, schema.SourceUserInput, "I moved to Lisbon.")
	req.Candidates[0].Speaker = "Ana"
	started, _ := h.Ingest(t, req)
	facts := o.live(schema.TypeSemantic)
	require.Len(t, facts, 1)
	var fact schema.SemanticPayload
	require.NoError(t, json.Unmarshal(o.get(facts[0]).Payload, &fact))
	require.Equal(t, []string{"Ana", "moved_to", `"Lisbon"`, "global"},
		[]string{fact.Subject, fact.Predicate, string(fact.Object), string(fact.Validity.Mode)})
	var episode schema.EpisodicPayload
	require.NoError(t, json.Unmarshal(o.get(started.Ack.MemoryIDs[0]).Payload, &episode))
	require.NotEmpty(t, episode.Timeline)
	for i, payload := range []string{
		`{"kind": "episodic", "timeline": []}`, `{"kind": "working", "thread_id": "t", "state": "planning"}`,
		`{"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "a", "predicate": "b", "object": "c", "validity": {"mode": "global"}}`,
		`{"kind": "competence", "skill_name": "s", "triggers": [], "recipe": []}`,
		`{"kind": "plan_graph", "plan_id": "p", "version": "1", "nodes": [], "edges": []}`, `"text"`,
	} {
		for n, kind := range []schema.MemoryType{schema.TypeEpisodic, schema.TypeWorking, schema.TypeSemantic,
			schema.TypeCompetence, schema.TypePlanGraph} {
			if i == n {
				continue
			}
			_, err := mneme.StartPut(context.Background(), h.Temporal, h.TaskQueue,
				putRequest(t, o.p, fmt.Sprintf(`{"type": %q, "confidence": 1, "content": "x", "payload": %s}`, kind,
					payload)))
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid, "%s as %s", payload, kind)
			require.Contains(t, invalid.Fields[0].Field, "records[0].payload")
		}
	}
}

// TestSection15_7RevisionGuarantees: a reader sees each running revision as a whole or not at all.
func TestSection15_7RevisionGuarantees(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	filter := pg.Filter{Principal: o.p}
	state := func() (string, error) {
		page, err := h.Store.List(context.Background(), filter, pg.Page{})
		var out []string
		for _, m := range page {
			out = append(out, m.Content+" "+string(m.Status))
		}
		slices.Sort(out)
		return strings.Join(out, " + "), err
	}
	global := func(language string) schema.MemoryRecord { r := prefers(language, ""); r.Content = language; return r }
	first, second := global("go"), global("rust")
	second.Payload = json.RawMessage(strings.Replace(string(second.Payload), "prefers_backend_language",
		"prefers_language", 1))
	a := putRecord(t, h.Temporal, h.TaskQueue, o.p, first)
	b := putRecord(t, h.Temporal, h.TaskQueue, o.p, second)

	done := make(chan struct{})
	var seen []string
	var failed error
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			now, err := state()
			if err != nil {
				failed = err
				return
			}
			if len(seen) == 0 || seen[len(seen)-1] != now {
				seen = append(seen, now)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	states := []string{"go active + rust active"}
	applied := func(after string, action schema.ReviseAction, record *schema.MemoryRecord,
		change func(*schema.ReviseRequest), targets ...string) []string {
		t.Helper()
		result := o.revise(action, record, change, targets...)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		states = append(states, after)
		now, err := state()
		require.NoError(t, err)
		require.Equal(t, after, now)
		return result.Created
	}
	next := func(language string) *schema.MemoryRecord { r := global(language); return &r }
	for i := range 5 {
		a = applied(fmt.Sprintf("go%d active + rust active", i), schema.ReviseSupersede, next(fmt.Sprintf("go%d", i)),
			nil, a)[0]
	}
	a = applied("zig active", schema.ReviseMerge, next("zig"), nil, a, b)[0]
	python := prefers("python", `{"project_kind": "data_science"}`)
	python.Content = "python"
	forked := applied("python active + zig active", schema.ReviseFork, &python, func(req *schema.ReviseRequest) {
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project_kind": "backend_service"}`)}
	}, a)
	applied("zig active", schema.ReviseRetract, nil, nil, forked[0])
	backend := prefers("c", `{"project_kind": "backend_service"}`)
	backend.Content = "c"
	contested := applied("c contested + zig contested", schema.ReviseContest, &backend, nil, forked[1])[0]
	applied("c active", schema.ReviseResolve, nil, func(req *schema.ReviseRequest) { req.Winner = contested },
		forked[1], contested)
	req := forgetRequest(o.p, schema.ForgetSoft, schema.Selector{IDs: []string{contested}})
	req.Execute = true
	run, _ := startForget(t, h, req)
	require.Equal(t, 1, receiptOf(t, run).Forgotten)
	states = append(states, "")
	close(done)
	reader.Wait()
	require.NoError(t, failed)
	require.Greater(t, len(seen), 2, "the readers read something")
	// Readers saw the committed states in order and no intermediate state.
	at := 0
	for _, s := range seen {
		i := slices.Index(states[at:], s)
		require.GreaterOrEqual(t, i, 0, "readers saw %q", s)
		at += i
	}
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// TestSection15_8RetrievalInterface: a request has a task and a trust context; the results are structured and within
// that context.
func TestSection15_8RetrievalInterface(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	o.p.Project = "atlas"
	_, _, result := runPut(t, h, putRequest(t, o.p,
		`{"type": "working", "sensitivity": "low", "confidence": 1, "payload": {"kind": "working", "thread_id": "atlas-1", "state": "executing", "context_summary": "Deploying Atlas"}}`,
		`{"type": "semantic", "sensitivity": "public", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Atlas", "predicate": "runs_on", "object": "linux", "validity": {"mode": "conditional", "conditions": {"stage": "production"}}}}`,
		`{"type": "competence", "sensitivity": "medium", "confidence": 0.9, "payload": {"kind": "competence", "skill_name": "deploy_atlas", "triggers": [{"signal": "deploy Atlas"}], "recipe": [{"step": "Run make deploy"}]}}`,
		`{"type": "plan_graph", "sensitivity": "high", "confidence": 0.9, "payload": {"kind": "plan_graph", "plan_id": "atlas", "version": "1", "intent": "deploy Atlas", "nodes": [{"id": "a", "op": "build"}], "edges": []}}`,
		`{"type": "episodic", "sensitivity": "hyper", "confidence": 1, "payload": {"kind": "episodic", "timeline": [{"t": "2026-11-01T10:00:00Z", "event_kind": "tool_call", "ref": "tool://1", "summary": "deploy Atlas"}]}}`))
	var ids []string
	for _, item := range result.Items {
		require.Equal(t, schema.PutCreated, item.Status, item.Problem)
		ids = append(ids, item.ID)
	}
	found := func(change func(*schema.RecallRequest)) []string {
		t.Helper()
		req := schema.RecallRequest{Principal: o.p, Query: "deploy Atlas"}
		change(&req)
		out := []string{}
		for _, r := range o.recall(req).Results {
			out = append(out, r.ID)
		}
		slices.Sort(out)
		return out
	}

	t.Run("no results above the allowed sensitivity", func(t *testing.T) {
		for limit, n := range map[schema.Sensitivity]int{"": 3, schema.SensitivityPublic: 1, schema.SensitivityLow: 2,
			schema.SensitivityMedium: 3, schema.SensitivityHigh: 4, schema.SensitivityHyper: 5} {
			want := []string{ids[1], ids[0], ids[2], ids[3], ids[4]}[:n]
			require.Equal(t, sorted(want...), found(func(r *schema.RecallRequest) {
				r.MaxSensitivity, r.Trust = limit, &schema.TrustContext{Authenticated: true}
			}), "at most %s", limit)
		}
	})
	t.Run("no results of other principals", func(t *testing.T) {
		for name, change := range map[string]func(*schema.Principal){
			"tenant": func(p *schema.Principal) { p.Tenant = "another" }, "agent": func(p *schema.Principal) {
				p.Agent = "another"
			},
			"project": func(p *schema.Principal) { p.Project = "another" }, "scope": func(p *schema.Principal) {
				p.Scope = "another"
			},
		} {
			require.Empty(t, found(func(r *schema.RecallRequest) {
				change(&r.Principal)
				r.MaxSensitivity = schema.SensitivityHyper
			}), name)
		}
	})
	t.Run("a trust context and a task are required", func(t *testing.T) {
		r := h.Recaller()
		for field, req := range map[string]schema.RecallRequest{
			"principal.tenant": {Principal: schema.Principal{Agent: "a"}, Query: "x"},
			"principal.agent":  {Principal: schema.Principal{Tenant: "t"}, Query: "x"},
			"query":            {Principal: o.p},
			"max_sensitivity":  {Principal: o.p, Query: "x", MaxSensitivity: "any"},
			"context":          {Principal: o.p, Query: "x", Context: json.RawMessage(`[]`)},
		} {
			_, err := r.Recall(context.Background(), req)
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid, field)
			require.Equal(t, field, invalid.Fields[0].Field)
		}
	})
	t.Run("the task restricts situation and layers", func(t *testing.T) {
		require.Equal(t, sorted(ids[0], ids[2]),
			found(func(r *schema.RecallRequest) { r.Context = json.RawMessage(`{"stage": "test"}`) }))
		require.Equal(t, []string{ids[2]},
			found(func(r *schema.RecallRequest) { r.Types = []schema.MemoryType{schema.TypeCompetence} }))
	})
	t.Run("results have a structure", func(t *testing.T) {
		answer := o.recall(schema.RecallRequest{Query: "deploy Atlas", Principal: o.p,
			Types: []schema.MemoryType{schema.TypeSemantic}})
		require.NotEmpty(t, answer.RetrievalID)
		require.Len(t, answer.Results, 1)
		r := answer.Results[0]
		require.Equal(t, []any{ids[1], schema.TypeSemantic, schema.StatusActive, schema.ValidConditional},
			[]any{r.ID, r.Type, r.Status, r.Validity.Mode})
		require.JSONEq(t, `{"stage": "production"}`, string(r.Validity.Conditions))
		require.True(t, r.Score > 0 && r.Score <= 1)
	})
}
