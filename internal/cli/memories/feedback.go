package memories

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// FedBack is the output of `feedback`.
type FedBack struct {
	schema.FeedbackResult
	app.OperationRun
}

type feedbackFlags struct {
	app.OperationFlags
	used, partly, failed, unused []string
	othersUnused                 bool
	outcome                      string
}

// NewFeedback returns the command that reports whether the results of a recall helped.
func NewFeedback(a *app.App) *cobra.Command {
	var f feedbackFlags
	cmd := &cobra.Command{
		Use:   "feedback RETRIEVAL_ID",
		Short: "Report whether the results of a recall helped",
		Long: `Report whether the results of a recall helped. Memories that helped are reinforced. Memories that failed,
or were returned but not used, fade sooner. Procedures and plans count their outcomes, and
selection uses these counts. Recall prints its retrieval below the results; with --json also the ids of the results.

Without a flag, the command lists what the retrieval returned, in order, and the feedback on it.

--outcome is the outcome of the memories named by --used; the default is success. --outcome alone applies to all
returned memories. The same feedback given again changes nothing; other feedback corrects it. Only the agent
that recalled can give feedback, as long as the retrieval is kept.

Each memory has a status: reinforced, penalised, corrected, unchanged, not_retrieved, gone or
mutations_frozen. A retrieval that is not found exits with 3. Refused feedback exits with 6 if it was
for one memory, and with 5 if some of several memories were refused.`,
		Example: `  mneme feedback 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --used 0198c3f2-7a11-7cc1-a1b0-5a2f0e3d4c5b \
    --others-unused
  mneme feedback 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --outcome failure --reason "the build broke"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := f.request(a.Cfg.Principal, args[0])
			if !f.says(cmd.Flags()) {
				if err := app.RefuseWithout(cmd.Flags(), "a verdict or an outcome", "actor"); err != nil {
					return err
				}
				return showRetrieved(a, cmd, args[0])
			}
			if err := req.Validate(); err != nil {
				return err
			}
			var out FedBack
			var err error
			if out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartFeedback, req,
				&out.FeedbackResult); err != nil {
				var app *temporal.ApplicationError
				if errors.As(err, &app) && app.Type() == api.ErrTypeNotFound {
					err = fmt.Errorf("retrieval %s: %w", args[0], pg.ErrNotFound)
				}
				return err
			}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			return out.problem()
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.used, "used", nil, "memory that was used (repeatable)")
	flags.StringSliceVar(&f.partly, "partly", nil, "memory that helped in part (repeatable)")
	flags.StringSliceVar(&f.failed, "failed", nil, "memory that was used and failed (repeatable)")
	flags.StringSliceVar(&f.unused, "unused", nil, "memory that was not used (repeatable)")
	flags.BoolVar(&f.othersUnused, "others-unused", false, "the other returned memories were not used")
	flags.StringVar(&f.outcome, "outcome", "", "outcome: success, partial or failure")
	f.Register(flags)
	return cmd
}

// says reports whether any of the flags is set.
func (f *feedbackFlags) says(flags *pflag.FlagSet) bool {
	for _, name := range []string{"used", "partly", "failed", "unused", "others-unused",
		"outcome", "reason", "operation-id"} {
		if flags.Changed(name) {
			return true
		}
	}
	return false
}

func (f *feedbackFlags) request(p schema.Principal, retrieval string) schema.FeedbackRequest {
	req := schema.FeedbackRequest{Operation: f.Operation(p), RetrievalID: retrieval, Outcome: schema.Outcome(f.outcome),
		AllOthersUnused: f.othersUnused}
	used := true
	for _, id := range f.used {
		req.Items = append(req.Items, schema.FeedbackItem{MemoryID: id, Used: &used})
	}
	for _, said := range []struct {
		verdict schema.Verdict
		ids     []string
	}{{schema.VerdictPartly, f.partly}, {schema.VerdictFailed, f.failed}, {schema.VerdictUnused, f.unused}} {
		for _, id := range said.ids {
			req.Items = append(req.Items, schema.FeedbackItem{MemoryID: id, Verdict: said.verdict})
		}
	}
	return req
}

// showRetrieved prints the results of a retrieval.
func showRetrieved(a *app.App, cmd *cobra.Command, retrieval string) error {
	id, err := app.ParseID("retrieval_id", retrieval)
	if err != nil {
		return err
	}
	st, err := a.OpenStore(cmd.Context())
	if err != nil {
		return err
	}
	ctx, cancel := a.Within(cmd.Context())
	defer cancel()
	found, err := st.Retrieved(ctx, a.Cfg.Principal, id)
	if err != nil {
		return err
	}
	return a.Print(found, func(t *app.Text) {
		rows := make([][]string, 0, len(found.Items))
		for i, item := range found.Items {
			said := ""
			if item.Verdict != "" {
				said = fmt.Sprintf("%s, %s by %s", item.Verdict, app.WhenSet(item.SaidAt), item.Actor)
			}
			rows = append(rows, []string{strconv.Itoa(i + 1), item.MemoryID, said})
		}
		t.Table("# MEMORY FEEDBACK", rows)
		t.Line("%d results at %s", len(rows), app.When(found.At))
	})
}

// problem returns the error of the command.
func (f FedBack) problem() error {
	refused := f.Refused()
	switch {
	case refused == 0:
		return nil
	case len(f.Items) > 1:
		return app.WithCode(app.ExitPartial, fmt.Errorf("the feedback on %d of %d memories was refused",
			refused, len(f.Items)))
	}
	return app.WithCode(app.ExitConflict, errors.New("refused: "+feedbackNote(f.Items[0])))
}

func (f FedBack) text(t *app.Text) {
	rows := make([][]string, 0, len(f.Items))
	for _, item := range f.Items {
		salience, outcomes := "", ""
		if item.SalienceBefore != nil && item.SalienceAfter != nil {
			salience = app.Number(*item.SalienceBefore) + " → " + app.Number(*item.SalienceAfter)
		}
		if item.SuccessCount != nil && item.FailureCount != nil {
			outcomes = fmt.Sprintf("%d of %d", *item.SuccessCount, *item.SuccessCount+*item.FailureCount)
		}
		rows = append(rows, []string{item.MemoryID, string(item.Status), string(item.Verdict),
			salience, outcomes, feedbackNote(item)})
	}
	t.Table("MEMORY STATUS VERDICT SALIENCE WORKED NOTE", rows)
}

// feedbackNote explains a status, and why a verdict does not count for others.
func feedbackNote(r schema.FeedbackResultItem) string {
	held := ""
	switch r.Held {
	case schema.HeldOneSource:
		held = "others read it too: it counts for them when another one says the same"
	case schema.HeldRepeated:
		held = "others read it too: one such verdict a day counts for them"
	}
	switch r.Status {
	case schema.FeedbackReinforced, schema.FeedbackPenalised:
		return held
	case schema.FeedbackCorrected:
		if held != "" {
			held = "; " + held
		}
		return "it was " + string(r.Corrects) + held
	case schema.FeedbackUnchanged:
		return "the same feedback was given before"
	case schema.FeedbackNotRetrieved:
		return "this retrieval did not return it"
	case schema.FeedbackGone:
		return "it was deleted, or is no longer visible to you"
	case schema.FeedbackFrozen:
		return "the worker is configured to change no memories"
	}
	return ""
}
