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
	Index    string       `json:"index"`               // names the run; the worker's index when empty
	LookOnly bool         `json:"look_only,omitempty"` // repair nothing
	Actor    string       `json:"actor,omitempty"`
	Sofar    *DriftResult `json:"so_far,omitempty" decode:"state"` // set by continue-as-new

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
	if err := invalidRequest(validate(ctx, &in)); err != nil {
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
	showDrift(ctx, out)
	for out.Rounds < rounds {
		out.Looked = activities.Drift{}
		drift, err := compareOnce(ctx, "", !in.LookOnly, &out.Looked)
		if err != nil {
			return out, err
		}
		if out.Rounds == 0 {
			out.Found = drift
		}
		out.Rounds, out.Left, out.Repaired = out.Rounds+1, drift, out.Repaired+drift.Repaired
		showDrift(ctx, out)
		if drift.Found() == 0 {
			break
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && out.Rounds < rounds {
			in.Sofar = &out
			return out, workflow.NewContinueAsNewError(ctx, DriftCheck, in)
		}
	}
	outcome := OutcomeOK
	if out.Left.Found() > 0 {
		outcome = OutcomeDrift
	}
	showDrift(ctx, out, AttrOutcome.ValueSet(outcome))
	return out, nil
}

// pagesPerCompare is how many pages one activity compares.
const pagesPerCompare = 50

// compareOnce compares one generation from both sides; without an id, the one that is searched. Looked is what it
// has found so far.
func compareOnce(ctx workflow.Context, generation string, repair bool, looked *activities.Drift) (activities.Drift, error) {
	var drift activities.Drift
	for _, side := range []struct {
		summary string
		fn      any
	}{{"look for memories in the index", indexing.CompareMemories}, {"look for points in Postgres", indexing.ComparePoints}} {
		request := activities.CompareRequest{Generation: generation, MaxPages: pagesPerCompare, Repair: repair}
		for {
			var page activities.CompareResult
			if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, indexOptions(side.summary)), side.fn, request).Get(ctx, &page); err != nil {
				return drift, err
			}
			drift = drift.Add(page.Drift)
			*looked = drift
			if page.Done {
				break
			}
			request.Cursor, request.Points = page.Cursor, page.Points
		}
	}
	return drift, nil
}

func showDrift(ctx workflow.Context, out DriftResult, more ...temporal.SearchAttributeUpdate) {
	l := out.Left
	showOperation(ctx, PhaseCompare, fmt.Sprintf("round %d: %d memories and %d points; %d missing, %d behind, %d ahead, %d dead; %d repaired",
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
