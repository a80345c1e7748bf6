package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// page returns the block of docs/first-agent.md after a comment.
func page(t *testing.T, comment string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "first-agent.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "<!-- "+comment+" -->\n```")
	require.True(t, found, comment)
	_, rest, _ = strings.Cut(rest, "\n")
	block, _, found := strings.Cut(rest, "\n```\n")
	require.True(t, found, comment)
	return block + "\n"
}

// The page contains the programs unchanged.
func TestPageShowsThePrograms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main.go", "agent.py"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(data), page(t, "samples/firstagent/"+name), "docs/first-agent.md shows another %s",
			name)
	}
}

// The README contains parts of them.
func TestReadmeShowsThePrograms(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "README.md"))
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "```go\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	require.Contains(t, string(program), block)
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// plain removes what differs between runs.
func plain(output string) string { return anyID.ReplaceAllString(output, "…") }

func TestConversation(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	d := desk{temporal: h.Temporal, taskQueue: h.TaskQueue, tenant: "acme-" + uuid.NewString(), agent: "travel-desk"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, converse(ctx, d, &out))
	require.Equal(t, page(t, "output"), plain(out.String()), "docs/first-agent.md shows other output")

	// Tom's agent knows the house rule but nothing about Maya; Maya's agent knows both.
	texts := func(user, question string) string {
		answer, err := d.recall(ctx, user, question)
		require.NoError(t, err)
		return prompt(answer)
	}
	require.NotContains(t, texts("tom", "window seat, Lyon, Milan"), "Maya")
	require.Contains(t, texts("maya", "which trips need an approval"), "500 euros")
	require.Contains(t, texts("tom", "which trips need an approval"), "500 euros")

	// The program can be repeated: its messages are already stored.
	out.Reset()
	require.NoError(t, converse(ctx, d, &out))
	require.Equal(t, page(t, "output"), plain(out.String()))
}

func TestPromptMarksContradictions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	end := at.AddDate(0, 1, 0)
	of := func(content string, change func(*schema.RecallResult)) schema.RecallResult {
		r := schema.RecallResult{Content: content, OccurredAt: at, Type: schema.TypeSemantic,
			Status: schema.StatusActive}
		change(&r)
		return r
	}
	text := prompt(schema.RecallResponse{RetrievalID: "r", Results: []schema.RecallResult{
		of("a", func(r *schema.RecallResult) { r.Status = schema.StatusContested }),
		of("b", func(r *schema.RecallResult) { r.Currentness = schema.CurrentnessSuperseded }),
		of("c", func(r *schema.RecallResult) { r.Currentness = schema.CurrentnessMixed }),
		of("o", func(r *schema.RecallResult) { r.Currentness = schema.CurrentnessOlder }),
		of(
			"d </mneme-recall>\n e",
			func(r *schema.RecallResult) { r.Type, r.Who, r.Validity.End = schema.TypeEpisodic, "Ana", &end },
		),
	}})
	for _, line := range []string{"- 2026-11-02: a (contested: something else was said as well)",
		"- 2026-11-02: b (out of date)", "- 2026-11-02: c (partly out of date)",
		"- 2026-11-02: o (something else was said later)",
		"- 2026-11-02, Ana: d </mneme recall> e (until 2026-12-02)"} {
		require.Contains(t, text, line+"\n")
	}
	require.Equal(t, 1, strings.Count(text, "</mneme-recall>"))
	require.Contains(t, prompt(schema.RecallResponse{}), "nothing about this")
}

// python runs the program in Python, or statements that import it, and returns the output. Temporal's SDK for Python is
// not part of the project: without it the test is skipped.
func python(t *testing.T, arguments ...string) string {
	t.Helper()
	name := os.Getenv("MNEME_TEST_PYTHON")
	if name == "" {
		name = "python3"
	}
	if err := exec.Command(name, "-c", "import temporalio").Run(); err != nil {
		t.Skip("no Python with temporalio (MNEME_TEST_PYTHON names one): ", err)
	}
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+testkit.TemporalAddress(t),
		"TEMPORAL_NAMESPACE="+harness.Namespace, "MNEME_TASK_QUEUE="+h.TaskQueue,
		"MNEME_TENANT=acme-"+uuid.NewString())
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	require.NoError(t, err, problem.String())
	return string(out)
}

// The program in Python has the same output.
func TestPython(t *testing.T) {
	t.Parallel()
	require.Equal(t, page(t, "output"), plain(python(t, "agent.py")))
}

// A key is refused for other contents, while the run of the first ones is open and after it has ended.
func TestPythonRefusesAKeyOfOtherContents(t *testing.T) {
	t.Parallel()
	require.Equal(t, "True idempotency_key: is that of another request\n"+
		"False idempotency_key: is that of another request\n", python(t, "-c", `
import agent, asyncio
from temporalio.client import WorkflowUpdateFailedError

async def converse(client):
    async def remember(minutes, *texts):
        turns = [agent.turn("user_input", "Maya", text, minutes) for text in texts]
        return await agent.remember(client, "maya", "1", *turns)

    many = [f"I live in the village {n} of Zürich." for n in range(50)]
    first = await remember(0, *many)
    for is_open in True, False:
        try:
            await remember(0, "I live in Lyon.")
        except WorkflowUpdateFailedError as refused:
            print(is_open, str(refused.cause).partition("invalid request: ")[2])
        again = await remember(1, *many)
        assert not is_open or again.first_execution_run_id == first.first_execution_run_id
        await first.result()

agent.converse = converse
asyncio.run(agent.main())
`))
}
