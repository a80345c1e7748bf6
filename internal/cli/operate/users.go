package operate

import (
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
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
		Long: `Count what is stored of a user in the tenant, for every agent: memories, events, topics and artifacts. The output
names the commands that erase each part, in their order (docs/users.md). Nothing is changed.`,
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
			return a.Print(held, func(t *app.Text) { HeldText(t, held) })
		},
	}
}

// HeldText prints what is stored of a user, and the commands that erase it.
func HeldText(t *app.Text, h admin.HeldOfUser) {
	user := app.Printable(h.User)
	if h.Nothing() {
		t.Line("nothing is stored of user %s", user)
		return
	}
	t.Line("stored of user %s, and how to erase it:", user)
	line := func(n int64, what, command string) {
		if n > 0 {
			t.Line("  %d %s: mneme %s --user %s", n, what, command, user)
		}
	}
	line(h.Events, "events", "events erase --all")
	line(h.Topics, "topics", "topics remove --all")
	for _, m := range h.Memories {
		line(m.Memories, "memories", "forget --all --mode erase --agent "+app.Printable(m.Agent))
	}
	line(h.Artifacts, "artifacts", "artifact remove --all")
}
