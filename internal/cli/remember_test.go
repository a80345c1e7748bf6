package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The README's description of remember and recall.
func TestRememberThenRecall(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	const said = "critical: [ops]: Never deploy on Fridays."

	first := c.remember(said)
	require.False(t, first.Deduped)
	require.Len(t, first.MemoryIDs, 1)
	require.NotEmpty(t, first.RunID)
	require.NotNil(t, first.Facts)
	require.Contains(t, first.URL, "http://ui.test/namespaces/default/workflows/ingest%2F")

	found := c.recall("when may we deploy").Results
	require.NotEmpty(t, found)
	best := found[0]
	require.Equal(t, first.MemoryIDs[0], best.ID)
	require.True(t, best.Pinned)
	require.InDelta(t, 1.0, best.Importance, 0)
	require.Equal(t, []string{"ops"}, best.Tags)
	require.Equal(t, schema.CategoryRule, best.Category)

	again := c.remember(said)
	require.True(t, again.Deduped)
	require.Equal(t, first.MemoryIDs, again.MemoryIDs)

	var history app.Page[schema.HistoryEntry]
	c.run("history", first.MemoryIDs[0], "--json").is(app.ExitOK).json(&history)
	require.GreaterOrEqual(t, len(history.Items), 2)
	require.Equal(t, schema.EventCreated, history.Items[0].Event)
	for _, step := range history.Items {
		require.NotEmpty(t, step.ChangedBy)
		require.NotEmpty(t, step.Reason)
	}

	var m schema.MemoryRecord
	c.run("get", first.MemoryIDs[0], "--json").is(app.ExitOK).json(&m)
	require.Equal(t, "Never deploy on Fridays.", m.Content)

	// The same as text.
	text := c.run("remember", "--wait", said).is(app.ExitOK)
	require.Contains(t, text.out, "already known")
	require.Contains(t, c.run("recall", "when", "may", "we", "deploy").is(app.ExitOK).out, "Never deploy on Fridays.")
	require.Contains(t, c.run("get", first.MemoryIDs[0]).is(app.ExitOK).out, "Never deploy on Fridays.")
	require.Contains(t, c.run("history", first.MemoryIDs[0]).is(app.ExitOK).out, "ingested as memory")
}

func TestRememberTakesEveryField(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	r := c.remember("I run the staging cluster on Postgres 17.", "--source-kind", "observation", "--speaker", "Dana",
		"--session", "s1",
		"--occurred-at", "2026-03-02T09:00:00Z", "--ref", "event=chat/17#sha256:aa", "--ref", "human=dana",
		"--category", "learning",
		"--tag", "Infra,db", "--sensitivity", "medium", "--importance", "0.3", "--visibility", "shared", "--project",
		"p1", "--mode", "frozen")
	var m schema.MemoryRecord
	c.run("get", r.MemoryIDs[0], "--json", "--project", "p1").is(app.ExitOK).json(&m)
	require.Equal(t, schema.TypeEpisodic, m.Type)
	require.Equal(t, "Dana", m.Who)
	require.Equal(t, "s1", m.Session)
	require.Equal(t, "2026-03-02T09:00:00Z", m.OccurredAt.UTC().Format("2006-01-02T15:04:05Z"))
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "chat/17", Hash: "sha256:aa"}, {Kind: "human", Ref: "dana"}},
		m.Provenance.Sources)
	require.Equal(t, schema.CategoryLearning, m.Category)
	require.Equal(t, []string{"infra", "db"}, m.Tags)
	require.Equal(t, schema.SensitivityMedium, m.Sensitivity)
	require.InDelta(t, 0.3, m.Importance, 1e-6)
	require.Equal(t, schema.VisibilityShared, m.Visibility)
	require.Equal(t, "p1", m.Project)
	for _, f := range *r.Facts {
		require.Equal(t, "mutations_frozen", f.Skipped)
	}
}

func TestRememberReadsStandardInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var r exchange.Remembered
	c.runWith(t.Context(), "The build takes\nfour minutes.\n", "remember", "-", "--json",
		"--wait").is(app.ExitOK).json(&r)
	var m schema.MemoryRecord
	c.run("get", r.MemoryIDs[0], "--json").is(app.ExitOK).json(&m)
	require.Contains(t, m.Content, "four minutes.")

	tooLong := strings.Repeat("x", 400_000)
	for _, args := range [][]string{{"remember", "-"}, {"modify", r.MemoryIDs[0], "--content", "-", "--reason", "r"}} {
		body := c.runWith(t.Context(), tooLong, append(args, "--json")...).is(app.ExitUsage).problem()
		require.Equal(t, schema.FieldError{Field: "content", Problem: "must be at most 262144 bytes, got 400000"},
			body.Fields[0], "its actual size")
	}
}

func TestRememberWithoutWaitHasNoFacts(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var r map[string]any
	c.run("remember", "The build takes four minutes.", "--json").is(app.ExitOK).json(&r)
	require.NotContains(t, r, "facts")
	require.Equal(t, false, r["deduped"])
}

func TestIdempotencyKeyAnswersWithTheFirstResult(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	first := c.remember("Dana prefers tabs over spaces.", "--idempotency-key", "k1")
	again := c.remember("Dana prefers tabs over spaces.", "--idempotency-key", "k1")
	first.Entities, again.Entities = nil, nil
	require.Equal(t, first, again)
	out := c.run("remember", "Dana prefers spaces over tabs.", "--idempotency-key", "k1").is(app.ExitUsage)
	require.Contains(t, out.err, "idempotency_key: is that of another request")
}

// The outcome of each fact is described in words, without the codes for programs.
func TestRememberDescribesOutcomes(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	said := func(text string, more ...string) string {
		return c.run(append([]string{"remember", "--wait", "--source-kind", "user_input", "--speaker", "Maya", text},
			more...)...).is(app.ExitOK).out
	}
	out := said("I prefer Go for backend services.")
	require.Contains(t, out, "remembered: Maya prefers Go for backend services.\n")
	require.Equal(t, "remembered: Maya lives in Lyon.", strings.SplitN(said("I live in Lyon."), "\n", 2)[0])
	require.True(t, strings.HasPrefix(said("Hello, how are you?"), "kept as said\n"))
	require.True(t, strings.HasPrefix(said("Hello, how are you?"), "already known\n"))

	out = said("I live in Oslo.")
	require.Contains(t, out, "updates: Maya lives in Lyon → Maya lives in Oslo.\n")
	_, fact, _ := strings.Cut(out, "\nfacts ") // the id to correct or forget it with
	require.Contains(t, c.run("get", strings.Fields(fact)[0]).is(app.ExitOK).out, "Maya lives in Oslo.")
	out = said("I live in Bergen.", "--no-update-delete")
	review, _, _ := strings.Cut(out, "\n")
	require.Contains(t, review, "waits for review: Maya lives in Oslo → Maya lives in Bergen; see mneme review show ")
	_, command, found := strings.Cut(review, "see mneme ")
	require.True(t, found, review)
	require.Contains(t, c.run(strings.Fields(command)...).is(app.ExitOK).out, "Maya lives in Bergen")

	out = said("I might move to Rome one day.", "--min-fact-confidence", "0.99")
	require.Contains(t, out, "kept as said")
	for _, code := range []string{"already_known", "destructive_mutations_disabled", "low_fact_confidence", "applied",
		"skipped", "blocked"} {
		require.NotContains(t, said("I own a red bicycle, "+code[:3]+"."), code)
		require.NotContains(t, out, code)
	}

	// JSON contains the codes.
	r := c.remember("I live in Porto.", "--source-kind", "user_input", "--speaker", "Maya", "--no-update-delete")
	f := (*r.Facts)[0]
	require.Equal(t, []any{schema.ActionUpdate, schema.ProposalBlocked}, []any{f.Action, f.State})
	require.NotEmpty(t, f.Skipped)
	require.Contains(t, f.Message, "waits for review")
	require.Equal(t, "kept as said", r.Message)
}

// A secret is reported and never printed, with and without --wait, as text and as JSON.
func TestRememberDoesNotEchoSecrets(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	const key, password = "AKIAIOSFODNN7EXAMPLQ", "hunter2xyz"
	text := "The key of our build is " + key + ". My password is " + password + "."
	for i, args := range [][]string{{}, {"--json"}, {"--wait"}, {"--wait", "--json"},
		{"--wait", "--source-kind", "user_input", "--speaker", "Maya"}} {
		o := c.run(append([]string{"remember", strings.Repeat("So: ", i) + text}, args...)...).is(app.ExitOK)
		require.NotContains(t, o.out+o.err, key)
		require.NotContains(t, o.out+o.err, password)
		require.Regexp(t, `an API key (and a password were found and are withheld|was found and is withheld)`, o.out,
			args)
	}
	require.NotContains(t, c.run("recall", "build key").is(app.ExitOK).out, key)
	o := c.run("remember", "Our salaries are paid in May.", "--sensitivity", "high", "--wait").is(app.ExitOK)
	require.Contains(t, o.out, "withheld, because its sensitivity is high")
	require.NotContains(t, o.out, "salaries")
}

// Shadow mode stores no memory, and its proposals are in history.
func TestRememberInShadowMode(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	r := c.remember("Dana prefers tabs over spaces. The CI server runs in Frankfurt.", "--mode", "shadow")
	require.NotEmpty(t, *r.Facts)
	for _, f := range *r.Facts {
		require.Equal(t, "shadow_mode", f.Skipped)
		require.Empty(t, f.MemoryID)
	}
	require.Empty(t, c.list().Items)
	c.run("get", r.MemoryIDs[0]).is(app.ExitNotFound)
	var history app.Page[schema.HistoryEntry]
	c.run("history", r.MemoryIDs[0], "--json").is(app.ExitOK).json(&history)
	require.Len(t, history.Items, len(*r.Facts))
	for _, step := range history.Items {
		require.Equal(t, "pipeline-shadow", step.ChangedBy)
	}
}

func TestRememberRefusesBadFields(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	for field, args := range map[string][]string{
		"content":                {"  "},
		"source_kind":            {"x", "--source-kind", "dream"},
		"category":               {"x", "--category", "nonsense"},
		"sensitivity":            {"x", "--sensitivity", "secret"},
		"importance":             {"x", "--importance", "1.5"},
		"occurred_at":            {"x", "--occurred-at", "yesterday"},
		"ref":                    {"x", "--ref", "event"},
		"refs[0].kind":           {"x", "--ref", "dream=1"},
		"visibility":             {"x", "--visibility", "everyone"},
		"mode":                   {"x", "--mode", "wild"},
		"min_fact_confidence":    {"x", "--min-fact-confidence", "2"},
		"principal.tenant":       {"x", "--tenant", ""},
		"principal.policy_group": {"x", "--visibility", "group"},
		"timeout":                {"x", "--timeout", "0s"},
	} {
		body := c.run(append([]string{"remember", "--json"}, args...)...).is(app.ExitUsage).problem()
		require.Len(t, body.Fields, 1, field)
		require.Equal(t, field, body.Fields[0].Field)
	}
	require.Empty(t, c.list().Items)
}

// Without a worker the request is durable, and the command reports it instead of blocking.
func TestRememberWithoutWorker(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	c := newCLI(t, h)
	body := c.run("remember", "--json", "--timeout", "2s",
		"The build takes four minutes.").is(app.ExitUnavailable).problem()
	require.Contains(t, body.Message, "no worker has picked the request up")
	require.Contains(t, body.Message, "make worker")

	h.StartWorker(t)
	r := c.remember("The build takes four minutes.")
	require.Len(t, r.MemoryIDs, 1)
	require.Contains(t, contents(c.list()), "The build takes four minutes.")
	require.Len(t, c.list("--type", "episodic").Items, 0)
}

func TestPromptHasTheRelevantPassage(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	filler := strings.Repeat("The zebra runs on and on over the plain. ", 40)
	text := filler + "The zebra is called Matilda by the keepers. " + filler
	c.put(`{"type":"semantic","confidence":0.9,"payload":{"kind":"semantic","subject":"zoo","predicate":"notes",`+
		`"object":"`+text+`","validity":{"mode":"global"}}}`, app.ExitOK, "-")
	question := []string{"recall", "what do the keepers call the zebra"}

	var whole schema.RecallResponse
	c.run(append(question, "--json")...).is(app.ExitOK).json(&whole)
	require.Len(t, whole.Results, 1)
	require.Greater(t, len(whole.Results[0].Content), len(text))
	require.NotNil(t, whole.Results[0].Passage)
	require.Contains(t, whole.Results[0].Passage.Text, "Matilda")

	prompt := c.run(append(question, "--format", "prompt")...).is(app.ExitOK).out
	require.Contains(t, prompt, "Matilda")
	require.Contains(t, prompt, "[…] ", "the beginning is cut")
	require.Less(t, len(prompt), 1_200, "only the passage")
	table := c.run(question...).is(app.ExitOK).out
	require.Contains(t, table, "Matilda")
	require.Less(t, len(table), 1_200, "only the passage")
}

func TestRecalledTextIsNotLearnedAgain(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("Never deploy on Fridays.")
	block := c.run("recall", "--format", "prompt", "deploy").is(app.ExitOK).out
	require.Contains(t, block, "<mneme-recall id=")
	require.Contains(t, block, "Never deploy on Fridays.")

	before := len(c.list().Items)
	var r exchange.Remembered
	c.runWith(t.Context(), block, "remember", "-", "--source-kind", "observation", "--json",
		"--wait").is(app.ExitOK).json(&r)
	require.True(t, r.Recalled)
	require.Empty(t, *r.Facts)
	require.Len(t, c.list().Items, before)
	require.Contains(t, c.runWith(t.Context(), block, "remember", "-", "--wait").is(app.ExitOK).out,
		"not learned again")
}

func TestRememberedJSONFieldNames(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(exchange.Remembered{MemoryIDs: []string{"m"},
		Facts: &[]schema.FactOutcome{{Warnings: []string{}}}})
	require.NoError(t, err)
	for _, name := range []string{`"workflow_id"`, `"run_id"`, `"memory_ids":["m"]`, `"deduped":false`,
		`"facts":[{"content"`, `"category"`,
		`"confidence"`, `"action"`, `"reason"`, `"warnings":[]`} {
		require.Contains(t, string(encoded), name)
	}
}
