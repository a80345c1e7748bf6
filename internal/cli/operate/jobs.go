package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// NewJobs returns the command that shows jobs and replays dead ones.
func NewJobs(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "jobs", Short: "Show the pipeline's jobs, and replay dead jobs"})
	cmd.AddCommand(newJobsList(a), newJobsShow(a), newJobsRetry(a))
	return cmd
}

func newJobsList(a *app.App) *cobra.Command {
	var state, after, batch string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, oldest first",
		Long:  `List jobs, oldest first. JSON is {"items":[…],"next":"ID"}. For the next page, pass next to --after.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := pipeline.JobFilter{State: schema.JobState(state), After: after, Limit: limit}
			if state != "" && !f.State.Valid() {
				return app.Invalid("state", "must be pending, leased, completed, failed or dead")
			}
			if limit < 1 || limit > pg.MaxPage {
				return app.Invalid("limit", "must be between 1 and %d", pg.MaxPage)
			}
			var err error
			if batch != "" {
				if f.BatchID, err = app.ParseID("batch", batch); err != nil {
					return err
				}
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.Jobs(ctx, a.Cfg.Principal.Tenant, f)
			if err != nil {
				return err
			}
			out := app.Page[schema.Job]{Items: append([]schema.Job{}, found...)}
			if len(found) == limit {
				out.Next = found[len(found)-1].ID
			}
			return a.Print(out, func(t *app.Text) {
				rows := make([][]string, 0, len(found))
				for _, j := range found {
					rows = append(rows, []string{j.ID, string(j.State), j.Phase,
						fmt.Sprintf("%d/%d", j.Attempts, j.MaxAttempts),
						app.When(j.UpdatedAt), j.LastError})
				}
				t.Table("ID STATE PHASE ATTEMPTS UPDATED ERROR", rows)
				if out.Next != "" {
					t.Line("more: --after %s", out.Next)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "pending, leased, completed, failed or dead")
	flags.StringVar(&batch, "batch", "", "only the jobs of this batch")
	flags.StringVar(&after, "after", "", "id of the last job of the previous page")
	flags.IntVar(&limit, "limit", 50, "maximum number of jobs, up to 500")
	return cmd
}

func newJobsShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a job with its attempts and their costs",
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
			j, err := st.Job(ctx, a.Cfg.Principal.Tenant, id)
			if err != nil {
				return err
			}
			return a.Print(j, func(t *app.Text) {
				t.Fields("id", j.ID, "kind", j.Kind, "state", string(j.State), "phase", j.Phase,
					"attempts", fmt.Sprintf("%d of %d", j.Attempts, j.MaxAttempts), "error", j.LastError,
					"memory", j.MemoryID, "batch", j.BatchID, "workflow", j.WorkflowID, "ui",
					a.RunURL(j.WorkflowID, ""),
					"created", app.When(j.CreatedAt), "updated", app.When(j.UpdatedAt), "finished",
					app.WhenSet(j.FinishedAt),
					"replayed", app.WhenSet(j.RevivedAt))
				if len(j.Log) == 0 {
					return
				}
				t.Line("")
				rows := make([][]string, 0, len(j.Log))
				for _, l := range j.Log {
					rows = append(rows, []string{strconv.Itoa(l.Attempt), l.Phase, app.When(l.At), l.Model,
						fmt.Sprintf("%d+%d", l.PromptTokens, l.CompletionTokens), l.Outcome})
				}
				t.Table("ATTEMPT PHASE AT MODEL TOKENS OUTCOME", rows)
			})
		},
	}
}

// Retried is the output of `jobs retry` for one job.
type Retried struct {
	JobID      string            `json:"job_id"`
	WorkflowID string            `json:"workflow_id"`
	RunID      string            `json:"run_id"`
	URL        string            `json:"url,omitempty"`
	Result     *api.IngestResult `json:"result,omitempty"` // with --wait
	run        client.WorkflowRun
}

func newJobsRetry(a *app.App) *cobra.Command {
	var wait, all bool
	cmd := &cobra.Command{
		Use:   "retry ID...|--all",
		Short: "Replay dead jobs from the phase in which they failed",
		Long: `Replay dead jobs from the phase in which they failed. An open job whose run was terminated is
replayed too, if you name it.

--all replays every dead job of the tenant, for instance after a long outage of a model's
endpoint. If it is interrupted, run it again: jobs already replayed are no longer dead.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return app.Invalid("id", "name jobs, or use --all")
			}
			r, err := newRetry(cmd.Context(), a)
			if err != nil {
				return err
			}
			ids, err := r.chooseJobs(cmd.Context(), args)
			if err != nil {
				return err
			}
			err = r.replay(cmd.Context(), ids)
			if err == nil && wait {
				err = r.followAll(cmd.Context())
			}
			if err := errors.Join(err, a.Print(r.out, func(t *app.Text) { retriedText(t, r.out.Items) })); err != nil {
				return err
			}
			if r.dead > 0 {
				return app.WithCode(app.ExitPartial, errors.New("some jobs failed again: `mneme jobs show` shows why"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the runs, and print what they did")
	cmd.Flags().BoolVar(&all, "all", false, "replay every dead job of the tenant")
	return cmd
}

// retry is one run of `jobs retry`.
type retry struct {
	*app.App
	tenant   string
	store    *store.Store
	temporal client.Client
	out      app.Page[Retried]
	dead     int // jobs that failed again
}

func newRetry(ctx context.Context, a *app.App) (*retry, error) {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return nil, err
	}
	return &retry{App: a, tenant: a.Cfg.Principal.Tenant, store: st, temporal: c,
		out: app.Page[Retried]{Items: []Retried{}}}, nil
}

// chooseJobs returns the named jobs, or all dead jobs if none is named. It checks all jobs before it changes any.
func (r *retry) chooseJobs(ctx context.Context, named []string) ([]string, error) {
	if len(named) == 0 {
		return r.allDeadJobs(ctx)
	}
	ids, orphans, err := r.namedJobs(ctx, named)
	if err != nil {
		return nil, err
	}
	return ids, r.markDead(ctx, orphans)
}

// namedJobs checks that the named jobs are dead, or open without a run. The latter are orphans.
func (r *retry) namedJobs(ctx context.Context, named []string) (ids []string, orphans []uuid.UUID, err error) {
	for _, arg := range named {
		id, err := app.ParseID("id", arg)
		if err != nil {
			return nil, nil, err
		}
		limited, cancel := r.Within(ctx)
		job, err := r.store.Job(limited, r.tenant, id)
		cancel()
		if err != nil {
			return nil, nil, err
		}
		if job.State != schema.JobDead {
			limited, cancel := r.Within(ctx)
			orphan, err := orphaned(limited, r.temporal, r.tenant, job)
			cancel()
			if err != nil {
				return nil, nil, err
			}
			if !orphan {
				return nil, nil, fmt.Errorf("job %s is %s: %w", id, job.State, pipeline.ErrNotDead)
			}
			orphans = append(orphans, id)
		}
		ids = append(ids, id.String())
	}
	return ids, orphans, nil
}

// allDeadJobs reads all dead jobs before any is replayed, so that a job that fails again is not replayed endlessly.
func (r *retry) allDeadJobs(ctx context.Context) (ids []string, err error) {
	for after := ""; ; {
		limited, cancel := r.Within(ctx)
		found, err := r.store.Jobs(limited, r.tenant,
			pipeline.JobFilter{State: schema.JobDead, After: after, Limit: pg.MaxPage})
		cancel()
		if err != nil {
			return nil, err
		}
		for _, job := range found {
			ids, after = append(ids, job.ID), job.ID
		}
		if len(found) < pg.MaxPage {
			return ids, nil
		}
	}
}

func (r *retry) markDead(ctx context.Context, orphans []uuid.UUID) error {
	for _, id := range orphans {
		limited, cancel := r.Within(ctx)
		err := r.store.MarkJobDead(limited, r.tenant, id, "its run no longer exists", time.Now())
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// replay starts a run for each job.
func (r *retry) replay(ctx context.Context, ids []string) error {
	for _, id := range ids {
		limited, cancel := r.Within(ctx)
		run, err := mneme.StartResume(limited, r.temporal, r.Cfg.TaskQueue,
			api.ResumeInput{Tenant: r.tenant, JobID: id, Actor: app.Operator()})
		cancel()
		if err != nil {
			return err
		}
		r.out.Items = append(r.out.Items, Retried{JobID: id, WorkflowID: run.GetID(), RunID: run.GetRunID(),
			URL: r.RunURL(run.GetID(), run.GetRunID()), run: run})
	}
	return nil
}

// followAll waits for the runs.
func (r *retry) followAll(ctx context.Context) error {
	for i := range r.out.Items {
		var result api.IngestResult
		if err := r.Follow(ctx, r.out.Items[i].run, &result); err != nil {
			return err
		}
		r.out.Items[i].Result = &result
		r.dead += result.Dead
	}
	return nil
}

func retriedText(t *app.Text, items []Retried) {
	rows := make([][]string, 0, len(items))
	for _, r := range items {
		outcome := "started"
		if r.Result != nil {
			w := r.Result.Written
			outcome = fmt.Sprintf("%d facts: %d added, %d updated, %d skipped, %d blocked", r.Result.Extracted.Facts,
				w.Added, w.Updated, w.Skipped, w.Blocked)
			if r.Result.Dead > 0 {
				outcome = "dead again"
			}
		}
		rows = append(rows, []string{r.JobID, r.WorkflowID, outcome})
	}
	t.Table("JOB WORKFLOW OUTCOME", rows)
}

// JobGrace is how long an open job may be without a run: its run may have just ended, or may be about to start.
const JobGrace = 5 * time.Minute

// orphaned reports whether a job is open and no run would continue it.
func orphaned(ctx context.Context, c client.Client, tenant string, job schema.Job) (bool, error) {
	if job.State == schema.JobDead || job.State == schema.JobCompleted || time.Since(job.WaitsSince()) < JobGrace {
		return false, nil
	}
	running, err := RunsStill(ctx, c, job.WorkflowID, api.ResumeWorkflowID(tenant, job.ID))
	return !running, err
}

// RunsStill reports whether one of the given workflows has an open run.
func RunsStill(ctx context.Context, c client.Client, ids ...string) (bool, error) {
	for _, id := range ids {
		described, err := c.DescribeWorkflowExecution(ctx, id, "")
		if app.IsNotFound(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("describe a run: %w", err)
		}
		if described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return true, nil
		}
	}
	return false, nil
}
