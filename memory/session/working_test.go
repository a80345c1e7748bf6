package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func TestWorkingState(t *testing.T) {
	t.Parallel()
	call := func() *story { return new(story).call("1", "go", `{}`) }
	for name, c := range map[string]struct {
		story *story
		want  schema.TaskState
	}{
		"no events":            {new(story), schema.TaskPlanning},
		"started":              {new(story).add(ledger.KindRunStarted, ""), schema.TaskPlanning},
		"user input":           {new(story).text(ledger.KindUserInjected, "fix the build"), schema.TaskPlanning},
		"thought":              {new(story).text(ledger.KindAgentThought, "hm"), schema.TaskPlanning},
		"call":                 {call(), schema.TaskExecuting},
		"erased call":          {new(story).add(ledger.KindToolCalled, ""), schema.TaskExecuting},
		"result":               {call().returned("1", `"ok"`), schema.TaskExecuting},
		"failure":              {call().failed("1", "exit 1"), schema.TaskBlocked},
		"failure, then a call": {call().failed("1", "exit 1").call("2", "edit", `{}`), schema.TaskExecuting},
		"failure, parallel result": {call().call("2", "edit", `{}`).failed("1", "exit 1").returned("2",
			`1`), schema.TaskBlocked},
		"failure, then a thought": {call().failed("1", "exit 1").text(ledger.KindAgentThought, "hm"),
			schema.TaskBlocked},
		"failure, agent continues": {call().failed("1", "exit 1").add(ledger.KindWorkingUpdated,
			`{"state":"planning"}`), schema.TaskPlanning},
		"waiting": {call().add(ledger.KindWorkingUpdated, `{"state":"waiting"}`), schema.TaskWaiting},
		"waiting, answered": {call().add(ledger.KindWorkingUpdated, `{"state":"waiting"}`).
			text(ledger.KindUserInjected, "yes"),
			schema.TaskExecuting},
		"waiting before any call, answered": {new(story).add(ledger.KindWorkingUpdated, `{"state":"waiting"}`).
			text(ledger.KindUserInjected, "yes"), schema.TaskPlanning},
		"blocked by update, user speaks": {call().add(ledger.KindWorkingUpdated, `{"state":"blocked"}`).
			text(ledger.KindUserInjected, "well"), schema.TaskBlocked},
		"unknown state": {call().add(ledger.KindWorkingUpdated, `{"state":"resting"}`), schema.TaskExecuting},
		"ended":         {call().add(ledger.KindOutcome, `{"outcome":"success"}`), schema.TaskDone},
		"ended, late call": {call().add(ledger.KindOutcome, `{"outcome":"success"}`).call("2", "go", `{}`).
			failed("2", "no"), schema.TaskDone},
		"ended and erased": {call().add(ledger.KindOutcome, ""), schema.TaskDone},
		"ended, then started": {call().add(ledger.KindOutcome, `{"outcome":"failure"}`).
			add(ledger.KindRunStarted, ""), schema.TaskPlanning},
		"ended, then the agent continues": {call().add(ledger.KindOutcome, `{"outcome":"partial"}`).
			add(ledger.KindWorkingUpdated, `{"state":"executing"}`), schema.TaskExecuting},
	} {
		w := session.WorkingOf("a", run, c.story.events)
		require.Equal(t, c.want, w.Payload.State, name)
		valid(t, schema.TypeWorking, w.Payload)
	}
}

// Events of other agents in the same run do not change the working memory, except the end of the run.
func TestWorkingIgnoresOtherAgents(t *testing.T) {
	t.Parallel()
	s := new(story).call("1", "go", `{}`).failed("1", "no").add(ledger.KindWorkingUpdated, `{"context_summary":"x"}`).
		add(ledger.KindOutcome, `{"outcome":"success"}`)
	w := session.NewWorking("other", run)
	for i, e := range s.events {
		require.True(t, w.Apply(e))
		if i < 3 {
			require.Equal(t, schema.TaskPlanning, w.Payload.State)
			require.Empty(t, w.Payload.ContextSummary)
			require.Nil(t, w.Payload.LastUpdated)
		}
	}
	require.Equal(t, schema.TaskDone, w.Payload.State)
}

// Fields that an update sets are replaced, lists as a whole. Other fields stay.
func TestWorkingMerges(t *testing.T) {
	t.Parallel()
	empty := ""
	for name, c := range map[string]struct {
		update any
		want   string // the payload without kind, state and last_updated
	}{
		"empty update": {`{}`,
			`{"task_id":"build-42","active_constraints":["no network",{"os":"linux"}],"next_actions":["a","b"],
			"open_questions":["q"],"context_summary":"s"}`},
		"list": {`{"next_actions":["c"]}`,
			`{"task_id":"build-42","active_constraints":["no network",{"os":"linux"}],"next_actions":["c"],
			"open_questions":["q"],"context_summary":"s"}`},
		"empty lists": {`{"next_actions":[],"open_questions":null,"active_constraints":[]}`,
			`{"task_id":"build-42","context_summary":"s"}`},
		"empty values in Go": {ledger.WorkingUpdate{NextActions: []string{}, ContextSummary: &empty},
			`{"task_id":"build-42","active_constraints":["no network",{"os":"linux"}],"open_questions":["q"]}`},
		"unset fields in Go": {ledger.WorkingUpdate{State: schema.TaskExecuting},
			`{"task_id":"build-42","active_constraints":["no network",{"os":"linux"}],
			"next_actions":["a","b"],"open_questions":["q"],"context_summary":"s"}`},
		"thread": {`{"thread_id":"t1","task_id":""}`,
			`{"thread_id":"t1","active_constraints":["no network",{"os":"linux"}],"next_actions":["a","b"],
			"open_questions":["q"],"context_summary":"s"}`},
		"no name": {`{"task_id":"","context_summary":"t"}`,
			`{"task_id":"build-42","active_constraints":["no network",{"os":"linux"}],
			"next_actions":["a","b"],"open_questions":["q"],"context_summary":"t"}`},
		"another shape": {`{"next_actions":"c","context_summary":7,"active_constraints":[5,"new",null]}`,
			`{"task_id":"build-42","active_constraints":["new"],"next_actions":["a","b"],"open_questions":["q"],
				"context_summary":"s"}`},
	} {
		s := new(
			story,
		).add(ledger.KindWorkingUpdated, `{"state":"executing","active_constraints":["no network",{"os":"linux"}],
			"next_actions":["a","b"],"open_questions":["q"],"context_summary":"s"}`).
			add(ledger.KindWorkingUpdated, c.update)
		w := session.WorkingOf("a", run, s.events)
		valid(t, schema.TypeWorking, w.Payload)
		require.Equal(t, schema.TaskExecuting, w.Payload.State, name)
		w.Payload.LastUpdated = nil
		got, err := json.Marshal(w.Payload)
		require.NoError(t, err)
		want := strings.Replace(c.want, "{", `{"kind":"working","state":"executing",`, 1)
		require.JSONEq(t, want, string(got), name)
	}
}

// A task is named after its run and a thread after its conversation. Long names are shortened.
func TestWorkingNames(t *testing.T) {
	t.Parallel()
	w := session.NewWorking("a", "conversation/with/ann")
	require.Equal(t, "with/ann", w.Payload.ThreadID)
	require.Empty(t, w.Payload.TaskID)
	long := session.NewWorking("a", "run/"+strings.Repeat("x", 190)+"1").Payload
	other := session.NewWorking("a", "run/"+strings.Repeat("x", 190)+"2").Payload
	valid(t, schema.TypeWorking, long)
	require.NotEqual(t, long.TaskID, other.TaskID)
}

// Texts, lists and constraints are cut to the limits of a record and of a workflow's input.
func TestWorkingIsBounded(t *testing.T) {
	t.Parallel()
	texts := make([]string, 200)
	constraints := make([]json.RawMessage, 200)
	for i := range texts {
		texts[i] = strings.Repeat("ä word ", 300)
		constraints[i] = json.RawMessage(fmt.Sprintf(`{"n":%d,"text":%q}`, i, texts[i]))
	}
	summary := strings.Repeat("long ", 40_000)
	w := session.WorkingOf("a", run, new(story).
		add(ledger.KindWorkingUpdated, ledger.WorkingUpdate{NextActions: texts}).
		add(ledger.KindWorkingUpdated, ledger.WorkingUpdate{OpenQuestions: texts}).
		add(ledger.KindWorkingUpdated, ledger.WorkingUpdate{ActiveConstraints: constraints, ContextSummary: &summary}).
		events)
	encoded := valid(t, schema.TypeWorking, w.Payload)
	require.Less(t, len(encoded), 256_000)
	require.Len(t, w.Payload.ActiveConstraints, session.MaxWorkingItems)
	require.Contains(t, string(w.Payload.ActiveConstraints[0]), "n 0, text ä word")
}

// An event that was already applied, or is older than an applied one, changes nothing. A state survives JSON.
func TestWorkingAppliesAnEventOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawEvents(t)
		want := session.WorkingOf("a", run, s.events)
		w := session.NewWorking("a", run)
		for i, e := range s.events {
			require.True(t, w.Apply(e))
			if rapid.Bool().Draw(t, "again") {
				before, err := json.Marshal(w)
				require.NoError(t, err)
				require.False(t, w.Apply(s.events[rapid.IntRange(0, i).Draw(t, "which")]))
				after, err := json.Marshal(w)
				require.NoError(t, err)
				require.JSONEq(t, string(before), string(after))
				w = session.Working{}
				require.NoError(t, json.Unmarshal(after, &w))
			}
			valid(t, schema.TypeWorking, w.Payload)
		}
		other := s.events[len(s.events)-1]
		other.Stream, other.Seq = "run/other", other.Seq+1
		require.False(t, w.Apply(other))
		got, err := json.Marshal(w)
		require.NoError(t, err)
		expected, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(expected), string(got))
	})
}

// The time of the last update never goes back, even if an agent's clock does.
func TestWorkingLastUpdated(t *testing.T) {
	t.Parallel()
	s := new(story).call("1", "go", `{}`).call("2", "go", `{}`)
	s.events[1].OccurredAt = start.Add(-time.Hour)
	w := session.WorkingOf("a", run, s.events)
	require.Equal(t, s.events[0].OccurredAt, *w.Payload.LastUpdated)
}

// The state is as sensitive as its most sensitive update.
func TestWorkingSensitivity(t *testing.T) {
	t.Parallel()
	s := new(
		story,
	).add(ledger.KindWorkingUpdated, `{"context_summary":"x"}`).
		add(ledger.KindWorkingUpdated, `{"state":"waiting"}`)
	s.events[0].Sensitivity = schema.SensitivityHigh
	require.Equal(t, schema.SensitivityHigh, session.WorkingOf("a", run, s.events).Sensitivity)
}

func ExampleWorking() {
	var s story
	s.text(ledger.KindUserInjected, "The build fails on CI.")
	s.add(ledger.KindWorkingUpdated, ledger.WorkingUpdate{NextActions: []string{"run the tests", "read the log"}})
	s.call("1", "go test", `{"packages":"./..."}`)
	s.failed("1", "exit status 1")
	w := session.NewWorking("a", run)
	for _, e := range s.events {
		w.Apply(e)
		fmt.Println(e.Kind, w.Payload.State, w.Payload.NextActions)
	}
	// Output:
	// user.injected planning []
	// working.updated planning [run the tests read the log]
	// tool.called executing [run the tests read the log]
	// tool.failed blocked [run the tests read the log]
}
