package memories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
)

// shownSample is the number of selected memories that are shown with their contents.
const shownSample = 20

type forgetFlags struct {
	app.OperationFlags
	mode, query, who, sourceKind, session, since, until string
	types, categories, tags                             []string
	limit, batchSize, ifVersion                         int
	derived, everywhere, all, execute, yes              bool
	expires                                             time.Duration
}

// request returns the request that the flags describe.
func (f *forgetFlags) request(p schema.Principal, ids []string) (schema.ForgetRequest, error) {
	r := schema.ForgetRequest{Operation: f.Operation(p), Mode: schema.ForgetMode(f.mode),
		Execute: f.execute, ExpiresSeconds: int(f.expires.Seconds()), BatchSize: f.batchSize, IfVersion: f.ifVersion,
		Selector: schema.Selector{IDs: ids, Query: f.query, Limit: f.limit, Tags: f.tags, Who: f.who,
			SourceKind: schema.SourceKind(f.sourceKind), Session: f.session,
			IncludeDerived: f.derived, Everywhere: f.everywhere, All: f.all}}
	// Without --everywhere, other memories with the same content are only shown, even with erase.
	r.Selector.OnlyNamed = r.Mode == schema.ForgetErase && !f.everywhere
	for _, t := range f.types {
		if t == "plan" { // the name in one version of the RFC
			t = string(schema.TypePlanGraph)
		}
		r.Selector.Types = append(r.Selector.Types, schema.MemoryType(t))
	}
	for _, c := range f.categories {
		r.Selector.Categories = append(r.Selector.Categories, schema.Category(c))
	}
	var err error
	if r.Selector.Since, err = app.ParseTime("since", f.since); err != nil {
		return r, err
	}
	if r.Selector.Until, err = app.ParseTime("until", f.until); err != nil {
		return r, err
	}
	if f.expires < 0 || f.expires > 0 && f.expires < time.Second {
		return r, app.Invalid("expires", "must be at least a second")
	}
	return r, selectorFlags(r.Validate())
}

// selectorFlags renames the fields of a selector to its flags.
func selectorFlags(err error) error {
	var bad *schema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	fields := slices.Clone(bad.Fields)
	for i, f := range fields {
		fields[i].Field = strings.TrimPrefix(f.Field, "selector.")
		if f.Field == "selector" && strings.HasPrefix(f.Problem, "must have a condition") {
			fields[i].Problem = "needs ids, a query, filters or --all"
		}
	}
	return app.OfFlags(&schema.ValidationError{Fields: fields})
}

// NewForget returns the command that selects, confirms and forgets memories.
func NewForget(a *app.App) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget [ID...]",
		Short: "Forget memories: preview, confirm, execute",
		Long: `Forget memories. The command first shows the selected memories and a token. Nothing is changed before
the run is confirmed, with --yes or later with the token and "forget confirm". A run waits a day at most.

A memory must meet all conditions. --query finds live memories that contain every word; it may have
"a phrase", the operator or, and -word for a word that must not occur. Filters find all of the principal's
own memories in its project and scope, including superseded ones. Ids may also name memories that other
agents share.

  soft   (the default) leaves tombstones, which "recover" restores within the window. Pinned
         memories are not changed. Up to ` + strconv.Itoa(lifecycle.ConfirmThreshold) +
			` named memories need no confirmation with --execute.
  force  deletes rows and texts, also those of pinned memories. History keeps who, when and why. Memories
         with a world_id, and memories that are linked to an action, are not changed.
  erase  removes the texts of all selected memories everywhere, also from the workflow runs that wrote
         them. An empty row and the audit remain. Select by id, because a query text remains in the
         history of this run.

Every agent that may read a shared memory may forget it softly. Force and erase change only memories of
the principal's own agent, and skip the others (not_owner).

Other memories may have the same content: sources of the selected memories, restatements, and memories
extracted from them. They are shown, and changed only with --everywhere. --include-derived selects only
the memories that were extracted from the selected ones.

With --if-version, a single memory is forgotten only if it has this version now. Otherwise nothing is
changed, and the exit code is 6.`,
		Example: `  mneme forget 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --reason "wrong person" --execute
  mneme forget --query "old project" --reason "project is archived"
  mneme forget confirm 0198c3f2-… --token fgt1.…
  mneme forget --session s-17 --mode erase --everywhere --reason "asked for by the user" --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(a.Cfg.Principal, args)
			if err != nil {
				return err
			}
			return forget(cmd.Context(), a, req, f.yes)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", string(schema.ForgetSoft), "soft, force or erase")
	flags.StringVar(&f.query, "query", "", "select live memories by full-text search")
	flags.IntVar(&f.limit, "limit", 0, "with --query: select at most this many best matches")
	flags.StringSliceVar(&f.types, "type", nil,
		"memory type: episodic, working, semantic, competence, plan_graph (repeatable)")
	flags.StringSliceVar(&f.categories, "category", nil,
		"fact, preference, decision, procedural, semantic, rule, learning or issue (repeatable)")
	flags.StringSliceVar(&f.tags, "tag", nil, "required tag (repeatable; a memory must have all of them)")
	flags.StringVar(&f.who, "who", "", "speaker")
	flags.StringVar(&f.sourceKind, "source-kind", "",
		"source kind: user_input, tool_output, observation, outcome or memory")
	flags.StringVar(&f.session, "session", "", "session of the memories")
	flags.StringVar(&f.since, "since", "", "occurred at or after (RFC 3339, or a date)")
	flags.StringVar(&f.until, "until", "", "occurred before (RFC 3339, or a date)")
	flags.BoolVar(&f.all, "all", false, "all of the principal's memories in its project and scope")
	flags.BoolVar(&f.execute, "execute", false, "execute at once if no confirmation is needed")
	f.common(cmd)
	cmd.AddCommand(newForgetConfirm(a), newForgetStatus(a), newForgetCancel(a), newForgetResume(a))
	return cmd
}

// common registers the flags that forget and erase share.
func (f *forgetFlags) common(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.everywhere, "everywhere", false,
		"also memories with the same content: sources, restatements and derived memories")
	flags.BoolVar(&f.derived, "include-derived", false, "also memories derived from the selected ones")
	flags.IntVar(&f.ifVersion, "if-version", 0, "for a single ID: forget it only if this is its current version")
	flags.BoolVar(&f.yes, "yes", false, "confirm at once")
	flags.IntVar(&f.batchSize, "batch-size", 0, fmt.Sprintf("memories in one transaction (default and maximum %d)",
		schema.MaxForgetBatch))
	flags.DurationVar(&f.expires, "expires", 0,
		"time that the run waits for its confirmation (default and at most a day)")
	f.RegisterRequired(flags)
}

// NewErase returns the command that removes the texts of memories everywhere.
func NewErase(a *app.App) *cobra.Command {
	f := forgetFlags{mode: string(schema.ForgetErase)}
	cmd := &cobra.Command{
		Use:   "erase ID...",
		Short: "Remove the texts of memories everywhere (forget --mode erase)",
		Long: `Remove the texts of memories everywhere: content, payload, embeddings, the pipeline's copies, history,
old versions, and the workflow runs that ingested them. An empty row and the audit remain. This cannot be
undone and must be confirmed: with --yes, or later with "forget confirm".

A fact and the statement that it was extracted from are two memories. Memories with the same content
(sources, restatements, and derived memories) are shown, and erased only with --everywhere. If a source
contains other statements too, its text is erased, and the other facts extracted from it remain.`,
		Example: `  mneme erase 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --everywhere --reason "asked for by the user" --yes`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(a.Cfg.Principal, args)
			if err != nil {
				return err
			}
			return forget(cmd.Context(), a, req, f.yes)
		},
	}
	f.common(cmd)
	return cmd
}

// Sampled is one of the memories that would be forgotten, or one with the same content.
type Sampled struct {
	ID      string            `json:"id"`
	Type    schema.MemoryType `json:"type"`
	Pinned  bool              `json:"pinned,omitempty"`
	Content string            `json:"content"`
	// Tie says how a memory with the same content is related: source, restatement or derived.
	Tie string `json:"tie,omitempty"`
	// AlsoSays is the number of other statements in the text.
	AlsoSays int `json:"also_says,omitempty"`
}

// Forgotten is the output of `forget` and `erase`.
type Forgotten struct {
	WorkflowID string               `json:"workflow_id"`
	URL        string               `json:"url,omitempty"`
	Preview    schema.ForgetPreview `json:"preview"`
	Memories   []Sampled            `json:"memories,omitempty"` // memories of a run that waits for confirmation
	// SaysSame lists memories with the same content. They are selected only with --everywhere.
	SaysSame []Sampled             `json:"says_same,omitempty"`
	Receipt  *schema.ForgetReceipt `json:"receipt,omitempty"` // receipt of a run that has ended
	// Left is what is still stored of the user, after all memories of a user were erased. It is nil if that is unknown.
	Left *admin.HeldOfUser `json:"left,omitempty"`
}

// forget starts a request and shows its preview. If the request is confirmed, it also waits for the end.
func forget(ctx context.Context, a *app.App, req schema.ForgetRequest, yes bool) error {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	run, err := mneme.StartForget(limited, c, a.Cfg.TaskQueue, req)
	if err != nil {
		return selectorFlags(err)
	}
	out := Forgotten{WorkflowID: run.GetID(), URL: a.RunURL(run.GetID(), run.GetRunID())}
	a.Interrupted = "the request is stored, and its run waits or continues: " + run.GetID()
	if out.Preview, err = mneme.ForgetPreview(limited, c, run); err != nil {
		if ctx.Err() == nil && app.TimedOut(err) {
			return a.ExplainSilence(ctx, c, run.GetID(), a.Timeout)
		}
		return refusedForget(selectorFlags(err))
	}
	id, err := app.ParseID("run_id", out.Preview.RunID)
	if err != nil {
		return err
	}
	if out.Preview.State == schema.ForgetPreviewed {
		token, err := st.ForgetToken(limited, req.Principal, id, time.Now())
		if err != nil {
			return refusedForget(err)
		}
		if !yes && token != "" { // empty: it has been confirmed already
			out.Preview.ConfirmToken = token
			if out.Memories, err = sample(limited, a, out.Preview.Sample); err != nil {
				return err
			}
			if out.SaysSame, err = sampleEchoes(limited, a, out.Preview.Echoes); err != nil {
				return err
			}
			out.Memories = slices.DeleteFunc(out.Memories, func(m Sampled) bool {
				return slices.ContainsFunc(out.SaysSame, func(same Sampled) bool { return same.ID == m.ID })
			})
			return a.Print(out, out.previewText)
		}
		a.Note("mneme: %s", counted(out.Preview))
		if token != "" {
			if _, err := mneme.ConfirmForget(limited, c, run.GetID(),
				schema.ForgetConfirmation{Token: token, Actor: req.Actor}); err != nil {
				return refusedForget(err)
			}
		}
	}
	receipt, err := followForget(ctx, a, c, run, id)
	if err != nil {
		return refusedForget(err)
	}
	out.Receipt = &receipt
	if p := req.Principal; p.User != "" && req.Selector.All && req.Mode == schema.ForgetErase {
		limited, cancel := a.Within(ctx) // the run may have taken longer than the first one
		defer cancel()
		if left, err := st.HeldOfUser(limited, p.Tenant, p.User); err == nil {
			out.Left = &left
		} else { // the memories are erased: the receipt is more important than this error
			a.Note("mneme: %v; see mneme users show %s", err, app.Printable(p.User))
		}
	}
	err = a.Print(out, func(t *app.Text) {
		receiptText(t, receipt)
		if out.Left != nil {
			t.Line("")
			app.HeldText(t, *out.Left)
		}
	})
	if err != nil {
		return err
	}
	return forgetProblem(receipt, len(req.Selector.IDs))
}

// counted describes in one line what would be forgotten.
func counted(p schema.ForgetPreview) string {
	s := fmt.Sprintf("%s selected (%s)", memories(p.Total-p.NotFound), p.Mode)
	if p.NotFound > 0 {
		s += fmt.Sprintf(", %d ids not found", p.NotFound)
	}
	switch {
	case p.Pinned > 0 && p.Mode == schema.ForgetSoft:
		s += fmt.Sprintf("; %d pinned ones are not changed", p.Pinned)
	case p.Pinned > 0:
		s += fmt.Sprintf("; %d of them are pinned", p.Pinned)
	}
	if p.NotOwner > 0 {
		s += fmt.Sprintf("; %d of other agents are not changed", p.NotOwner)
	}
	if p.MustStay > 0 {
		s += fmt.Sprintf("; %d with a world_id or linked to an action are not changed (--mode erase removes their texts)",
			p.MustStay)
	}
	if p.Learned > 0 {
		s += fmt.Sprintf("; %d of them %s learned only from the episodes among them", p.Learned,
			map[bool]string{true: "was", false: "were"}[p.Learned == 1])
	}
	return s + sameAndDerived(p)
}

// sample reads the selected memories that the principal may see.
func sample(ctx context.Context, a *app.App, ids []string) ([]Sampled, error) {
	out := []Sampled{}
	for _, s := range ids[:min(len(ids), shownSample)] {
		id, err := app.ParseID("id", s)
		if err != nil {
			return nil, err
		}
		m, err := a.Store.Get(ctx, a.Cfg.Principal, id)
		if errors.Is(err, pg.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Sampled{ID: m.ID, Type: m.Type, Pinned: m.Lifecycle.Pinned, Content: m.Content})
	}
	return out, nil
}

func (f Forgotten) previewText(t *app.Text) {
	t.Line("%s", counted(f.Preview))
	rows := make([][]string, 0, len(f.Memories))
	for _, m := range f.Memories {
		pinned := ""
		if m.Pinned {
			pinned = "pinned"
		}
		rows = append(rows, []string{m.ID, string(m.Type), pinned, m.Content})
	}
	t.Table("ID TYPE PIN MEMORY", rows)
	asked := f.Preview.Total - f.Preview.NotFound
	if f.Preview.Everywhere {
		asked -= f.Preview.SaysSame
	}
	if more := asked - len(f.Memories); more > 0 {
		t.Line("and %d more", more)
	}
	f.sameText(t)
	t.Line("")
	t.Fields("run", f.Preview.RunID, "waits until", app.When(f.Preview.ExpiresAt), "ui", f.URL)
	t.Line("nothing is forgotten yet. To confirm:")
	t.Line("  mneme forget confirm %s --token %s", f.Preview.RunID, f.Preview.ConfirmToken)
}

func receiptText(t *app.Text, r schema.ForgetReceipt) {
	skipped := []string{}
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		skipped = append(skipped, fmt.Sprintf("%d %s", r.Skipped[reason], reason))
	}
	remaining, stopped := "", ""
	if r.Remaining > 0 {
		remaining = strconv.Itoa(r.Remaining)
	}
	if r.Stopped > 0 {
		stopped = fmt.Sprintf("%d pipelines", r.Stopped)
	}
	if r.Total == 0 && r.State == schema.ForgetDone {
		t.Line("no memory matches; nothing is forgotten")
		t.Line("")
	}
	t.Fields("run", r.RunID, "state", string(r.State), "forgotten",
		fmt.Sprintf("%d of %d (%s)", r.Forgotten, r.Total, r.Mode),
		"not changed", strings.Join(skipped, ", "), "remaining", remaining, "stopped", stopped,
		"not reached yet", strings.Join(r.Pending, ", "))
	stillSaidText(t, r)
	if len(r.Removed) == 0 {
		return
	}
	t.Line("")
	rows := make([][]string, 0, len(r.Removed))
	for _, place := range slices.Sorted(maps.Keys(r.Removed)) {
		rows = append(rows, []string{place, strconv.Itoa(r.Removed[place])})
	}
	t.Table("PLACE ROWS", rows)
}

// followForget waits for a run to end, with a progress bar on a terminal.
func followForget(
	ctx context.Context,
	a *app.App,
	c client.Client,
	run client.WorkflowRun,
	id uuid.UUID,
) (schema.ForgetReceipt, error) {
	var receipt schema.ForgetReceipt
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var bar *progressbar.ProgressBar
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				if bar != nil {
					_ = bar.Finish()
				}
				return
			case <-tick.C:
			}
			status, err := a.Store.ForgetStatus(watching, a.Cfg.Principal, id)
			if err != nil {
				continue // the run reports problems
			}
			if bar == nil {
				bar = a.Counting(status.Total, "forgetting")
			}
			_ = bar.Set(status.Processed())
		}
	}()
	err := a.Follow(ctx, run, &receipt)
	stop()
	<-done
	return receipt, err
}

// refusedForget turns a refusal into an error with its exit code.
func refusedForget(err error) error {
	var failure *temporal.ApplicationError
	var conflict *schema.VersionConflict
	switch {
	case errors.Is(err, schema.ErrTokenMalformed):
		return app.Invalid("token", "is not a confirmation token")
	case errors.Is(err, schema.ErrTokenOther):
		return app.WithCode(app.ExitConflict, errors.New("refused: the token is not for this run"))
	case errors.Is(err, schema.ErrTokenExpired):
		return app.WithCode(app.ExitConflict, errors.New("refused: the confirmation has expired; run forget again"))
	case errors.Is(err, schema.ErrForgetClosed):
		return app.WithCode(app.ExitConflict, errors.New("refused: the run was cancelled"))
	case errors.As(err, &conflict):
		return app.WithCode(app.ExitConflict, fmt.Errorf("refused, and nothing was changed: %w", err))
	case errors.As(err, &failure) && failure.Type() == api.ErrTypeFrozen:
		return app.WithCode(app.ExitConflict, errors.New("refused: the worker changes no memories (mutations_frozen)"))
	}
	return err
}

// forgetProblem returns the error of a command for the outcome of its run. named is the number of ids in the request.
func forgetProblem(r schema.ForgetReceipt, named int) error {
	left := r.Processed() - r.Forgotten
	switch {
	case r.State != schema.ForgetDone:
		return app.WithCode(app.ExitPartial, fmt.Errorf("the run is %s: %d of %d forgotten, %d remain",
			r.State, r.Forgotten, r.Total, r.Remaining))
	case len(r.Pending) > 0:
		return app.WithCode(app.ExitPartial,
			errors.New("some places could not be reached: "+strings.Join(r.Pending, ", ")))
	case left == 0 || named == 0:
		return nil
	case named > 1 || r.Forgotten > 0:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d memories were not changed", left, r.Total))
	case r.Skipped[lifecycle.OutcomeNotFound] > 0:
		return app.WithCode(app.ExitNotFound, errors.New("the memory is not found"))
	}
	for reason := range r.Skipped {
		return app.WithCode(app.ExitConflict, errors.New("refused: "+reason))
	}
	return nil
}
