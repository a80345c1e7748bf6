package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// build returns the session of document 004 §5: a build fails and is fixed.
func build() *story {
	s := new(story)
	s.text(ledger.KindUserInjected, "The build fails,\nplease fix it.")
	s.add(ledger.KindEnvironment, `{"os":"linux","tool_versions":{"go":"1.26.0"},"working_dir":"/src"}`)
	s.call("c1", "sh", `{"command":"go build ./..."}`)
	s.add(
		ledger.KindToolFailed,
		ledger.ToolResult{CallID: "c1", Error: "cmd/app/main.go:12: undefined: start", Artifacts: []string{"log://1"}},
	)
	s.call("c2", "read", `{"path":"cmd/app/main.go"}`)
	s.returned("c2", `"package main"`)
	s.add(ledger.KindEnvironment, `{"tool_versions":{"go":"1.26.1","git":"2.47"},"context":{"branch":"fix"}}`)
	s.call("c3", "sh", `{"command":"go build ./..."}`)
	s.add(
		ledger.KindToolReturned,
		ledger.ToolResult{CallID: "c3", Result: json.RawMessage(`""`), Artifacts: []string{"log://2", "log://1"}},
	)
	s.add(ledger.KindOutcome, `{"outcome":"success","summary":"renamed start"}`)
	return s
}

func TestEpisode(t *testing.T) {
	t.Parallel()
	s := build()
	episode := s.episode(t, session.Finished)
	encoded := valid(t, schema.TypeEpisodic, episode.Payload)
	require.JSONEq(t, `{
		"kind": "episodic",
		"timeline": [
			{"t":"2026-01-02T03:00:01Z","event_kind":"user.injected","ref":"event:e1",
				"summary":"user: The build fails, please fix it."},
			{"t":"2026-01-02T03:00:02Z","event_kind":"world.environment","ref":"event:e2",
				"summary":"environment: linux, go 1.26.0, in /src"},
			{"t":"2026-01-02T03:00:03Z","event_kind":"tool.called","ref":"event:e3",
				"summary":"call sh: command go build ./..."},
			{"t":"2026-01-02T03:00:04Z","event_kind":"tool.failed","ref":"event:e4",
				"summary":"sh failed: cmd/app/main.go:12: undefined: start"},
			{"t":"2026-01-02T03:00:05Z","event_kind":"tool.called","ref":"event:e5",
				"summary":"call read: path cmd/app/main.go"},
			{"t":"2026-01-02T03:00:06Z","event_kind":"tool.returned","ref":"event:e6",
				"summary":"read returned: package main"},
			{"t":"2026-01-02T03:00:07Z","event_kind":"world.environment","ref":"event:e7",
				"summary":"environment: git 2.47, go 1.26.1"},
			{"t":"2026-01-02T03:00:08Z","event_kind":"tool.called","ref":"event:e8",
				"summary":"call sh: command go build ./..."},
			{"t":"2026-01-02T03:00:09Z","event_kind":"tool.returned","ref":"event:e9","summary":"sh returned"},
			{"t":"2026-01-02T03:00:10Z","event_kind":"run.ended","ref":"event:e10",
				"summary":"ended success: renamed start"}],
		"artifacts": ["log://1","log://2"],
		"tool_graph": [
			{"id":"c1","tool":"sh","args":{"command":"go build ./..."},"result_ref":"event:e4"},
			{"id":"c2","tool":"read","args":{"path":"cmd/app/main.go"},"result_ref":"event:e6","depends_on":["c1"]},
			{"id":"c3","tool":"sh","args":{"command":"go build ./..."},"result_ref":"event:e9"}],
		"environment": {"os":"linux","tool_versions":{"git":"2.47","go":"1.26.1"},"working_dir":"/src",
			"context":{"branch":"fix"}},
		"outcome": "success"}`, string(encoded))
	require.Equal(
		t,
		session.Episode{Payload: episode.Payload, Sensitivity: schema.SensitivityLow, Events: 10, FirstSeq: 1,
			LastSeq: 10},
		episode,
	)
	text := memory.RecordText(schema.MemoryRecord{Type: schema.TypeEpisodic, Payload: encoded})
	require.Equal(
		t,
		"user: The build fails, please fix it.; environment: linux, go 1.26.0, in /src; call sh: command go "+
			"build ./...; "+
			"sh failed: cmd/app/main.go:12: undefined: start; call read: path cmd/app/main.go; read returned: "+
			"package main; "+
			"environment: git 2.47, go 1.26.1; call sh: command go build ./...; sh returned; ended success: "+
			"renamed start",
		text,
	)
}

func TestEpisodeOutcome(t *testing.T) {
	t.Parallel()
	used := func() *story { return new(story).call("1", "go", `{}`).returned("1", `1`) }
	broken := func() *story { return used().call("2", "git", `{}`).failed("2", "no") }
	for name, c := range map[string]struct {
		story          *story
		finished, idle schema.Outcome
	}{
		"reported": {used().add(ledger.KindOutcome, `{"outcome":"failure"}`), "failure", "failure"},
		"reported twice": {used().add(ledger.KindOutcome, `{"outcome":"failure"}`).
			add(ledger.KindOutcome, `{"outcome":"success"}`), "success", "success"},
		"another run started": {used().add(ledger.KindOutcome, `{"outcome":"failure"}`).
			add(ledger.KindRunStarted, ""), "success", "partial"},
		"erased":                       {used().add(ledger.KindOutcome, ""), "success", "partial"},
		"no tool":                      {new(story).text(ledger.KindUserInjected, "hello"), "partial", "partial"},
		"success":                      {used(), "success", "partial"},
		"no result":                    {used().call("2", "go", `{}`), "partial", "partial"},
		"last call failed":             {broken(), "failure", "partial"},
		"another tool after a failure": {broken().call("3", "go", `{}`).returned("3", `1`), "partial", "partial"},
		"retried":                      {broken().call("3", "git", `{}`).returned("3", `1`), "success", "partial"},
		"result of no call":            {new(story).call("1", "go", `{}`).returned("0", `1`), "partial", "partial"},
	} {
		require.Equal(t, c.finished, c.story.episode(t, session.Finished).Payload.Outcome, name)
		require.Equal(t, c.idle, c.story.episode(t, session.Idle).Payload.Outcome, name)
	}
	_, ok := session.Close(run, nil, session.Idle)
	require.False(t, ok, "no events")
}

// A later snapshot replaces the fields that it sets. Values beyond the limit are dropped. Replaced values free room.
func TestEpisodeEnvironment(t *testing.T) {
	t.Parallel()
	var s story
	for i := range 200 {
		s.add(
			ledger.KindEnvironment,
			fmt.Sprintf(`{"os":"linux","context":{"step":%q,"deep":%s}}`, fmt.Sprint(i, strings.Repeat(" x", 2000)),
				strings.Repeat("[", 25)+strings.Repeat("]", 25)),
		)
	}
	s.add(ledger.KindEnvironment, fmt.Sprintf(`{"os":"","context":{"large":%q,"small":1}}`, strings.Repeat("x", 5_000)))
	episode := s.episode(t, session.Idle)
	valid(t, schema.TypeEpisodic, episode.Payload)
	require.Equal(t, "linux", episode.Payload.Environment.OS)
	require.JSONEq(
		t,
		fmt.Sprintf(`{"step":%q,"small":1}`, fmt.Sprint(199, strings.Repeat(" x", 2000))),
		string(episode.Payload.Environment.Context),
	)
}

// Events keep the order of the ledger. An event with an earlier time than its predecessor gets the predecessor's time.
func TestEpisodeOfLateEvents(t *testing.T) {
	t.Parallel()
	s := new(story).text(ledger.KindAgentSpoke, "one").
		text(ledger.KindAgentSpoke, "two").
		text(ledger.KindAgentSpoke, "three")
	s.events[1].OccurredAt = start.Add(-time.Hour)
	timeline := s.episode(t, session.Idle).Payload.Timeline
	require.Equal(t, []string{"said: one", "said: two", "said: three"}, summaries(timeline))
	require.Equal(t, timeline[0].T, timeline[1].T)
}

func summaries(timeline []schema.TimelineEvent) []string {
	var out []string
	for _, e := range timeline {
		out = append(out, e.Summary)
	}
	return out
}

// Arguments may be nested as deeply as an event allows, and longer than a graph can show.
func TestEpisodeShortensArguments(t *testing.T) {
	t.Parallel()
	s := new(story)
	s.call("deep", "x", strings.Repeat(`{"a":`, 31)+"1"+strings.Repeat("}", 31))
	s.call(
		"long",
		"x",
		fmt.Sprintf(`{"path":"a.go","lines":[%s1],"content":%q}`, strings.Repeat("1,", 400),
			strings.Repeat("word ", 2_000)),
	)
	s.call("list", "x", `["a",{}]`)
	many := map[string]any{}
	for i := range 100 {
		many[fmt.Sprintf("k%02d", i)] = strings.Repeat("v", 1_000)
	}
	encoded, err := json.Marshal(many)
	require.NoError(t, err)
	s.call("many", "x", string(encoded))
	for i := range s.events {
		e := s.events[i]
		e.Seq = 0
		require.NoError(t, e.Validate())
	}
	episode := s.episode(t, session.Idle)
	valid(t, schema.TypeEpisodic, episode.Payload)
	args := map[string]string{}
	for _, node := range episode.Payload.ToolGraph {
		args[node.ID] = string(node.Args)
	}
	require.Equal(t, strings.Repeat(`{"a":`, 16)+`"{…}"`+strings.Repeat("}", 16), args["deep"])
	require.JSONEq(t, `{"value":["a",{}]}`, args["list"])
	var long struct {
		Path, Content string
		Lines         []any
	}
	require.NoError(t, json.Unmarshal([]byte(args["long"]), &long))
	require.Equal(t, "a.go", long.Path)
	require.True(t, strings.HasSuffix(long.Content, " […]"))
	require.Equal(t, "[381 more]", long.Lines[20])
	require.LessOrEqual(t, len(args["long"]), 1_000)
	var kept map[string]any
	require.NoError(t, json.Unmarshal([]byte(args["many"]), &kept))
	require.Contains(t, kept, "k00")
	require.EqualValues(t, 100-(len(kept)-1), kept["left_out"], "including values dropped by the first cut")
}

// Every event has a summary in words without line breaks, for any kind and shape.
func TestEpisodeSummaries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, payload, want string }{
		{ledger.KindRunStarted, `{"text":"fix the build"}`, "started: fix the build"},
		{ledger.KindUserInjected, `{"text":"a\nb\tc"}`, "user: a b c"},
		{ledger.KindWorldObserved, `{"text":"rain"}`, "observed: rain"},
		{ledger.KindWorldObserved, `{"max_temp":21.50,"sky":["clear",null,"blue"],"ok":true}`,
			"observed: max temp 21.50, ok true, sky clear, blue"},
		{ledger.KindAgentReflected, `{"belief":"the cache lies","based_on":["e1"]}`, "believes: the cache lies"},
		{ledger.KindVerdictFinal, `{"text":"guilty"}`, "final verdict: guilty"},
		{ledger.KindWorkingUpdated, `{"state":"waiting","next_actions":["ask","wait"],"open_questions":["which?"]}`,
			"working: waiting; next: ask, wait; open: which?"},
		{ledger.KindOutcome, `{"outcome":"partial"}`, "ended partial"},
		{ledger.KindCandidate, `{"candidate":"x"}`, ""},
		{ledger.KindToolReturned, `{"call_id":"unknown","result":{"n":1}}`, "returned: n 1"},
		{ledger.KindToolFailed, `{"call_id":"unknown","result":"exit 1"}`, "failed: exit 1"},
		{"market.closed", `{"text":"late"}`, "late"},
		{"market.closed", `{"price":3}`, "price 3"},
		{"market.closed", `{}`, ""},
	} {
		timeline := new(story).add(c.kind, c.payload).episode(t, session.Idle).Payload.Timeline
		require.Equal(t, []string{c.want}, summaries(timeline), c.kind)
	}
}

// No part of an episode contains a secret of its events. The key is assembled from parts so that secret scanners do
// not report this file.
func TestEpisodeMasksSecrets(t *testing.T) {
	t.Parallel()
	token := "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	s := new(story).text(ledger.KindUserInjected, "Use this:\n"+token+"\nand push.")
	s.text(ledger.KindAgentThought, strings.Repeat("word ", 29)+token) // cut in the middle of it
	s.call("1", "sh", `{"command":"curl -H 'Authorization: Bearer `+token+`'","n":1,"password":"swordfish"}`)
	s.failed("1", "fatal: https://ann:"+token+"@example.org refused")
	s.add(ledger.KindEnvironment, `{"os":"linux","context":{"GITHUB_TOKEN":"`+token+`","branch":"main"}}`)
	s.call(
		"2",
		"write",
		`{"path":"a.txt","content":"`+strings.Repeat("text ", 70)+token+strings.Repeat(" text", 1000)+`"}`,
	)
	s.add(
		ledger.KindArtifact,
		ledger.Text{Text: "log", Artifacts: []string{"https://ann:" + token + "@example.org/log", "log://1"}},
	)
	episode := s.episode(t, session.Finished)
	encoded := string(valid(t, schema.TypeEpisodic, episode.Payload))
	require.NotContains(t, encoded, token[:12])
	require.NotContains(t, encoded, "swordfish")
	level, _ := sensitive.Detect(encoded)
	require.False(t, sensitive.IsWithheld(level))
	require.Equal(t, "user: Use this: [withheld: api_key] and push.", episode.Payload.Timeline[0].Summary)
	require.JSONEq(
		t,
		`{"GITHUB_TOKEN":"[withheld: api_key]","branch":"main"}`,
		string(episode.Payload.Environment.Context),
	)
	require.Equal(t, []string{"log://1"}, episode.Payload.Artifacts)
}

// An erased event keeps its place in the timeline, without content.
func TestEpisodeOfErasedEvents(t *testing.T) {
	t.Parallel()
	s := build()
	for i := range s.events {
		s.events[i].Payload, s.events[i].Erased = nil, true
	}
	episode := s.episode(t, session.Finished)
	valid(t, schema.TypeEpisodic, episode.Payload)
	require.Len(t, episode.Payload.Timeline, 10)
	require.Equal(t, make([]string, 10), summaries(episode.Payload.Timeline))
	require.Empty(t, episode.Payload.ToolGraph)
	require.Empty(t, episode.Payload.Artifacts)
	require.Nil(t, episode.Payload.Environment)
}

// Close makes the same episode from all events at once, in any order and with duplicates, as an accumulator makes from
// single events.
func TestCloseAgreesWithAccumulator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawEvents(t)
		why := rapid.SampledFrom([]session.Closing{session.Finished, session.Idle}).Draw(t, "why")
		a := session.NewAccumulator(run)
		for i, e := range s.events {
			require.True(t, a.Add(e))
			// Neither closing nor a repeated event changes the accumulator.
			if rapid.IntRange(0, 5).Draw(t, "look") == 0 {
				_, ok := a.Episode(why)
				require.True(t, ok)
				require.False(t, a.Add(s.events[rapid.IntRange(0, i).Draw(t, "again")]))
			}
		}
		single, ok := a.Episode(why)
		require.True(t, ok)
		mixed := rapid.Permutation(append(slices.Clone(s.events), s.events[0])).Draw(t, "mixed")
		whole, ok := session.Close(run, mixed, why)
		require.True(t, ok)
		require.Equal(t, whole, single)
		unnumbered := slices.Clone(s.events)
		for i := range unnumbered {
			unnumbered[i].Seq = 0
		}
		whole, ok = session.Close(run, append(unnumbered, unnumbered[0]), why)
		require.True(t, ok)
		require.Equal(t, whole, single)

		encoded := valid(t, schema.TypeEpisodic, single.Payload)
		require.NotEmpty(t, memory.RecordText(schema.MemoryRecord{Type: schema.TypeEpisodic, Payload: encoded}))
		require.Len(t, single.Payload.Timeline, len(s.events))
		for i, shown := range single.Payload.Timeline {
			require.Equal(t, s.events[i].Kind, shown.EventKind)
			require.Equal(t, "event:"+s.events[i].ID, shown.Ref)
			most := 160
			if shown.EventKind == ledger.KindToolFailed {
				most = 240 + 160
			}
			require.LessOrEqual(t, len([]rune(shown.Summary)), most)
			latest := slices.MaxFunc(s.events[:i+1], func(a, b ledger.Event) int {
				return a.OccurredAt.Compare(b.OccurredAt)
			})
			require.True(t, shown.T.Equal(latest.OccurredAt))
		}
		graph, err := json.Marshal(session.ToolGraph(s.events))
		require.NoError(t, err)
		shown, err := json.Marshal(single.Payload.ToolGraph)
		require.NoError(t, err)
		require.JSONEq(t, string(graph), string(shown))
	})
}

func ExampleClose() {
	s := build()
	episode, _ := session.Close("run/build-42", s.events, session.Finished)
	fmt.Println(episode.Payload.Outcome, len(episode.Payload.Timeline), "events")
	for _, node := range episode.Payload.ToolGraph {
		fmt.Println(node.ID, node.Tool, node.DependsOn)
	}
	// Output:
	// success 10 events
	// c1 sh []
	// c2 read [c1]
	// c3 sh []
}

func ExampleAccumulator() {
	a := session.NewAccumulator("run/build-42")
	events := build().events
	for len(events) > 0 { // page by page, as the ledger returns them
		page := events[:min(4, len(events))]
		for _, e := range page {
			a.Add(e)
		}
		events = events[len(page):]
	}
	episode, _ := a.Episode(session.Idle)
	fmt.Println(episode.Payload.Outcome, episode.FirstSeq, episode.LastSeq)
	// Output: success 1 10
}
