package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// recovered is what `recover` prints.
type recovered struct {
	schema.RecoverResult
	operationRun
}

func newRecover(a *app) *cobra.Command {
	var f operationFlags
	var ifVersion int
	cmd := &cobra.Command{
		Use:   "recover ID...",
		Short: "Take back that memories were deleted",
		Long: fmt.Sprintf(`Take back that memories were deleted, within %d days unless a retention policy says otherwise, or that
decay archived them, at any time. A memory comes back as what it was: one that had been superseded or
archived before is so again. One that had faded starts afresh, with full salience.

Each memory has a status: recovered, not_found, not_deleted, retention_expired, erased,
version_conflict, duplicate_content_hash, active_fact_exists or mutations_frozen. Of one memory, not
found exits with 3 and refused with 6; of several, some that were refused exit with 5.`, int(revision.RecoveryWindow.Hours()/24)),
		Example: `  mneme recover 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --reason "deleted by mistake"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ifVersion != 0 && len(args) > 1 {
				return invalid("if-version", "goes with one id")
			}
			req := schema.RecoverRequest{Operation: f.operation(a.cfg.Principal)}
			for _, id := range args {
				req.Targets = append(req.Targets, schema.Target{ID: id, IfVersion: ifVersion})
			}
			if err := req.Validate(); err != nil {
				if len(args) == 1 {
					err = ofItem("targets[0]", err)
				}
				return err
			}
			var out recovered
			var err error
			if out.operationRun, err = carryOut(cmd.Context(), a, workflows.StartRecover, req, &out.RecoverResult); err != nil {
				return err
			}
			if err := a.print(out, out.text); err != nil {
				return err
			}
			return out.problem()
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&ifVersion, "if-version", 0, "only if this version stands")
	f.registerRequired(flags)
	return cmd
}

// problem is the error that the command ends with.
func (r recovered) problem() error {
	refused := r.Refused()
	switch {
	case refused == 0:
		return nil
	case len(r.Items) > 1:
		return &codedError{exitPartial, fmt.Errorf("%d of %d memories were not recovered", refused, len(r.Items))}
	case r.Items[0].Status == schema.RecoverNotFound:
		return &codedError{exitNotFound, errors.New("the memory is not found")}
	}
	return &codedError{exitConflict, errors.New("refused: " + recoverNote(r.Items[0]))}
}

func (r recovered) text(t *text) {
	rows := make([][]string, 0, len(r.Items))
	for _, item := range r.Items {
		rows = append(rows, []string{item.ID, string(item.Status), versions(item.CurrentVersion, item.NewVersion), recoverNote(item)})
	}
	t.table("MEMORY STATUS VERSION NOTE", rows)
}

// recoverNote explains a status.
func recoverNote(r schema.RecoverItem) string {
	switch r.Status {
	case schema.RecoverNotFound:
		return "not there, or not yours to see"
	case schema.RecoverNotDeleted:
		return "it is not deleted"
	case schema.RecoverExpired:
		return "the window in which it could be taken back is over (" + strconv.Itoa(int(revision.RecoveryWindow.Hours()/24)) + " days, unless a retention policy says otherwise)"
	case schema.RecoverErased:
		return "it is erased: nothing is left"
	case schema.RecoverVersionConflict:
		return fmt.Sprintf("version %d stands", r.CurrentVersion)
	case schema.RecoverDuplicate:
		return "memory " + r.ConflictID + " says the same"
	case schema.RecoverActiveFact:
		return "memory " + r.ConflictID + " makes the claim now"
	case schema.RecoverFrozen:
		return "the worker changes no memories"
	}
	return ""
}
