package exchange

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	enumspb "go.temporal.io/api/enums/v1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// maxListed bounds the line errors and runs that a report lists. The counts include all of them.
const maxListed = 1000

type importFlags struct {
	requestFlags
	format, conversation string
	oversized            string
	batchSize, parallel  int
	wait, strict, again  bool
	ackTimeout           time.Duration // of a batch, for example while a worker or Postgres restarts
}

// NewImport returns the command that submits candidates from a file.
func NewImport(a *app.App) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE.jsonl|-",
		Short: "Import candidates, one JSON object per line",
		Long: `Import candidates, one JSON object per line:

  content (required), source_kind (user_input, tool_output, observation, outcome, memory), speaker,
  session, occurred_at (RFC 3339), refs [{kind, ref, hash}], category, tags [], sensitivity,
  importance, idempotency_key

Content above ` + strconv.Itoa(schema.MaxContentBytes>>10) +
			` KiB is stored whole as an artifact. The memory has the beginning of the text, from which facts are
extracted, and refers to the artifact. --oversized refuse reports such lines instead.

Unknown fields are errors. An invalid line is reported with its number and skipped; with --strict nothing
is imported if any line is invalid.

Running the same import again repeats no work: each batch has a key made of its content, and candidates of
an earlier import count as deduplicated. --again imports without the key, so that memories forgotten since
then are learned again.

The command waits a minute, or --timeout, for the acknowledgement of a batch, for example while a worker
restarts. Batches in flight may finish in any order. If later lines correct earlier ones, use --parallel 1 --wait.

A file that ` + "`mneme export`" + ` wrote is recognised by its first line: its memories are restored as they were, without
the pipeline, into the tenant of the principal, with their relations, history and versions. A stored memory is not
changed, and is reported if it differs (exit code 6). After an interruption, run the command again to continue.

--format mem0 and --format membrane read exports of Mem0 and Membrane and store their memories as
records (docs/import.md).

--format locomo reads conversations of the LoCoMo data set, one a line (conversation, turns [{id,
speaker, text, session, when, image_caption}]); each turn becomes an observation.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(importFormats, f.format):
				return app.Invalid("format", "must be one of %s", strings.Join(importFormats, ", "))
			case f.conversation != "" && f.format != formatLocomo:
				return app.Invalid("conversation", "needs --format locomo")
			case !schema.Oversized(f.oversized).Valid():
				return app.Invalid("oversized", "must be artifact or refuse")
			case f.batchSize < 1 || f.batchSize > schema.MaxBatch:
				return app.Invalid("batch-size", "must be between 1 and %d", schema.MaxBatch)
			case f.parallel < 1 || f.parallel > 64:
				return app.Invalid("parallel", "must be between 1 and 64")
			}
			f.ackTimeout = max(a.Timeout, app.ImportTimeout)
			if cmd.Flags().Changed("timeout") {
				f.ackTimeout = a.Timeout
			}
			req := f.request(cmd.Flags(), a.Cfg.Principal)
			if err := checkSettings(req); err != nil {
				return err
			}
			return importFile(cmd.Context(), a, cmd.Flags(), args[0], f, req)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", FormatMneme, strings.Join(importFormats, ", "))
	flags.StringVar(&f.conversation, "conversation", "", "with --format locomo: only the conversation with this id")
	flags.IntVar(&f.batchSize, "batch-size", schema.MaxBatch, "maximum number of candidates in one request")
	flags.IntVar(&f.parallel, "parallel", 4, "batches in progress at the same time")
	flags.StringVar(&f.oversized, "oversized", string(schema.OversizedArtifact),
		fmt.Sprintf("content above %d KiB: artifact (kept whole, and learned from its beginning) or refuse",
			schema.MaxContentBytes>>10))
	flags.BoolVar(&f.wait, "wait", false, "wait for the runs, and print counts of facts and memories")
	flags.BoolVar(&f.strict, "strict", false, "import nothing if any line is invalid")
	flags.BoolVar(&f.again, "again", false, "import lines again that an earlier import has imported")
	f.register(flags)
	return cmd
}

// checkSettings validates everything in a request except its candidates.
func checkSettings(req schema.IngestRequest) error {
	req.Candidates = []schema.Candidate{{Content: "any"}}
	return req.Validate()
}

// ImportReport is what `import` prints.
type ImportReport struct {
	Total        int        `json:"total"` // candidates read, bad lines included
	Added        int        `json:"added"`
	Deduplicated int        `json:"deduplicated"`
	Recalled     int        `json:"recalled"` // results of recall, which are not learned again
	Failed       int        `json:"failed"`
	Batches      int        `json:"batches"`
	Resumed      int        `json:"resumed_batches"` // imported by an earlier import
	Facts        *factCount `json:"facts,omitempty"` // with --wait
	DeadJobs     *int       `json:"dead_jobs,omitempty"`

	Errors []LineError `json:"errors"`
	Runs   []importRun `json:"runs"`
}

type factCount struct {
	Extracted int `json:"extracted"`
	schema.WriteCounts
}

type importRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	FirstLine  int    `json:"first_line"`
	LastLine   int    `json:"last_line"`
	Resumed    bool   `json:"resumed"`
	URL        string `json:"url,omitempty"`
}

// importer is the state of one import.
type importer struct {
	*app.App
	flags importFlags
	req   schema.IngestRequest // without candidates
	began time.Time
	bar   *progressbar.ProgressBar

	mu     sync.Mutex
	report ImportReport
}

func importFile(
	ctx context.Context,
	a *app.App,
	flags *pflag.FlagSet,
	path string,
	f importFlags,
	req schema.IngestRequest,
) error {
	input, size := a.In, int64(-1)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return app.WithCode(app.ExitUsage, err)
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		input = file
	}
	switch f.format {
	case formatMem0, formatMembrane:
		if err := refuseForRecords(flags, "--format "+f.format); err != nil {
			return err
		}
		return importForeign(ctx, a, input, f, req)
	case FormatMneme:
		peek := bufio.NewReaderSize(input, 4096)
		if isExport(peek) {
			if req.Principal.User != "" {
				return app.Invalid("principal.user",
					"must be empty for an export: its memories are restored to the users that they belong to")
			}
			if err := refuseForExport(flags); err != nil {
				return err
			}
			file, ok := input.(*os.File)
			if !ok || !rewind(file) {
				file = nil
			}
			return restore(ctx, a, file, peek, f)
		}
		input = peek
	}
	im := &importer{App: a, flags: f, req: req, began: time.Now(), bar: Progress(a, size)}
	im.report.Errors, im.report.Runs = []LineError{}, []importRun{}
	if f.wait {
		im.report.Facts, im.report.DeadJobs = &factCount{}, new(int)
	}
	a.Interrupted = "run the same command again to continue"
	err := im.run(ctx, input)
	_ = im.bar.Exit()
	if err != nil && im.report.Batches == 0 {
		return err
	}
	if printErr := a.Print(im.report, im.report.text); printErr != nil {
		return printErr
	}
	switch r := im.report; {
	case err != nil:
		return fmt.Errorf("not finished (run the same command again to continue): %w", err)
	case r.Failed > 0:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d could not be imported", r.Failed, r.Total))
	case r.DeadJobs != nil && *r.DeadJobs > 0:
		return app.WithCode(app.ExitPartial,
			fmt.Errorf("%d could not be processed further: see `mneme jobs list --state dead`", *r.DeadJobs))
	}
	return nil
}

// Progress shows a bar on a terminal and nothing elsewhere.
func Progress(a *app.App, size int64) *progressbar.ProgressBar {
	file, ok := a.ErrOut.(*os.File)
	show := ok && term.IsTerminal(int(file.Fd()))
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(a.ErrOut), progressbar.OptionSetVisibility(show),
		progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetDescription("reading"), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish())
}

// run reads the input and keeps the given number of batches in flight.
func (im *importer) run(ctx context.Context, input io.Reader) error {
	if _, err := im.OpenTemporal(ctx); err != nil {
		return err
	}
	if im.flags.wait {
		if _, err := im.OpenStore(ctx); err != nil {
			return err
		}
	}
	read := Reader{oversized: schema.Oversized(im.flags.oversized), Format: im.flags.format,
		conversation: im.flags.conversation, Bad: im.badLine}
	if im.flags.strict {
		var all []Item
		if err := read.Each(input, func(it Item) error { all = append(all, it); return nil }); err != nil {
			return err
		}
		if len(im.report.Errors) > 0 {
			return badLines(im.report.Errors)
		}
		read.items = all
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(im.flags.parallel)
	send := func(b Batch) error {
		if len(b.Candidates) > 0 {
			group.Go(func() error { return im.send(ctx, b) })
		}
		return ctx.Err()
	}
	batches := Batcher{Size: im.flags.batchSize, Bytes: app.MaxBatchBytes, Full: send}
	err := read.Each(input, batches.Add)
	if err == nil {
		err = batches.Flush()
	}
	// A failed batch cancels the reading; its error is the one to report.
	if groupErr := group.Wait(); groupErr != nil {
		return groupErr
	}
	return err
}

// send submits one batch and, with --wait, waits for its run.
func (im *importer) send(ctx context.Context, b Batch) error {
	req := im.req
	req.Candidates = b.Candidates
	for _, c := range b.Candidates {
		if len(c.Content) > schema.MaxContentBytes { // only then, because the key of a batch depends on it
			req.Oversized = schema.Oversized(im.flags.oversized)
		}
	}
	if !im.flags.again {
		req.IdempotencyKey = BatchKey(req)
	}
	earlier, err := im.earlier(ctx, req)
	if err != nil {
		return err
	}
	started, err := im.start(ctx, req)
	var refused *schema.ValidationError
	if errors.As(err, &refused) {
		im.lost(b, "refused: "+refused.Error())
		return nil
	}
	if err != nil {
		return err
	}
	// Temporal forgets old runs, Postgres does not: then the age of the batch tells.
	if earlier == runNone && !im.flags.again && batchTime(started.Ack.BatchID) < im.began.Add(-time.Minute).Unix() {
		earlier = runDone
	}
	im.acknowledged(b, started, earlier != runNone)
	switch {
	case !im.flags.wait:
		return nil
	case earlier == runDone: // its facts are known, and its dead jobs may have been replayed
		return im.stillDead(ctx, started.Ack.BatchID)
	}
	var result api.IngestResult
	if err := im.Follow(ctx, started.Run, &result); err != nil {
		if app.ExitCode(ctx, err) != app.ExitFailure {
			return err
		}
		im.Note("mneme: lines %d to %d are stored, but their run failed: %s", b.First, b.Last, app.OneLine(err.Error()))
		result = api.IngestResult{Dead: len(b.Candidates)}
	}
	im.finished(result.Extracted, result.Written, result.Dead)
	return nil
}

// start submits a batch and repeats that until it is acknowledged. A repeated request joins the run of the batch.
func (im *importer) start(ctx context.Context, req schema.IngestRequest) (mneme.Started, error) {
	attempt := min(im.flags.ackTimeout/4, 10*time.Second)
	for began := time.Now(); ; {
		started, err := im.StartIngestWithin(ctx, req, attempt)
		var silent *app.Silence
		if !errors.As(err, &silent) || time.Since(began) >= im.flags.ackTimeout {
			return started, err
		}
		im.NoteOnce("mneme: waiting up to %s: %s", app.Span(im.flags.ackTimeout), app.OneLine(silent.Why))
	}
}

// BatchKey identifies a batch by everything in it, its principal included.
func BatchKey(req schema.IngestRequest) string {
	encoded, err := json.Marshal(req)
	if err != nil {
		return "" // strings, numbers and times of four-digit years always encode
	}
	sum := sha256.Sum256(encoded)
	return "import-" + hex.EncodeToString(sum[:16])
}

// earlierRun is the state of a batch's run from an earlier import.
type earlierRun int

const (
	runNone  earlierRun = iota // there was none, or it failed
	runGoing                   // it is still open
	runDone
)

// earlier looks for a run that an earlier import has started for the batch.
func (im *importer) earlier(ctx context.Context, req schema.IngestRequest) (earlierRun, error) {
	if req.IdempotencyKey == "" {
		return runNone, nil
	}
	ctx, cancel := im.Within(ctx)
	defer cancel()
	described, err := im.Temporal.DescribeWorkflowExecution(ctx, api.IngestWorkflowID(req), "")
	if app.IsNotFound(err) {
		return runNone, nil
	}
	if err != nil {
		return runNone, fmt.Errorf("look for an earlier import: %w", err)
	}
	switch described.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return runGoing, nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return runDone, nil
	}
	return runNone, nil
}

// stillDead counts the jobs of a batch that are dead now.
func (im *importer) stillDead(ctx context.Context, batchID string) error {
	batch, err := app.ParseID("batch_id", batchID)
	if err != nil {
		return err
	}
	ctx, cancel := im.Within(ctx)
	defer cancel()
	dead, err := im.Store.Jobs(ctx, im.req.Principal.Tenant,
		pipeline.JobFilter{BatchID: batch, State: schema.JobDead, Limit: schema.MaxBatch})
	if err != nil {
		return err
	}
	im.finished(schema.ExtractCounts{}, schema.WriteCounts{}, len(dead))
	return nil
}

func (im *importer) acknowledged(b Batch, started mneme.Started, resumed bool) {
	im.mu.Lock()
	defer im.mu.Unlock()
	r, n := &im.report, len(b.Candidates)
	deduped, recalled := len(started.Ack.Deduped), len(started.Ack.Recalled)
	if resumed {
		r.Resumed++
		deduped = n - recalled // none of them is new
	}
	r.Batches++
	r.Total += n
	r.Deduplicated += deduped
	r.Recalled += recalled
	r.Added += n - deduped - recalled
	if len(r.Runs) < maxListed {
		r.Runs = append(r.Runs, importRun{WorkflowID: started.ID, RunID: started.RunID, FirstLine: b.First,
			LastLine: b.Last,
			Resumed:  resumed, URL: im.RunURL(started.ID, started.RunID)})
	}
	im.bar.Describe(fmt.Sprintf("%d added, %d deduplicated", r.Added, r.Deduplicated))
	_ = im.bar.Add64(b.Consumed)
}

func (im *importer) finished(extracted schema.ExtractCounts, written schema.WriteCounts, dead int) {
	im.mu.Lock()
	defer im.mu.Unlock()
	r := &im.report
	r.Facts.Extracted += extracted.Facts
	r.Facts.WriteCounts = r.Facts.Add(written)
	*r.DeadJobs += dead
	im.bar.Describe(fmt.Sprintf("%d added, %d deduplicated, %d facts", r.Added, r.Deduplicated, r.Facts.Added))
}

// badLine records an invalid line.
func (im *importer) badLine(e LineError) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.Total++
	im.report.Failed++
	if len(im.report.Errors) < maxListed {
		im.report.Errors = append(im.report.Errors, e)
		_ = im.bar.Clear()
		im.Note("mneme: %s", e)
	}
}

// badLines returns the error of a strict import.
func badLines(lines []LineError) error {
	var out schema.ValidationError
	for _, line := range lines {
		for _, f := range line.Fields {
			out.Fields = append(out.Fields, schema.FieldError{Field: fmt.Sprintf("line %d: %s", line.Line, f.Field),
				Problem: f.Problem})
		}
	}
	return fmt.Errorf("nothing was imported: %w", &out)
}

// lost records a batch that the workflow refused.
func (im *importer) lost(b Batch, problem string) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.Total += len(b.Candidates)
	im.report.Failed += len(b.Candidates)
	e := LineError{Line: b.First,
		Fields: []schema.FieldError{{Field: fmt.Sprintf("lines %d to %d", b.First, b.Last), Problem: problem}}}
	im.report.Errors = append(im.report.Errors, e)
	im.Note("mneme: %s", e)
}

func (r ImportReport) text(t *app.Text) {
	t.Line("%d read: %d added, %d deduplicated, %d recalled and not learned again, %d failed",
		r.Total, r.Added, r.Deduplicated, r.Recalled, r.Failed)
	if r.Facts != nil {
		f := r.Facts
		t.Line("%d facts: %d added, %d updated, %d deleted, %d skipped, %d blocked; %d dead jobs",
			f.Extracted, f.Added, f.Updated, f.Deleted, f.Skipped, f.Blocked, *r.DeadJobs)
	}
	if r.Resumed > 0 {
		t.Line("%d of %d batches had been imported before", r.Resumed, r.Batches)
	}
	if n := len(r.Runs); n > 0 && r.Runs[n-1].URL != "" {
		t.Line("%s", r.Runs[n-1].URL)
	}
}
