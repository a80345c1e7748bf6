package memories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// NewReview returns the command that decides on changes that need a person's approval.
func NewReview(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{
		Use:   "review",
		Short: "Decide on changes that need a person's approval: list, show, approve, reject",
		Long: `Decide on changes that need a person's approval: updates and deletes that a rule holds back, and
contradictions. Each is a waiting proposal. An approved proposal is applied with the reviewer as actor, if
the reviewed memories have not changed. A proposal that is not decided expires.`,
		Example: `  mneme review list --contradictions
  mneme review show 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b
  mneme review approve 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --reason "she told me herself"`,
	})
	cmd.AddCommand(app.WithTrust(newReviewList(a)), app.WithTrust(newReviewShow(a)),
		newReviewDecide(a, schema.DecisionApprove), newReviewDecide(a, schema.DecisionReject))
	return cmd
}

func newReviewList(a *app.App) *cobra.Command {
	var f pipeline.ReviewFilter
	var state, before string
	var limit int
	var sensitivity *string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List proposals that wait for a decision, newest first",
		Long: `List proposals that wait for a decision, or have had one, newest first. JSON is
{"items":[…],"next":"ID"}; --before takes next, for the next page.

` + scopesHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.State = schema.ReviewFilter(state); !f.State.Valid() {
				return app.Invalid("state", "must be waiting, decided or all")
			}
			if err := cmp.Or(app.CheckLimit("limit", limit, pg.MaxPage), app.CheckAllScopes(a, f.AllScopes)); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			seen, err := a.Clearance(*sensitivity)
			if err != nil {
				return err
			}
			found, err := st.ListReviews(ctx, a.Cfg.Principal, f, pg.Page{Before: before, Limit: limit}, seen)
			if err != nil {
				return err
			}
			out := app.Page[schema.ReviewItem]{Items: found}
			if len(found) == limit {
				out.Next = found[len(found)-1].ProposalID
			}
			out.Note, err = app.NoteOtherScopes(len(found), before, f.AllScopes, func() (int, error) {
				all := f
				all.AllScopes = true
				others, err := st.ListReviews(ctx, a.Cfg.Principal, all, pg.Page{Limit: 1}, seen)
				return len(others), err
			})
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) {
				rows := make([][]string, 0, len(found))
				for _, r := range found {
					rows = append(rows, []string{r.ProposalID, string(r.Action), stateOfReview(r), r.Outcome,
						app.When(r.ExpiresAt), proposedChange(r)})
				}
				t.Table("PROPOSAL ACTION STATE WHY EXPIRES CHANGE", rows)
				t.Note(out.Note)
				if out.Next != "" {
					t.Line("more: --before %s", out.Next)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", string(schema.ReviewsWaiting), "waiting, decided (expired ones included) or all")
	flags.BoolVar(&f.AllScopes, "all-scopes", false, app.AllScopesUsage)
	flags.BoolVar(&f.Contradictions, "contradictions", false, "only proposals that seem to contradict their target")
	flags.StringVar(&before, "before", "", "id of the last proposal of the previous page")
	flags.IntVar(&limit, "limit", 50, "maximum number of proposals, up to 500")
	sensitivity = app.SensitivityFlag(cmd.Flags())
	return cmd
}

// stateOfReview returns a proposal's state in the words of a review.
func stateOfReview(r schema.ReviewItem) string {
	if r.State == schema.ProposalBlocked {
		return string(schema.ReviewsWaiting)
	}
	return string(r.State)
}

// proposedChange describes what a proposal would do to its target.
func proposedChange(r schema.ReviewItem) string {
	current := ""
	if r.TargetNow != nil {
		current = r.TargetNow.Content
	}
	switch {
	case r.Action == schema.ActionDelete:
		return "- " + current
	case current != "":
		return current + " → " + r.Fact
	}
	return "+ " + r.Fact
}

func newReviewShow(a *app.App) *cobra.Command {
	var sensitivity *string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a proposal: the change, its reason, the current value, and the time of expiry",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			seen, err := a.Clearance(*sensitivity)
			if err != nil {
				return err
			}
			r, err := st.GetReview(ctx, a.Cfg.Principal, id, seen)
			if err != nil {
				return err
			}
			out := ShownReview{ReviewItem: r}
			if out.Stands, err = claimHolder(ctx, a, r, seen); err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) { reviewText(a, t, out) })
		},
	}
	sensitivity = app.SensitivityFlag(cmd.Flags())
	return cmd
}

// ShownReview is the output of `review show`.
type ShownReview struct {
	schema.ReviewItem
	Stands *schema.Side `json:"stands,omitempty"` // the memory with the claim of a proposal without a target
}

// claimHolder returns the memory that a waiting proposal without a target would replace.
func claimHolder(ctx context.Context, a *app.App, r schema.ReviewItem, seen policy.Clearance) (*schema.Side, error) {
	if r.TargetID != "" || r.MemoryID == "" || r.State != schema.ProposalBlocked {
		return nil, nil
	}
	id, err := app.ParseID("memory_id", r.MemoryID)
	if err != nil {
		return nil, err
	}
	m, err := a.Store.Get(ctx, a.Cfg.Principal, id, seen)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// the same condition as the column live
	live := m.DeletedAt == nil && m.ArchivedAt == nil &&
		(m.Status == schema.StatusActive || m.Status == schema.StatusContested)
	return &schema.Side{ID: m.ID, Version: m.Version, Status: m.Status, Live: live, Pinned: m.Lifecycle.Pinned,
		Content: m.Content, Confidence: m.Confidence}, nil
}

// reviewText prints a proposal in full.
func reviewText(a *app.App, t *app.Text, r ShownReview) {
	written := r.MemoryID
	if r.State == schema.ProposalBlocked { // it is the target, or is shown below
		written = ""
	}
	risk := ""
	if r.ContradictionRisk {
		risk = "it seems to contradict its target"
	}
	evidence := make([]string, 0, len(r.Evidence))
	for _, ref := range r.Evidence {
		evidence = append(evidence, ref.Kind+"="+ref.Ref)
	}
	offered := make([]string, 0, len(r.Offered))
	for _, o := range r.Offered {
		offered = append(offered, fmt.Sprintf("%s@%d", o.ID, o.IfVersion))
	}
	t.Fields(
		"proposal", r.ProposalID,
		"state", stateOfReview(r.ReviewItem),
		"action", string(r.Action),
		"held back by", r.Outcome,
		"reason", r.Reason,
		"warnings", strings.Join(r.Warnings, "; "),
		"contradiction", risk,
		"category", string(r.Category),
		"confidence", app.Number(r.Confidence),
		"source", r.SourceID,
		"evidence", strings.Join(evidence, ", "),
		"compared with", strings.Join(offered, ", "),
		"memory", written,
		"batch", r.BatchID,
		"proposed", app.When(r.DecidedAt),
		"waits until", app.When(r.ExpiresAt),
		"reviewed by", r.ReviewedBy,
		"because", r.ReviewReason,
		"reviewed", app.WhenSet(r.ReviewedAt),
		"ui", a.RunURL(api.ReviewWorkflowID(a.Cfg.Principal.Tenant, r.BatchID), ""),
	)
	side := func(heading, content string) {
		t.Line("")
		t.Line("%s", heading)
		t.Line("  %s", app.Printable(content))
	}
	side("proposed:", r.Fact)
	switch now := r.TargetNow; {
	case now != nil:
		side(fmt.Sprintf("target %s, %s (the proposal is about version %d):", now.ID, sideState(*now), r.TargetVersion),
			now.Content)
	case r.TargetID != "":
		t.Line("")
		t.Line("target %s no longer exists (the proposal is about version %d)", r.TargetID, r.TargetVersion)
	case r.Stands != nil:
		side(fmt.Sprintf("memory %s has the claim, %s:", r.Stands.ID, sideState(*r.Stands)), r.Stands.Content)
	}
	if r.Source != "" && r.Source != r.Fact {
		side("extracted from:", r.Source)
	}
}

// sideState returns the version and state of a side.
func sideState(s schema.Side) string {
	out := fmt.Sprintf("version %d, %s", s.Version, s.Status)
	if !s.Live {
		out += ", no longer live"
	}
	if s.Pinned {
		out += ", pinned"
	}
	return out + ", confidence " + app.Number(s.Confidence)
}

// Reviewed is the output of `review approve` and `review reject` for one proposal.
type Reviewed struct {
	schema.ReviewResult
	WorkflowID string `json:"workflow_id,omitempty"` // absent if there is no such proposal
	URL        string `json:"url,omitempty"`
}

func newReviewDecide(a *app.App, decision schema.Decision) *cobra.Command {
	var f app.OperationFlags
	var targetVersion int
	cmd := &cobra.Command{
		Use:   string(decision) + " ID...",
		Short: "Discard proposals; current values do not change",
		Long:  "Discard proposals; current values do not change. They are decided one after another.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("reason") {
				f.Reason = pastOf(decision) + " by " + f.Actor
			}
			if targetVersion != 0 && len(args) > 1 {
				return app.Invalid("target-version", "needs exactly one id")
			}
			requests := make([]schema.ReviewRequest, len(args))
			for i, id := range args { // all of them are checked before any is decided
				requests[i] = schema.ReviewRequest{Operation: f.Operation(a.Cfg.Principal), ProposalID: id,
					Decision: decision, TargetVersion: targetVersion}
				if err := requests[i].Validate(); err != nil {
					return err
				}
			}
			return decide(cmd.Context(), a, requests)
		},
	}
	flags := cmd.Flags()
	f.Register(flags)
	flags.Lookup("reason").Usage = "reason, kept in history (default: " + pastOf(decision) + " by the reviewer)"
	flags.StringVar(&f.Actor, "by", app.Operator(), "actor of the decision, kept in history")
	_ = flags.MarkHidden("actor") // other commands call --by so
	if decision == schema.DecisionApprove {
		flags.IntVar(&targetVersion, "target-version", 0,
			"the version of the target that you reviewed, if it has changed since the proposal")
		cmd.Short = "Apply proposals whose memories have not changed"
		cmd.Long = `Apply proposals, one after another, with the reviewer as actor. If the target has changed since,
nothing is changed: read it (review show) and name its version with --target-version.`
	}
	cmd.Long += `

Each proposal has a status: ` + decidedStatus(decision) + `, already_decided, expired, version_conflict (a memory has
changed; the proposal still waits), not_found or mutations_frozen. For one proposal, the exit
code is 3 if it is not found and 6 if it is refused. For several, it is 5 if some were refused.`
	return cmd
}

// pastOf returns a decision in the past tense.
func pastOf(d schema.Decision) string {
	if d == schema.DecisionApprove {
		return "approved"
	}
	return "rejected"
}

// decidedStatus is the status after a decision was carried out.
func decidedStatus(d schema.Decision) string {
	if d == schema.DecisionApprove {
		return string(schema.ReviewApplied)
	}
	return string(schema.ReviewRejected)
}

// decide sends decisions one after another and prints the result of each. It stops at the first failure, after
// printing the results so far.
func decide(ctx context.Context, a *app.App, requests []schema.ReviewRequest) error {
	out := app.Page[Reviewed]{Items: []Reviewed{}}
	var failed error
	for _, req := range requests {
		var r Reviewed
		if r, failed = decideOne(ctx, a, req); failed != nil {
			break
		}
		out.Items = append(out.Items, r)
	}
	if failed != nil && len(out.Items) == 0 {
		return failed
	}
	if err := a.Print(out, func(t *app.Text) { reviewedText(t, out.Items) }); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("%d of %d proposals were not decided: %w", len(requests)-len(out.Items), len(requests),
			failed)
	}
	return reviewProblem(out.Items)
}

func decideOne(ctx context.Context, a *app.App, req schema.ReviewRequest) (Reviewed, error) {
	out := Reviewed{ReviewResult: schema.ReviewResult{ProposalID: req.ProposalID, Status: schema.ReviewNotFound}}
	st, err := a.OpenStore(ctx)
	if err != nil {
		return out, err
	}
	id, err := uuid.Parse(req.ProposalID)
	if err != nil {
		return out, app.Invalid("proposal_id", "must be an id")
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	// which batch it belongs to
	item, err := st.GetReview(limited, req.Principal, id, policy.UpTo(schema.SensitivityHyper))
	if errors.Is(err, pg.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return out, err
	}
	a.Interrupted = "the decision may still be carried out: see `mneme review show`"
	out.WorkflowID = api.ReviewWorkflowID(req.Principal.Tenant, item.BatchID)
	out.URL = a.RunURL(out.WorkflowID, "")
	out.ReviewResult, err = mneme.Decide(limited, c, a.Cfg.TaskQueue, req, item.BatchID)
	if err != nil && ctx.Err() == nil && (limited.Err() != nil || app.TimedOut(err)) {
		return out, app.Unavailable("no worker has answered within %s (is one running? `make worker`); "+
			"the decision may still be carried out, and deciding again is harmless", a.Timeout)
	}
	return out, err
}

// reviewProblem returns the error of a command for the outcomes of its decisions.
func reviewProblem(items []Reviewed) error {
	refused := 0
	for _, r := range items {
		if r.Status != schema.ReviewApplied && r.Status != schema.ReviewRejected {
			refused++
		}
	}
	switch {
	case refused == 0:
		return nil
	case len(items) > 1:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d proposals were not decided", refused, len(items)))
	case items[0].Status == schema.ReviewNotFound:
		return app.WithCode(app.ExitNotFound, errors.New("the proposal is not found"))
	}
	return app.WithCode(app.ExitConflict, fmt.Errorf("refused: %s: %s", items[0].Status, items[0].Why))
}

func reviewedText(t *app.Text, items []Reviewed) {
	rows := make([][]string, 0, len(items))
	for _, r := range items {
		note := r.Why
		switch {
		case r.Status == schema.ReviewNotFound && note == "":
			note = "not found, or not visible to you"
		case len(r.Superseded) > 0:
			note = strings.TrimPrefix(note+"; supersedes "+strings.Join(r.Superseded, ", "), "; ")
		}
		rows = append(rows, []string{r.ProposalID, string(r.Status), r.MemoryID, note})
	}
	t.Table("PROPOSAL STATUS MEMORY NOTE", rows)
}
