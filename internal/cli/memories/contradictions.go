package memories

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// NewContradictions returns the command that lists contradictions.
func NewContradictions(a *app.App) *cobra.Command {
	var before string
	var limit int
	var all bool
	var sensitivity *string
	cmd := &cobra.Command{
		Use:   "contradictions",
		Short: "List contradictions, with both sides",
		Long: `List contradictions, with both sides: contested memories in pairs, the latest first, and
then waiting proposals that seem to contradict the memory they would replace. Resolve the pairs with "revise
resolve"; decide the proposals with "review".

JSON is {"items":[…],"next":"CURSOR"}; --before takes next, for the next page.

` + scopesHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(app.CheckLimit("limit", limit, pg.MaxPage), app.CheckAllScopes(a, all)); err != nil {
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
			list := st.Contradictions
			if all {
				list = st.AllContradictions
			}
			found, err := list(ctx, a.Cfg.Principal, pg.Page{Before: before, Limit: limit}, seen)
			if err != nil {
				return err
			}
			out := app.Page[schema.Contradiction]{Items: found}
			if len(found) == limit {
				out.Next = found[len(found)-1].Cursor
			}
			out.Note, err = app.NoteOtherScopes(len(found), before, all, func() (int, error) {
				others, err := st.AllContradictions(ctx, a.Cfg.Principal, pg.Page{Limit: 1}, seen)
				return len(others), err
			})
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) { contradictionsText(t, out) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all-scopes", false, app.AllScopesUsage)
	flags.StringVar(&before, "before", "", "cursor of the last contradiction of the previous page")
	flags.IntVar(&limit, "limit", 50, "maximum number of contradictions, up to 500")
	sensitivity = app.SensitivityFlag(cmd.Flags())
	return cmd
}

func contradictionsText(t *app.Text, p app.Page[schema.Contradiction]) {
	rows := make([][]string, 0, 2*len(p.Items))
	for _, c := range p.Items {
		left := []string{app.When(c.Since), "proposal " + c.ProposalID, "", "proposed", c.Left.Content}
		if c.Kind == schema.ContradictionOfMemories {
			left = sideRow(app.When(c.Since), c.Left)
		}
		right := sideRow("", c.Right)
		rows = append(rows, slices.Insert(left, 4, c.Reason), slices.Insert(right, 4, ""))
	}
	t.Table("SINCE WHAT VERSION STATUS REASON CONTENT", rows)
	t.Note(p.Note)
	if p.Next != "" {
		t.Line("more: --before %s", p.Next)
	}
}

func sideRow(since string, s schema.Side) []string {
	return []string{since, "memory " + s.ID, strconv.Itoa(s.Version), string(s.Status), s.Content}
}

const scopesHelp = `Like "mneme list", it shows those of --scope, or without a scope; with --user those of the user
and of the agent. --all-scopes shows those of all users and scopes of the agent.`
