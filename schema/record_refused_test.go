package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

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
