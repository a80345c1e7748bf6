package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func recordOf(t schema.MemoryType, payload string) schema.MemoryRecord {
	return schema.MemoryRecord{Type: t, Payload: json.RawMessage(payload)}
}

func TestRecordTextDescribesThePayload(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]schema.MemoryRecord{
		"user prefers backend language go when project kind is backend_service": recordOf(schema.TypeSemantic,
			`{"subject": "user", "predicate": "prefers_backend_language", "object": "go", "validity": {"mode": "conditional", "conditions": {"project_kind": "backend_service"}}}`),
		"Ana speaks en, pt when os is linux or macos and year is 2026 from 2026-01-01 until " +
			"2026-02-01T12:30:00Z": recordOf(schema.TypeSemantic,
			`{"subject": "Ana", "predicate": "speaks", "object": ["en", "pt"], "validity": {"mode": "timeboxed", "conditions": {"year": 2026, "os": ["linux", "macos"]},
				"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T13:30:00+01:00"}}`),
		"server has limits cpu 2, memory large, swap true": recordOf(schema.TypeSemantic,
			`{"subject": "server", "predicate": "has_limits", "object": {"memory": "large", "cpu": 2.0, "swap": true}, "validity": {"mode": "global"}}`),
		"Tea is best at 80 degrees.": recordOf(schema.TypeSemantic,
			`{"subject": "Ana", "predicate": "states", "object": "Tea is best at 80 degrees.", "validity": {"mode": "global"}}`),
		"fix linker. when: ld: cache mismatch (os is macos). Clear the cache with shell until it is empty. Rebuild " +
			"(flags is clean). tools: make, ld. may fail: locked; full. otherwise: " +
			"Reinstall": recordOf(schema.TypeCompetence,
			`{"skill_name": "fix_linker", "triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}],
				"recipe": [{"step": "Clear the cache", "tool": "shell", "validation": "it is empty"}, {"step": "Rebuild", "conditions": {"flags": "clean"}}],
				"required_tools": ["make", "ld"], "failure_modes": ["locked", "full"], "fallbacks": ["Reinstall"], "performance": {"success_count": 3}}`),
		"setup project. steps: git init, write file (empty is true). within: trust is " +
			"high": recordOf(schema.TypePlanGraph,
			`{"plan_id": "p1", "intent": "setup_project", "nodes": [{"id": "a", "op": "git_init"}, {"id": "b", "op": "write_file", "guards": {"empty": true}}], "constraints": {"trust": "high"}}`),
		"The backend is there. next: choose a frontend. open: which docs?; when?. constraints: no network; budget 3. " +
			"thread: t1. task: k": recordOf(schema.TypeWorking,
			`{"context_summary": "The backend is there", "next_actions": ["choose a frontend"], "open_questions": ["which docs?", "when?"],
				"active_constraints": ["no network", {"budget": 3}], "thread_id": "t1", "task_id": "k"}`),
		"ran make; tool call; it worked": recordOf(schema.TypeEpisodic,
			`{"timeline": [{"summary": "ran make", "event_kind": "user_input"}, {"event_kind": "tool_call"}, {"summary": "it  worked", "event_kind": "outcome"}]}`),
		"episodic":   recordOf(schema.TypeEpisodic, `{"timeline": []}`),
		"plan graph": recordOf(schema.TypePlanGraph, `null`),
	} {
		require.Equal(t, want, memory.RecordText(m))
		require.Equal(t, want, memory.RecordContent(m).Storage)
		m.Content = " its  own "
		require.Equal(t, "its own", memory.RecordContent(m).Storage)
	}
	long := recordOf(schema.TypeEpisodic, `{"timeline": [{"summary": "`+strings.Repeat("word ", 10_000)+`"}]}`)
	require.Less(t, len(memory.RecordText(long)), normalize.MaxExtractInput)
}

func TestRecordHash(t *testing.T) {
	t.Parallel()
	hash := func(kind schema.MemoryType, content, payload string) string {
		m := recordOf(kind, payload)
		m.Content = content
		return string(memory.RecordHash(m, memory.RecordContent(m)))
	}
	text := string(normalize.Normalize("Ana likes go.").Hash)
	fork := `{"validity": {"mode": "conditional", "conditions": %s}}`
	skill := `{"skill_name": "s", "recipe": [{"step": %q}], "performance": {"success_count": %d}}`
	plan := `{"plan_id": "p", "version": %q, "metrics": {"success_count": %d}}`
	begun := `{"timeline": [{"t": %q, "ref": "r", "event_kind": "deployed"}]}`
	same := [][2]string{
		{text, hash(schema.TypeSemantic, "Ana likes Go", `{"validity": {"mode": "global"}}`)},
		{text, hash(schema.TypeEpisodic, "Ana likes Go", fmt.Sprintf(begun, "2026-01-01T00:00:00Z"))},
		{hash(schema.TypeSemantic, "x", fmt.Sprintf(fork, `{"a": 1, "b": [2]}`)),
			hash(schema.TypeSemantic, "X.", fmt.Sprintf(fork, `{"b": [2.0], "a": 1e0}`))},
		{hash(schema.TypeCompetence, "x", fmt.Sprintf(skill, "a", 1)),
			hash(schema.TypeCompetence, "x", fmt.Sprintf(skill, "a", 2))},
		{hash(schema.TypePlanGraph, "x", fmt.Sprintf(plan, "1", 1)),
			hash(schema.TypePlanGraph, "x", fmt.Sprintf(plan, "1", 2))},
		{hash(schema.TypeWorking, "x", `{"thread_id": "t", "state": "planning"}`),
			hash(schema.TypeWorking, "x", `{"thread_id": "t", "state": "blocked"}`)},
		{hash(schema.TypeEpisodic, "", fmt.Sprintf(begun, "2026-01-01T00:00:00Z")),
			hash(schema.TypeEpisodic, "", fmt.Sprintf(begun, "2026-01-01T01:00:00+01:00"))},
		// An episode that grew keeps its hash, also when it is read back with its generated content.
		{hash(schema.TypeEpisodic, "deployed", fmt.Sprintf(begun, "2026-01-01T00:00:00Z")),
			hash(schema.TypeEpisodic, "deployed",
				`{"timeline": [{"t": "2026-01-01T00:00:00Z", "ref": "r", "event_kind": "deployed"}, {"event_kind": "rolled_back"}]}`)},
	}
	for i, pair := range same {
		require.Equal(t, pair[0], pair[1], i)
	}
	different := [][2]string{
		{text, hash(schema.TypeSemantic, "Ana likes Go", fmt.Sprintf(fork, `{"a": 1}`))},
		{hash(schema.TypeSemantic, "x", fmt.Sprintf(fork, `{"a": 1}`)),
			hash(schema.TypeSemantic, "x", fmt.Sprintf(fork, `{"a": "1"}`))},
		{hash(schema.TypeCompetence, "x", fmt.Sprintf(skill, "a", 1)),
			hash(schema.TypeCompetence, "x", fmt.Sprintf(skill, "b", 1))},
		{hash(schema.TypePlanGraph, "x", fmt.Sprintf(plan, "1", 1)),
			hash(schema.TypePlanGraph, "x", fmt.Sprintf(plan, "2", 1))},
		{hash(schema.TypeWorking, "x", `{"thread_id": "t"}`), hash(schema.TypeWorking, "x", `{"task_id": "t"}`)},
		{hash(schema.TypeEpisodic, "", fmt.Sprintf(begun, "2026-01-01T00:00:00Z")),
			hash(schema.TypeEpisodic, "", fmt.Sprintf(begun, "2026-01-02T00:00:00Z"))},
	}
	for i, pair := range different {
		require.NotEqual(t, pair[0], pair[1], i)
	}
	require.Len(t, text, 32)
}

func TestRecordClaim(t *testing.T) {
	t.Parallel()
	claim := func(predicate, cardinality, object string) memory.Claim {
		return memory.RecordClaim(schema.SemanticPayload{Subject: "s", Predicate: predicate,
			Object: json.RawMessage(object), Cardinality: schema.Cardinality(cardinality)})
	}
	require.Equal(t, memory.Claim{Subject: "s", Predicate: "lives_in", Object: "Porto", Functional: true},
		claim("lives_in", "", `"Porto"`))
	require.False(t, claim("states", "", `"x"`).Functional)
	require.True(t, claim("states", "one", `"x"`).Functional)
	require.False(t, claim("likes", "many", `"x"`).Functional)
	require.Equal(t, `{"a":100,"b":[1.5]}`, claim("is", "", `{"b": [1.50], "a": 1e2}`).Object)
}

func TestRecordIDs(t *testing.T) {
	t.Parallel()
	const id = "0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b"
	require.Equal(t, id, memory.RecordID("t", strings.ToUpper(id)).String())
	for _, foreign := range []string{"mem-1", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""),
		"00000000-0000-0000-0000-000000000000"} {
		key := memory.RecordID("t", foreign)
		require.Equal(t, key, memory.RecordID("t", foreign))
		require.NotEqual(t, key, memory.RecordID("u", foreign))
		require.NotEqual(t, id, key.String())
		require.EqualValues(t, 5, key.Version())
	}
	require.Equal(t, "63f65ccc-36ad-5e1a-bf4f-d0465980cfc1", memory.RecordID("t", "mem-1").String(), "IDs are stable")
}

// Document 002: "Pinned memories have importance = 1.0 and never decay". It does not matter who pins them.
func TestAPinnedRecordHasImportanceOne(t *testing.T) {
	t.Parallel()
	m := schema.MemoryRecord{Type: schema.TypeSemantic, Content: "The office is closed.", Importance: 0.3}
	require.InDelta(t, 0.3, memory.ClassifyRecord(m, normalize.Normalize(m.Content)).Importance, 0)
	m.Lifecycle.Pinned = true
	require.InDelta(t, 1, memory.ClassifyRecord(m, normalize.Normalize(m.Content)).Importance, 0)
}

func TestDerivedTrust(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.8, memory.DerivedTrust(0.8), 0)
	require.InDelta(t, 0.2, memory.DerivedTrust(0.8, 0.9, 0.2, 1), 0)
	require.InDelta(t, 0.8, memory.DerivedTrust(0.8, 0.9), 0)
	require.InDelta(t, 1, memory.DerivedTrust(3, 2), 0)
}

func TestEpisodeGrows(t *testing.T) {
	t.Parallel()
	const old = `{"kind": "episodic", "timeline": [{"t": "1", "n": 100}, {"t": "2"}], "artifacts": ["a"], "environment": {"os": "linux"}}`
	for grown, want := range map[string]string{
		old: "",
		`{"kind": "episodic", "timeline": [{"n": 1e2, "t": "1"}, {"t": "2"}, {"t": "3"}], "artifacts": ["a", "b"], "environment": {"os": "linux"}, "outcome": "success", "tool_graph": [{}]}`: "",
		`{"kind": "episodic", "timeline": [{"t": "1", "n": 100}], "artifacts": ["a"], "environment": {"os": "linux"}}`:                                                                        "timeline[1]",
		`{"kind": "episodic", "timeline": [{"t": "1", "n": 101}, {"t": "2"}], "artifacts": ["a"], "environment": {"os": "linux"}}`:                                                            "timeline[0]",
		`{"kind": "episodic", "timeline": [{"t": "2"}, {"t": "1", "n": 100}], "artifacts": ["a"], "environment": {"os": "linux"}}`:                                                            "timeline[0]",
		`{"kind": "episodic", "timeline": [{"t": "1", "n": 100}, {"t": "2"}], "environment": {"os": "linux"}}`:                                                                                "artifacts",
		`{"kind": "episodic", "timeline": [{"t": "1", "n": 100}, {"t": "2"}], "artifacts": ["a"], "environment": {"os": "linux", "working_dir": "/"}}`:                                        "environment",
		`{"kind": "episodic", "timeline": {}, "artifacts": ["a"], "environment": {"os": "linux"}}`:                                                                                            "timeline",
		`[]`: "payload",
	} {
		require.Equal(t, want, memory.EpisodeGrows(json.RawMessage(old), json.RawMessage(grown)), grown)
	}
}

// Numbers are compared by value, as Postgres does, not by notation.
func TestSameJSONComparesNumbersByValue(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"100", "1e2"}, {"1.0", "1"}, {"-0.00", "0"}, {"0.05", "5E-2"}, {"120e-1", "12"},
		{"1e999999999", "10e999999998"}, {"-12.50", "-1.25e+1"}} {
		require.True(t, memory.SameJSON(json.RawMessage(pair[0]), json.RawMessage(pair[1])), pair)
	}
	for _, pair := range [][2]string{{"1", "10"}, {"1", "-1"}, {"0.1", "0.01"}, {`"1"`, "1"}, {"null", "0"},
		{"1e999999999", "1e999999998"}} {
		require.False(t, memory.SameJSON(json.RawMessage(pair[0]), json.RawMessage(pair[1])), pair)
	}
	rapid.Check(t, func(t *rapid.T) { // digits, shifted by the exponent, and written out
		digits, shift := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "digits"), rapid.IntRange(0, 30).Draw(t, "shift")
		scientific, plain := fmt.Sprintf("%de%d", digits, shift), fmt.Sprintf("%d%s", digits,
			strings.Repeat("0", shift))
		if digits == 0 {
			plain = "0"
		}
		require.True(t, memory.SameJSON(json.RawMessage(scientific), json.RawMessage(plain)), "%s %s", scientific,
			plain)
		require.True(t, memory.SameJSON(json.RawMessage(fmt.Sprintf("%se-%d", plain, shift)),
			json.RawMessage(fmt.Sprint(digits))))
	})
}
