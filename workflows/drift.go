package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
)

// PhaseCompare is DriftCheck's only phase.
const PhaseCompare = "compare"

// OutcomeDrift is the outcome of a check that left differences; without any it is OutcomeOK.
const OutcomeDrift = "drift"

// DriftInput asks to compare the searched generation of a vector index with Postgres.
type DriftInput struct {
	Index    string `json:"index"`               // names the run; the worker's index when empty
	LookOnly bool   `json:"look_only,omitempty"` // repair nothing
	Actor    string `json:"actor,omitempty"`

	// Set by continue-as-new.
	Sofar *DriftResult `json:"so_far,omitempty" decode:"state"`
	Round *Comparison  `json:"round,omitempty" decode:"state"` // the round under way

	strict
}

// DriftResult is what the comparisons found. Query progress returns it so far.
type DriftResult struct {
	Rounds int              `json:"rounds"`
	Found  activities.Drift `json:"found"` // by the first
	Left   activities.Drift `json:"left"`  // by the last: what was found last, and repaired nothing of
	// Repaired counts over all rounds.
	Repaired int64 `json:"repaired"`
	// Looked is what the round under way has seen so far.
	Looked activities.Drift `json:"looked"`
}

// DriftCheck compares the ids and versions of live memories with those of the index, from both sides, and
// repairs what differs, round by round, until a round finds nothing. An index that was wiped is filled
// again by that.
func DriftCheck(ctx workflow.Context, in DriftInput) (DriftResult, error) {
	var out DriftResult
	shown := display{lean(ctx)}
	if !shown.lean {
		if err := invalidRequest(validate(ctx, &in)); err != nil {
			return out, err
		}
	} else if err := invalidRequest(in.misread()); err != nil {
		return out, err
	}
	if in.Sofar != nil {
		out = *in.Sofar
	}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (DriftResult, error) { return out, nil }); err != nil {
		return out, err
	}
	rounds := compareRounds
	if in.LookOnly {
		rounds = 1
	}
	showDrift(ctx, shown, out)
	for out.Rounds < rounds {
		round := Comparison{Repair: !in.LookOnly}
		if in.Round != nil {
			round, in.Round = *in.Round, nil
		}
		out.Looked = round.Found
		done, err := round.compare(ctx, shown.lean, &out.Looked)
		if err != nil {
			return out, err
		}
		if !done {
			in.Sofar, in.Round = &out, &round
			return out, continueAsNew(ctx, DriftCheck, in)
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
			return out, continueAsNew(ctx, DriftCheck, in)
		}
	}
	outcome := OutcomeOK
	if out.Left.Found() > 0 {
		outcome = OutcomeDrift
	}
	showDrift(ctx, shown, out, AttrOutcome.ValueSet(outcome))
	return out, nil
}

// pagesPerCompare is how many pages one activity compares.
const pagesPerCompare = 50

// Comparison is a round that compares one generation from both sides, and how far it has come.
type Comparison struct {
	Generation string                    `json:"generation,omitempty"` // empty for the one that is searched
	Repair     bool                      `json:"repair,omitempty"`
	Found      activities.Drift          `json:"found"`          // so far
	Side       int                       `json:"side,omitempty"` // of comparedSides
	Next       activities.CompareRequest `json:"next"`           // of that side
}

// comparedSides are the two ways to look, in order.
var comparedSides = []struct {
	summary string
	fn      any
}{{"look for memories in the index", indexing.CompareMemories}, {"look for points in Postgres", indexing.ComparePoints}}

// compare goes on until the round is done or, where the run may continue inside a round, until it should
// continue as new. Looked is what it has found so far.
func (c *Comparison) compare(ctx workflow.Context, mayContinue bool, looked *activities.Drift) (done bool, err error) {
	for began := true; c.Side < len(comparedSides); began = false {
		if mayContinue && !began && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return false, nil
		}
		side := comparedSides[c.Side]
		c.Next.Generation, c.Next.MaxPages, c.Next.Repair = c.Generation, pagesPerCompare, c.Repair
		var page activities.CompareResult
		options := buildOptions(side.summary, infrastructureAttempts)
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), side.fn, c.Next).Get(ctx, &page); err != nil {
			return false, err
		}
		c.Found = c.Found.Add(page.Drift)
		*looked = c.Found
		c.Next.Cursor, c.Next.Points = page.Cursor, page.Points
		if page.Done {
			c.Side, c.Next = c.Side+1, activities.CompareRequest{}
		}
	}
	return true, nil
}

func showDrift(ctx workflow.Context, shown display, out DriftResult, more ...temporal.SearchAttributeUpdate) {
	l := out.Left
	shown.show(ctx, PhaseCompare, fmt.Sprintf("round %d: %d memories and %d points; %d missing, %d behind, %d ahead, %d dead; %d repaired",
		out.Rounds, l.Memories, l.Points, l.Missing, l.Behind, l.Ahead, l.Dead, out.Repaired), more...)
}

// DriftWorkflowID is the id of the run that somebody asks for, one at a time, and of the schedule. The
// schedule's runs have it with their time behind it, and go on beside one that was asked for: that costs a
// second look and does no harm, since a repair says what Postgres has, whoever says it.
func DriftWorkflowID(index string) string { return workflowID("drift", index) }

// StartDrift starts a check, or joins the one that is under way.
func StartDrift(ctx context.Context, c client.Client, taskQueue string, in DriftInput) (client.WorkflowRun, error) {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       DriftWorkflowID(in.Index),
		TaskQueue:                taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "compare the vector index " + in.Index + " with Postgres",
	}, DriftCheck, in)
	if err != nil {
		return nil, fmt.Errorf("start drift check: %w", err)
	}
	return run, nil
}
