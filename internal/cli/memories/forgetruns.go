package memories

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/forgetting"
)

func newForgetConfirm(a *app.App) *cobra.Command {
	var in schema.ForgetConfirmation
	cmd := &cobra.Command{
		Use:   "confirm RUN --token TOKEN",
		Short: "Confirm a forget run, and wait for it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.Validate(); err != nil {
				return err
			}
			return withForgetRun(cmd.Context(), a, args[0],
				func(ctx context.Context, status schema.ForgetStatus, id uuid.UUID) error {
					return confirmForget(ctx, a, status, id, in)
				})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Token, "token", "", "the token of the preview")
	flags.StringVar(&in.Actor, "actor", app.Operator(), "actor, kept in history")
	flags.StringVar(&in.Reason, "reason", "", "reason, kept in history; by default that of the request")
	return cmd
}

// withForgetRun looks up a run.
func withForgetRun(
	ctx context.Context,
	a *app.App,
	arg string,
	fn func(context.Context, schema.ForgetStatus, uuid.UUID) error,
) error {
	id, err := app.ParseID("run", arg)
	if err != nil {
		return err
	}
	st, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	limited, cancel := a.Within(ctx)
	status, err := st.ForgetStatus(limited, a.Cfg.Principal, id)
	cancel()
	if err != nil {
		return err
	}
	return fn(ctx, status, id)
}

func confirmForget(
	ctx context.Context,
	a *app.App,
	status schema.ForgetStatus,
	id uuid.UUID,
	in schema.ForgetConfirmation,
) error {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	if status.State == schema.ForgetPreviewed {
		_, err = mneme.ConfirmForget(limited, c, status.WorkflowID, in)
	}
	var ended *serviceerror.NotFound
	if status.State != schema.ForgetPreviewed || errors.As(err, &ended) {
		// The run has ended, or is busy: the database answers without changing anything.
		if status, err = a.Store.ForgetStatus(limited, a.Cfg.Principal, id); err != nil {
			return err
		}
		if status.State == schema.ForgetPreviewed {
			return app.WithCode(app.ExitConflict, errors.New("refused: the run has no workflow any more; forget again"))
		}
		_, err = a.Store.ConfirmForget(limited, a.Cfg.Principal.Tenant, id, in, time.Now())
	}
	if err != nil {
		return refusedForget(err)
	}
	return endOfForget(ctx, a, c, status, id)
}

// endOfForget waits for a confirmed run, unless it is done, and prints its receipt.
func endOfForget(ctx context.Context, a *app.App, c client.Client, status schema.ForgetStatus, id uuid.UUID) error {
	if status.FinishedAt != nil {
		return printForgotten(a, status.ForgetReceipt)
	}
	return awaitForget(ctx, a, c, c.GetWorkflow(ctx, status.WorkflowID, ""), id)
}

// awaitForget waits for an open run and prints its receipt.
func awaitForget(ctx context.Context, a *app.App, c client.Client, run client.WorkflowRun, id uuid.UUID) error {
	a.Interrupted = "the run continues: " + run.GetID()
	receipt, err := followForget(ctx, a, c, run, id)
	var ended *temporal.WorkflowExecutionError
	if errors.As(err, &ended) {
		return fmt.Errorf("%w; `mneme forget resume %s` continues it", err, id)
	}
	if err != nil {
		return err
	}
	return printForgotten(a, receipt)
}

// printForgotten prints the receipt of a run that has ended.
func printForgotten(a *app.App, receipt schema.ForgetReceipt) error {
	if err := a.Print(receipt, func(t *app.Text) { receiptText(t, receipt) }); err != nil {
		return err
	}
	return forgetProblem(receipt, 0)
}

func newForgetResume(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "resume RUN",
		Short: "Continue a confirmed forget run whose workflow has ended before it was done",
		Long: `Continue a confirmed forget run whose workflow has ended before it was done, for example because it
was terminated, and wait for it. It forgets the memories that the run has selected and not yet forgotten, and
removes all of them from the index and, with erase, from the workflow runs that carried their texts. It needs
no second confirmation. If the workflow is still running, the command waits for it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withForgetRun(cmd.Context(), a, args[0],
				func(ctx context.Context, status schema.ForgetStatus, id uuid.UUID) error {
					return resumeForget(ctx, a, status, id)
				})
		},
	}
}

func resumeForget(ctx context.Context, a *app.App, status schema.ForgetStatus, id uuid.UUID) error {
	if status.State == schema.ForgetPreviewed {
		return app.WithCode(app.ExitConflict, errors.New("refused: the run is not confirmed"))
	}
	if status.State != schema.ForgetConfirmed {
		return app.WithCode(app.ExitConflict, fmt.Errorf("refused: the run is %s", status.State))
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	run, err := mneme.ResumeForget(limited, c, a.Cfg.TaskQueue, a.Cfg.Principal, status)
	if err != nil {
		return err
	}
	return awaitForget(ctx, a, c, run, id)
}

func newForgetStatus(a *app.App) *cobra.Command {
	var items bool
	var after, limit int
	cmd := &cobra.Command{
		Use:   "status RUN",
		Short: "Show the progress of a forget run, its result, and the selected memories",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (cmd.Flags().Changed("after") || cmd.Flags().Changed("limit")) && !items {
				return app.Invalid("items", "must be set for a page of the selection")
			}
			if after < -1 {
				return app.Invalid("after", "must be the number of an item")
			}
			if limit < 1 || limit > forgetting.ForgetBatchSize {
				return app.Invalid("limit", "must be between 1 and %d", forgetting.ForgetBatchSize)
			}
			return withForgetRun(cmd.Context(), a, args[0],
				func(ctx context.Context, s schema.ForgetStatus, id uuid.UUID) error {
					if items {
						return forgetItems(ctx, a, s, id, after, limit)
					}
					return a.Print(s, func(t *app.Text) {
						receiptText(t, s.ForgetReceipt)
						t.Line("")
						t.Fields("reason", s.Reason, "requested by", s.RequestedBy, "confirmed by", s.ConfirmedBy,
							"created", app.When(s.CreatedAt), "waits until", app.When(s.ExpiresAt),
							"confirmed", app.WhenSet(s.ConfirmedAt), "finished", app.WhenSet(s.FinishedAt),
							"workflow", s.WorkflowID, "ui", a.RunURL(s.WorkflowID, ""))
					})
				})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&items, "items", false, "list the memories that the run has selected, with the result for each")
	flags.IntVar(&after, "after", -1, "with --items: only items after this number (next of the previous page)")
	flags.IntVar(&limit, "limit", forgetting.ForgetBatchSize, "with --items: maximum number of items")
	return cmd
}

// ForgetPage is the output of `forget status --items`.
type ForgetPage struct {
	RunID string              `json:"run_id"`
	State schema.ForgetState  `json:"state"`
	Total int                 `json:"total"`
	Items []schema.ForgetItem `json:"items"`
	Next  *int                `json:"next,omitempty"` // --after of the next page; none on the last
}

// forgetItems prints a page of the memories that a run has selected.
func forgetItems(ctx context.Context, a *app.App, s schema.ForgetStatus, id uuid.UUID, after, limit int) error {
	limited, cancel := a.Within(ctx)
	defer cancel()
	items, err := a.Store.ForgetItems(limited, a.Cfg.Principal, id, after+1, limit)
	if err != nil {
		return err
	}
	page := ForgetPage{RunID: s.RunID, State: s.State, Total: s.Total, Items: items}
	if n := len(items); n > 0 && items[n-1].Ordinal+1 < s.Total {
		page.Next = &items[n-1].Ordinal
	}
	return a.Print(page, func(t *app.Text) {
		rows := make([][]string, len(items))
		for i, m := range items {
			rows[i] = []string{strconv.Itoa(m.Ordinal), m.MemoryID, strconv.Itoa(m.Version), m.Outcome, m.Tie}
		}
		t.Table("NR ID VERSION OUTCOME HOW", rows)
		if page.Next != nil {
			t.Line("")
			t.Line("more: --after %d", *page.Next)
		}
	})
}

func newForgetCancel(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "Stop a forget run between two batches; forgotten memories stay forgotten",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withForgetRun(cmd.Context(), a, args[0],
				func(ctx context.Context, status schema.ForgetStatus, id uuid.UUID) error {
					return cancelForget(ctx, a, status, id)
				})
		},
	}
}

func cancelForget(ctx context.Context, a *app.App, status schema.ForgetStatus, id uuid.UUID) error {
	if status.State != schema.ForgetPreviewed && status.State != schema.ForgetConfirmed {
		return app.WithCode(app.ExitConflict, fmt.Errorf("refused: the run is %s", status.State))
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	var receipt schema.ForgetReceipt
	err = c.CancelWorkflow(limited, status.WorkflowID, "")
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone): // no workflow is left to end it
		receipt, err = a.Store.CloseForget(limited, a.Cfg.Principal.Tenant, id, schema.ForgetCancelled, time.Now())
	case err == nil:
		receipt, err = followForget(ctx, a, c, c.GetWorkflow(ctx, status.WorkflowID, ""), id)
	}
	if err != nil {
		return err
	}
	if err := a.Print(receipt, func(t *app.Text) { receiptText(t, receipt) }); err != nil {
		return err
	}
	if receipt.State != schema.ForgetCancelled {
		return app.WithCode(app.ExitConflict, fmt.Errorf("too late: the run is %s", receipt.State))
	}
	return nil
}
