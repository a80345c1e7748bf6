package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// Reindexed is the output of `reindex`.
type Reindexed struct {
	WorkflowID string             `json:"workflow_id"`
	RunID      string             `json:"run_id"`
	URL        string             `json:"url,omitempty"`
	Result     *api.ReindexResult `json:"result,omitempty"` // unless --detach
}

// NewReindex returns the command that rebuilds the vector index.
func NewReindex(a *app.App) *cobra.Command {
	var model string
	var detach bool
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the vector index from Postgres",
		Long: `Rebuild the vector index from Postgres. A new generation is built while the old one is searched. It is
compared with Postgres, counted and sampled; then it becomes active, and the old one is dropped. Recall keeps
working during the rebuild, and writes go to both generations. An interrupted rebuild continues where it stopped.
Interrupting this command does not interrupt the rebuild.

After a change of the embedding model, this embeds everything again. Until it has finished, recall
uses the old model's generation.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if grace < 0 || grace > vector.MaxDropGrace {
				return app.Invalid("grace", "must be between 0 and %s", mneme.ShortDuration(vector.MaxDropGrace))
			}
			keep := int(grace.Seconds())
			if keep == 0 {
				keep = -1
			}
			c, err := a.OpenTemporal(ctx)
			if err != nil {
				return err
			}
			limited, cancel := a.Within(ctx)
			run, err := mneme.StartReindex(limited, c, a.Cfg.TaskQueue,
				api.ReindexInput{Index: a.IndexName(), Model: model, Actor: app.Operator(), GraceSeconds: keep})
			cancel()
			if err != nil {
				return err
			}
			out := Reindexed{WorkflowID: run.GetID(), RunID: run.GetRunID(), URL: a.RunURL(run.GetID(), run.GetRunID())}
			if !detach {
				a.Interrupted = "the rebuild continues in workflow " + run.GetID() + ": `mneme reindex` shows it again"
				var result api.ReindexResult
				if err := followReindex(ctx, a, c, run, &result); err != nil {
					return err
				}
				out.Result = &result
			}
			return a.Print(out, out.text)
		},
	}
	cmd.Flags().StringVar(&model, "model", "",
		"embedding model; the worker must have an embedder for it (default: the configured one)")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the end")
	cmd.Flags().DurationVar(&grace, "grace", vector.DropGrace,
		"time that the previous generation is kept after the switch, for processes that still search it")
	return cmd
}

func (r Reindexed) text(t *app.Text) {
	t.Fields("workflow", r.WorkflowID, "ui", r.URL)
	if r.Result == nil {
		return
	}
	p := r.Result
	resumed := ""
	if p.Resumed {
		resumed = "an earlier run"
	}
	t.Fields("generation", p.Generation.ID, "model", fmt.Sprintf("%s, %d dimensions", p.Generation.Model,
		p.Generation.Dimensions), "resumed", resumed,
		"memories", fmt.Sprintf("%d (%d embedded, %d refused by the embedder)", p.Filled, p.Embedded, p.Refused),
		"verified", fmt.Sprintf("%d memories, %d points; %d of %d found by their own vectors",
			p.Verified.Memories, p.Verified.Points, p.Verified.Found, p.Verified.Sampled),
		"dropped", fmt.Sprintf("%d", p.Dropped))
}

// followReindex waits for a rebuild, and shows its progress on a terminal.
func followReindex(ctx context.Context, a *app.App, c client.Client, run client.WorkflowRun, result any) error {
	bar := exchange.Progress(a, -1)
	progressbar.OptionShowBytes(false)(bar)
	defer func() { _ = bar.Exit() }()
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-tick.C:
			}
			var p api.ReindexProgress
			answer, err := c.QueryWorkflow(watching, run.GetID(), "", api.QueryProgress)
			if err != nil || answer.Get(&p) != nil {
				continue // no worker runs it now; Follow reports that
			}
			bar.ChangeMax64(max(1, p.Memories))
			bar.Describe(p.Phase)
			_ = bar.Set64(min(p.Filled, max(1, p.Memories)))
		}
	}()
	err := a.Follow(ctx, run, result)
	stop()
	<-done
	return err
}

// NewIndex returns the command that shows and checks the vector index.
func NewIndex(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "index",
		Short: "Show the vector index, compare it with Postgres, and retry refused memories"})
	cmd.AddCommand(newIndexStatus(a), app.ForInstallation(newIndexDrift(a)), newIndexParked(a), newIndexRetry(a))
	return cmd
}

// IndexStatus is the output of `index status`.
type IndexStatus struct {
	Index       string             `json:"index"`
	Generations []generationStatus `json:"generations"`
	Configured  string             `json:"configured_model"` // for new memories, by this program's settings
	Lag         schema.IndexLag    `json:"lag"`              // over all tenants
	AgeSeconds  float64            `json:"lag_seconds"`      // of the oldest pending change
	Tenant      string             `json:"tenant"`
	Embedded    int64              `json:"embedded"` // of the tenant's live memories
	Points      *int64             `json:"points,omitempty"`
	Error       string             `json:"error,omitempty"` // of the index
}

type generationStatus struct {
	ID         string                      `json:"id"`
	State      vectorindex.GenerationState `json:"state"`
	Model      string                      `json:"model"`
	Dimensions int                         `json:"dimensions"`
	CreatedAt  time.Time                   `json:"created_at"`
}

func newIndexStatus(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the index, its generations, and its missing changes",
		Long: `Show the index, its generations, and the changes that it lacks: those not written yet, and those that
are no longer tried. The exit code is 4 if the index does not answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			s, err := indexState(ctx, a, st)
			if err != nil {
				return err
			}
			if err := a.Print(s, s.text); err != nil {
				return err
			}
			if s.Error != "" {
				return app.Unavailable("the vector index does not answer: %s", s.Error)
			}
			return nil
		},
	}
}

func indexState(ctx context.Context, a *app.App, st *store.Store) (IndexStatus, error) {
	index, closeIndex, err := a.Cfg.OpenIndex(st)
	if err != nil {
		return IndexStatus{}, err
	}
	defer closeIndex()
	brain, err := a.Cfg.NewBrain(ctx)
	if err != nil {
		return IndexStatus{}, err
	}
	s := IndexStatus{Index: index.Name(), Configured: brain.Embedder.Model().Name, Tenant: a.Cfg.Principal.Tenant,
		Generations: []generationStatus{}}
	if s.Lag, err = st.OutboxLag(ctx); err != nil {
		return s, err
	}
	if s.Lag.Oldest != nil {
		s.AgeSeconds = max(0, time.Since(*s.Lag.Oldest).Seconds())
	}
	known, err := st.Generations(ctx, index.Name())
	if err != nil {
		return s, err
	}
	for _, g := range known {
		s.Generations = append(s.Generations, generationStatus{ID: g.ID.String(), State: g.State,
			Model: g.Model.Name, Dimensions: g.Model.Dimensions, CreatedAt: g.CreatedAt})
		if g.State != vectorindex.GenerationActive {
			continue
		}
		if s.Embedded, err = st.CountEmbedded(ctx, s.Tenant, g.Model); err != nil {
			return s, err
		}
		if points, err := index.Count(ctx, g, s.Tenant); err != nil {
			s.Error = app.OneLine(err.Error())
		} else {
			s.Points = &points
		}
	}
	if q, ok := index.(*vector.Qdrant); ok && s.Error == "" {
		if err := q.Check(ctx); err != nil {
			s.Error = app.OneLine(err.Error())
		}
	}
	return s, nil
}

func (s IndexStatus) text(t *app.Text) {
	points, oldest, hint := "", "", ""
	if s.Points != nil {
		points = fmt.Sprintf("%d, for %d embedded memories of tenant %s", *s.Points, s.Embedded, s.Tenant)
	}
	if s.Lag.Oldest != nil {
		oldest = fmt.Sprintf(", the oldest %s old", (time.Duration(s.AgeSeconds) * time.Second).String())
	}
	if len(s.Generations) > 0 && s.Generations[0].State == vectorindex.GenerationActive &&
		s.Generations[0].Model != s.Configured {
		hint = " (the index is of " + s.Generations[0].Model + ": run `mneme reindex`)"
	}
	t.Fields("index", s.Index, "error", s.Error, "configured model", s.Configured+hint, "points", points,
		"pending", fmt.Sprintf("%d%s", s.Lag.Pending, oldest), "parked", fmt.Sprintf("%d", s.Lag.Parked))
	if len(s.Generations) == 0 {
		return
	}
	t.Line("")
	rows := make([][]string, 0, len(s.Generations))
	for _, g := range s.Generations {
		rows = append(rows, []string{g.ID, string(g.State), g.Model, fmt.Sprint(g.Dimensions), app.When(g.CreatedAt)})
	}
	t.Table("GENERATION STATE MODEL DIMENSIONS CREATED", rows)
}

// Drifted is the output of `index drift`.
type Drifted struct {
	WorkflowID string          `json:"workflow_id"`
	RunID      string          `json:"run_id"`
	URL        string          `json:"url,omitempty"`
	Result     api.DriftResult `json:"result"`
}

func newIndexDrift(a *app.App) *cobra.Command {
	var lookOnly bool
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Compare the index with Postgres, and repair differences",
		Long: `Compare the ids and versions of memories with those of the index in both directions, and repair the
differences.
The exit code is 5 if differences are left.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.OpenTemporal(ctx)
			if err != nil {
				return err
			}
			limited, cancel := a.Within(ctx)
			run, err := mneme.StartDrift(limited, c, a.Cfg.TaskQueue,
				api.DriftInput{Index: a.IndexName(), LookOnly: lookOnly, Actor: app.Operator()})
			cancel()
			if err != nil {
				return err
			}
			out := Drifted{WorkflowID: run.GetID(), RunID: run.GetRunID(), URL: a.RunURL(run.GetID(), run.GetRunID())}
			if err := a.Follow(ctx, run, &out.Result); err != nil {
				return err
			}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			if left := out.Result.Left.Found(); left > 0 {
				return app.WithCode(app.ExitPartial, fmt.Errorf("%d differences are left", left))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&lookOnly, "look-only", false, "repair nothing")
	return cmd
}

func (d Drifted) text(t *app.Text) {
	row := func(name string, d api.Drift) []string {
		return []string{name, fmt.Sprint(d.Memories), fmt.Sprint(d.Points), fmt.Sprint(d.Missing),
			fmt.Sprint(d.Behind), fmt.Sprint(d.Ahead), fmt.Sprint(d.Dead),
			fmt.Sprint(d.Pending), fmt.Sprint(d.Parked)}
	}
	t.Table("ROUND MEMORIES POINTS MISSING BEHIND AHEAD DEAD PENDING PARKED",
		[][]string{row("first", d.Result.Found), row("last", d.Result.Left)})
	t.Line("%d rounds, %d repaired", d.Result.Rounds, d.Result.Repaired)
}

func newIndexParked(a *app.App) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "parked",
		Short: "List the memories that could not be indexed",
		Long: `List the tenant's memories that the embedder refused too often. They are no longer tried.
JSON is {"items":[…],"next":"ID"}; --after takes next, for the next page.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from := uuid.Nil
			if after != "" {
				var err error
				if from, err = app.ParseID("after", after); err != nil {
					return err
				}
			}
			if limit < 1 || limit > 500 {
				return app.Invalid("limit", "must be between 1 and 500")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.ParkedOutbox(ctx, a.Cfg.Principal.Tenant, from, limit)
			if err != nil {
				return err
			}
			out := app.Page[vectorindex.ParkedChange]{Items: append([]vectorindex.ParkedChange{}, found...)}
			if len(found) == limit {
				out.Next = found[len(found)-1].MemoryID.String()
			}
			return a.Print(out, func(t *app.Text) {
				rows := make([][]string, 0, len(found))
				for _, p := range found {
					rows = append(rows, []string{p.MemoryID.String(), fmt.Sprint(p.Attempts), app.When(p.ParkedAt),
						p.LastError})
				}
				t.Table("MEMORY FAILED PARKED ERROR", rows)
				if out.Next != "" {
					t.Line("more: --after %s", out.Next)
				}
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "id of the last memory of the previous page")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of memories, up to 500")
	return cmd
}

func newIndexRetry(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "retry",
		Short: "Retry refused memories",
		Long:  `Retry the tenant's memories that wait or are parked. Their earlier failures no longer count.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			n, err := st.ReleaseOutbox(ctx, a.Cfg.Principal.Tenant, time.Now())
			if err != nil {
				return err
			}
			return a.Print(map[string]int{"released": n}, func(t *app.Text) {
				t.Line("%d memories are tried again", n)
			})
		},
	}
}
