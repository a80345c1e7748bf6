package session_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// long generates a session of n events: calls and results, one failure per thousand events, occasional user input, and
// an outcome. It passes events to the callback one by one, to keep memory small.
func long(n int, event func(ledger.Event)) (failures []string) {
	var s story
	for i := range n {
		s.events = s.events[:0]
		switch call := fmt.Sprint("c", i/2); {
		case i == 0:
			s.text(ledger.KindRunStarted, "a long task")
		case i == n-1:
			s.add(ledger.KindOutcome, `{"outcome":"failure"}`)
		case i%5_000 == 1:
			s.text(ledger.KindUserInjected, fmt.Sprint("go on, ", i))
		case i%2 == 0:
			s.call(call, "read", fmt.Sprintf(`{"path":"pkg/file-%d.go","from":"token-%d"}`, i, i/2-1))
		case i%1_000 == 999:
			s.failed(call, "no such file")
			failures = append(failures, fmt.Sprint("event:e", i+1))
		default:
			s.returned(call, fmt.Sprintf(`{"content":"package p%d","next":"token-%d"}`, i, i/2))
		}
		e := s.events[0]
		e.ID, e.Seq, e.OccurredAt = fmt.Sprint("e", i+1), int64(i+1), start.Add(time.Duration(i)*time.Second)
		event(e)
	}
	return failures
}

// An episode of 100,000 events fits into a record. It contains the first and last events, every failure and the user's
// input, and counts the omitted events by kind.
func TestEpisodeOfLongSession(t *testing.T) {
	t.Parallel()
	const n = 100_000
	a := session.NewAccumulator(run)
	began := time.Now()
	failures := long(n, func(e ledger.Event) { require.True(t, a.Add(e)) })
	episode, ok := a.Episode(session.Idle)
	require.True(t, ok)
	t.Logf("%d events in %v", n, time.Since(began))
	encoded := valid(t, schema.TypeEpisodic, episode.Payload)
	require.Greater(t, len(encoded), 150_000, "the episode uses the available room")
	require.Equal(t, n, episode.Events)
	require.Equal(t, schema.OutcomeFailure, episode.Payload.Outcome)

	timeline := episode.Payload.Timeline
	shown := map[string]schema.TimelineEvent{}
	counted, next := 0, int64(1)
	for _, e := range timeline {
		if e.EventKind != session.KindOmitted {
			shown[e.Ref] = e
			require.Equal(t, fmt.Sprint("event:e", next), e.Ref)
			next++
			continue
		}
		var first, last int64
		var events int
		_, err := fmt.Sscanf(e.Ref, "events:%d-%d", &first, &last)
		require.NoError(t, err)
		_, err = fmt.Sscanf(e.Summary, "%d event", &events)
		require.NoError(t, err)
		require.Equal(t, next, first, "each event is either shown or counted")
		require.EqualValues(t, last-first+1, events)
		_, kinds, found := strings.Cut(e.Summary, ": ")
		require.True(t, found)
		byKind := 0
		for part := range strings.SplitSeq(kinds, ", ") {
			var number int
			var kind string
			_, err = fmt.Sscanf(part, "%d %s", &number, &kind)
			require.NoError(t, err)
			byKind += number
		}
		require.Equal(t, events, byKind)
		require.Equal(t, start.Add(time.Duration(first-1)*time.Second), e.T)
		counted += events
		next = last + 1
	}
	require.Equal(t, int64(n+1), next)
	require.Equal(t, n-len(shown), counted)
	require.Equal(t, episode.EventsLeftOut, counted)
	for _, ref := range failures {
		require.Contains(t, shown, ref)
	}
	for i := 1; i < n; i += 5_000 {
		require.Contains(t, shown, fmt.Sprint("event:e", i+1))
	}
	for i := range 50 {
		require.Contains(t, shown, fmt.Sprint("event:e", i+1))
		require.Contains(t, shown, fmt.Sprint("event:e", n-i))
	}

	nodes := episode.Payload.ToolGraph
	require.Equal(t, "c1", nodes[0].ID)
	require.Equal(t, fmt.Sprint("c", n/2-1), nodes[len(nodes)-1].ID)
	require.Equal(t, n/2-1, len(nodes)+episode.CallsLeftOut)
	for _, ref := range failures {
		require.True(t, slices.ContainsFunc(nodes, func(node schema.ToolNode) bool { return node.ResultRef == ref }),
			ref)
	}
	require.Equal(t, []string{nodes[0].ID}, nodes[1].DependsOn)
}

// An episode fits into a record, and the accumulator is bounded, for events of any kind with long names and texts.
func TestEpisodeAlwaysFits(t *testing.T) {
	t.Parallel()
	const n = 3_000
	wide := strings.Repeat("漢", 120)
	for name, event := range map[string]func(s *story, i int){
		"failures": func(s *story, i int) {
			s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: wide, Error: wide + wide})
		},
		"endings":  func(s *story, _ int) { s.add(ledger.KindOutcome, `{"outcome":"partial"}`) },
		"nothing":  func(s *story, _ int) { s.add("x", "") },
		"speeches": func(s *story, _ int) { s.text(ledger.KindUserInjected, strings.Repeat(wide, 3)) },
		"secrets": func(s *story, i int) {
			s.text(ledger.KindAgentSpoke, fmt.Sprintf("a\npin: 48%d\nb\npin: 49%d\nc\npin: 51%d\n", i%90+10, i%90+10,
				i%90+10))
		},
		"calls": func(s *story, i int) {
			args, err := json.Marshal(map[string]any{"a": strings.Repeat(wide, 20), "n": []int{i, i + 1},
				fmt.Sprint("key", i): wide})
			require.NoError(t, err)
			s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: fmt.Sprint(wide, i), Tool: wide + wide, Args: args,
				DependsOn: []string{fmt.Sprint(wide, i-1)}})
		},
		"kinds": func(s *story, i int) { s.add(fmt.Sprint("kind.", i%500), "{}") },
		"artifacts": func(s *story, i int) {
			s.add(ledger.KindArtifact, ledger.Text{Text: "x",
				Artifacts: []string{fmt.Sprint("log://", i, wide, wide, wide)}})
		},
	} {
		a := session.NewAccumulator(run)
		var s story
		for i := range n {
			s.events = s.events[:0]
			event(&s, i)
			e := s.events[0]
			e.ID, e.Seq = fmt.Sprint(i, wide[:150]), int64(i+1)
			require.True(t, a.Add(e))
		}
		episode, ok := a.Episode(session.Finished)
		require.True(t, ok)
		encoded := valid(t, schema.TypeEpisodic, episode.Payload)
		require.Greater(t, len(encoded), 50_000, name)
		timeline := episode.Payload.Timeline
		require.True(t, strings.HasPrefix(timeline[0].Ref, "event:0"), name)
		require.True(t, strings.HasPrefix(timeline[len(timeline)-1].Ref, fmt.Sprint("event:", n-1)), name)
		t.Logf(
			"%s: %d bytes, %d of %d events, %d calls",
			name,
			len(encoded),
			len(timeline),
			n,
			len(episode.Payload.ToolGraph),
		)
	}
}

// The memory of an accumulator does not grow with the session.
func TestAccumulatorIsBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	used := func(n int) uint64 {
		a := session.NewAccumulator(run)
		long(n, func(e ledger.Event) { a.Add(e) })
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(a)
		return m.HeapAlloc
	}
	bare := used(1)
	first, second := used(60_000)-bare, used(120_000)-bare
	t.Logf("%d and %d bytes", first, second)
	require.Less(t, second, first+first/4)
	require.Less(t, second, uint64(60<<20))
}
