package exchange

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/intake"
	words "github.com/mneme/mneme/memory/outcome"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// requestFlags are the settings of a whole ingest request.
type requestFlags struct {
	visibility, mode  string
	noUpdateDelete    bool
	minFactConfidence float64
}

func (f *requestFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.visibility, "visibility", "", "readers: private (the default), group, shared or global")
	flags.StringVar(&f.mode, "mode", "",
		"write policy, at most as permissive as the worker's: controlled, frozen or shadow")
	flags.BoolVar(&f.noUpdateDelete, "no-update-delete", false,
		"apply no change to existing memories: each waits for review")
	flags.Float64Var(&f.minFactConfidence, "min-fact-confidence", 0,
		"lowest confidence of a fact that is written, 0 to 1")
}

func (f *requestFlags) request(flags *pflag.FlagSet, p schema.Principal) schema.IngestRequest {
	return schema.IngestRequest{Principal: p, Visibility: schema.Visibility(f.visibility),
		Mode:              schema.WriteMode(f.mode),
		NoUpdateDelete:    f.noUpdateDelete,
		MinFactConfidence: app.Optional(flags, "min-fact-confidence", f.minFactConfidence)}
}

// CandidateFlags describe one candidate.
type CandidateFlags struct {
	c                                     schema.Candidate
	kind, category, sensitive, occurredAt string
	refs                                  []string
	importance                            float64
}

// Register registers the flags.
func (f *CandidateFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kind, "source-kind", string(schema.SourceMemory),
		"kind of source: memory (an explicit save), user_input, tool_output, observation or outcome")
	flags.StringVar(&f.c.Speaker, "speaker", "", "speaker of the text")
	flags.StringVar(&f.c.Session, "session", "", "session of the text")
	flags.StringVar(&f.occurredAt, "occurred-at", "", "time when it was said or happened (RFC 3339, or a date); default now")
	flags.StringArrayVar(&f.refs, "ref", nil, "evidence, as kind=ref or kind=ref#hash (repeatable)")
	flags.StringVar(&f.category, "category", "", "category; inferred by default")
	flags.StringSliceVar(&f.c.Tags, "tag", nil, "tag (repeatable)")
	flags.StringVar(&f.sensitive, "sensitivity", "",
		"public, low (the default), medium, high or hyper; detected secrets and personal data raise it")
	flags.Float64Var(&f.importance, "importance", 0, "importance, 0 to 1")
}

// Candidate returns the candidate of the flags and the arguments; "-" reads the content from standard input.
func (f *CandidateFlags) Candidate(a *app.App, flags *pflag.FlagSet, args []string) (schema.Candidate, error) {
	c := f.c
	c.Content = strings.Join(args, " ")
	if c.Content == "-" {
		var err error
		if c.Content, err = app.ReadContent(a.In); err != nil {
			return c, err
		}
	}
	c.SourceKind, c.Category, c.Sensitivity = schema.SourceKind(f.kind), schema.Category(f.category),
		schema.Sensitivity(f.sensitive)
	c.Importance = app.Optional(flags, "importance", f.importance)
	var err error
	if c.OccurredAt, err = app.ParseTime("occurred_at", f.occurredAt); err != nil {
		return c, err
	}
	for _, s := range f.refs {
		ref, err := app.ParseRef(s)
		if err != nil {
			return c, err
		}
		c.Refs = append(c.Refs, ref)
	}
	return c, nil
}

// Remembered is the output of `remember`.
type Remembered struct {
	WorkflowID string   `json:"workflow_id"`
	RunID      string   `json:"run_id"`
	BatchID    string   `json:"batch_id"`
	MemoryIDs  []string `json:"memory_ids"`
	Deduped    bool     `json:"deduped"`
	Recalled   bool     `json:"recalled,omitempty"` // it is a result of recall and is not learned again
	Message    string   `json:"message"`            // the outcome, in words
	Withheld   bool     `json:"withheld,omitempty"` // too sensitive to be shown by default
	// kinds of sensitive data found in it, such as api_key
	Detected []string              `json:"detected,omitempty"`
	URL      string                `json:"url,omitempty"`      // of the run in Temporal's UI
	Facts    *[]schema.FactOutcome `json:"facts,omitempty"`    // with --wait
	Entities *schema.LinkCounts    `json:"linked,omitempty"`   // likewise
	Deferred []string              `json:"deferred,omitempty"` // phases that failed and are completed later
	DeadJobs []schema.Job          `json:"dead_jobs,omitempty"`
}

// NewRemember returns the command that stores one text.
func NewRemember(a *app.App) *cobra.Command {
	var (
		candidate CandidateFlags
		settings  requestFlags
		key       string
		wait      bool
	)
	cmd := &cobra.Command{
		Use:   "remember TEXT|-",
		Short: "Store one memory, observation or other text",
		Long: `Store one memory, observation or other text, and return as soon as it is durable.

TEXT may begin with "critical:", which pins it, and with "[tag1,tag2]:". With - it is read from
standard input. Storing the same content again returns the first id.

With --wait, one line for each fact says what happened to it:

  remembered: …               the fact is new
  already known: …            a memory states the same
  updates: OLD → NEW          the old memory is superseded
  contradicts: OLD ↔ NEW      both are kept and marked
  takes back: OLD             the old memory is no longer considered true
  waits for review: …         "mneme review" decides
  not sure enough to keep: …  its confidence is below the worker's threshold

"kept as said" means that the text is stored and no fact was extracted from it. A text that contains a secret
is not printed: recall withholds it.`,
		Example: `  mneme remember "critical: [ops]: Never deploy on Fridays." --wait
  make test 2>&1 | mneme remember - --source-kind tool_output --ref tool_call=run-17`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			c, err := candidate.Candidate(a, flags, args)
			if err != nil {
				return err
			}
			req := settings.request(flags, a.Cfg.Principal)
			req.Candidates, req.IdempotencyKey = []schema.Candidate{c}, key
			return remember(cmd.Context(), a, req, wait)
		},
	}
	flags := cmd.Flags()
	candidate.Register(flags)
	flags.StringVar(&key, "idempotency-key", "", "a repeated key returns the first result")
	flags.BoolVar(&wait, "wait", false, "wait for the run, and print what happened to each fact")
	settings.register(flags)
	return cmd
}

func remember(ctx context.Context, a *app.App, req schema.IngestRequest, wait bool) error {
	if err := req.Validate(); err != nil {
		return app.OfFlags(app.OfItem("candidates[0]", err))
	}
	if wait { // fail before the memory is stored
		if _, err := a.OpenStore(ctx); err != nil {
			return err
		}
	}
	started, err := a.StartIngest(ctx, req)
	if err != nil {
		return app.OfItem("candidates[0]", err)
	}
	a.Interrupted = "the memory is stored, and its run continues: " + started.ID
	ack := started.Ack
	out := Remembered{WorkflowID: started.ID, RunID: started.RunID, BatchID: ack.BatchID, MemoryIDs: ack.MemoryIDs,
		Deduped: len(ack.Deduped) > 0, Recalled: len(ack.Recalled) > 0, URL: a.RunURL(started.ID, started.RunID)}
	if wait {
		if err := outcomeOf(ctx, a, started, &out); err != nil {
			return err
		}
	} else {
		accepted(a, req, &out)
	}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	if len(out.DeadJobs) > 0 {
		return app.WithCode(app.ExitPartial,
			errors.New("it is stored, but could not be processed further: see `mneme jobs list --state dead`"))
	}
	return nil
}

// outcomeOf waits for the run and reads its results.
func outcomeOf(ctx context.Context, a *app.App, started mneme.Started, out *Remembered) error {
	var result api.IngestResult
	if err := a.Follow(ctx, started.Run, &result); err != nil {
		return err
	}
	batch, err := app.ParseID("batch_id", started.Ack.BatchID)
	if err != nil {
		return err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	tenant := a.Cfg.Principal.Tenant
	facts, err := a.Store.FactOutcomes(ctx, tenant, batch)
	if err != nil {
		return err
	}
	candidates, err := a.Store.CandidateOutcomes(ctx, tenant, batch)
	if err != nil {
		return err
	}
	words.Describe(candidates, facts)
	for _, c := range candidates { // there is one
		out.Message, out.Withheld, out.Detected = c.Message, c.Withheld, c.Detected
	}
	out.Facts, out.Entities, out.Deferred = &facts, &result.Linked, result.Deferred
	out.DeadJobs, err = a.Store.Jobs(ctx, tenant, pipeline.JobFilter{BatchID: batch, State: schema.JobDead})
	return err
}

// accepted fills in what is known about a candidate without waiting for its run: its classification, and so whether
// recall withholds it. It uses the rules in the command line's policy file.
func accepted(a *app.App, req schema.IngestRequest, out *Remembered) {
	rules, err := a.PolicyInForce()
	if err != nil { // the memory is stored anyway; detectors need no rules
		rules = func() *policy.Policy { return nil }
	}
	cl := intake.Admit(req.Candidates[0], req.Principal, req.Visibility, rules()).Classification
	out.Withheld, out.Detected = sensitive.IsWithheld(cl.Sensitivity), cl.Detected
	out.Message = words.Accepted(schema.CandidateOutcome{Deduped: out.Deduped, Recalled: out.Recalled,
		Withheld:    out.Withheld,
		Sensitivity: cl.Sensitivity, Detected: cl.Detected})
}

func (r Remembered) text(t *app.Text) {
	took := false
	var facts []string // the memories that state them
	if r.Facts != nil {
		for _, f := range *r.Facts {
			t.Line("%s", app.OneLine(f.Message))
			took = took || words.Took(f)
			if f.State == schema.ProposalApplied && f.Action != schema.ActionDelete && f.MemoryID != "" &&
				!slices.Contains(slices.Concat(facts, r.MemoryIDs), f.MemoryID) {
				facts = append(facts, f.MemoryID)
			}
		}
	}
	if !took { // otherwise the facts show it
		t.Line("%s", r.Message)
	}
	for _, job := range r.DeadJobs {
		t.Line("dead in %s: %s", job.Phase, app.OneLine(job.LastError))
	}
	t.Line("")
	t.Fields("memory", strings.Join(r.MemoryIDs, " "), "facts", strings.Join(facts, " "), "workflow", r.WorkflowID,
		"run", r.RunID, "ui", r.URL)
}

// batchTime returns when a batch was staged: its id is time-ordered.
func batchTime(id string) (sec int64) {
	parsed, err := uuid.Parse(id)
	if err != nil || parsed.Version() != 7 {
		return 0
	}
	sec, _ = parsed.Time().UnixTime()
	return sec
}
