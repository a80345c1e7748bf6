package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
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
