package learn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
)

// consolidated is the output of `consolidate`.
type consolidated struct {
	app.OperationRun
	Scope  *api.LearnResult          `json:"scope,omitempty"`  // of one scope
	Tenant *api.ConsolidateAllResult `json:"tenant,omitempty"` // with --all
}

// NewConsolidate returns the command that starts a run of learning.
func NewConsolidate(a *app.App) *cobra.Command {
	in, all, shared := api.LearnInput{}, false, false
	cmd := &cobra.Command{
		Use:   "consolidate",
		Short: "Learn from new episodes and tidy the memories of a scope",
		Long: `Learn procedures for problems and plans for tasks from the new episodes of the agent, project and
scope. Then tidy the memories of the scope: update facts, compress old episodes and merge duplicates. A run over the
same evidence changes nothing. A scope with enough new episodes is consolidated automatically after a few minutes
without a new one. --shared uses the episodes that all agents of the project see. --all uses those of every scope of
the tenant, as the schedule does every hour.`,
		Example: `  mneme consolidate --shadow
  mneme consolidate --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			if all && (in.Full || shared) {
				return app.Invalid("all", "cannot be given with --full or --shared")
			}
			if all {
				if err := app.RefusePrincipal(cmd.Flags(), "--all"); err != nil {
					return err
				}
			}
			if shared {
				if err := app.RefuseWith(cmd.Flags(), "--shared", "agent"); err != nil {
					return err
				}
			}
			p := a.Cfg.Principal
			in.LearnScope = api.LearnScope{Tenant: p.Tenant, Agent: p.Agent, Project: p.Project,
				Scope: p.EffectiveScope()}
			if shared {
				in.Agent = ""
			}
			out := consolidated{}
			var err error
			if all {
				out.Tenant = &api.ConsolidateAllResult{}
				out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartConsolidateAll,
					api.ConsolidateAllInput{Tenant: p.Tenant, Shadow: in.Shadow}, out.Tenant)
			} else {
				out.Scope = &api.LearnResult{}
				out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartConsolidate, in, out.Scope)
			}
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) { out.text(t, in.Shadow) })
		},
	}
	cmd.Flags().BoolVar(&in.Shadow, "shadow", false, "decide and report, and write nothing")
	cmd.Flags().BoolVar(&in.Full, "full", false, "read and decide on all evidence again, not only on new evidence")
	cmd.Flags().BoolVar(&all, "all", false, "every scope of the tenant with new evidence")
	cmd.Flags().BoolVar(&shared, "shared", false, "the memories that all agents of the project see")
	return cmd
}

func (c consolidated) text(t *app.Text, shadow bool) {
	if c.Tenant != nil {
		t.Line("%d %s: %d changed, %d failed", c.Tenant.Scopes, numbered(c.Tenant.Scopes, "scope", "scopes"),
			c.Tenant.Changed, c.Tenant.Failed)
		return
	}
	if shadow {
		t.Line("shadow: nothing was written; a run would do this")
	}
	t.Line("%s", counts(*c.Scope))
	for _, part := range c.Scope.Parts {
		t.Line("  %-18s %s", part.Workflow, counts(part.Result))
	}
	for _, reason := range slices.Sorted(maps.Keys(c.Scope.Refused)) {
		t.Line("  refused: %d %s", c.Scope.Refused[reason], strings.ReplaceAll(reason, "_", " "))
	}
}

// counts prints the counts of a run that are not zero.
func counts(r api.LearnResult) string {
	var parts []string
	for _, n := range []struct {
		n    int
		what string
	}{{r.Read, numbered(r.Read, "new episode", "new episodes")},
		{r.Groups, numbered(r.Groups, "problem or task decided", "problems and tasks decided")},
		{r.Added, "added"}, {r.Updated, "updated"}, {r.Replaced, "superseded"}, {r.Merged, "merged"},
		{r.Contested, "contested"}, {r.Dropped, "dropped"}, {r.Tokens, "tokens"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if r.Held {
		parts = append(parts, "held: the token budget of the day is used up")
	}
	if len(parts) == 0 {
		return "nothing new"
	}
	return strings.Join(parts, ", ")
}

// numbered returns the singular for 1, and the plural otherwise.
func numbered(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
