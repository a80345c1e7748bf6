package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The prompt tells a model, for every result, whether it is current, how long it was true, and what replaced it.
func TestPromptMarksCurrentResults(t *testing.T) {
	t.Parallel()
	said, changed := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	of := func(id string, c schema.Currentness, change func(*schema.RecallResult)) schema.RecallResult {
		r := schema.RecallResult{ID: id, Content: "About " + id + ".", Type: schema.TypeSemantic,
			Category: schema.CategoryFact, OccurredAt: said,
			Status: schema.StatusActive, Currentness: c}
		if change != nil {
			change(&r)
		}
		return r
	}
	text := memories.Prompt(schema.RecallResponse{Results: []schema.RecallResult{
		of("new", schema.CurrentnessCurrent, nil),
		of("other", schema.CurrentnessCurrent, nil),
		of("old", schema.CurrentnessOlder, func(r *schema.RecallResult) { r.Newer, r.HeldUntil = "new", &changed }),
		of("replaced", schema.CurrentnessSuperseded, func(r *schema.RecallResult) {
			r.SupersededBy, r.Newer, r.HeldUntil = "elsewhere", "elsewhere", &changed
		}),
		of("gone", schema.CurrentnessSuperseded, nil),
		of("half", schema.CurrentnessMixed, func(r *schema.RecallResult) {
			r.Validity = schema.Validity{Mode: schema.ValidTimeboxed, End: &changed}
		}),
		of("disputed", schema.CurrentnessOlder, func(r *schema.RecallResult) {
			r.Status, r.Newer, r.HeldUntil = schema.StatusContested, "other", &changed
		}),
	}})
	require.Equal(t, []string{
		"- [fact, 2026-02-03, current, new] About new.",
		"- [fact, 2026-02-03, current, other] About other.",
		"- [fact, 2026-02-03, older] About old. (older: see new, held until 2026-03-10)",
		"- [fact, 2026-02-03, superseded] About replaced. (superseded by elsewhere, held until 2026-03-10)",
		"- [fact, 2026-02-03, superseded] About gone. (superseded)",
		"- [fact, 2026-02-03, mixed] About half. (until 2026-03-10T09:00:00Z, partly superseded)",
		"- [fact, 2026-02-03, older] About disputed. (contested, older: see other, held until 2026-03-10)",
	}, strings.Split(text, "\n"))
}

// An empty answer has one of three reasons: nothing was found, nothing was relevant enough, or nothing fitted into it.
func TestEmptyAnswerHasAReason(t *testing.T) {
	t.Parallel()
	zero, most := 0.0, 0.9
	found := schema.RecallMeta{Unknown: true, Relevance: 0.21, Floor: 0.4,
		Channels: map[string]int{"text": 0, "vector": 3}}
	require.Equal(t,
		"nothing is known about that (best relevance 0.21, below 0.40; --min-score 0 shows what was found)",
		memories.Nothing(found, nil))
	require.Equal(t,
		"nothing is known about that (best relevance 0.21, below 0.90; --min-score 0 shows what was found)",
		memories.Nothing(found, &most))
	require.Equal(t, "nothing is known about that", memories.Nothing(found, &zero))
	require.Equal(t, "nothing is known about that",
		memories.Nothing(schema.RecallMeta{Unknown: true, Channels: map[string]int{"text": 0}}, nil))
	filtered := found
	filtered.Relevance = 0.8 // relevant, but left out for another reason
	require.Equal(t, "nothing is known about that", memories.Nothing(filtered, nil))
	require.Equal(t, "nothing of what was found fits into the answer",
		memories.Nothing(schema.RecallMeta{Channels: map[string]int{"text": 1}}, nil))
	require.Equal(t, "the answer is empty, and parts of the recall failed: vector, graph",
		memories.Nothing(schema.RecallMeta{Degraded: []string{"vector", "graph"}}, nil))
}

func TestRecallReportsThatNothingIsKnown(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("I live in Lyon.", "--speaker", "Maya", "--occurred-at", "2026-02-03")
	updated := c.run("remember", "We moved from Lyon to Oslo last month.", "--speaker", "Maya", "--occurred-at",
		"2026-03-10", "--wait").is(app.ExitOK).out
	require.Contains(t, updated, "updates: I live in Lyon → We moved from Lyon to Oslo last month.")

	require.Regexp(t,
		`^nothing is known about that \(best relevance 0\.\d\d, below 0\.\d\d; --min-score 0 shows what was found\)\n`,
		c.run("recall", "what does a quasar emit?").is(app.ExitOK).out)
	require.True(t, c.recall("what does a quasar emit?").Meta.Unknown)
	require.NotEmpty(t, c.recall("what does a quasar emit?", "--min-score", "0").Results)
	require.NotEmpty(t, c.recall("where does Maya live?").Results)
	require.Empty(t, c.recall("what did Maya buy in Lyon?", "--min-score", "0.99").Results)
	require.Contains(t, c.run("recall", "what does a quasar emit?", "--format", "prompt").is(app.ExitOK).out,
		"Nothing is known about that.")
	require.Contains(t, c.run("recall", "where did Maya live before Oslo?", "--format", "prompt").is(app.ExitOK).out,
		", held until 2026-03-10)")

	for _, wrong := range []string{"1.5", "-0.1", "NaN"} {
		require.Equal(t, "min_score", c.run("recall", "x", "--min-score", wrong,
			"--json").is(app.ExitUsage).problem().Fields[0].Field, wrong)
	}
}
