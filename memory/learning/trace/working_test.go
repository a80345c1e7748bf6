package trace_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

func constraints(values ...string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, v := range values {
		out = append(out, json.RawMessage(v))
	}
	return out
}

func (s *story) works(u ledger.WorkingUpdate) *story { return s.add(ledger.KindWorkingUpdated, u) }

// The constraints at the start of an attempt are part of its situation. They replace earlier constraints but not the
// environment. Constraints that cannot be conditions are left out.
func TestConstraintsAreConditions(t *testing.T) {
	t.Parallel()
	var s story
	s.add(ledger.KindEnvironment, schema.Environment{OS: "linux"}).
		works(ledger.WorkingUpdate{ActiveConstraints: constraints(`"No network!"`, `"do not touch the database"`,
			`{"Build Host":"ci-4","os":"plan9","nested":{"a":1},"jobs":2}`, `17`,
			`"`+strings.Repeat("long ", 40)+`"`, `"token ghp_0123456789abcdefghijklmnopqrstuvwxyz"`)}).
		fails("1", "make app", mismatch(1)).
		ok("2", "rm -rf bin", "").
		fails("3", "make app", mismatch(1)).
		works(ledger.WorkingUpdate{ActiveConstraints: constraints(`"no network"`)}).
		works(ledger.WorkingUpdate{OpenQuestions: []string{"Who owns the cache?"}}).
		ok("4", "rm -rf cache", "").
		ok("5", "make app", "")
	got := s.attempts()
	require.Len(t, got, 2)
	require.Equal(t, map[string]string{"os": "linux", "constraint_no_network": "yes",
		"constraint_do_not_touch_the_database": "yes", "build_host": "ci-4", "jobs": "2"}, got[0].Situation.Context)
	require.Equal(t, map[string]string{"os": "linux", "constraint_no_network": "yes"}, got[1].Situation.Context)
	require.True(t, got[0].Bound)
	require.Empty(t, got[1].Open, "solved and checked")
	require.Equal(t, got[0].Key(), got[1].Key(), "a constraint does not change the problem")
}

// Updates of another agent in the same stream do not change this agent's working memory.
func TestWorkingMemoryIgnoresOtherAgents(t *testing.T) {
	t.Parallel()
	session := trace.NewSession(trace.Meta{Episode: "ep", Source: trace.Source{Agent: "a"}})
	var s story
	s.works(ledger.WorkingUpdate{ActiveConstraints: constraints(`"no network"`), State: schema.TaskBlocked})
	s.events[0].Agent = "b"
	s.fails("1", "make app", mismatch(1)).ok("2", "rm -rf bin", "")
	for _, e := range s.events {
		session.Add(e)
	}
	got := session.Attempts()
	require.Len(t, got, 1)
	require.Equal(t, []any{false, false, false, 0}, []any{got[0].Bound, got[0].Failed(), got[0].Succeeded(),
		len(got[0].Situation.Context)})
}

// A session whose last state is blocked is a failure unless the session has an outcome.
func TestBlockedAtTheEndIsAFailure(t *testing.T) {
	t.Parallel()
	blocked := ledger.WorkingUpdate{State: schema.TaskBlocked, OpenQuestions: []string{"Which linker is it?"}}
	for name, c := range map[string]struct {
		add  func(*story)
		want schema.Outcome
		open []string
	}{
		"blocked": {func(s *story) { s.works(blocked) }, schema.OutcomeFailure, blocked.OpenQuestions},
		"blocked, then continued": {func(s *story) { s.works(blocked).ok("9", "ls", "") }, "",
			blocked.OpenQuestions},
		"blocked, then not": {func(s *story) {
			s.works(blocked).works(ledger.WorkingUpdate{State: schema.TaskWaiting, OpenQuestions: []string{}})
		}, "", nil},
		"a state that does not exist": {func(s *story) { s.works(ledger.WorkingUpdate{State: "stuck"}) }, "", nil},
		"blocked, with outcome success": {func(s *story) {
			s.works(blocked).add(ledger.KindOutcome, ledger.Outcome{Outcome: schema.OutcomeSuccess})
		}, schema.OutcomeSuccess, blocked.OpenQuestions},
		"only waiting": {func(s *story) { s.works(ledger.WorkingUpdate{State: schema.TaskWaiting}) }, "", nil},
	} {
		var s story
		s.fails("1", "make app", mismatch(1)).ok("2", "rm -rf bin", "")
		c.add(&s)
		got := s.attempts()
		require.Len(t, got, 1, name)
		require.Equal(t, c.want, got[0].Outcome, name)
		require.Equal(t, c.open, got[0].Open, name)
	}
}

// If one attempt has a constraint, other attempts with known constraints did not have it. For the rest it is unknown.
func TestSharedConstraints(t *testing.T) {
	t.Parallel()
	of := func(bound bool, context map[string]string) trace.Attempt {
		return trace.Attempt{Bound: bound, Situation: trace.Situation{Context: context},
			Source: trace.Source{Trust: 1}}
	}
	shared := map[string]string{"os": "linux"}
	attempts := []trace.Attempt{of(true, map[string]string{"constraint_offline": "yes", "host": "a"}), of(true, shared),
		of(true, shared), of(false, shared), of(true, nil)}
	trace.ShareConstraints(attempts)
	require.Equal(t, map[string]string{"constraint_offline": "yes", "host": "a"}, attempts[0].Situation.Context)
	for _, i := range []int{1, 2} {
		require.Equal(t, map[string]string{"os": "linux", "constraint_offline": "no"}, attempts[i].Situation.Context)
	}
	require.Equal(t, map[string]string{"os": "linux"}, attempts[3].Situation.Context)
	require.Equal(t, map[string]string{"os": "linux"}, shared, "the shared map is not changed")
	require.Equal(t, map[string]string{"constraint_offline": "no"}, attempts[4].Situation.Context)

	for _, trust := range []float64{0.49, 0, math.NaN()} {
		planted := of(true, map[string]string{"constraint_planted": "yes"})
		planted.Source.Trust = trust
		attempts = []trace.Attempt{planted, of(true, map[string]string{"os": "linux"})}
		trace.ShareConstraints(attempts)
		require.Equal(t, map[string]string{"os": "linux"}, attempts[1].Situation.Context,
			"an untrusted attempt adds no key to other situations")
	}
}

// Working memory is bounded for any updates of an agent.
func TestWorkingMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var many []json.RawMessage
	var questions []string
	for i := range 500 {
		many = append(many, json.RawMessage(fmt.Sprintf(`"rule %d"`, i)),
			json.RawMessage(fmt.Sprintf(`{"k%d":%d}`, i, i)))
		questions = append(questions, fmt.Sprintf("What is %d?", i))
	}
	var s story
	s.works(ledger.WorkingUpdate{ActiveConstraints: many, OpenQuestions: questions}).
		fails("1", "make app", mismatch(1)).
		ok("2", "rm -rf bin", "")
	got := s.attempts()
	require.Len(t, got, 1)
	require.Len(t, got[0].Situation.Context, 8)
	require.Len(t, got[0].Open, 4)
}
