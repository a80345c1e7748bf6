package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// The conformance suite of document 004 §4 to §9, §15A (both versions) and §15B: the requirements of these sections for
// records, as a Temporal client sees them. docs/reference/conformance.md lists all requirements, including those tested
// elsewhere.

// conforming is one agent's memory with real workflows.
type conforming struct {
	*harness.Harness
	p schema.Principal
}

func newConforming(t testing.TB) *conforming {
	t.Helper()
	return &conforming{Harness: harness.New(t, nil), p: testkit.Principal()}
}

// put puts JSON records through the Put workflow and returns their results.
func (c *conforming) put(t testing.TB, records ...string) []schema.PutItem {
	t.Helper()
	_, _, result := runPut(t, c.Harness, putRequest(t, c.p, records...))
	require.Len(t, result.Items, len(records))
	return result.Items
}

// made puts one record, which must be new.
func (c *conforming) made(t testing.TB, record string) string {
	t.Helper()
	item := c.put(t, record)[0]
	require.Equal(t, schema.PutCreated, item.Status, item.Problem)
	return item.ID
}

// refused starts a put that fails the request's validation, and returns the fields of the errors.
func (c *conforming) refused(t testing.TB, record string) []string {
	t.Helper()
	_, err := mneme.StartPut(context.Background(), c.Temporal, c.TaskQueue, putRequest(t, c.p, record))
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid, record)
	fields := make([]string, 0, len(invalid.Fields))
	for _, f := range invalid.Fields {
		fields = append(fields, f.Field)
	}
	return fields
}

func (c *conforming) get(t testing.TB, id string) schema.MemoryRecord {
	t.Helper()
	m, err := c.Store.Get(context.Background(), c.p, uuid.MustParse(id), policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	return m
}

// shown returns a record as a client reads it, in one of the two shapes of §15A.
func (c *conforming) shown(t testing.TB, id string, shape schema.Shape) string {
	t.Helper()
	encoded, err := schema.EncodeRecord(c.get(t, id), shape)
	require.NoError(t, err)
	return string(encoded)
}

// as returns targets for the current versions of memories.
func (c *conforming) as(t testing.TB, ids ...string) []schema.Target {
	t.Helper()
	out := make([]schema.Target, 0, len(ids))
	for _, id := range ids {
		out = append(out, schema.Target{ID: id, IfVersion: c.get(t, id).Version})
	}
	return out
}

// revise runs a revision; record may be empty.
func (c *conforming) revise(t testing.TB, action schema.ReviseAction, record string,
	targets ...string) schema.ReviseResult {
	t.Helper()
	req := reviseRequest(c.p, action, nil, c.as(t, targets...)...)
	if record != "" {
		req.Record = new(schema.MemoryRecord)
		require.NoError(t, json.Unmarshal([]byte(record), req.Record))
	}
	_, result := revise(t, c.Temporal, c.TaskQueue, req)
	return result
}

// applied runs a revision that must be applied, and returns the id of the new record, if there is one.
func (c *conforming) applied(t testing.TB, action schema.ReviseAction, record string, targets ...string) string {
	t.Helper()
	result := c.revise(t, action, record, targets...)
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	if result.Record == nil {
		return ""
	}
	return result.Record.ID
}

// forget deletes memories softly, without a preview.
func (c *conforming) forget(t testing.TB, ids ...string) {
	t.Helper()
	req := forgetRequest(c.p, schema.ForgetSoft, schema.Selector{IDs: ids})
	req.Execute = true
	run, _ := startForget(t, c.Harness, req)
	require.Equal(t, len(ids), receiptOf(t, run).Forgotten)
}

// listed returns the ids of the live memories of a type that apply in a context, which may be empty.
func (c *conforming) listed(t testing.TB, kind schema.MemoryType, situation string) []string {
	t.Helper()
	page, err := c.Store.List(context.Background(),
		pg.Filter{Principal: c.p, Types: []schema.MemoryType{kind}, Context: json.RawMessage(situation)}, pg.Page{})
	require.NoError(t, err)
	ids := []string{}
	for _, m := range page {
		ids = append(ids, m.ID)
	}
	return ids
}

// recalled returns the ids of the results of a recall; the context may be empty.
func (c *conforming) recalled(t testing.TB, query, situation string) []string {
	t.Helper()
	r := c.Recaller()
	response, err := r.Recall(context.Background(),
		schema.RecallRequest{Principal: c.p, Query: query, Context: json.RawMessage(situation)})
	require.NoError(t, err)
	ids := []string{}
	for _, found := range response.Results {
		ids = append(ids, found.ID)
	}
	return ids
}

// requireHolds checks that one JSON object contains another unchanged; lists must be equal.
func requireHolds(t testing.TB, want, got string) {
	t.Helper()
	var w, g any
	require.NoError(t, json.Unmarshal([]byte(want), &w))
	require.NoError(t, json.Unmarshal([]byte(got), &g))
	holds(t, "", w, g)
}

func holds(t testing.TB, path string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		require.True(t, ok, "%s is not an object", path)
		for name, value := range w {
			require.Contains(t, g, name, path)
			holds(t, path+"."+name, value, g[name])
		}
	case []any:
		g, ok := got.([]any)
		require.True(t, ok && len(w) == len(g), "%s: %v", path, got)
		for i := range w {
			holds(t, fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
	default:
		require.Equal(t, want, got, path)
	}
}

// withMembers returns a JSON object with members set, or removed where they are nil.
func withMembers(t testing.TB, object string, members map[string]any) string {
	t.Helper()
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(object), &all))
	for name, value := range members {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	encoded, err := json.Marshal(all)
	require.NoError(t, err)
	return string(encoded)
}

// semantic, competence, plan, working and episodic build valid records of each type. The text makes them distinct.
func semantic(subject, object, validity string) string {
	return fmt.Sprintf(`{"type": "semantic", "confidence": 0.9, "provenance": {"sources": [{"kind": "event", "ref": "evt://1"}]},
		"payload": {"kind": "semantic", "subject": %q, "predicate": "prefers_backend_language", "object": %q, "validity": %s}}`, subject, object, validity)
}

func competence(version, step, os string) string {
	return fmt.Sprintf(`{"type": "competence", "confidence": 0.7, "provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]},
		"payload": {"kind": "competence", "skill_name": "fix_linker_cache_error", "triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": %q}}],
			"recipe": [{"step": %q, "tool": "shell"}, {"step": "Rebuild with clean flags", "tool": "build", "validation": "build succeeds"}],
			"required_tools": ["shell", "build"], "failure_modes": ["cache directory is locked"], "fallbacks": ["Reinstall toolchain"], "version": %q}}`, os, step, version)
}

func planOf(version, backend, platform string) string {
	return fmt.Sprintf(`{"type": "plan_graph", "confidence": 0.8, "provenance": {"sources": [{"kind": "outcome", "ref": "evt://9"}]},
		"payload": {"kind": "plan_graph", "plan_id": "setup-project", "version": %q, "intent": "setup_project", "constraints": {"platform": %q},
			"nodes": [{"id": "repo", "op": "init_repository"}, {"id": "backend", "op": "configure_backend", "params": {"language": %q}},
				{"id": "ci", "op": "link_ci", "guards": {"hosted": true}}],
			"edges": [{"from": "repo", "to": "backend", "kind": "data"}, {"from": "backend", "to": "ci", "kind": "control"}]}}`, version, platform, backend)
}

func workingOn(id, state, summary string) string {
	return fmt.Sprintf(`{"id": %q, "type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "setup", "state": %q,
		"next_actions": ["choose a frontend", "write documentation"], "open_questions": ["Which frontend?"], "context_summary": %q}}`, id, state, summary)
}

// buildFailure is the example of §5: the compiler's error, the command, the environment and the outcome.
func buildFailure(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "type": "episodic", "confidence": 1, "provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]},
		"payload": {"kind": "episodic", "timeline": [
				{"t": "2026-01-28T10:00:00Z", "event_kind": "tool_call", "ref": "evt://1", "summary": "make all"},
				{"t": "2026-01-28T10:00:05Z", "event_kind": "error", "ref": "evt://2", "summary": "ld: cache mismatch"}%s],
			"tool_graph": [{"id": "build", "tool": "make", "args": {"target": "all"}, "result_ref": "evt://2"}],
			"environment": {"os": "macos", "tool_versions": {"clang": "17.0.0"}}, "artifacts": ["file:///tmp/build.log"]}}`, id, more)
}

const (
	everywhere = `{"mode": "global"}`
	onBackends = `{"mode": "conditional", "conditions": {"project_kind": "backend_service"}}`
	onData     = `{"mode": "conditional", "conditions": {"project_kind": "data_science"}}`
)

func TestSection4RecordStructure(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	t.Run("a record has an id, a type, a sensitivity, a confidence, a salience, a lifecycle and provenance",
		func(t *testing.T) {
			for kind, text := range map[schema.MemoryType]string{schema.TypeSemantic: semantic("Sol", "go", everywhere),
				schema.TypeCompetence: competence("1", "Look", "plan9"),
				schema.TypePlanGraph:  planOf("1", "cobol", "mainframe"),
				schema.TypeWorking:    workingOn("", "planning", "everything"),
				schema.TypeEpisodic:   buildFailure("", "")} {
				id := c.made(t, text)
				m, err := schema.DecodeRecord([]byte(c.shown(t, id, schema.ShapeAppendix)))
				require.NoError(t, err, "all required members are present")
				require.Equal(t, []any{kind, id}, []any{m.Type, uuid.MustParse(m.ID).String()})
				require.Equal(t, schema.SensitivityLow, m.Sensitivity)
				require.Positive(t, m.Salience)
				require.False(t, m.Lifecycle.LastReinforcedAt.IsZero())
			}
		})
	t.Run("provenance links to events, artifacts, tool outputs, observations and outcomes", func(t *testing.T) {
		sources := `[{"kind": "event", "ref": "evt://1"}, {"kind": "artifact", "ref": "file:///log", "hash": "sha256:00"}, {"kind": "tool_call", "ref": "tool://1"},
			{"kind": "observation", "ref": "obs://1"}, {"kind": "outcome", "ref": "out://1", "timestamp": "2026-01-28T00:00:00Z"}]`
		record := withMembers(t, semantic("Tea", "hot", everywhere),
			map[string]any{"provenance": map[string]any{"sources": json.RawMessage(sources)}})
		requireHolds(t, `{"provenance": {"sources": `+sources+`}}`, c.shown(t, c.made(t, record), schema.ShapeAppendix))
	})
	t.Run("editing a preference changes no unrelated record", func(t *testing.T) {
		edited, unrelated := c.made(t, semantic("Ana", "go", everywhere)), c.made(t, semantic("Bob", "go", everywhere))
		before := c.shown(t, unrelated, schema.ShapeAppendix)
		c.applied(t, schema.ReviseSupersede, semantic("Ana", "rust", everywhere), edited)
		require.JSONEq(t, before, c.shown(t, unrelated, schema.ShapeAppendix))
	})
	t.Run("contradictory facts can be compared", func(t *testing.T) {
		one := c.made(t, semantic("Eve", "go", everywhere))
		other := c.applied(t, schema.ReviseContest, semantic("Eve", "rust", everywhere), one)
		found, err := c.Store.Contradictions(context.Background(), c.p, pg.Page{})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.ElementsMatch(t, []string{one, other}, []string{found[0].Left.ID, found[0].Right.ID})
	})
	t.Run("a payload of another type is refused", func(t *testing.T) {
		record := withMembers(t, semantic("Ana", "go", everywhere), map[string]any{"type": "competence"})
		require.Equal(t, []string{"records[0].payload.kind"}, c.refused(t, record))
	})
}

func TestSection5EpisodicMemory(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	ctx := context.Background()
	id := uuid.NewString()
	first := buildFailure(id, "")
	require.Equal(t, id, c.made(t, first))
	fixed := `, {"t": "2026-01-28T10:05:00Z", "event_kind": "outcome", "ref": "evt://3", "summary": "it builds"}`

	t.Run("an episode is kept unchanged, with its references", func(t *testing.T) {
		requireHolds(t, first, c.shown(t, id, schema.ShapeAppendix))
		log, err := c.Store.PutArtifact(ctx, c.p, strings.NewReader("ld: cache mismatch\x00\xff"), "text/plain", "",
			time.Now())
		require.NoError(t, err)
		record := strings.Replace(buildFailure("",
			`, {"t": "2026-01-28T11:00:00Z", "event_kind": "log", "ref": "evt://4"}`), "file:///tmp/build.log",
			log.Address, 1)
		record = strings.Replace(record, "10:00:00Z", "10:00:01Z", 1)
		requireHolds(t, `{"payload": {"artifacts": ["`+log.Address+`"]}}`,
			c.shown(t, c.made(t, record), schema.ShapeAppendix))
		_, content, err := c.Store.GetArtifact(ctx, c.p, log.Address)
		require.NoError(t, err)
		require.Equal(t, "ld: cache mismatch\x00\xff", string(content))
	})
	t.Run("events are in order of time", func(t *testing.T) {
		early := strings.Replace(fixed, "10:05", "09:05", 1)
		require.Equal(t, []string{"records[0].payload.timeline[2].t"}, c.refused(t, buildFailure("", early)))
	})
	t.Run("the timeline may be extended, and its earlier state is kept", func(t *testing.T) {
		before := time.Now()
		item := c.put(t, buildFailure(id, fixed))[0]
		require.Equal(t, []any{schema.PutUpdated, 2}, []any{item.Status, item.Version}, item.Problem)
		requireHolds(t, buildFailure(id, fixed), c.shown(t, id, schema.ShapeAppendix))
		then, err := c.Store.GetAsOf(ctx, c.p, uuid.MustParse(id), before)
		require.NoError(t, err)
		require.NotContains(t, string(then.Payload), "it builds")
	})
	t.Run("stored events cannot be edited, replaced, retracted or removed", func(t *testing.T) {
		before := c.shown(t, id, schema.ShapeAppendix)
		for _, edit := range []string{strings.Replace(buildFailure(id, fixed), "ld: cache mismatch", "it never failed",
			1), first,
			withMembers(t, buildFailure(id, fixed), map[string]any{"content": "It never failed."})} {
			require.Equal(t, schema.PutAppendOnly, c.put(t, edit)[0].Status)
		}
		text := "It never failed."
		_, modified := modify(t, c.Harness, modifyRequest(c.p, schema.Patch{ID: id, Content: &text}))
		require.Equal(t, schema.PatchAppendOnly, modified.Results[0].Status)
		require.Equal(t, schema.ReviseEpisodic, c.revise(t, schema.ReviseRetract, "", id).Status)
		require.Equal(t, schema.ReviseEpisodic,
			c.revise(t, schema.ReviseSupersede, semantic("The build", "fine", everywhere), id).Status)
		req := reviseRequest(c.p, schema.ReviseSupersede, new(schema.MemoryRecord), c.as(t, id)...)
		require.NoError(t, json.Unmarshal([]byte(buildFailure("", fixed)), req.Record))
		_, err := mneme.StartRevise(ctx, c.Temporal, c.TaskQueue, req)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "record.type", invalid.Fields[0].Field)
		require.JSONEq(t, before, c.shown(t, id, schema.ShapeAppendix))
	})
	t.Run("an episode decays faster than the knowledge learned from it", func(t *testing.T) {
		decay := func(id string) (int64, time.Time) {
			l := c.get(t, id).Lifecycle
			require.NotNil(t, l.DecayDueAt)
			return l.Decay.HalfLifeSeconds, *l.DecayDueAt
		}
		episode, due := decay(id)
		learned, learnedDue := decay(c.made(t, competence("1", "Clear the cache", "macos")))
		fact, _ := decay(c.made(t, semantic("user", "go", everywhere)))
		require.Less(t, episode, learned)
		require.Less(t, learned, fact)
		require.True(t, due.Before(learnedDue))
	})
	t.Run("a fix is a new record with the episode as evidence", func(t *testing.T) {
		before := c.get(t, id)
		skill := withMembers(t, competence("1", "Clear build cache", "macos"),
			map[string]any{"relations": []any{map[string]any{"predicate": "derived_from", "target_id": id}}})
		derived := c.made(t, skill)
		requireHolds(t, `{"relations": [{"predicate": "derived_from", "target_id": "`+id+`"}]}`,
			c.shown(t, derived, schema.ShapeAppendix))
		require.Equal(t, before, c.get(t, id))
		lineage, err := c.Store.Lineage(ctx, c.p, uuid.MustParse(derived), 0)
		require.NoError(t, err)
		require.Equal(t, id, lineage.Nodes[1].ID)
		require.Subset(t, c.recalled(t, "ld: cache mismatch", ""), []string{id, derived}, "both are recalled")
	})
}

func TestSection6WorkingMemory(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	ctx := context.Background()
	id := uuid.NewString()
	t.Run("another session continues the state of a task", func(t *testing.T) {
		first := withMembers(t, workingOn(id, "planning", "The backend is initialised; the frontend is pending."),
			map[string]any{"agent_session_id": "laptop"})
		require.Equal(t, id, c.made(t, first))
		require.Equal(t, []string{id}, c.listed(t, schema.TypeWorking, ""))
		requireHolds(t, first, c.shown(t, id, schema.ShapeAppendix))
		later := withMembers(t, workingOn(id, "executing", "The frontend is Svelte."),
			map[string]any{"agent_session_id": "phone"})
		require.Equal(t, schema.PutUpdated, c.put(t, later)[0].Status)
		requireHolds(t, later, c.shown(t, id, schema.ShapeAppendix))
	})
	t.Run("it can be put again in part or whole, modified and revised", func(t *testing.T) {
		shorter := `{"id": "` + id +
			`", "type": "working", "confidence": 0.5, "payload": {"kind": "working", "task_id": "t-1", "state": "waiting"}}`
		require.Equal(t, schema.PutUpdated, c.put(t, shorter)[0].Status)
		require.NotContains(t, string(c.get(t, id).Payload), "frontend")
		rival := c.made(t, withMembers(t, workingOn("", "planning", "No frontend at all."),
			map[string]any{"relations": []any{map[string]any{"predicate": "contradicts", "target_id": id}}}))
		require.Equal(t, schema.PutUpdated, c.put(t, workingOn(rival, "planning", "No frontend yet."))[0].Status)
		requireHolds(t, `{"relations": [{"predicate": "contradicts", "target_id": "`+id+`"}]}`,
			c.shown(t, rival, schema.ShapeAppendix))
		c.forget(t, rival)
		text := "Waiting for Ana."
		_, modified := modify(t, c.Harness, modifyRequest(c.p, schema.Patch{ID: id, Content: &text}))
		require.Equal(t, schema.PatchUpdated, modified.Results[0].Status)
		requireHolds(t, `{"payload": {"context_summary": "Waiting for Ana.", "state": "waiting"}}`,
			c.shown(t, id, schema.ShapeAppendix))
		id = c.applied(t, schema.ReviseSupersede, workingOn("", "blocked", "Ana is away."), id)
		require.Equal(t, []string{id}, c.listed(t, schema.TypeWorking, ""))
	})
	t.Run("it is discarded when its task is done", func(t *testing.T) {
		require.Equal(t, []string{id}, c.recalled(t, "Ana is away", ""))
		item := c.put(t, workingOn(id, "done", "All is set up."))[0]
		require.Equal(t, schema.PutDiscarded, item.Status)
		require.Empty(t, c.listed(t, schema.TypeWorking, ""))
		require.Empty(t, c.recalled(t, "Ana is away, all is set up", ""))
		m := c.get(t, id)
		require.NotNil(t, m.DeletedAt)
		last := m.AuditLog[len(m.AuditLog)-1]
		require.Equal(t, []any{schema.AuditDelete, "task ended"}, []any{last.Action, last.Rationale})
		require.Equal(t, schema.PutExists, c.put(t, workingOn(id, "executing", "Once more."))[0].Status,
			"a discarded task cannot be continued under its id")
		require.Equal(t, schema.PutDiscarded, c.put(t, workingOn("", "done", "Over before it began."))[0].Status)
		require.Empty(t, c.listed(t, schema.TypeWorking, ""))
	})
	t.Run("a revision that ends the task discards it too", func(t *testing.T) {
		open := c.made(t, workingOn("", "executing", "Write the documentation."))
		closed := c.applied(t, schema.ReviseSupersede, workingOn("", "done", "The documentation is written."), open)
		require.Empty(t, c.listed(t, schema.TypeWorking, ""))
		require.Empty(t, c.recalled(t, "documentation is written", ""))
		m := c.get(t, closed)
		require.NotNil(t, m.DeletedAt)
		require.Equal(t, "task ended", m.AuditLog[len(m.AuditLog)-1].Rationale)
		found, err := c.Store.Lineage(ctx, c.p, uuid.MustParse(closed), 0)
		require.NoError(t, err)
		require.Len(t, found.Nodes, 2, "the ended state is in history")
	})
	t.Run("irrelevant state is forgotten", func(t *testing.T) {
		open := c.made(t, workingOn("", "planning", "Perhaps a mobile app."))
		c.forget(t, open)
		require.Empty(t, c.listed(t, schema.TypeWorking, ""))
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}
