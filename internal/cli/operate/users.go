package operate

import (
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// NewUsers returns the command that shows what is stored of a user.
func NewUsers(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "users", Short: "Show what is stored of a user of the agents"})
	cmd.AddCommand(newUsersShow(a))
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
