package learn

import (
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/flow"
)

var learns *learning.Learning

// ConsolidateParts are the workflows that Consolidate starts for a scope, in this order. Learning reads episodes before
// they are compressed, plans are composed of procedures, and duplicates are resolved last. It is a variable for tests
// and for workers that host only some of these workflows.
var ConsolidateParts = []string{
	api.WorkflowUpdateFacts,
	api.WorkflowExtractCompetence,
	api.WorkflowExtractPlans,
	api.WorkflowCompressEpisodes,
	api.WorkflowResolveDuplicates,
}

const (
	// scopesAtOnce is how many scopes a sweep consolidates at the same time.
	scopesAtOnce = 4
	// scopesPerRun bounds the history of a sweep: after that many scopes it continues as new.
	scopesPerRun = 300
)

// ConsolidateAll finds the scopes with unprocessed evidence, of one tenant or of all, and consolidates each in a child
// Consolidate, a few at a time. It continues if a scope fails or is being consolidated already. A run may be cancelled
// at any time.
func ConsolidateAll(ctx workflow.Context, in api.ConsolidateAllInput) (api.ConsolidateAllResult, error) {
	out := api.ConsolidateAllResult{}
	if err := flow.Strict(ctx, &in); err != nil {
		return out, err
	}
	if in.SoFar != nil {
		out = *in.SoFar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.ConsolidateAllResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown := flow.Display{Lean: true}
	shown.Show(ctx, api.PhaseSweep, scopesDone(out))
	after := in.After
	for started := 0; ; {
		var page learning.ScopesResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions("list scopes")),
			learns.ListScopes,
			learning.ScopesRequest{Tenant: in.Tenant, After: after}).Get(ctx, &page); err != nil {
			shown.Show(ctx, api.PhaseSweep, scopesDone(out), mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return out, err
		}
		if err := consolidateEach(ctx, page.Scopes, in.Shadow, &out); err != nil {
			return out, err
		}
		shown.Show(ctx, api.PhaseSweep, scopesDone(out))
		if page.Done {
			break
		}
		after, started = page.Next, started+len(page.Scopes)
		if started >= scopesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return out, flow.ContinueAsNew(ctx, ConsolidateAll,
				api.ConsolidateAllInput{Tenant: in.Tenant, Shadow: in.Shadow,
					After: after, Runs: in.Runs + 1, SoFar: &out})
		}
	}
	outcome := api.OutcomeOK
	if out.Failed > 0 {
		outcome = api.OutcomeFailed
	}
	shown.Show(ctx, api.PhaseDone, scopesDone(out), mneme.AttrOutcome.ValueSet(outcome))
	return out, nil
}

func scopesDone(out api.ConsolidateAllResult) string {
	return fmt.Sprintf("%d scopes consolidated, %d changed, %d failed", out.Scopes, out.Changed, out.Failed)
}

// consolidateEach consolidates scopes, scopesAtOnce at the same time.
func consolidateEach(ctx workflow.Context, scopes []api.LearnScope, shadow bool, out *api.ConsolidateAllResult) error {
	turns := workflow.NewSemaphore(ctx, scopesAtOnce)
	all := workflow.NewWaitGroup(ctx)
	for _, scope := range scopes {
		if err := turns.Acquire(ctx, 1); err != nil {
			return err
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer turns.Release(1)
			var done api.LearnResult
			err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, learnChild(scope,
				api.ConsolidateWorkflowID(scope), "consolidate a scope")), api.WorkflowConsolidate,
				api.LearnInput{LearnScope: scope, Shadow: shadow}).Get(ctx, &done)
			out.Scopes++
			switch {
			case temporal.IsWorkflowExecutionAlreadyStartedError(err): // the other run does the same
			case err != nil:
				out.Failed++
			case done.Changes() > 0:
				out.Changed++
			}
		})
	}
	all.Wait(ctx)
	return ctx.Err()
}

// learnChild returns the options with which a run of learning starts another. The id allows one run of a scope at a
// time.
func learnChild(scope api.LearnScope, id, summary string) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:               id,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionTimeout: flow.LearnTimeout,
		WaitForCancellation:      true,
		StaticSummary:            summary,
		TypedSearchAttributes:    mneme.OfTenant(scope.Tenant),
	}
}

// Consolidate learns from the evidence of one scope: it runs each of ConsolidateParts in turn. If a part fails or is
// held, the later parts still run; the run then fails, or is held, at its end. It may be cancelled between and within
// parts: written changes stay, and the next run does the rest.
func Consolidate(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	out := api.LearnResult{}
	if err := flow.Strict(ctx, &in); err != nil {
		return out, err
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.LearnResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown := flow.Display{Lean: true}
	var failed error
	for _, part := range consolidateParts(ctx) {
		shown.Show(ctx, part, learnedCounts(out))
		var done api.LearnResult
		options := learnChild(in.LearnScope, workflow.GetInfo(ctx).WorkflowExecution.ID+"/"+part, part)
		err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), part,
			api.LearnInput{LearnScope: in.LearnScope, Shadow: in.Shadow, Full: in.Full}).Get(ctx, &done)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			workflow.GetLogger(ctx).Warn("a part of consolidation failed", "part", part, "error", err)
			failed = err
			continue
		}
		parts := append(out.Parts, api.LearnPart{Workflow: part, Result: done})
		out = out.Plus(done) //workflowcheck:ignore: sums over a map are the same in any order
		out.Parts = parts
	}
	outcome := outcomeOf(&out)
	if failed != nil {
		outcome = api.OutcomeFailed
	}
	shown.Show(ctx, api.PhaseDone, learnedCounts(out), mneme.AttrOutcome.ValueSet(outcome))
	return out, failed
}

// consolidateParts are ConsolidateParts as they were when the run began.
func consolidateParts(ctx workflow.Context) []string {
	var parts []string
	// A side effect does not fail, and its value is recorded: a worker with other parts replays the run as it was.
	_ = workflow.SideEffect(ctx, func(workflow.Context) any { return ConsolidateParts }).Get(&parts)
	return parts
}

// outcomeOf sets the outcome of a result and returns it.
func outcomeOf(out *api.LearnResult) string {
	out.Outcome = api.OutcomeOK
	if out.Held {
		out.Outcome = api.OutcomeHeld
	}
	return out.Outcome
}

// learnedCounts describes what a run of learning has done.
func learnedCounts(out api.LearnResult) string {
	return fmt.Sprintf("%d episodes read, %d groups: %d added, %d updated, %d superseded, %d dropped", out.Read,
		out.Groups,
		out.Added, out.Updated, out.Replaced, out.Dropped)
}
