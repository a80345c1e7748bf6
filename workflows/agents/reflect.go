package agents

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/reflecting"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/flow"
)

var reflector *reflecting.Reflecting

// maxBeliefs is how many beliefs one run makes before it continues as new.
const maxBeliefs = 50

// Reflect lets an agent reflect on what it saw of a stream since its last reflection, if that is at least the
// threshold (document 001, Layer 3). An agent with more pending events than one reflection covers makes several. Only
// ids and numbers of events go through the workflow; beliefs are in the ledger alone. A run that finds nothing due
// costs two reads.
//
// A refused belief ends the run, and its result says why. The events are still pending, and a later run tries again.
func Reflect(ctx workflow.Context, in api.ReflectInput) (api.ReflectResult, error) {
	if err := flow.Strict(ctx, &in); err != nil {
		return api.ReflectResult{}, err
	}
	var result api.ReflectResult
	if in.Sofar != nil {
		result, in.Sofar = *in.Sofar, nil
	}
	shown := flow.Display{Lean: true} // there are no runs of the first form
	shown.Begin(ctx, api.PhaseReflect, "reading pending events", in.Principal)
	for range maxBeliefs {
		due, err := believe(ctx, in, &result)
		if err != nil {
			shown.Show(ctx, api.PhaseDone, "failed", mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return result, err
		}
		if !due || result.Refused != "" {
			showReflected(ctx, shown, result)
			return result, nil
		}
		shown.Show(ctx, api.PhaseReflect, fmt.Sprintf("%d beliefs", result.Beliefs))
	}
	in.Sofar = &result
	return result, flow.ContinueAsNew(ctx, Reflect, in)
}

// believe makes one belief, if the agent is due.
func believe(ctx workflow.Context, in api.ReflectInput, result *api.ReflectResult) (due bool, err error) {
	var span reflecting.Span
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, flow.PendingOptions),
		reflector.FindSpan, in).Get(ctx, &span)
	if err != nil || !span.Due {
		return false, err
	}
	result.Due = true
	var made reflecting.Belief
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.ModelOptions("reflect")),
		reflector.AppendBelief, reflecting.BeliefRequest{Input: in, Span: span}).Get(ctx, &made)
	if err != nil {
		return false, err
	}
	result.Tokens += made.Tokens
	if result.Refused = made.Refused; made.Refused != "" {
		return true, nil
	}
	result.Beliefs++
	result.EventID, result.Seq, result.Covers, result.BasedOn = made.EventID, made.Seq, made.Covers, made.BasedOn
	return true, nil
}

func showReflected(ctx workflow.Context, shown flow.Display, result api.ReflectResult) {
	switch {
	case !result.Due:
		shown.Show(ctx, api.PhaseDone, "not due")
	case result.Refused != "":
		shown.Show(ctx, api.PhaseDone, "refused: "+result.Refused, mneme.AttrOutcome.ValueSet(api.OutcomeRefused))
	default:
		shown.Show(ctx, api.PhaseDone, fmt.Sprintf("%d beliefs", result.Beliefs),
			mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	}
}
