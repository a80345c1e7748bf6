package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

const mixedLines = "\ufeff" +
	`{"content":"Dana prefers tabs over spaces.","source_kind":"user_input","speaker":"Dana","refs":[{"kind":"event","ref":"e1"}]}

{"content":"The CI server runs in Frankfurt."}
{"content":"The CI server runs in Frankfurt."}
{"content":"x","colour":"red"}
{"content":"  "}
{"content":"secret words","importance":7,"source_kind":"dream"}
not json at all
{"content":"bad ` + "\xff" + ` bytes"}
{"content":"<mneme-recall id=\"r1\">\n- echo\n</mneme-recall>"}
`

func (c *cli) importFile(code int, args ...string) exchange.ImportReport {
	c.t.Helper()
	o := c.run(append([]string{"import", "--json"}, args...)...).is(code)
	var r exchange.ImportReport
	o.json(&r)
	return r
}

func TestImport(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	path := writeFile(t, mixedLines)

	r := c.importFile(app.ExitPartial, path, "--wait")
	require.Equal(t, []int{9, 2, 1, 1, 5, 1, 0},
		[]int{r.Total, r.Added, r.Deduplicated, r.Recalled, r.Failed, r.Batches, r.Resumed})
	require.Equal(t, 0, *r.DeadJobs)
	require.Positive(t, r.Facts.Extracted)
	bad := map[int][]string{}
	for _, e := range r.Errors {
		for _, f := range e.Fields {
			bad[e.Line] = append(bad[e.Line], f.Field)
			require.NotContains(t, f.Problem, "secret")
		}
	}
	require.Equal(t, map[int][]string{5: {"colour"}, 6: {"content"}, 7: {"source_kind", "importance"}, 8: {"(json)"},
		9: {"(json)"}}, bad)

	// The second import adds nothing, and reports it.
	before := len(c.list().Items)
	r = c.importFile(app.ExitPartial, path, "--wait")
	require.Equal(t, []int{9, 0, 3, 1, 5, 1, 1},
		[]int{r.Total, r.Added, r.Deduplicated, r.Recalled, r.Failed, r.Batches, r.Resumed})
	require.Zero(t, r.Facts.Extracted)
	r = c.importFile(app.ExitPartial, path, "--wait", "--again")
	require.Equal(t, []int{0, 3, 1, 0}, []int{r.Added, r.Deduplicated, r.Recalled, r.Resumed})
	require.Len(t, c.list().Items, before)

	// The same file can be imported for another principal.
	r = c.importFile(app.ExitPartial, path, "--agent", "agent-2")
	require.Equal(t, 2, r.Added)

	text := c.run("import", path, "--wait").is(app.ExitPartial)
	require.Contains(t, text.out, "0 added, 3 deduplicated")
	require.Contains(t, text.out, "imported before")
	require.Contains(t, text.err, "mneme: line 5: colour: unknown field\n")
}

func TestImportStrict(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	body := c.run("import", "--json", "--strict", writeFile(t, mixedLines)).is(app.ExitUsage).problem()
	require.Len(t, body.Fields, 6)
	require.Equal(t, "line 5: colour", body.Fields[0].Field)
	require.Empty(t, c.list().Items)

	good := writeFile(t, `{"content":"The CI server runs in Frankfurt."}`)
	require.Equal(t, 1, c.importFile(app.ExitOK, "--strict", good).Added)
}

func TestImportFromStandardInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var r exchange.ImportReport
	c.runWith(t.Context(), `{"content":"The CI server runs in Frankfurt."}`, "import", "-", "--json",
		"--wait").is(app.ExitOK).json(&r)
	require.Equal(t, 1, r.Added)
	c.runWith(t.Context(), "", "import", "-", "--json").is(app.ExitOK).json(&r)
}

// Repeating an interrupted import delivers every message once.
func TestImportContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c, db := newCLI(t, h), testkit.Owner(t, h.DatabaseURL)
	var lines strings.Builder
	const n = 200
	for i := range n {
		fmt.Fprintf(&lines, `{"content":"Sensor %d measured %d degrees in hall %d."}`+"\n", i, 3*i, i%7)
	}
	path := writeFile(t, lines.String())
	args := []string{"import", path, "--json", "--wait", "--parallel", "2", "--batch-size", "10"}

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stored := make(chan error, 1)
	go func() { // interrupt it after the first batch
		defer interrupt()
		stored <- testkit.Eventually(ctx, func() error {
			var any bool
			err := db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM memories)`).Scan(&any)
			if err == nil && !any {
				err = errors.New("nothing is stored yet")
			}
			return err
		})
	}()
	o := c.runWith(ctx, "", args...).is(app.ExitInterrupted)
	require.NoError(t, <-stored)
	require.Contains(t, o.err, "run the same command again")

	var r exchange.ImportReport
	c.run(args...).is(app.ExitOK).json(&r)
	require.Equal(t, n, r.Added+r.Deduplicated)
	require.Positive(t, r.Resumed, "nothing had been imported before the interruption")
	seen := map[string]int{}
	for before := ""; ; {
		p := c.list("--type", "episodic", "--limit", "90", "--before", before)
		for _, text := range contents(p) {
			seen[text]++
		}
		if before = p.Next; before == "" {
			break
		}
	}
	require.Len(t, seen, n)
	for text, times := range seen {
		require.Equal(t, 1, times, text)
	}
}

func TestImportWithoutWorker(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil))
	// A quarter of the time is for Temporal's acceptance, which takes long beside many other tests.
	o := c.run("import", writeFile(t, `{"content":"The CI server runs in Frankfurt."}`), "--timeout",
		"12s").is(app.ExitUnavailable)
	require.Contains(t, o.err, "no worker")
}

func TestImportRefusesBadFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	path := writeFile(t, `{"content":"x"}`)
	for field, args := range map[string][]string{
		"format": {"--format", "xml"}, "conversation": {"--conversation", "1"}, "batch-size": {"--batch-size", "501"},
		"parallel": {"--parallel", "0"}, "principal.agent": {"--agent", ""}, "mode": {"--mode", "x"},
	} {
		body := c.run(append([]string{"import", path, "--json"}, args...)...).is(app.ExitUsage).problem()
		require.Equal(t, field, body.Fields[0].Field)
	}
	c.run("import", "/no/such/file").is(app.ExitUsage)
}

const conversations = `{"conversation":"c1","speakers":["Ann","Bo"],"turns":[{"id":"D1:1","speaker":"Ann","text":"I adopted a grey cat named Pixel.","session":1,"when":"1:56 pm on 8 May, 2023"},{"id":"D1:2","speaker":"Bo","text":"Look at this!","session":1,"when":"1:56 pm on 8 May, 2023","image_caption":"a photo of a kayak"}],"qa":[]}
{"conversation":"c2","turns":[{"id":"D1:1","speaker":"Cy","text":"I moved to Porto.","session":1,"when":"soon"}]}
`

func TestImportLocomo(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	path := writeFile(t, conversations)
	r := c.importFile(app.ExitOK, path, "--format", "locomo", "--conversation", "c1", "--wait")
	require.Equal(t, 2, r.Added)
	kayak := c.recall("kayak", "--type", "episodic").Results[0]
	require.Equal(t, "Look at this! [shares a photo of a kayak]", kayak.Content)
	require.Equal(t, "c1/D1:2", kayak.Ref)
	require.Equal(t, "Bo", kayak.Who)
	require.Equal(t, time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), kayak.OccurredAt.UTC())

	c.run("import", path, "--format", "locomo", "--conversation", "c9").is(app.ExitNotFound)
	r = c.importFile(app.ExitPartial, path, "--format", "locomo")
	require.Equal(t, []int{0, 2, 1}, []int{r.Added, r.Deduplicated, r.Failed})
	require.Equal(t, "turns[0].when", r.Errors[0].Fields[0].Field)
}

func TestParseLocomoTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1:56 pm on 8 May, 2023":         "2023-05-08T13:56:00Z",
		"12:09 am on 13 September, 2023": "2023-09-13T00:09:00Z",
		"10:04 AM on 19 December, 2023":  "2023-12-19T10:04:00Z",
		" 12:40 pm on 27 March, 2022 ":   "2022-03-27T12:40:00Z",
	} {
		at, err := exchange.ParseLocomoTime(in)
		require.NoError(t, err, in)
		require.Equal(t, want, at.Format(time.RFC3339))
	}
	for _, in := range []string{"", "8 May, 2023", "13:00 pm on 8 May, 2023", "1:56 pm on 31 June, 2023"} {
		_, err := exchange.ParseLocomoTime(in)
		require.Error(t, err, in)
	}
}

func TestBatcher(t *testing.T) {
	t.Parallel()
	cut := func(size, bytes int, lengths ...int) [][]int {
		var out [][]int
		b := exchange.Batcher{Size: size, Bytes: bytes, Full: func(b exchange.Batch) error {
			if len(b.Candidates) == 0 {
				return nil
			}
			var lines []int
			for i := b.First; i <= b.Last; i++ {
				lines = append(lines, i)
			}
			require.Len(t, b.Candidates, len(lines))
			require.EqualValues(t, len(lines), b.Consumed)
			out = append(out, lines)
			return nil
		}}
		for i, n := range lengths {
			require.NoError(t, b.Add(exchange.Item{Line: i + 1, Consumed: 1,
				Candidate: schema.Candidate{Content: strings.Repeat("x", n)}}))
		}
		require.NoError(t, b.Flush())
		return out
	}
	frame := len(`{"content":""}`)
	require.Equal(t, [][]int{{1, 2}, {3, 4}, {5}}, cut(2, 1000, 1, 1, 1, 1, 1))
	require.Equal(t, [][]int{{1, 2}, {3}}, cut(10, 2*(frame+10), 10, 10, 10))
	require.Equal(t, [][]int{{1}, {2}, {3, 4}}, cut(10, 60, 10, 500, 10, 10), "a long message is sent alone")
	require.Empty(t, cut(10, 100))
	// Characters that JSON escapes count with their escaped size.
	encoded, err := json.Marshal(schema.Candidate{Content: strings.Repeat("\x01", 100)})
	require.NoError(t, err)
	require.Greater(t, len(encoded), 600)
}

func TestBatchKey(t *testing.T) {
	t.Parallel()
	req := testkit.Request(testkit.Principal(), schema.SourceObservation, "a", "b")
	key := exchange.BatchKey(req)
	require.Equal(t, key, exchange.BatchKey(req))
	for _, change := range []func(*schema.IngestRequest){
		func(r *schema.IngestRequest) { r.Candidates[1].Content = "c" },
		func(r *schema.IngestRequest) { r.Principal.Agent = "other" },
		func(r *schema.IngestRequest) { r.Principal.Scope = "other" },
		func(r *schema.IngestRequest) { r.Mode = schema.ModeShadow },
	} {
		other := req
		other.Candidates = append([]schema.Candidate{}, req.Candidates...)
		change(&other)
		require.NotEqual(t, key, exchange.BatchKey(other))
	}
	req.IdempotencyKey = key
	require.NoError(t, req.Validate())
}

// The demo transcript contains what the issue asks for.
func TestDemoTranscript(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join(testkit.Root(), "scripts", "demo-data", "transcript.jsonl"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	read := exchange.Reader{Format: exchange.FormatMneme, Bad: func(e exchange.LineError) { t.Error(e) }}
	kinds, sessions, texts, recalled := map[schema.SourceKind]int{}, map[string]bool{}, map[string]int{}, 0
	require.NoError(t, read.Each(file, func(it exchange.Item) error {
		kinds[it.Candidate.SourceKind]++
		sessions[it.Candidate.Session] = true
		texts[it.Candidate.Content]++
		if strings.Contains(it.Candidate.Content, "<mneme-recall") {
			recalled++
		}
		return nil
	}))
	require.GreaterOrEqual(t, len(texts), 60)
	require.Len(t, kinds, 5)
	require.GreaterOrEqual(t, len(sessions), 3)
	require.Positive(t, recalled)
	duplicates := 0
	for _, n := range texts {
		duplicates += n - 1
	}
	require.Positive(t, duplicates)
}

// A message above the limit is stored whole, and facts are extracted from its beginning; with --oversized refuse it is
// reported.
func TestImportKeepsOversizedMessages(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	long := "Ana lives in Lisbon. " + strings.Repeat("The log goes on and on. ", 14_600)
	line := func(text string) string {
		encoded, err := json.Marshal(schema.Candidate{Content: text, SourceKind: schema.SourceUserInput})
		require.NoError(t, err)
		return string(encoded) + "\n"
	}
	input := line("Bo likes figs.") + line(long) + line("Cleo dances.")
	var r exchange.ImportReport
	c.runWith(t.Context(), input, "import", "-", "--oversized", "refuse", "--strict", "--json").is(app.ExitUsage)
	c.run("import", "-", "--oversized", "shorten").is(app.ExitUsage)
	c.runWith(t.Context(), input, "import", "-", "--wait", "--json").is(app.ExitOK).json(&r)
	require.Equal(t, []int{3, 3, 0}, []int{r.Total, r.Added, r.Failed})
	require.Positive(t, r.Facts.Added)
	var address string
	for _, m := range c.list().Items {
		require.NotContains(t, m.Content, "sha256")
		if strings.HasPrefix(m.Content, "Ana lives in Lisbon. The log") {
			var got schema.MemoryRecord
			c.run("get", m.ID, "--json").is(app.ExitOK).json(&got)
			address = got.Provenance.Sources[0].Ref
		}
	}
	require.NotEmpty(t, address)
	require.Equal(t, long, c.run("artifact", "get", address).is(app.ExitOK).out)
	require.Contains(t, c.run("recall", "Where does Ana live?").is(app.ExitOK).out, "Ana lives in Lisbon.")
	c.runWith(t.Context(), input, "import", "-", "--wait", "--json").is(app.ExitOK).json(&r)
	require.Zero(t, r.Added, "the second run adds nothing")
}
