package operate

import (
	"cmp"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// NewUsers returns the command that shows what is stored of a user.
func NewUsers(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "users",
		Short: "Show what is stored of a user of the agents, and what was removed"})
	cmd.AddCommand(newUsersShow(a), newUsersRemovals(a))
	return cmd
}

func newUsersShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Count what is stored of a user, with the commands that erase it",
		Long: `Count what is stored of a user in the tenant, for every agent: memories, events, topics and artifacts.
The output names the commands that erase each part, in their order (docs/users.md). Nothing is changed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if problem := schema.UserNameProblem(args[0]); problem != "" {
				return app.Invalid("name", "%s", problem)
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			held, err := st.HeldOfUser(ctx, a.Cfg.Principal.Tenant, args[0])
			if err != nil {
				return err
			}
			return a.Print(held, func(t *app.Text) { app.HeldText(t, held) })
		},
	}
}

func newUsersRemovals(a *app.App) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "removals [NAME]",
		Short: "Show who removed topics and artifacts, when, how many and why, newest first",
		Long: `Show who removed topics and artifacts in the tenant, when, how many and why, newest first: those of a user,
or all. A record has nothing of what was removed. For memories see mneme history, for events mneme events replay.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			user, from := "", uuid.Nil
			if len(args) == 1 {
				if problem := schema.UserNameProblem(args[0]); problem != "" {
					return app.Invalid("name", "%s", problem)
				}
				user = args[0]
			}
			if after != "" {
				var err error
				if from, err = app.ParseID("after", after); err != nil {
					return err
				}
			}
			if err := app.CheckLimit("limit", limit, pg.MaxPage); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			removals, err := st.Removals(ctx, a.Cfg.Principal.Tenant, user, from, limit)
			if err != nil {
				return err
			}
			return a.Print(removals, func(t *app.Text) {
				rows := make([][]string, len(removals))
				for i, r := range removals {
					rows[i] = []string{app.When(r.RemovedAt), string(r.Kind), strconv.Itoa(r.Removed), strconv.Itoa(r.Kept),
						r.Scope, cmp.Or(r.Agent, "(every)"), r.RemovedBy, r.Reason, r.ID}
				}
				t.Table("AT KIND REMOVED KEPT SCOPE AGENT BY REASON ID", rows)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "id of the last removal of the previous page")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of removals, up to 500")
	return cmd
}
