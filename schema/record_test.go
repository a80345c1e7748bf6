package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

func TestRecordSurvivesBothShapes(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.MemoryTypes {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := rapid.OneOf(testkit.RecordGen(kind), testkit.WithAudit(testkit.RecordGen(kind))).Draw(t, "record")
				require.NoError(t, m.Validate())
				require.NoError(t, schema.ValidatePayload(m.Type, m.Payload))
				for _, shape := range []schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical} {
					encoded, err := schema.EncodeRecord(m, shape)
					require.NoError(t, err)
					got, err := schema.DecodeRecord(encoded)
					require.NoError(t, err, "%s", encoded)
					require.Equal(t, m, got, "%s", encoded)
					var plain schema.MemoryRecord
					require.NoError(t, json.Unmarshal(encoded, &plain))
					require.Equal(t, m, plain)
				}
			})
		})
	}
}

func TestCanonicalShapeHasNamesOfCanonicalSchemas(t *testing.T) {
	t.Parallel()
	want := map[schema.MemoryType][]string{
		schema.TypeEpisodic: {"timeline", "tool_graph", "environment", "outcome", "artifact_refs"},
		schema.TypeWorking: {"task_id", "state", "active_constraints", "next_actions", "open_questions",
			"last_updated"},
		schema.TypeSemantic: {"subject", "predicate", "object", "validity", "evidence", "revision_policy"},
		schema.TypeCompetence: {"skill_name", "triggers", "procedure", "required_tools", "failure_modes", "fallbacks",
			"performance"},
		schema.TypePlanGraph: {"intent", "nodes", "edges", "input_schema", "output_schema", "constraints", "metrics",
			"version"},
	}
	for _, file := range goldens(t, "canonical_*.json") {
		m, err := schema.DecodeRecord(read(t, file))
		require.NoError(t, err, file)
		encoded, err := schema.EncodeRecord(m, schema.ShapeCanonical)
		require.NoError(t, err)
		var record map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(encoded, &record))
		for _, name := range []string{"id", "type", "sensitivity", "confidence", "salience", "created_at",
			"last_reinforced_at", "decay_profile", "scope", "provenance",
			"relationships", "payload", "audit_log"} {
			require.Contains(t, record, name, file)
		}
		require.NotContains(t, record, "lifecycle")
		require.NotContains(t, record, "relations")
		var profile, payload map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(record["decay_profile"], &profile))
		for _, name := range []string{"function", "half_life", "floor", "reinforcement_gain"} {
			require.Contains(t, profile, name)
		}
		require.NoError(t, json.Unmarshal(record["payload"], &payload))
		for _, name := range want[m.Type] {
			require.Contains(t, payload, name, file)
		}
		again, err := schema.DecodeRecord(encoded)
		require.NoError(t, err, "%s", encoded)
		require.Equal(t, m, again)
	}
}

func goldens(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

func TestExamplesOfRFC(t *testing.T) {
	t.Parallel()
	m, err := schema.DecodeRecord(read(t, "testdata/rfc_semantic.json"))
	require.NoError(t, err)
	require.Empty(t, m.ID)
	require.Equal(t, "9a2b...", m.ExternalID, "an id that is no UUID is the external one")
	require.Equal(t, schema.StatusActive, m.Status)
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "evt://..."}}, m.Provenance.Sources)
	require.EqualValues(t, 7776000, m.Lifecycle.Decay.HalfLifeSeconds)
	require.Equal(t, time.Date(2026, 1, 28, 0, 0, 0, 0, time.UTC), m.CreatedAt)
	require.InDelta(t, schema.DefaultImportance, m.Importance, 0)
	require.InDelta(t, schema.DefaultSourceTrust, m.SourceTrust, 0)
	semantic, err := schema.PayloadOf[schema.SemanticPayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, schema.ValidConditional, semantic.Validity.Mode)
	require.JSONEq(t, `{"project_kind":"backend_service"}`, string(semantic.Validity.Conditions))
	require.JSONEq(t, `"go"`, string(semantic.Object))

	m, err = schema.DecodeRecord(read(t, "testdata/rfc_competence.json"))
	require.NoError(t, err)
	competence, err := schema.PayloadOf[schema.CompetencePayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, "fix_linker_cache_error", competence.SkillName)
	require.Equal(t, []string{"Reinstall toolchain"}, competence.Fallbacks)
	require.Len(t, competence.Recipe, 2)

	for _, file := range goldens(t, "rfc_*.json") {
		var given, back map[string]any
		data := read(t, file)
		m, err := schema.DecodeRecord(data)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &given))
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &back))
		delete(given, "id") // the external id
		require.Equal(t, given, within(given, back), "%s: something is not as it was given", file)
	}
}

// within returns the part of got that has the members of want, to any depth.
func within(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for k := range w {
			if v, ok := g[k]; ok {
				out[k] = within(w[k], v)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = within(w[i], g[i])
		}
		return out
	}
	return got
}

func TestCanonicalSchemasInAppendix(t *testing.T) {
	t.Parallel()
	decode := func(name string) schema.MemoryRecord {
		m, err := schema.DecodeRecord(read(t, "testdata/canonical_"+name+".json"))
		require.NoError(t, err)
		return m
	}
	m := decode("episodic")
	require.EqualValues(t, 7*86400, m.Lifecycle.Decay.HalfLifeSeconds)
	require.Equal(t, m.CreatedAt, m.UpdatedAt)
	require.Equal(t, "tool_call", m.Provenance.Sources[0].Kind)
	require.Equal(t, time.Date(2026, 1, 28, 9, 4, 0, 0, time.UTC), *m.Provenance.Sources[1].Timestamp)
	require.Equal(t, schema.AuditCreate, m.AuditLog[0].Action)
	episode, err := schema.PayloadOf[schema.EpisodicPayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, []string{"file:///tmp/build.log"}, episode.Artifacts)
	require.Equal(t, map[string]string{"clang": "17.0.0"}, episode.Environment.ToolVersions)

	m = decode("working")
	require.EqualValues(t, 86400, m.Lifecycle.Decay.HalfLifeSeconds)

	m = decode("semantic")
	require.InDelta(t, 1, m.Relations[0].Weight, 0, "a relation without a weight has the full one")
	fact, err := schema.PayloadOf[schema.SemanticPayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, schema.ValidConditional, fact.Validity.Mode)
	require.Equal(t, "tool_call", fact.Evidence[0].Kind)

	m = decode("competence")
	skill, err := schema.PayloadOf[schema.CompetencePayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, []schema.Trigger{{Signal: "ld: cache mismatch"},
		{Signal: schema.AnySignal, Conditions: json.RawMessage(`{"os":"macos"}`)},
		{Signal: "linker_error", Conditions: json.RawMessage(`{"os":"linux"}`)}}, skill.Triggers)
	require.Equal(t, "Clear build cache", skill.Recipe[0].Step)
	require.Equal(t, []string{"Reinstall toolchain", "Ask a person"}, skill.Fallbacks)
	require.Equal(t, "brew", skill.FallbackSteps[0].Tool)

	m = decode("plan")
	require.Equal(t, schema.TypePlanGraph, m.Type)
	require.EqualValues(t, 36*3600, m.Lifecycle.Decay.HalfLifeSeconds)
	plan, err := schema.PayloadOf[schema.PlanGraphPayload](m.Payload)
	require.NoError(t, err)
	require.Equal(t, m.ID, plan.PlanID)
	require.Equal(t, schema.EdgeControl, plan.Edges[1].Kind)
	require.JSONEq(t, `"mem://inputs/project"`, string(plan.InputsSchema))
}

// tree returns a record as a tree that a test may change.
func tree(t *testing.T, file string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(read(t, file), &out))
	return out
}

// part walks to the object that holds the last name of a path such as payload.timeline[0].t.
func part(t *testing.T, v any, path string) (holder map[string]any, name string) {
	t.Helper()
	names := strings.Split(strings.ReplaceAll(strings.ReplaceAll(path, "[", "."), "]", ""), ".")
	for _, n := range names[:len(names)-1] {
		switch x := v.(type) {
		case map[string]any:
			v = x[n]
		case []any:
			var i int
			_, err := fmt.Sscan(n, &i)
			require.NoError(t, err)
			v = x[i]
		}
	}
	holder, ok := v.(map[string]any)
	require.True(t, ok, path)
	return holder, names[len(names)-1]
}

// requiredFields lists the required fields in complete records of every type.
var requiredFields = map[string][]string{
	"appendix_episodic.json": {"id", "type", "sensitivity", "confidence", "salience", "created_at", "updated_at",
		"lifecycle", "lifecycle.decay", "lifecycle.last_reinforced_at",
		"lifecycle.decay.curve", "lifecycle.decay.half_life_seconds", "provenance", "provenance.sources",
		"provenance.sources[0].kind", "provenance.sources[0].ref",
		"relations[0].predicate", "relations[0].target_id", "audit_log[0].action", "payload",
		"payload.timeline", "payload.timeline[0].t", "payload.timeline[0].event_kind", "payload.timeline[0].ref",
		"payload.tool_graph[0].id", "payload.tool_graph[0].tool"},
	"appendix_working.json": {"payload.thread_id", "payload.state"},
	"appendix_semantic.json": {"payload.subject", "payload.predicate", "payload.object", "payload.validity",
		"payload.validity.mode", "payload.evidence[0].kind", "payload.evidence[0].ref"},
	"rfc_competence.json": {"payload.skill_name", "payload.triggers", "payload.triggers[1].signal", "payload.recipe",
		"payload.recipe[1].step"},
	"appendix_plan_graph.json": {"payload.plan_id", "payload.version", "payload.nodes", "payload.nodes[0].id",
		"payload.nodes[0].op", "payload.edges", "payload.edges[0].from",
		"payload.edges[0].to", "payload.edges[0].kind"},
	"canonical_semantic.json": {"id", "type", "sensitivity", "confidence", "salience", "created_at",
		"last_reinforced_at", "decay_profile", "decay_profile.function",
		"decay_profile.half_life", "provenance", "provenance[0].source_type", "provenance[0].source_id", "payload",
		"payload.subject", "payload.predicate", "payload.object",
		"payload.evidence[0].source_id"},
	"canonical_competence.json": {"payload.skill_name", "payload.triggers", "payload.procedure",
		"payload.procedure[1].step"},
	"canonical_plan.json": {"payload.version", "payload.nodes", "payload.edges", "payload.edges[0].from"},
}

func TestEveryRequiredFieldIsRequired(t *testing.T) {
	t.Parallel()
	for file, paths := range requiredFields {
		for _, path := range paths {
			if file == "rfc_competence.json" && path == "payload.triggers[1].signal" {
				path = "payload.triggers[0].signal"
			}
			t.Run(file+"/"+path, func(t *testing.T) {
				t.Parallel()
				record := tree(t, "testdata/"+file)
				require.NoError(t, decodeTree(t, record))
				holder, name := part(t, record, path)
				require.Contains(t, holder, name)
				saved := holder[name]
				delete(holder, name)
				if path == "payload.triggers[0].signal" {
					delete(holder, "conditions") // conditions alone would be a trigger
				}
				requireProblem(t, decodeTree(t, record), path)
				for _, wrong := range []any{[]any{[]any{true}}, map[string]any{"canary": canary}, true} {
					if path == "payload.object" || strings.HasSuffix(path, ".fallbacks") {
						continue
					}
					if _, list := saved.([]any); list && fmt.Sprintf("%T", wrong) == "[]interface {}" {
						continue
					}
					if _, object := saved.(map[string]any); object && fmt.Sprintf("%T",
						wrong) == "map[string]interface {}" {
						continue
					}
					if path == "provenance" && fmt.Sprintf("%T", wrong) != "bool" {
						continue
					}
					holder[name] = wrong
					requireProblem(t, decodeTree(t, record), path)
				}
				if path == "payload.object" {
					holder[name] = nil
					requireProblem(t, decodeTree(t, record), path)
				}
			})
		}
	}
}

func decodeTree(t *testing.T, record map[string]any) error {
	t.Helper()
	encoded, err := json.Marshal(record)
	require.NoError(t, err)
	_, err = schema.DecodeRecord(encoded)
	return err
}

// requireProblem requires that the error names a field and quotes no values.
func requireProblem(t *testing.T, err error, path string) {
	t.Helper()
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.True(t, slices.ContainsFunc(invalid.Fields, func(f schema.FieldError) bool { return f.Field == path }),
		"%s is not named: %v", path, err)
	require.NotContains(t, err.Error(), canary)
}

func TestWrongTypeOfEveryFieldIsReported(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.MemoryTypes {
		rapid.Check(t, func(t *rapid.T) {
			m := testkit.WithAudit(testkit.RecordGen(kind)).Draw(t, "record")
			encoded, err := json.Marshal(m)
			require.NoError(t, err)
			var record map[string]any
			require.NoError(t, json.Unmarshal(encoded, &record))
			payload, ok := record["payload"].(map[string]any)
			require.True(t, ok)
			holder, prefix := record, ""
			if rapid.Bool().Draw(t, "payload") {
				holder, prefix = payload, "payload."
			}
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(holder))).Draw(t, "field")
			if name == "object" {
				return
			}
			holder[name] = map[string]any{canary: canary}
			if _, object := holder[name].(map[string]any); object &&
				slices.Contains([]string{"constraints", "inputs_schema", "outputs_schema"}, name) {
				holder[name] = 7
			}
			if encoded, err = json.Marshal(record); err != nil {
				t.Fatal(err)
			}
			_, err = schema.DecodeRecord(encoded)
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid)
			require.True(t, slices.ContainsFunc(invalid.Fields, func(f schema.FieldError) bool {
				return strings.HasPrefix(f.Field, prefix+name)
			}), "%s: %v", prefix+name, err)
		})
	}
}

func TestPayloadOfAnotherTypeIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.MemoryTypes {
		for _, other := range testkit.MemoryTypes {
			if kind == other {
				continue
			}
			m := testkit.RecordGen(kind).Example(1)
			m.Payload = testkit.RecordGen(other).Example(2).Payload
			requireProblem(t, m.Validate(), "payload.kind")
			requireProblem(t, schema.ValidatePayload(kind, m.Payload), "payload.kind")
			encoded, err := json.Marshal(m)
			require.NoError(t, err)
			_, err = schema.DecodeRecord(encoded)
			requireProblem(t, err, "payload.kind")
		}
	}
}

func TestRulesBeyondSchemas(t *testing.T) {
	t.Parallel()
	const at = `"t":"2026-01-02T00:00:00Z","event_kind":"e","ref":"r"`
	semantic := func(validity string) string {
		return `{"kind":"semantic","subject":"s","predicate":"p","object":1,"validity":` + validity + `}`
	}
	plan := func(nodes, edges string) string {
		return `{"kind":"plan_graph","plan_id":"p","version":"1","nodes":[` + nodes + `],"edges":[` + edges + `]}`
	}
	const ab = `{"id":"a","op":"o"},{"id":"b","op":"o"}`
	cases := map[string]struct {
		kind    schema.MemoryType
		payload string
		field   string
	}{
		"events out of order": {schema.TypeEpisodic,
			`{"kind":"episodic","timeline":[{` + at + `},{"t":"2026-01-01T00:00:00Z","event_kind":"e","ref":"r"}]}`,
			"payload.timeline[1].t"},
		"an artifact that is not a hash": {schema.TypeEpisodic,
			`{"kind":"episodic","timeline":[],"artifacts":["file:///x","sha256:ABC"]}`, "payload.artifacts[1]"},
		"an unknown tool": {schema.TypeEpisodic,
			`{"kind":"episodic","timeline":[],"tool_graph":[{"id":"a","tool":"t","depends_on":["z"]}]}`,
			"payload.tool_graph[0].depends_on[0]"},
		"a cycle of tools": {schema.TypeEpisodic,
			`{"kind":"episodic","timeline":[],"tool_graph":[{"id":"a","tool":"t","depends_on":["b"]},{"id":"b","tool":"t","depends_on":["a"]}]}`, "payload.tool_graph"},
		"two tools with one id": {schema.TypeEpisodic,
			`{"kind":"episodic","timeline":[],"tool_graph":[{"id":"a","tool":"t"},{"id":"a","tool":"t"}]}`,
			"payload.tool_graph[1].id"},
		"no thread and no task": {schema.TypeWorking, `{"kind":"working","state":"done"}`, "payload.thread_id"},
		"an object that is null": {schema.TypeSemantic,
			`{"kind":"semantic","subject":"s","predicate":"p","object":null,"validity":{"mode":"global"}}`,
			"payload.object"},
		"a blank subject": {schema.TypeSemantic,
			`{"kind":"semantic","subject":" \n","predicate":"p","object":1,"validity":{"mode":"global"}}`,
			"payload.subject"},
		"conditional without conditions": {schema.TypeSemantic, semantic(`{"mode":"conditional"}`),
			"payload.validity.conditions"},
		"conditional with empty conditions": {schema.TypeSemantic, semantic(`{"mode":"conditional","conditions":{}}`),
			"payload.validity.conditions"},
		"conditions that are a list": {schema.TypeSemantic, semantic(`{"mode":"conditional","conditions":["a"]}`),
			"payload.validity.conditions"},
		"timeboxed without times": {schema.TypeSemantic, semantic(`{"mode":"timeboxed"}`),
			"payload.validity.start"},
		"a window that ends early": {schema.TypeSemantic,
			semantic(`{"mode":"timeboxed","start":"2026-01-02T00:00:00Z","end":"2026-01-02T00:00:00Z"}`),
			"payload.validity.end"},
		"global with conditions": {schema.TypeSemantic, semantic(`{"mode":"global","conditions":{"a":1}}`),
			"payload.validity.conditions"},
		"global with a window": {schema.TypeSemantic, semantic(`{"mode":"global","end":"2026-01-02T00:00:00Z"}`),
			"payload.validity.end"},
		"no trigger": {schema.TypeCompetence,
			`{"kind":"competence","skill_name":"s","triggers":[],"recipe":[{"step":"s"}]}`, "payload.triggers"},
		"no step": {schema.TypeCompetence,
			`{"kind":"competence","skill_name":"s","triggers":[{"signal":"s"}],"recipe":[]}`, "payload.recipe"},
		"a fallback step without fallback": {schema.TypeCompetence,
			`{"kind":"competence","skill_name":"s","triggers":[{"signal":"s"}],"recipe":[{"step":"s"}],"fallback_steps":[{"step":"x"}]}`, "payload.fallback_steps[0].step"},
		"a rate over one": {schema.TypeCompetence,
			`{"kind":"competence","skill_name":"s","triggers":[{"signal":"s"}],"recipe":[{"step":"s"}],"performance":{"success_rate":1.5}}`, "payload.performance.success_rate"},
		"no node": {schema.TypePlanGraph, plan(``, ``), "payload.nodes"},
		"two nodes with one id": {schema.TypePlanGraph, plan(`{"id":"a","op":"o"},{"id":"a","op":"p"}`, ``),
			"payload.nodes[1].id"},
		"an edge from an unknown node": {schema.TypePlanGraph, plan(ab, `{"from":"z","to":"a","kind":"data"}`),
			"payload.edges[0].from"},
		"an edge to an unknown node": {schema.TypePlanGraph, plan(ab, `{"from":"a","to":"z","kind":"data"}`),
			"payload.edges[0].to"},
		"an edge to itself": {schema.TypePlanGraph, plan(ab, `{"from":"a","to":"a","kind":"data"}`),
			"payload.edges"},
		"a cycle of nodes": {schema.TypePlanGraph,
			plan(ab, `{"from":"a","to":"b","kind":"data"},{"from":"b","to":"a","kind":"control"}`), "payload.edges"},
		"an edge twice": {schema.TypePlanGraph,
			plan(ab, `{"from":"a","to":"b","kind":"data"},{"from":"a","to":"b","kind":"data"}`), "payload.edges[1]"},
		"an unknown field": {schema.TypePlanGraph,
			`{"kind":"plan_graph","plan_id":"p","version":"1","nodes":[{"id":"a","op":"o","colour":1}],"edges":[]}`,
			"payload.nodes[0].colour"},
		"another case": {schema.TypeWorking,
			`{"kind":"working","thread_id":"t","State":"done","state":"done"}`, "payload.State"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireFields(t, schema.ValidatePayload(c.kind, json.RawMessage(c.payload)), c.field)
		})
	}
	for _, ok := range []string{semantic(`{"mode":"timeboxed","start":"2026-01-02T00:00:00Z"}`),
		semantic(`{"mode":"timeboxed","end":"2026-01-02T00:00:00Z"}`),
		semantic(`{"mode":"conditional","conditions":{"a":[1,2]},"end":"2026-01-02T00:00:00Z"}`)} {
		require.NoError(t, schema.ValidatePayload(schema.TypeSemantic, json.RawMessage(ok)))
	}
	require.NoError(t, schema.ValidatePayload(schema.TypePlanGraph,
		json.RawMessage(plan(ab, `{"from":"a","to":"b","kind":"data"},{"from":"a","to":"b","kind":"control"}`))))
	requireFields(t, schema.ValidatePayload("dream", json.RawMessage(`{}`)), "type")
	requireFields(t, schema.ValidatePayload(schema.TypeWorking, nil), "payload")
	requireFields(t, schema.ValidatePayload(schema.TypeWorking, json.RawMessage(`[]`)), "payload")
	requireFields(t, schema.ValidatePayload(schema.TypeWorking, json.RawMessage(`{"kind":`)), "payload")
	requireFields(t, schema.ValidatePayload(schema.TypeWorking, json.RawMessage(`{} {}`)), "payload")
}

func TestRecordReportsEveryInvalidField(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*schema.MemoryRecord){
		"id":          func(m *schema.MemoryRecord) { m.ID = canary },
		"external_id": func(m *schema.MemoryRecord) { m.ExternalID = long(schema.MaxRefLength) },
		"type":        func(m *schema.MemoryRecord) { m.Type = canary },
		"sensitivity": func(m *schema.MemoryRecord) { m.Sensitivity = canary },
		"confidence":  func(m *schema.MemoryRecord) { m.Confidence = 1.01 },
		"salience":    func(m *schema.MemoryRecord) { m.Salience = -0.01 },
		"scope":       func(m *schema.MemoryRecord) { m.Scope = canary + "\x00" },
		"tags[0]":     func(m *schema.MemoryRecord) { m.Tags = []string{" "} },
		"tags": func(m *schema.MemoryRecord) {
			m.Tags = slices.Repeat([]string{"t"}, schema.MaxTags+1)
		},
		"created_at": func(m *schema.MemoryRecord) {
			m.CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		},
		"lifecycle.decay.curve":             func(m *schema.MemoryRecord) { m.Lifecycle.Decay.Curve = canary },
		"lifecycle.decay.half_life_seconds": func(m *schema.MemoryRecord) { m.Lifecycle.Decay.HalfLifeSeconds = -1 },
		"lifecycle.decay.max_age_seconds": func(m *schema.MemoryRecord) {
			m.Lifecycle.Decay.MaxAgeSeconds = schema.MaxDurationSeconds + 1
		},
		"lifecycle.decay.floor":              func(m *schema.MemoryRecord) { m.Lifecycle.Decay.Floor = 2 },
		"lifecycle.decay.min_salience":       func(m *schema.MemoryRecord) { m.Lifecycle.Decay.MinSalience = 2 },
		"lifecycle.decay.reinforcement_gain": func(m *schema.MemoryRecord) { m.Lifecycle.Decay.ReinforcementGain = 2 },
		"lifecycle.decay.points": func(m *schema.MemoryRecord) {
			m.Lifecycle.Decay.Curve, m.Lifecycle.Decay.Points = schema.CurveLinear, make([]schema.DecayPoint, 1)
		},
		"lifecycle.decay.points[0].share": func(m *schema.MemoryRecord) {
			m.Lifecycle.Decay.Curve, m.Lifecycle.Decay.Points = schema.CurveCustom, []schema.DecayPoint{{AfterSeconds: 1, Share: 2}}
		},
		"lifecycle.deletion_policy": func(m *schema.MemoryRecord) { m.Lifecycle.DeletionPolicy = canary },
		"provenance.sources[0].kind": func(m *schema.MemoryRecord) {
			m.Provenance.Sources = []schema.Ref{{Kind: canary, Ref: "r"}}
		},
		"provenance.sources[0].ref": func(m *schema.MemoryRecord) {
			m.Provenance.Sources = []schema.Ref{{Kind: "event"}}
		},
		"provenance.sources": func(m *schema.MemoryRecord) {
			m.Provenance.Sources = make([]schema.Ref, schema.MaxRecordRefs+1)
		},
		"relations[0].predicate": func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "No Good", TargetID: "x"}}
		},
		"relations[0].target_id": func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "supports", TargetID: m.ID}}
		},
		"relations[0].weight": func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "supports", TargetID: "x", Weight: 2}}
		},
		"relations[1]": func(m *schema.MemoryRecord) {
			m.Relations = slices.Repeat([]schema.Relation{{Predicate: "supports", TargetID: "x"}}, 2)
		},
		"relations": func(m *schema.MemoryRecord) {
			m.Relations = make([]schema.Relation, schema.MaxRelations+1)
		},
		"visibility": func(m *schema.MemoryRecord) { m.Visibility = canary },
		"version":    func(m *schema.MemoryRecord) { m.Version = -1 },
		"category":   func(m *schema.MemoryRecord) { m.Category = canary },
		"tier": func(m *schema.MemoryRecord) {
			m.Tier, m.Typology = schema.TierPersistent, schema.TypologyEpisodic
		},
		"typology": func(m *schema.MemoryRecord) { m.Typology = canary },
		"content": func(m *schema.MemoryRecord) {
			m.Content = strings.Repeat("é", schema.MaxContentBytes/2+1)
		},
		"importance":          func(m *schema.MemoryRecord) { m.Importance = 3 },
		"status":              func(m *schema.MemoryRecord) { m.Status = canary },
		"source_trust":        func(m *schema.MemoryRecord) { m.SourceTrust = 3 },
		"superseded_by":       func(m *schema.MemoryRecord) { m.SupersededBy = m.ID },
		"supersedes":          func(m *schema.MemoryRecord) { m.Supersedes = canary },
		"audit_log[0].action": func(m *schema.MemoryRecord) { m.AuditLog = []schema.AuditEntry{{Action: canary}} },
		"payload":             func(m *schema.MemoryRecord) { m.Payload = nil },
	}
	for field, spoil := range cases {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			m := testkit.RecordGen(schema.TypeSemantic).Example(3)
			require.NoError(t, m.Validate())
			spoil(&m)
			requireFields(t, m.Validate(), field)
		})
	}
	empty := schema.MemoryRecord{}
	requireProblem(t, empty.Validate(), "created_at")
	requireProblem(t, empty.Validate(), "lifecycle.decay.curve")
	requireProblem(t, empty.Validate(), "provenance.sources")
}

func TestDecodingReportsLosses(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(map[string]any){
		"colour":           func(r map[string]any) { r["colour"] = canary },
		"lifecycle.colour": func(r map[string]any) { r["lifecycle"].(map[string]any)["colour"] = canary },
		"lifecycle.last_reinforced_at": func(r map[string]any) {
			r["lifecycle"].(map[string]any)["last_reinforced_at"] = canary
		},
		"created_at": func(r map[string]any) { r["created_at"] = 17 },
		"updated_at": func(r map[string]any) { r["updated_at"] = "2026-02-30T00:00:00Z" },
		"version":    func(r map[string]any) { r["version"] = 1.5 },
		"decay_profile": func(r map[string]any) {
			r["decay_profile"] = map[string]any{"function": "linear", "half_life": 1}
		},
		"relationships": func(r map[string]any) {
			r["relationships"], r["relations"] = []any{}, []any{}
		},
		"payload.procedure": func(r map[string]any) {
			r["payload"].(map[string]any)["procedure"] = []any{"x"}
		},
		"payload.colour": func(r map[string]any) { r["payload"].(map[string]any)["colour"] = canary },
		"tags[1]":        func(r map[string]any) { r["tags"] = []any{"a", 7} },
		"(other)":        func(r map[string]any) { r[canary+" secret"] = canary },
	}
	for field, put := range spoil {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			record := tree(t, "testdata/rfc_competence.json")
			put(record)
			requireProblem(t, decodeTree(t, record), field)
			encoded, err := json.Marshal(record)
			require.NoError(t, err)
			var m schema.MemoryRecord
			require.NoError(t, json.Unmarshal(encoded, &m), "decoding itself does not fail")
			requireProblem(t, m.Validate(), field)
		})
	}
	record := tree(t, "testdata/canonical_semantic.json")
	record["decay_profile"].(map[string]any)["half_life"] = "P1M" //nolint:forcetypeassert // the file has it
	requireProblem(t, decodeTree(t, record), "decay_profile.half_life")
	revised := tree(t, "testdata/rfc_semantic.json")
	revised["status"] = "retracted"
	requireProblem(t, decodeTree(t, revised), "payload.revision.status")
	for _, text := range []string{`null`, `[]`, `"x"`, `{}{}`, ``, `{`, canary} {
		_, err := schema.DecodeRecord([]byte(text))
		requireProblem(t, err, "(json)")
	}
}

func TestDecayPoints(t *testing.T) {
	t.Parallel()
	const most = schema.MaxDurationSeconds
	type points = []schema.DecayPoint
	line := func(n int) (out points) {
		for i := range n {
			out = append(out, schema.DecayPoint{AfterSeconds: int64(i), Share: 1})
		}
		return out
	}
	for name, c := range map[string]struct {
		points points
		wrong  string // path under lifecycle.decay.points; "ok" for none
	}{
		"one":            {points{{AfterSeconds: 5, Share: 0.5}}, "ok"},
		"from the start": {points{{Share: 1}, {AfterSeconds: 5, Share: 0.5}}, "ok"},
		"flat, to zero": {points{{AfterSeconds: 5, Share: 0.5}, {AfterSeconds: 6, Share: 0.5}, {AfterSeconds: most}},
			"ok"},
		"maximum":          {line(schema.MaxDecayPoints), "ok"},
		"one too many":     {line(schema.MaxDecayPoints + 1), ""},
		"before the start": {points{{AfterSeconds: -1, Share: 1}}, "[0].after_seconds"},
		"too late":         {points{{AfterSeconds: most + 1, Share: 1}}, "[0].after_seconds"},
		"at once":          {points{{AfterSeconds: 0, Share: 0.9}}, "[0].share"},
		"twice":            {points{{AfterSeconds: 5, Share: 1}, {AfterSeconds: 5, Share: 0.5}}, "[1].after_seconds"},
		"backwards":        {points{{AfterSeconds: 5, Share: 1}, {AfterSeconds: 4, Share: 0.5}}, "[1].after_seconds"},
		"rising":           {points{{AfterSeconds: 5, Share: 0.5}, {AfterSeconds: 6, Share: 0.6}}, "[1].share"},
		"share above 1":    {points{{AfterSeconds: 5, Share: 1.1}}, "[0].share"},
		"negative share":   {points{{AfterSeconds: 5, Share: -0.1}}, "[0].share"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testkit.RecordGen(schema.TypeWorking).Example(3)
			m.Lifecycle.Decay.Curve, m.Lifecycle.Decay.Points = schema.CurveCustom, c.points
			if c.wrong == "ok" {
				require.NoError(t, m.Validate())
				for _, shape := range []schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical} {
					encoded, err := schema.EncodeRecord(m, shape)
					require.NoError(t, err)
					again, err := schema.DecodeRecord(encoded)
					require.NoError(t, err, "%s", encoded)
					require.Equal(t, m, again)
				}
				m.Lifecycle.Decay.Curve = schema.CurveLinear
				requireFields(t, m.Validate(), "lifecycle.decay.points")
				return
			}
			requireFields(t, m.Validate(), "lifecycle.decay.points"+c.wrong)
		})
	}

	// The canonical shape, and missing fields: a missing share must not count as 0.
	for text, field := range map[string]string{
		`[{"after_seconds": 5, "share": 0.5}]`:  "",
		`[]`:                                    "",
		`null`:                                  "",
		`[{"after_seconds": 5}]`:                "decay_profile.points[0].share",
		`[{"after_seconds": 5, "share": null}]`: "decay_profile.points[0].share",
		`[{"share": 0.5}]`:                      "decay_profile.points[0].after_seconds",
		`[{"after_seconds": "P1D", "share": 0.5}]`:          "decay_profile.points[0].after_seconds",
		`[{"after_seconds": 5, "share": 0.5, "colour": 1}]`: "decay_profile.points[0].colour",
		`[5]`: "decay_profile.points[0]",
		`{}`:  "decay_profile.points",
		`[{"after_seconds": 5, "share": 1}, {"after_seconds": 4, "share": 1}]`: "decay_profile.points[1].after_seconds",
	} {
		record := tree(t, "testdata/canonical_semantic.json")
		profile := record["decay_profile"].(map[string]any) //nolint:forcetypeassert // the file has it
		profile["function"], profile["points"] = "custom", json.RawMessage(text)
		encoded, err := json.Marshal(record)
		require.NoError(t, err)
		m, err := schema.DecodeRecord(encoded)
		if field == "" {
			require.NoError(t, err, text)
			continue
		}
		requireFields(t, err, field)
		require.Empty(t, m.ID)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"P7D": 604800, "PT1H30M": 5400, "P2W": 1209600, "PT45S": 45,
		"P1DT1S": 86401, "36h": 129600, "90m0s": 5400} {
		record := tree(t, "testdata/canonical_semantic.json")
		record["decay_profile"].(map[string]any)["half_life"] = text //nolint:forcetypeassert // the file has it
		encoded, err := json.Marshal(record)
		require.NoError(t, err)
		m, err := schema.DecodeRecord(encoded)
		require.NoError(t, err, text)
		require.Equal(t, want, m.Lifecycle.Decay.HalfLifeSeconds, text)
	}
	for _, text := range []string{"P", "PT", "P1Y", "P1M", "1500ms", "-5h", "P1DT", "forever", "P99999999999999999999W",
		strings.Repeat("9", 100) + "h", "PT0S"} {
		record := tree(t, "testdata/canonical_semantic.json")
		record["decay_profile"].(map[string]any)["half_life"] = text //nolint:forcetypeassert // the file has it
		requireProblem(t, decodeTree(t, record), "decay_profile.half_life")
	}
}

// bomb returns a semantic record with the given JSON as its object.
func bomb(object string) []byte {
	return []byte(`{"id":"7b1f8a52-8c0a-4f2e-9f33-0a2d5a6f1c03","type":"semantic","sensitivity":"low","confidence":0.8,"salience":0.5,"created_at":"2026-01-28T00:00:00Z",
		"updated_at":"2026-01-28T00:00:00Z","lifecycle":{"decay":{"curve":"linear","half_life_seconds":1},"last_reinforced_at":"2026-01-28T00:00:00Z"},"provenance":{"sources":[]},
		"payload":{"kind":"semantic","subject":"s","predicate":"p","validity":{"mode":"global"},"object":` + object +
		`}}`)
}

func TestPayloadBombsAreRefused(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int, of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	var names strings.Builder
	for i := range schema.MaxPayloadItems + 1 {
		fmt.Fprintf(&names, `"k%d":0,`, i)
	}
	cases := map[string]struct{ object, field string }{
		"deep":           {nested(1_000_000), "payload.object" + strings.Repeat("[0]", schema.MaxPayloadDepth-1)},
		"deep, unclosed": {strings.Repeat(`[{"a":`, 500_000), ""},
		"one too deep": {nested(schema.MaxPayloadDepth),
			"payload.object" + strings.Repeat("[0]", schema.MaxPayloadDepth-1)},
		"long":               {"[" + many(schema.MaxPayloadItems+1, "0") + "]", "payload.object"},
		"wide":               {"{" + strings.TrimSuffix(names.String(), ",") + "}", "payload.object"},
		"large":              {`"` + strings.Repeat("x", schema.MaxPayloadBytes) + `"`, "payload"},
		"huge":               {`"` + strings.Repeat("x", schema.MaxRecordBytes) + `"`, "(json)"},
		"NUL":                {`"` + canary + `\u0000"`, "payload.object"},
		"NUL in a name":      {`{"a":{"` + canary + `\u0000":1}}`, "payload.object.a"},
		"half surrogate":     {`"` + canary + `\ud83d"`, "payload.object"},
		"other half":         {`"` + canary + `\ude00\ud83d"`, "payload.object"},
		"not UTF-8":          {`"` + canary + "\xff" + `"`, "payload.object"},
		"name twice":         {`{"a":1,"a":2}`, "payload.object.a"},
		"same name, escaped": {`{"a":1,"\u0061":2}`, "payload.object.a"},
		"too large":          {`[1,1e999]`, "payload.object[1]"},
		"too small":          {`[1e-999]`, "payload.object[0]"},
		"too many digits":    {strings.Repeat("9", 1000), "payload.object"},
		"exponent":           {`1e999999999999999999999`, "payload.object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.DecodeRecord(bomb(c.object))
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid)
			require.NotContains(t, err.Error(), canary)
			if c.field != "" {
				requireProblem(t, err, c.field)
			}
			payload := json.RawMessage(`{"kind":"semantic","subject":"s","predicate":"p","validity":{"mode":"global"},"object":` + c.object + `}`)
			require.ErrorAs(t, schema.ValidatePayload(schema.TypeSemantic, payload), &invalid)
			require.NotContains(t, invalid.Error(), canary)
			_, err = schema.PayloadOf[schema.SemanticPayload](payload)
			if err != nil {
				require.ErrorAs(t, err, &invalid)
			}
		})
	}
	for _, ok := range []string{nested(schema.MaxPayloadDepth - 1), "[" + many(schema.MaxPayloadItems, "0") + "]",
		`"\ud83d\ude00 \\ud83d \ufffd"`, `0e-999`, `1e308`, `-0.0`,
		`"` + strings.Repeat("x", schema.MaxContentBytes) + `"`} {
		_, err := schema.DecodeRecord(bomb(ok))
		require.NoError(t, err)
	}
}

func TestPayloadBombsAreNotDecoded(t *testing.T) {
	// Not parallel, because it counts allocations.
	data := bomb(strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000))
	deep := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = schema.DecodeRecord(data)
		}
	})
	require.Less(t, deep.AllocedBytesPerOp(), int64(64<<10), "reading stops where it is too deep")
}

func TestDecodingNeverPanicsAndNeverQuotes(t *testing.T) {
	t.Parallel()
	const hidden = "Xyzzy Canary" // a space, so that it is not a plain name
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(testkit.MemoryTypes).Draw(t, "type")
		m := testkit.WithAudit(testkit.RecordGen(kind)).Draw(t, "record")
		shape := rapid.SampledFrom([]schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical}).Draw(t, "shape")
		encoded, err := schema.EncodeRecord(m, shape)
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(encoded, &tree))
		encoded, err = json.Marshal(poison(tree, hidden))
		require.NoError(t, err)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(encoded)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				encoded[at] = rapid.SampledFrom([]byte(`"{}[]:,0ae\-.`)).Draw(t, "byte")
			case 1:
				to := min(len(encoded), at+rapid.IntRange(1, 40).Draw(t, "cut"))
				encoded = append(bytes.Clone(encoded[:at]), encoded[to:]...)
			default:
				encoded = bytes.Replace(encoded, []byte(`"`+hidden+`"`),
					rapid.SampledFrom([][]byte{[]byte(`null`), []byte(`[]`), []byte(`{}`), []byte(`-1`),
						[]byte(`1e400`)}).Draw(t, "value"), at%5+1)
			}
			if len(encoded) == 0 {
				return
			}
		}
		_, err = schema.DecodeRecord(encoded)
		if err != nil {
			var invalid *schema.ValidationError
			if !errors.As(err, &invalid) {
				t.Fatalf("%T: %v", err, err)
			}
			for _, f := range invalid.Fields {
				if strings.Contains(f.Field+f.Problem, "yzzy") {
					t.Fatalf("quotes a value: %v", f)
				}
			}
		}
		var loose schema.MemoryRecord
		if json.Valid(encoded) {
			require.NoError(t, json.Unmarshal(encoded, &loose))
			if err := loose.Validate(); err != nil {
				require.NotContains(t, err.Error(), "yzzy")
			}
			_, _ = schema.EncodeRecord(loose, schema.ShapeCanonical)
		}
	})
}

// poison replaces every text of a tree.
func poison(v any, with string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = poison(v[k], with)
		}
	case []any:
		for i := range v {
			v[i] = poison(v[i], with)
		}
	case string:
		return with
	}
	return v
}
