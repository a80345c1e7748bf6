package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/flow"
)

// DriftCheck compares the ids and versions of live memories with those of the index, in both directions, and repairs
// the differences until a round finds none. This also fills an index that was wiped.
func DriftCheck(ctx workflow.Context, in api.DriftInput) (api.DriftResult, error) {
	var out api.DriftResult
	shown := flow.Display{Lean: flow.Lean(ctx)}
	if !shown.Lean {
		if err := flow.InvalidRequest(flow.Validate(ctx, &in)); err != nil {
			return out, err
		}
	} else if err := flow.Strict(ctx, &in); err != nil {
		return out, err
	}
	if in.Sofar != nil {
		out = *in.Sofar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.DriftResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	rounds := compareRounds
	if in.LookOnly {
		rounds = 1
	}
	showDrift(ctx, shown, out)
	for out.Rounds < rounds {
		round := api.Comparison{Repair: !in.LookOnly}
		if in.Round != nil {
			round, in.Round = *in.Round, nil
		}
		out.Looked = round.Found
		done, err := compareRound(ctx, in.Index, &round, shown.Lean, &out.Looked)
		if err != nil {
			return out, err
		}
		if !done {
			in.Sofar, in.Round = &out, &round
			return out, flow.ContinueAsNew(ctx, DriftCheck, in)
		}
		drift := round.Found
		if out.Rounds == 0 {
			out.Found = drift
		}
		out.Rounds, out.Left, out.Repaired = out.Rounds+1, drift, out.Repaired+drift.Repaired
		showDrift(ctx, shown, out)
		if drift.Found() == 0 {
			break
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && out.Rounds < rounds {
			in.Sofar = &out
			return out, flow.ContinueAsNew(ctx, DriftCheck, in)
		}
	}
	outcome := api.OutcomeOK
	if out.Left.Found() > 0 {
		outcome = api.OutcomeDrift
	}
	showDrift(ctx, shown, out, mneme.AttrOutcome.ValueSet(outcome))
	return out, nil
}

// pagesPerCompare is how many pages one activity compares.
const pagesPerCompare = 50

// comparedSides are the two directions of the comparison, in order.
var comparedSides = []struct {
	summary string
	fn      any
}{{"look for memories in the index", indexer.CompareMemories}, {"look for points in Postgres", indexer.ComparePoints}}

// compareRound runs until the round is done. If the run may continue as new inside a round, it also returns when it
// should. found gets what it has found so far.
func compareRound(ctx workflow.Context, index string, c *api.Comparison, mayContinue bool,
	found *api.Drift) (done bool, err error) {
	for began := true; c.Side < len(comparedSides); began = false {
		if mayContinue && !began && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return false, nil
		}
		side := comparedSides[c.Side]
		c.Next.Index, c.Next.Generation = index, c.Generation
		c.Next.MaxPages, c.Next.Repair = pagesPerCompare, c.Repair
		var page indexing.CompareResult
		options := flow.BuildOptions(side.summary, flow.InfrastructureAttempts)
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), side.fn,
			c.Next).Get(ctx, &page); err != nil {
			return false, err
		}
		c.Found = c.Found.Add(page.Drift)
		*found = c.Found
		c.Next.Cursor, c.Next.Points = page.Cursor, page.Points
		if page.Done {
			c.Side, c.Next = c.Side+1, api.CompareRequest{}
		}
	}
	return true, nil
}

func showDrift(ctx workflow.Context, shown flow.Display, out api.DriftResult, more ...temporal.SearchAttributeUpdate) {
	l := out.Left
	shown.Show(ctx, api.PhaseCompare,
		fmt.Sprintf("round %d: %d memories and %d points; %d missing, %d behind, %d ahead, %d dead; %d repaired",
			out.Rounds, l.Memories, l.Points, l.Missing, l.Behind, l.Ahead, l.Dead, out.Repaired), more...)
}
