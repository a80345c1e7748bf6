package cli

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func TestFeedbackCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	one := c.remember("Tea is served hot.").MemoryIDs[0]
	two := c.remember("Tea is grown in the hills.").MemoryIDs[0]
	answer := c.recall("tea")
	require.Len(t, answer.Results, 2)
	retrieval := answer.RetrievalID
	require.Contains(t, c.run("recall", "tea").is(app.ExitOK).out, "(retrieval ")

	// Before and after the feedback.
	var read schema.Retrieved
	c.run("feedback", retrieval, "--json").is(app.ExitOK).json(&read)
	require.Equal(t, []string{answer.Results[0].ID, answer.Results[1].ID},
		[]string{read.Items[0].MemoryID, read.Items[1].MemoryID})
	require.Empty(t, read.Items[0].Verdict)

	give := func(code int, args ...string) memories.FedBack {
		t.Helper()
		var out memories.FedBack
		c.run(append([]string{"feedback", retrieval, "--json"}, args...)...).is(code).json(&out)
		return out
	}
	out := give(app.ExitOK, "--used", two, "--others-unused", "--reason", "it was recalled")
	require.Equal(t, []any{two, schema.FeedbackReinforced, schema.VerdictSucceeded},
		[]any{out.Items[0].MemoryID, out.Items[0].Status, out.Items[0].Verdict})
	require.Equal(t, []any{one, schema.FeedbackPenalised, schema.VerdictUnused},
		[]any{out.Items[1].MemoryID, out.Items[1].Status, out.Items[1].Verdict})
	require.NotEmpty(t, out.WorkflowID)
	shown := c.run("feedback", retrieval, "--partly", two, "--failed", one).is(app.ExitOK).out
	require.Contains(t, shown, "it was succeeded")
	require.Contains(t, shown, "it was unused")
	require.Equal(t, schema.VerdictFailed, give(app.ExitOK, "--outcome", "failure").Items[0].Verdict)
	require.Equal(t, schema.VerdictPartly, give(app.ExitOK, "--outcome", "partial", "--used", one).Items[0].Verdict)
	require.Equal(t, schema.FeedbackUnchanged, give(app.ExitOK, "--failed", two).Items[0].Status)
	shown = c.run("feedback", retrieval).is(app.ExitOK).out
	require.Contains(t, shown, "partly, ")
	require.Contains(t, shown, "2 results at ")
	require.Contains(t, c.run("history", two).is(app.ExitOK).out, "(penalise)")

	stranger := uuid.NewString()
	require.Equal(t, schema.FeedbackNotRetrieved, give(app.ExitConflict, "--unused", stranger).Items[0].Status)
	require.Equal(t, "partial", give(app.ExitPartial, "--unused", stranger, "--unused", one).Summary())
	for _, args := range [][]string{{uuid.NewString()}, {retrieval, "--agent", "stranger"}} {
		for _, more := range [][]string{{"--outcome", "success"}, nil} {
			require.Contains(t, c.run(append(append([]string{"feedback", "--json"}, args...),
				more...)...).is(app.ExitNotFound).problem().Message, "not found")
		}
	}
	for field, args := range map[string][]string{
		"retrieval_id": {"x", "--outcome", "success"}, "outcome": {retrieval, "--outcome", "draw"},
		"items[0].memory_id": {retrieval, "--used", "x"},
		"items[1].memory_id": {retrieval, "--used", one, "--unused", one}, "items": {retrieval, "--reason", "no more"},
	} {
		require.Equal(t, field, c.run(append([]string{"feedback", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field, args)
	}
	c.run("feedback").is(app.ExitUsage)
}

// The caller is told that a verdict on a memory that others read does not count for them again.
func TestFeedbackCommandOnASharedMemory(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.run("remember", "Tea is served hot.", "--visibility", "shared").is(app.ExitOK)
	give := func(agent string) (out memories.FedBack, text string) {
		t.Helper()
		read := []string{"tea", "--agent", agent, "--read-policy", "shared"}
		answer := c.recall(read...)
		require.Len(t, answer.Results, 1)
		args := []string{"feedback", answer.RetrievalID, "--agent", agent, "--outcome", "failure", "--json"}
		c.run(args...).is(app.ExitOK).json(&out)
		answer = c.recall(read...)
		args[1] = answer.RetrievalID
		return out, c.run(args[:len(args)-1]...).is(app.ExitOK).out
	}
	for n, agent := range []string{"one", "two"} {
		out, again := give(agent)
		item := out.Items[0]
		require.Equal(t, []any{schema.ReachAll, schema.ReportHeld("")}, []any{item.CountsFor, item.Held}, agent)
		require.InDelta(t, 0.9-0.1*float64(n), *item.SalienceAfter, 0.01, "each agent counts")
		require.Contains(t, again, "one such verdict a day counts for them")
	}
}
