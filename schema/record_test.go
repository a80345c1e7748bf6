package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
