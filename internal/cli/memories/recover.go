package memories

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// Recovered is the output of `recover`.
type Recovered struct {
	schema.RecoverResult
	app.OperationRun
}

// NewRecover returns the command that recovers deleted memories.
func NewRecover(a *app.App) *cobra.Command {
	var f app.OperationFlags
	var ifVersion int
	cmd := &cobra.Command{
		Use:   "recover ID...",
		Short: "Recover deleted memories",
		Long: fmt.Sprintf(`Recover deleted memories, within %d days unless a retention policy says otherwise. Memories that decay
archived can be recovered at any time. A memory gets its former state back: if it was superseded or archived before,
it is superseded or archived again. A faded memory gets full salience.

Each memory has a status: recovered, not_found, not_deleted, retention_expired, erased,
version_conflict, duplicate_content_hash, active_fact_exists or mutations_frozen. For one memory, the exit
code is 3 if it is not found and 6 if it is refused. For several, it is 5 if some were refused.`,
			int(revision.RecoveryWindow.Hours()/24)),
		Example: `  mneme recover 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --reason "deleted by mistake"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ifVersion != 0 && len(args) > 1 {
				return app.Invalid("if-version", "needs exactly one id")
			}
			req := schema.RecoverRequest{Operation: f.Operation(a.Cfg.Principal)}
			for _, id := range args {
				req.Targets = append(req.Targets, schema.Target{ID: id, IfVersion: ifVersion})
			}
			if err := req.Validate(); err != nil {
				if len(args) == 1 {
					err = app.OfItem("targets[0]", err)
				}
				return err
			}
			var out Recovered
			var err error
			if out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartRecover, req,
				&out.RecoverResult); err != nil {
				return err
			}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			return out.problem()
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&ifVersion, "if-version", 0, "only if this is the current version")
	f.RegisterRequired(flags)
	return cmd
}

// problem returns the error of the command.
func (r Recovered) problem() error {
	refused := r.Refused()
	switch {
	case refused == 0:
		return nil
	case len(r.Items) > 1:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d memories were not recovered", refused, len(r.Items)))
	case r.Items[0].Status == schema.RecoverNotFound:
		return app.WithCode(app.ExitNotFound, errors.New("the memory is not found"))
	}
	return app.WithCode(app.ExitConflict, errors.New("refused: "+recoverNote(r.Items[0])))
}

func (r Recovered) text(t *app.Text) {
	rows := make([][]string, 0, len(r.Items))
	for _, item := range r.Items {
		rows = append(rows, []string{item.ID, string(item.Status), versions(item.CurrentVersion, item.NewVersion),
			recoverNote(item)})
	}
	t.Table("MEMORY STATUS VERSION NOTE", rows)
}

// recoverNote explains a status.
func recoverNote(r schema.RecoverItem) string {
	switch r.Status {
	case schema.RecoverNotFound:
		return "not found, or not visible to you"
	case schema.RecoverNotDeleted:
		return "it is not deleted"
	case schema.RecoverExpired:
		return "the window in which it could be recovered is over (" +
			strconv.Itoa(int(revision.RecoveryWindow.Hours()/24)) + " days, unless a retention policy says otherwise)"
	case schema.RecoverErased:
		return "it is erased: nothing is left"
	case schema.RecoverVersionConflict:
		return fmt.Sprintf("the current version is %d", r.CurrentVersion)
	case schema.RecoverDuplicate:
		return "memory " + r.ConflictID + " has the same content"
	case schema.RecoverActiveFact:
		return "memory " + r.ConflictID + " now has the claim"
	case schema.RecoverFrozen:
		return "the worker is configured to change no memories"
	}
	return ""
}
