package learn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/pg"
)

// Learned is a procedure or a plan in the output.
type Learned struct {
	ID         string            `json:"id"`
	Type       schema.MemoryType `json:"type"`
	Name       string            `json:"name"`
	Key        string            `json:"key"`    // of its problem or task
	Chance     float64           `json:"chance"` // that it works now
	Stats      evidence.Stats    `json:"stats"`
	Confidence float64           `json:"confidence"`
	Tentative  bool              `json:"tentative,omitempty"` // it was put, not learned
	Version    int               `json:"version"`
	Payload    json.RawMessage   `json:"payload,omitempty"`  // with show
	Evidence   []string          `json:"evidence,omitempty"` // ids of episodes, with show
}

func shown(k learning.Known) Learned {
	out := Learned{ID: k.ID.String(), Type: k.Kind, Key: k.Key, Chance: k.Stats.All.Chance(), Stats: k.Stats,
		Confidence: k.Confidence, Tentative: k.Tentative, Version: k.Version}
	var names struct {
		Skill string `json:"skill_name"`
		Plan  string `json:"plan_id"`
	}
	_ = json.Unmarshal(k.Payload, &names) // a payload without a name is shown without one
	if out.Name = names.Skill; k.Kind == schema.TypePlanGraph {
		out.Name = names.Plan
	}
	return out
}

// NewLearned returns the command that shows what was learned.
func NewLearned(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "learned", Short: "Show procedures and plans, with their outcomes"})
	cmd.AddCommand(newList(a), newShow(a))
	return cmd
}

// open opens the store and returns the filter of the principal: its own memories and those shared with it.
func open(a *app.App, cmd *cobra.Command) (*store.Store, pg.Filter, error) {
	if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
		return nil, pg.Filter{}, err
	}
	clearance, err := a.Clearance("")
	if err != nil {
		return nil, pg.Filter{}, err
	}
	st, err := a.OpenStore(cmd.Context())
	return st, pg.Filter{Principal: a.Cfg.Principal, ReadPolicy: schema.ReadShared, MaxSensitivity: clearance.Limit,
		Scopes: clearance.Scopes}, err
}

// listed is the output of `learned list`.
type listed struct {
	Learned []Learned `json:"learned"`
	Next    string    `json:"next,omitempty"` // the cursor of the next page
}

func newList(a *app.App) *cobra.Command {
	limit, after := 50, ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List procedures and plans with their chance to work now",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from := uuid.Nil
			if after != "" {
				var err error
				if from, err = app.ParseID("after", after); err != nil {
					return err
				}
			}
			if err := app.CheckLimit("limit", limit, pg.MaxPage); err != nil {
				return err
			}
			st, filter, err := open(a, cmd)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			known, err := st.Learning.List(ctx, filter, from, limit)
			if err != nil {
				return err
			}
			out := listed{Learned: []Learned{}}
			for _, k := range known {
				out.Learned = append(out.Learned, shown(k))
			}
			if len(known) == limit {
				out.Next = known[len(known)-1].ID.String()
			}
			return a.Print(out, func(t *app.Text) {
				if len(out.Learned) == 0 {
					t.Line("nothing was learned yet")
				}
				for _, l := range out.Learned {
					t.Line("%s  %-10s %3.0f %%  %d of %d  %s", l.ID, l.Type, 100*l.Chance, l.Stats.All.Successes,
						l.Stats.All.Trials(), app.OneLine(l.Name))
				}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "maximum number of items, up to 500")
	cmd.Flags().StringVar(&after, "after", "", "id of the last item of the previous page")
	return cmd
}

// read reads one procedure or plan with its evidence.
func read(a *app.App, cmd *cobra.Command, arg string) (Learned, error) {
	id, err := app.ParseID("id", arg)
	if err != nil {
		return Learned{}, err
	}
	st, filter, err := open(a, cmd)
	if err != nil {
		return Learned{}, err
	}
	ctx, cancel := a.Within(cmd.Context())
	defer cancel()
	k, err := st.Learning.Learned(ctx, filter, id)
	if err != nil {
		return Learned{}, err
	}
	out := shown(k)
	out.Payload = k.Payload
	out.Evidence, err = st.Learning.EvidenceOf(ctx, filter, id)
	return out, err
}

func newShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a procedure or a plan: its steps, its evidence, its outcomes",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := read(a, cmd, args[0])
			if err != nil {
				return err
			}
			return a.Print(l, l.text)
		},
	}
}

func (l Learned) text(t *app.Text) {
	t.Line("%s  %s, version %d", app.OneLine(l.Name), l.Type, l.Version)
	t.Line("for: %s", app.OneLine(l.Key))
	t.Line("chance to work now: %.0f %% (%d of %d)", 100*l.Chance, l.Stats.All.Successes, l.Stats.All.Trials())
	for _, situation := range slices.Sorted(maps.Keys(l.Stats.In)) {
		track := l.Stats.In[situation]
		t.Line("  %s: %.0f %% (%d of %d)", app.OneLine(situation), 100*l.Stats.Of(situation), track.Successes,
			track.Trials())
	}
	if l.Type == schema.TypeCompetence {
		var p schema.CompetencePayload
		_ = json.Unmarshal(l.Payload, &p) // it was validated when it was written
		for _, trigger := range p.Triggers {
			if len(trigger.Conditions) > 0 {
				t.Line("where: %s", app.OneLine(string(trigger.Conditions)))
			}
		}
		for i, step := range p.Recipe {
			t.Line("%d. %s", i+1, app.OneLine(step.Step))
		}
		for _, mode := range p.FailureModes {
			t.Line("- %s", app.OneLine(mode))
		}
	} else {
		var p schema.PlanGraphPayload
		_ = json.Unmarshal(l.Payload, &p) // it was validated when it was written
		for i, node := range p.Nodes {
			t.Line("%d. %s %s", i+1, app.OneLine(node.Op), app.OneLine(string(node.Params)))
		}
	}
	t.Line("learned from %d episodes", len(l.Evidence))
	for _, id := range l.Evidence {
		t.Line("  %s", id)
	}
}

// drawn is the output of `plan show`.
type drawn struct {
	ID      string                  `json:"id"`
	Plan    schema.PlanGraphPayload `json:"plan"`
	Mermaid string                  `json:"mermaid"`
}

// NewPlan returns the command that shows plan graphs.
func NewPlan(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "plan", Short: "Show plan graphs"})
	cmd.AddCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show a plan graph as JSON and as a Mermaid picture",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := read(a, cmd, args[0])
			if err != nil {
				return err
			}
			if l.Type != schema.TypePlanGraph {
				return app.Invalid("id", "is not the id of a plan")
			}
			out := drawn{ID: l.ID}
			if err := json.Unmarshal(l.Payload, &out.Plan); err != nil {
				return fmt.Errorf("plan: %w", err)
			}
			out.Mermaid = plan.Mermaid(out.Plan)
			return a.Print(out, func(t *app.Text) {
				encoded, _ := json.MarshalIndent(out.Plan, "", "  ") // it was read from JSON
				t.Line("%s", encoded)
				t.Line("%s", out.Mermaid)
			})
		},
	})
	return cmd
}
