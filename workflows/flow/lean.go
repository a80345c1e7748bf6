package flow

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

// changeLean marks the histories of runs of the second form: see Lean.
const changeLean = "lean-history"

// Lean reports whether a run has the second form. Such a run leaves validation to its first activity. The outcome of
// the activity is recorded, so the run still replays after validation has changed. It upserts search attributes only
// for its outcome and while it waits for a person, and it continues as new inside long rounds.
//
// Only the marker decides. Search attributes would not show the form: an older worker may run a workflow that a newer
// client started with them, and a run that continues another keeps the attributes that were upserted.
func Lean(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, changeLean, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// MaxAttribute bounds the value of a search attribute in bytes. A request's names are not validated yet when they are
// shown, and the server refuses values of more than 2 KB.
const MaxAttribute = 4 * schema.MaxNameLength

// Display shows the state of a run in the details of the UI and in search attributes.
type Display struct{ Lean bool }

// Begin shows the first phase and the principal of the run, unless the run was started with these attributes.
func (d Display) Begin(ctx workflow.Context, phase, details string, p schema.Principal) {
	if !d.Lean {
		d.Show(ctx, phase, details, mneme.Whose(p)...)
		return
	}
	have := workflow.GetTypedSearchAttributes(ctx)
	var missing []temporal.SearchAttributeUpdate
	for _, name := range []struct {
		key   temporal.SearchAttributeKeyKeyword
		value string
	}{{mneme.AttrTenant, p.Tenant}, {mneme.AttrAgent, p.Agent}, {mneme.AttrProject, p.Project}} {
		if _, ok := have.GetKeyword(name.key); !ok && len(name.value) <= MaxAttribute {
			missing = append(missing, name.key.ValueSet(name.value))
		}
	}
	d.Show(ctx, phase, details, missing...)
}

// Show shows a phase. In a lean run only the search attributes that are given are upserted.
func (d Display) Show(ctx workflow.Context, phase, details string, more ...temporal.SearchAttributeUpdate) {
	workflow.SetCurrentDetails(ctx, "**"+phase+"**: "+details)
	if !d.Lean {
		more = append(more, mneme.AttrPhase.ValueSet(phase))
	}
	if len(more) == 0 {
		return
	}
	// An attribute that cannot be set must not stop a run.
	if err := workflow.UpsertTypedSearchAttributes(ctx, more...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not set", "phase", phase, "error", err)
	}
}

// Wait shows that the run waits for a person in a phase, or no longer waits. It also sets search attributes.
func (d Display) Wait(ctx workflow.Context, phase, details string, more ...temporal.SearchAttributeUpdate) {
	if d.Lean {
		more = append(more, mneme.AttrPhase.ValueSet(phase))
	}
	d.Show(ctx, phase, details, more...)
}

// ContinueAsNew continues a run as a new one; the SDK passes on its search attributes. A cancelled run ends instead,
// because the cancellation does not reach the new one.
func ContinueAsNew(ctx workflow.Context, fn, in any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, fn, in)
}
