package trace_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

type story struct{ events []ledger.Event }

func (s *story) add(kind string, payload any) *story {
	encoded, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	n := len(s.events) + 1
	s.events = append(s.events, ledger.Event{ID: fmt.Sprintf("e%d", n), Stream: "run/1", Seq: int64(n), Agent: "a",
		Kind: kind, OccurredAt: start.Add(time.Duration(n) * time.Second), Payload: encoded})
	return s
}

func (s *story) ok(id, cmd, result string) *story {
	s.add(ledger.KindToolCalled, map[string]any{"call_id": id, "tool": "shell", "args": map[string]string{"cmd": cmd}})
	return s.add(ledger.KindToolReturned, map[string]any{"call_id": id, "result": map[string]string{"out": result}})
}

func (s *story) fails(id, cmd, problem string) *story {
	s.add(ledger.KindToolCalled, map[string]any{"call_id": id, "tool": "shell", "args": map[string]string{"cmd": cmd}})
	return s.add(ledger.KindToolFailed, map[string]any{"call_id": id, "error": problem})
}

func (s *story) attempts() []trace.Attempt {
	t := trace.NewSession(trace.Meta{Episode: "ep"})
	for _, e := range s.events {
		t.Add(e)
	}
	return t.Attempts()
}

func mismatch(n int) string { return fmt.Sprintf("ld: cache mismatch in /home/ana/c%d (got %d)", n, n) }

func linker() *story {
	var s story
	return s.add(ledger.KindUserInjected, ledger.Text{Text: "Please build the app"}).
		add(ledger.KindEnvironment, schema.Environment{OS: "linux", ToolVersions: map[string]string{"go": "1.24"},
			Context: json.RawMessage(`{"project_kind":"service","nested":{"a":1},"ci":true}`)}).
		fails("1", "make app", mismatch(1)).
		ok("2", "rm -rf bin", "").
		fails("3", "make app", mismatch(1)).
		ok("4", "rm -rf /home/ana/c1", "").
		ok("5", "make app", "built")
}

func TestFailedFixIsSeparateAttempt(t *testing.T) {
	got := linker().attempts()
	require.Len(t, got, 2)
	require.True(t, got[0].Failed())
	require.Equal(t, "rm -rf bin", got[0].Steps[0].Args["cmd"].Text)
	require.True(t, got[1].Succeeded())
	require.True(t, got[1].Checked)
	require.Len(t, got[1].Steps, 2, "the fix and the check")
	require.Equal(t, got[0].Key(), got[1].Key())
	require.Equal(t, map[string]string{"os": "linux", "go_version": "1.24", "project_kind": "service", "ci": "true"},
		got[1].Situation.Context)
	require.Equal(t, "make app", got[1].Situation.Failed.Args["cmd"].Text)
}

func TestRepairWithoutCheck(t *testing.T) {
	got := linker().attempts()
	repair, checked := got[1].Repair()
	require.True(t, checked)
	require.Len(t, repair.Steps, 1)
	require.Equal(t, "rm -rf /home/ana/c1", repair.Steps[0].Args["cmd"].Text)
	require.Len(t, got[1].Steps, 2, "the attempt is unchanged")

	same, checked := got[0].Repair()
	require.False(t, checked, "a failed check is not a step")
	require.Equal(t, got[0], same)

	var again story
	alone := again.fails("1", "make app", mismatch(1)).ok("2", "make app", "built").attempts()
	require.Len(t, alone, 1)
	_, checked = alone[0].Repair()
	require.False(t, checked, "the repeated call is the only step")
}

func TestNextFailureIsAnotherProblem(t *testing.T) {
	s := linker().fails("6", "make test", "--- FAIL: TestAdd (0.01s)").ok("7", "edit add.go", "").ok("8", "make test",
		"")
	got := s.attempts()
	require.Len(t, got, 3)
	require.NotEqual(t, got[1].Key(), got[2].Key())
	require.True(t, got[2].Succeeded())
}

func TestUserReportIsProblem(t *testing.T) {
	var s story
	s.add(ledger.KindUserInjected, ledger.Text{Text: mismatch(3)}).ok("1", "rm -rf /home/ana/c3", "").
		add(ledger.KindOutcome, ledger.Outcome{Outcome: schema.OutcomeSuccess})
	got := s.attempts()
	require.Len(t, got, 1)
	require.True(t, got[0].Succeeded())
	require.False(t, got[0].Checked)
	require.Equal(t, linker().attempts()[0].Key(), got[0].Key())
}

func TestTaskIsOneAttempt(t *testing.T) {
	var s story
	s.add(ledger.KindUserInjected, ledger.Text{Text: "set up my project"}).
		ok("1", "git init", "").ok("2", "go mod init", "").
		add(ledger.KindOutcome, ledger.Outcome{Outcome: schema.OutcomeSuccess})
	got := s.attempts()
	require.Len(t, got, 1)
	require.Equal(t, "intent:set up project", got[0].Key())
}

func TestEpisodeAgreesWithEvents(t *testing.T) {
	s := linker()
	episode, ok := session.Close("run/1", s.events, session.Finished)
	require.True(t, ok)
	fromEvents, fromEpisode := s.attempts(), trace.OfEpisode(trace.Meta{Episode: "ep"}, episode.Payload)
	require.Len(t, fromEpisode, len(fromEvents))
	for i := range fromEvents {
		require.Equal(t, fromEvents[i].Key(), fromEpisode[i].Key())
		require.Equal(t, fromEvents[i].Outcome, fromEpisode[i].Outcome)
		require.Len(t, fromEpisode[i].Steps, len(fromEvents[i].Steps))
	}
}

func TestFingerprintsLeaveOutWhoAndWhen(t *testing.T) {
	a, b := linker().attempts()[1], linker().attempts()[1]
	b.Source, b.At, b.ID = trace.Source{Agent: "b"}, start.Add(time.Hour), "other"
	require.Equal(t, a.Fingerprint(), b.Fingerprint())
	b.Steps[0].Args = map[string]trace.Scalar{"cmd": {Text: "rm -rf /home/bo/c2", Type: "string"}}
	require.NotEqual(t, a.Fingerprint(), b.Fingerprint())
}

func TestAnySessionIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s story
		for i := range rapid.IntRange(0, 40).Draw(t, "calls") {
			id, cmd := fmt.Sprint(i), rapid.SampledFrom([]string{"a", "b", "make"}).Draw(t, "cmd")
			if rapid.Bool().Draw(t, "fails") {
				s.fails(id, cmd, rapid.OneOf(rapid.String(),
					rapid.SampledFrom([]string{"error: x y", "exit status 1"})).
					Draw(t, "error"))
			} else {
				s.ok(id, cmd, rapid.String().Draw(t, "out"))
			}
		}
		seen := map[string]bool{}
		for _, a := range s.attempts() {
			require.NotEmpty(t, a.Key())
			require.LessOrEqual(t, len(a.Steps), trace.MaxSteps)
			require.False(t, seen[a.ID])
			seen[a.ID] = true
		}
	})
}

// If a build fails with another error, the steps before solved the first problem, and the new error is the next one.
func TestNewErrorOfSameCallIsNextProblem(t *testing.T) {
	var s story
	s.fails("1", "make app", mismatch(1)).
		ok("2", "rm -rf bin", "").
		fails("3", "make app", mismatch(1)).
		ok("4", "rm -rf /home/ana/c1", "").
		fails("5", "make app", "cc: header stdio.h not found").
		ok("6", "apt install libc-dev", "").
		ok("7", "make app", "built")
	got := s.attempts()
	require.Len(t, got, 3)
	require.True(t, got[0].Failed())
	require.True(t, got[1].Succeeded())
	require.Equal(t, got[0].Key(), got[1].Key())
	require.Equal(t, "rm -rf /home/ana/c1", got[1].Steps[0].Args["cmd"].Text)
	require.Len(t, got[1].Done(), 2, "the check passed for this problem")
	require.True(t, got[2].Succeeded())
	require.NotEqual(t, got[1].Key(), got[2].Key())
	require.Equal(t, "apt install libc-dev", got[2].Steps[0].Args["cmd"].Text)
	require.Len(t, got[2].Steps, 2)
}

func TestHiddenErrorIsNotSolved(t *testing.T) {
	var s story
	s.fails("1", "make app", mismatch(1)).
		ok("2", "mv Makefile Makefile.old", "").
		fails("3", "make app", "make: no rule to make target app").
		ok("4", "mv Makefile.old Makefile", "").
		fails("5", "make app", mismatch(1)).
		ok("6", "rm -rf /home/ana/c1", "").
		ok("7", "make app", "built")
	got := s.attempts()
	require.Len(t, got, 2)
	require.True(t, got[0].Failed())
	require.True(t, got[1].Succeeded())
	require.Equal(t, "rm -rf /home/ana/c1", got[1].Steps[0].Args["cmd"].Text)
}

// An agent that undoes its steps says that they did not help, also if the call then failed with another error.
func TestUndoneStepsDidNotHelp(t *testing.T) {
	undo := func(s *story, id, tool, args string) *story {
		s.add(ledger.KindToolCalled, map[string]any{"call_id": id, "tool": tool, "args": json.RawMessage(args)})
		return s.add(ledger.KindToolReturned, map[string]any{"call_id": id, "result": "ok"})
	}
	var s story
	s.fails("1", "make app", mismatch(1)).
		ok("2", "rm Makefile", "").
		fails("3", "make app", "make: no rule to make target app")
	undo(&s, "4", "restore_checkpoint", `{}`).
		ok("5", "rm -rf /home/ana/c1", "").
		ok("6", "make app", "built")
	got := s.attempts()
	require.Len(t, got, 2)
	require.True(t, got[0].Failed())
	require.True(t, got[0].Checked)
	require.Equal(t, "rm Makefile", got[0].Steps[0].Args["cmd"].Text)
	require.True(t, got[1].Succeeded())
	require.False(t, got[1].Partial)
	require.Equal(t, got[0].Key(), got[1].Key())
	require.Len(t, got[1].Steps, 2, "the fix and the check")
	require.Equal(t, "rm -rf /home/ana/c1", got[1].Steps[0].Args["cmd"].Text)

	var moved story // the problem has its former values again
	moved.fails("1", "make app", mismatch(1)).ok("2", "sed -i 1i/a/ list", "").fails("3", "make app", mismatch(2))
	undo(&moved, "4", "restore_checkpoint", `{}`).ok("5", "rm -rf /home/ana/c1", "").ok("6", "make app", "built")
	got = moved.attempts()
	require.Len(t, got, 2)
	require.Equal(t, got[0].Problem.Values, got[1].Problem.Values)

	var edited story // only the last edit is undone
	edited.fails("1", "make app", mismatch(1)).ok("2", "mkdir bin", "")
	undo(&edited, "3", "editor", `{"command":"create","path":"a.txt"}`)
	undo(&edited, "4", "editor", `{"command":"undo_edit","path":"a.txt"}`).ok("5", "make app", "built")
	got = edited.attempts()
	require.Len(t, got, 1)
	require.Len(t, got[0].Steps, 2)
	require.Equal(t, "mkdir bin", got[0].Steps[0].Args["cmd"].Text)

	var only story // going back is the repair itself
	only.fails("1", "make app", mismatch(1))
	undo(&only, "2", "restore_snapshot", `{"name":"monday"}`).ok("3", "make app", "built")
	got = only.attempts()
	require.Len(t, got, 1)
	require.Len(t, got[0].Steps, 2)
}

// A step that reports the same problem as the call that had failed does not take its place: the first call checks.
func TestAnotherCallReportsTheSameProblem(t *testing.T) {
	var s story
	s.fails("1", "make app", mismatch(1)).
		fails("2", "make generate", mismatch(1)).
		ok("3", "rm -rf /home/ana/c1", "").
		ok("4", "make app", "built")
	got := s.attempts()
	require.Len(t, got, 1)
	require.True(t, got[0].Succeeded())
	require.True(t, got[0].Checked)
	require.Equal(t, "make app", got[0].Situation.Failed.Args["cmd"].Text)
	require.Len(t, got[0].Steps, 2, "the fix and the check")

	var back story // an agent that went back has not tried anything yet
	back.fails("1", "make app", mismatch(1)).
		add(ledger.KindToolCalled, map[string]any{"call_id": "2", "tool": "restore_checkpoint"}).
		add(ledger.KindToolReturned, map[string]any{"call_id": "2", "result": "ok"}).
		fails("3", "make generate", mismatch(1)).ok("4", "rm -rf /home/ana/c1", "").ok("5", "make app", "built")
	require.Len(t, back.attempts(), 1)

	var changed story // the agent has changed its call
	changed.fails("1", "make app", mismatch(1)).
		fails("2", "make -j4 app", mismatch(1)).
		ok("3", "rm -rf /home/ana/c1", "").
		ok("4", "make -j4 app", "built")
	got = changed.attempts()
	require.Len(t, got, 1)
	require.True(t, got[0].Checked)
	require.Equal(t, "make -j4 app", got[0].Situation.Failed.Args["cmd"].Text)
}

// The form of a situation tells causes of one error apart.
func TestSettingHasTheForm(t *testing.T) {
	setting := func(problem, cmd string) map[string]string {
		failed := trace.Step{Tool: "shell", Args: map[string]trace.Scalar{"cmd": {Text: cmd, Type: "string"}}}
		return trace.SettingOf(map[string]string{"os": "linux"}, signature.OfError(problem), &failed)
	}
	file := setting("Error: Cannot find module './a/b'", "node x.js")
	pkg := setting("Error: Cannot find module 'b'", "node x.js 1")
	require.Equal(t, map[string]string{"os": "linux", "error_form": "path", "call_form": "shell 2"}, file)
	require.Equal(t, map[string]string{"os": "linux", "error_form": "name", "call_form": "shell 3"}, pkg)
	require.True(t, trace.IsForm("error_form"))
	require.False(t, trace.IsForm("os"))
}

// Agents name a system and a version in different ways.
func TestValuesOfAContextAreComparedByMeaning(t *testing.T) {
	a := trace.Attempt{Situation: trace.Situation{Context: map[string]string{"os": "Linux", "go_version": "go1.26.8"}}}
	require.Equal(t, map[string]string{"os": "linux", "go_version": "1.26.8"}, a.Setting())
	require.Equal(t, "Linux", a.Situation.Context["os"], "a parameter has the value as it was said")
}
