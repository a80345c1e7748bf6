package flow

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

// changeLean marks the histories of runs of the second form: see lean.
const changeLean = "lean-history"

// Lean reports whether a run has the second form. Such a run leaves validation to its first activity, whose outcome
// is recorded: rules may change and the run still replays. It upserts search attributes only for its outcome and
// while it waits for a person, and it continues as new inside long rounds.
//
// Only the marker decides. Search attributes do not show who writes the history: an older worker may have taken a run
// that a newer client started with them, and a run that it continues as new keeps those that it upserted.
func Lean(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, changeLean, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// MaxAttribute bounds the value of a search attribute in bytes: a request's names are not validated yet when they
// are shown, and the server refuses values of more than 2 KB.
const MaxAttribute = 4 * schema.MaxNameLength

// Display shows the state of a run: in the UI's details, and to search.
type Display struct{ Lean bool }

// Begin shows the first phase and whose the run is, unless its start said so.
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

// Wait shows, also to search, that the run waits for a person in a phase, or no longer waits.
func (d Display) Wait(ctx workflow.Context, phase, details string, more ...temporal.SearchAttributeUpdate) {
	if d.Lean {
		more = append(more, mneme.AttrPhase.ValueSet(phase))
	}
	d.Show(ctx, phase, details, more...)
}

// ContinueAsNew ends a run and continues it as a new one, to which the SDK gives its search attributes. A cancelled
// run ends instead: the new one would not know of the cancellation.
func ContinueAsNew(ctx workflow.Context, fn, in any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, fn, in)
}
