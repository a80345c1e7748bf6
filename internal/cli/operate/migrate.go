package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema/migrations"
)

// NewMigrate returns the command that creates and updates the tables.
func NewMigrate(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "migrate", Short: "Create and update Mneme's tables"})
	cmd.AddCommand(
		&cobra.Command{
			Use:   "up",
			Short: "Apply pending migrations; safe to repeat and to run concurrently",
			Long: `Apply pending migrations. It is safe to repeat the command and to run it concurrently. --timeout bounds no
migration, because one may take long.`,
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				databaseURL, err := a.DatabaseURL()
				if err != nil {
					return err
				}
				// Not bounded by --timeout, because a migration may take long.
				applied, err := migrations.Up(cmd.Context(), databaseURL)
				if err != nil {
					return app.DatabaseError(err)
				}
				return a.Print(map[string]any{"applied": applied, "version": migrations.Latest()}, func(t *app.Text) {
					for _, name := range applied {
						t.Line("applied %s", name)
					}
					t.Line("the database is at version %d", migrations.Latest())
				})
			},
		},
		&cobra.Command{
			Use:   "status",
			Short: "Show which migrations are applied; exit code 1 if some are pending",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				databaseURL, err := a.DatabaseURL()
				if err != nil {
					return err
				}
				ctx, cancel := a.Within(cmd.Context())
				defer cancel()
				found, err := migrations.List(ctx, databaseURL)
				if err != nil {
					return app.DatabaseError(err)
				}
				pending := 0
				rows := make([][]string, 0, len(found))
				for _, s := range found {
					state := "pending"
					if s.Applied {
						state = app.When(s.AppliedAt)
					} else {
						pending++
					}
					rows = append(rows, []string{fmt.Sprint(s.Version), s.Name, state})
				}
				if err := a.Print(app.Page[migrations.Status]{Items: found}, func(t *app.Text) {
					t.Table("VERSION NAME APPLIED", rows)
				}); err != nil {
					return err
				}
				if pending > 0 {
					return fmt.Errorf("%d migrations are pending: run `mneme migrate up`", pending)
				}
				return nil
			},
		})
	return cmd
}
