package learn

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

// ExtractCompetence learns procedures from the attempts at problems, and at tasks of few steps, in one scope: it
// records the attempts of new episodes, decides on the groups that have new attempts, and writes the decisions, page
// by page. A second run over the same evidence finds nothing to decide. A shadow run counts what a run would change;
// it records attempts, which changes no memory.
func ExtractCompetence(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	return extract(ctx, in, schema.TypeCompetence, ExtractCompetence)
}

// ExtractPlans learns plan graphs from the attempts at tasks of three or more steps, as ExtractCompetence does
// procedures.
func ExtractPlans(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	return extract(ctx, in, schema.TypePlanGraph, ExtractPlans)
}

// extract runs the steps of learning. It may be cancelled between any two of them; what is written stays.
func extract(ctx workflow.Context, in api.LearnInput, kind schema.MemoryType, self any) (api.LearnResult, error) {
	out := api.LearnResult{}
	if err := flow.Strict(ctx, &in); err != nil {
		return out, err
	}
	if in.SoFar != nil {
		out = *in.SoFar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.LearnResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown := flow.Display{Lean: true}
	err := extractPages(ctx, shown, in, kind, self, &out)
	if workflow.IsContinueAsNewError(err) {
		return out, err
	}
	outcome := outcomeOf(&out)
	if err != nil {
		outcome = api.OutcomeFailed
	}
	if ctx.Err() == nil {
		shown.Show(ctx, api.PhaseDone, learnedCounts(out), mneme.AttrOutcome.ValueSet(outcome))
	}
	return out, err
}

func extractPages(ctx workflow.Context, shown flow.Display, in api.LearnInput, kind schema.MemoryType, self any,
	out *api.LearnResult) error {
	if in.SoFar == nil {
		shown.Show(ctx, api.PhaseExtract, "read new episodes")
		var read learning.IndexResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions("read new episodes")),
			learns.IndexEvidence, learning.IndexRequest{LearnScope: in.LearnScope, Full: in.Full, Reopen: kind}).
			Get(ctx, &read); err != nil {
			return err
		}
		out.Read = read.Read
	}
	for cursor := in.Cursor; ; {
		shown.Show(ctx, api.PhaseDecide, learnedCounts(*out))
		var page learning.DecideResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.SweepOptions("decide what is learned")),
			learns.DecideGroups, learning.DecideRequest{LearnScope: in.LearnScope, Kind: kind, After: cursor,
				Shadow: in.Shadow}).Get(ctx, &page); err != nil {
			return err
		}
		*out = out.Plus(page.Result) //workflowcheck:ignore: sums over a map are the same in any order
		if len(page.Drafted) > 0 {
			shown.Show(ctx, api.PhaseWrite, learnedCounts(*out))
			var written api.LearnResult
			if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
				flow.SweepOptions("write what was learned")),
				learns.WriteDrafts, learning.WriteRequest{LearnScope: in.LearnScope, Kind: kind, Groups: page.Drafted}).
				Get(ctx, &written); err != nil {
				return err
			}
			*out = out.Plus(written) //workflowcheck:ignore: sums over a map are the same in any order
		}
		if !page.More {
			return nil
		}
		cursor = page.Next
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return flow.ContinueAsNew(ctx, self,
				api.LearnInput{LearnScope: in.LearnScope, Shadow: in.Shadow, Full: in.Full,
					Cursor: cursor, SoFar: out})
		}
	}
}
