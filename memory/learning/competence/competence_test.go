package competence_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func attempt(n int, outcome schema.Outcome, os string, commands ...string) trace.Attempt {
	a := trace.Attempt{ID: fmt.Sprintf("ep%d#1", n), Episode: fmt.Sprintf("ep%d", n),
		At: start.Add(time.Duration(n) * time.Hour), Checked: true,
		Source:    trace.Source{Agent: "a", Session: fmt.Sprint(n), Witnessed: true, Trust: 1},
		Problem:   signature.OfError(fmt.Sprintf("ld: cache mismatch in /home/u%d/c%d (got %d)", n, n, n)),
		Situation: trace.Situation{Context: map[string]string{"os": os}}, Outcome: outcome}
	for i, c := range commands {
		a.Steps = append(a.Steps, trace.Step{ID: fmt.Sprint(i), Tool: "shell", Took: time.Second,
			Args: map[string]trace.Scalar{"cmd": {Text: c, Type: "string"}}})
	}
	return a
}

func rm(n int) string { return fmt.Sprintf("rm -rf /home/u%d/c%d", n, n) }

func learn(t require.TestingT, known []competence.Record, attempts ...trace.Attempt) []competence.Delta {
	var g promote.Group
	for _, a := range attempts {
		g.Add(a)
	}
	out, _ := competence.Learn(&g, known, evidence.Default())
	for _, d := range out {
		encoded, err := json.Marshal(d.Payload)
		require.NoError(t, err)
		require.NoError(t, schema.ValidatePayload(schema.TypeCompetence, encoded))
	}
	return out
}

func record(id string, d competence.Delta) competence.Record {
	return competence.Record{ID: id, Payload: d.Payload, Evidence: d.Hash, Stats: d.Stats}
}

func clears(from, to int, os string) (out []trace.Attempt) {
	for i := from; i < to; i++ {
		out = append(out, attempt(i, "success", os, rm(i), "make"))
	}
	return out
}

func TestProcedureIsComplete(t *testing.T) {
	attempts := append(clears(0, 3, "linux"), attempt(7, "failure", "linux", "rm -rf bin"),
		attempt(8, "success", "linux", "brew reinstall llvm", "make"))
	failing := trace.Step{ID: "f", Tool: "shell", Failed: true, Error: signature.OfError("rm: permission denied")}
	attempts[0].Steps = append([]trace.Step{failing}, attempts[0].Steps...)
	got := learn(t, nil, attempts...)
	require.Len(t, got, 1)
	p := got[0].Payload
	require.Equal(t, competence.Add, got[0].Action)
	require.Equal(t, "fix_ld_cache_mismatch_in_got", strings.ReplaceAll(p.SkillName, "mismatch_got", "mismatch_in_got"))
	require.Equal(t, "ld cache mismatch in <path> got <number>", p.Triggers[0].Signal)
	require.Len(t, p.Recipe, 2)
	require.Equal(t, "shell: rm -rf {path}", p.Recipe[0].Step)
	require.Contains(t, string(p.Recipe[0].ArgsSchema), `"from":"error.path.0"`)
	require.Equal(t, "the call that had failed returns without an error", p.Recipe[1].Validation)
	require.Equal(t, []string{"shell"}, p.RequiredTools)
	require.Contains(t, p.FailureModes, "did not help: shell: rm -rf bin")
	require.Contains(t, p.FailureModes, "shell may fail: rm permission denied")
	require.Equal(t, int64(3), p.Performance.SuccessCount)
	require.InDelta(t, 2_000, *p.Performance.AvgLatencyMS, 700)
	require.Equal(t, "1", p.Version)
	require.Equal(t, []string{"ep0", "ep1", "ep2"}, got[0].Evidence)
}

func TestTheSameEvidenceChangesNothing(t *testing.T) {
	first := learn(t, nil, clears(0, 3, "linux")...)
	again := learn(t, []competence.Record{record("r", first[0])}, clears(0, 3, "linux")...)
	require.Len(t, again, 1)
	require.Equal(t, competence.Keep, again[0].Action)
}

func TestMoreEvidenceUpdatesOutcomesOnly(t *testing.T) {
	first := learn(t, nil, clears(0, 3, "linux")...)
	got := learn(t, []competence.Record{record("r", first[0])}, clears(0, 6, "linux")...)
	require.Equal(t, competence.Update, got[0].Action)
	require.Equal(t, "r", got[0].Target)
	require.Equal(t, first[0].Payload.Recipe, got[0].Payload.Recipe)
	require.Equal(t, int64(6), got[0].Payload.Performance.SuccessCount)
	require.Greater(t, got[0].Confidence, first[0].Confidence)
}

func TestBetterFixElsewhereIsSecondRecord(t *testing.T) {
	first := learn(t, nil, clears(0, 3, "linux")...)
	attempts := clears(0, 3, "linux")
	for i := 10; i < 13; i++ {
		attempts = append(attempts, attempt(i, "failure", "macos", rm(i)),
			attempt(20+i, "success", "macos", "brew reinstall llvm", "make"))
	}
	got := learn(t, []competence.Record{record("r", first[0])}, attempts...)
	require.Len(t, got, 2)
	for _, d := range got {
		if d.Action == competence.Add {
			require.JSONEq(t, `{"os":"macos"}`, string(d.Payload.Triggers[0].Conditions))
			require.NotEmpty(t, d.Payload.Fallbacks)
		} else {
			require.Equal(t, competence.Supersede, d.Action, "the new record has conditions")
			require.Equal(t, "r", d.Target)
			require.Equal(t, "2", d.Payload.Version)
			require.JSONEq(t, `{"os":"linux"}`, string(d.Payload.Triggers[0].Conditions))
		}
	}
}

func TestUpdatesKeepKnownOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []trace.Attempt {
			var out []trace.Attempt
			for i := range rapid.IntRange(0, 12).Draw(t, label) {
				out = append(out, attempt(i,
					rapid.SampledFrom([]schema.Outcome{"success", "success", "failure"}).Draw(t, "outcome"),
					rapid.SampledFrom([]string{"linux", "macos"}).Draw(t, "os"),
					rapid.SampledFrom([]string{rm(i), "make clean", "ln -s a b"}).Draw(t, "cmd"), "make"))
			}
			return out
		}
		var known []competence.Record
		attempts := draw("first")
		for i, d := range learn(t, nil, attempts...) {
			known = append(known, record(fmt.Sprint(i), d))
		}
		for _, d := range learn(t, known, attempts...) {
			require.Equal(t, competence.Keep, d.Action, "a second run changes nothing")
		}
		targets := map[string]bool{}
		for _, d := range learn(t, known, append(attempts, draw("second")...)...) {
			if d.Target == "" {
				continue
			}
			require.False(t, targets[d.Target], "one delta per record")
			targets[d.Target] = true
			if d.Action == competence.Update {
				for _, k := range known {
					if k.ID == d.Target {
						require.Subset(t, d.Payload.FailureModes, k.Payload.FailureModes)
						require.Equal(t, k.Payload.Recipe, d.Payload.Recipe)
					}
				}
			}
		}
	})
}

// The sessions of one agent do not change what all agents follow. The agent gets a procedure of its own.
func TestOneAgentDoesNotReplaceASharedProcedure(t *testing.T) {
	shared := record("r", learn(t, nil, clears(0, 3, "linux")...)[0])
	shared.Shared = true
	attempts := clears(0, 6, "linux")
	for i := 10; i < 14; i++ {
		a := attempt(i, "failure", "macos", rm(i), "make")
		a.Checked, a.At = false, start // before the successes: the repair still works
		attempts = append(attempts, a)
	}
	got := learn(t, []competence.Record{shared}, attempts...)
	require.Len(t, got, 1)
	require.Equal(t, []any{competence.Add, "", "1"}, []any{got[0].Action, got[0].Target, got[0].Payload.Version})
	require.Equal(t, []string{"a"}, got[0].Agents)
	attempts[2].Source.Agent = "b"
	got = learn(t, []competence.Record{shared}, attempts...)
	require.Equal(t, []any{competence.Supersede, "r"}, []any{got[0].Action, got[0].Target})
}
