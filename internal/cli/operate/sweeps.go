package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
)

// swept is the output of a command that runs a sweep.
type swept struct {
	app.OperationRun
	Result *api.SweepResult `json:"result,omitempty"` // unless --detach
}

// sweepCommand returns a command that runs a sweep of the tenant, or of all tenants.
func sweepCommand(
	a *app.App,
	use, short string,
	start func(context.Context, client.Client, string, api.SweepInput) (client.WorkflowRun, error),
) *cobra.Command {
	var all, detach bool
	var batch int
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := api.SweepInput{Tenant: a.Cfg.Principal.Tenant, BatchSize: batch}
			if all {
				if err := app.RefuseWith(cmd.Flags(), "--all-tenants", "tenant"); err != nil {
					return err
				}
				in.Tenant = ""
			}
			var result *api.SweepResult
			if !detach {
				result = &api.SweepResult{}
			}
			run, err := app.CarryOut(cmd.Context(), a, start, in, result)
			if err != nil {
				return err
			}
			out := swept{OperationRun: run, Result: result}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			if result != nil && len(result.Held) > 0 {
				return app.WithCode(app.ExitConflict,
					fmt.Errorf("it would remove too much of %d tenants and waits for an answer: `mneme sweeps`",
						result.Counts["held"]))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all-tenants", false, "for every tenant, as the schedule does")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the end")
	cmd.Flags().IntVar(&batch, "batch-size", 0, fmt.Sprintf("rows in one transaction (default and maximum %d)",
		sweeping.SweepBatchSize))
	return cmd
}

func (s swept) text(t *app.Text) {
	t.Fields("workflow", s.WorkflowID, "ui", s.URL)
	if s.Result == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Result.Counts)) {
		if n := s.Result.Counts[name]; n > 0 {
			t.Fields(lifecycle.CountName(name), strconv.Itoa(n))
		}
	}
}

// sweepsShown is the output of `sweeps`.
type sweepsShown struct {
	Holds []schema.SweepHold  `json:"holds"` // of all tenants
	Runs  []sweeping.SweepRun `json:"runs"`  // the tenant's latest runs that changed something
}

// NewSweeps returns the command that shows sweeps and answers those that wait.
func NewSweeps(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweeps",
		Short: "Show the sweeps that wait for an answer, and the latest runs",
		Long: `Show the sweeps of all tenants that wait for an answer, and the latest runs' results for this tenant.

A sweep that would remove more than a share of a tenant's memories (MNEME_SWEEP_SHARE) or of its history removes
nothing of that tenant and waits for an answer. There are separate questions for memories and history; a purge
removes the part that was admitted. Find the cause: a clock that jumped, a policy that was set wrong, or only a long
time without use. After you fix it, the next run needs no answer. Otherwise admit the sweep: mneme sweeps admit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			out := sweepsShown{Runs: []sweeping.SweepRun{}}
			if out.Holds, err = st.SweepHolds(ctx); err != nil {
				return err
			}
			for _, sweep := range []schema.Sweep{schema.SweepDecay, schema.SweepRetention} {
				runs, err := st.SweepRuns(ctx, a.Cfg.Principal.Tenant, sweep, 5)
				if err != nil {
					return err
				}
				out.Runs = append(out.Runs, runs...)
			}
			return a.Print(out, out.text)
		},
	}
	cmd.AddCommand(newSweepsAdmit(a))
	return cmd
}

func (s sweepsShown) text(t *app.Text) {
	if len(s.Holds) == 0 {
		t.Line("No sweep waits for an answer.")
	} else {
		rows := make([][]string, len(s.Holds))
		for i, h := range s.Holds {
			rows[i] = []string{h.Tenant, string(h.Sweep), strconv.FormatInt(h.WouldTake, 10),
				strconv.FormatInt(h.Stored, 10),
				app.When(h.AskedAt)}
		}
		t.Table("TENANT WAITS WOULD_TAKE OF ASKED", rows)
	}
	if len(s.Runs) == 0 {
		return
	}
	rows := make([][]string, len(s.Runs))
	for i, r := range s.Runs {
		var counts []string
		for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
			counts = append(counts, fmt.Sprintf("%d %s", r.Counts[name], lifecycle.CountName(name)))
		}
		rows[i] = []string{app.When(r.StartedAt), string(r.Sweep), strings.Join(counts, ", ")}
	}
	t.Line("")
	t.Table("AT SWEEP DID", rows)
}

func newSweepsAdmit(a *app.App) *cobra.Command {
	var upTo int64
	var reason, actor string
	cmd := &cobra.Command{
		Use:   "admit SWEEP",
		Short: "Admit a sweep that waits for an answer",
		Long: `Admit a sweep that waits for an answer, up to a number of rows. SWEEP is decay or retention, for memories, or
history, for the rows of history that a retention purge would remove.`,
		Example: `  mneme sweeps admit decay --up-to 5000 --reason "no use over the summer"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sweep := schema.Sweep(args[0])
			switch {
			case !sweep.Valid():
				return app.Invalid("sweep", "must be decay, retention or history")
			case upTo <= 0:
				return app.Invalid("up-to", "must be more than 0")
			case strings.TrimSpace(reason) == "":
				return app.Invalid("reason", "is required")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			hold, err := st.AdmitSweep(ctx, a.Cfg.Principal.Tenant, sweep, upTo, actor, reason, time.Now())
			if err != nil {
				return err
			}
			return a.Print(hold, func(t *app.Text) {
				t.Fields("tenant", hold.Tenant, "sweep", string(hold.Sweep), "admitted",
					strconv.FormatInt(*hold.Admitted, 10),
					"by", hold.AnsweredBy)
				schedule := sweep
				if sweep == schema.SweepHistory {
					schedule = schema.SweepRetention
				}
				t.Line("The next run proceeds: `mneme schedules trigger %s`, or wait for it.", schedule)
			})
		},
	}
	cmd.Flags().Int64Var(&upTo, "up-to", 0, "maximum number of memories, or rows of history, to remove")
	cmd.Flags().StringVar(&reason, "reason", "", "reason (required)")
	cmd.Flags().StringVar(&actor, "actor", app.Operator(), "actor")
	return cmd
}
