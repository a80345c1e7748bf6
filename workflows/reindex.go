package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows/flow"
)

// Bounds of a rebuild and of a check.
const (
	// pagesPerFill is how many pages of five hundred memories one activity writes to a generation: few events, and a
	// retry continues after its last page.
	pagesPerFill = 20
	// compareRounds is how often two sides are compared before they count as different. The first round repairs, the
	// second finds the repairs, and the third finds what was written in between.
	compareRounds = 4
)

// Reindex builds a new generation of a vector index from Postgres alone, compares it until nothing differs, counts
// and samples it, makes it the searched generation, and drops the previous one. Until then recall uses the previous
// generation, and every write reaches both. With another model, memories are embedded again, so this is also the way to
// change an installation's embedding model.
//
// It may be interrupted at any point: a new run continues with what exists. A cancelled run drops the generation that
// it has built. If that generation is already searched, the next run drops the previous one.
func Reindex(ctx workflow.Context, in api.ReindexInput) (api.ReindexResult, error) {
	run := &reindex{Display: flow.Display{Lean: flow.Lean(ctx)}, in: in}
	if !run.Lean {
		if err := flow.InvalidRequest(flow.Validate(ctx, &in)); err != nil {
			return api.ReindexResult{}, err
		}
	} else if err := flow.Strict(ctx, &in); err != nil {
		return api.ReindexResult{}, err
	}
	if in.Sofar != nil {
		run.ReindexProgress = *in.Sofar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.ReindexProgress, error) {
		return run.ReindexProgress, nil
	}); err != nil {
		return api.ReindexResult{}, err
	}
	err := run.build(ctx)
	if temporal.IsCanceledError(err) && run.Generation.ID != "" {
		run.abandon(ctx)
	}
	if err != nil {
		if !workflow.IsContinueAsNewError(err) {
			run.show(ctx, run.Phase, mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
		}
		return api.ReindexResult{}, err
	}
	run.show(ctx, api.PhaseDone, mneme.AttrOutcome.ValueSet(api.OutcomeOK))
	return api.ReindexResult{ReindexProgress: run.ReindexProgress}, nil
}

// reindex is the state of one rebuild.
type reindex struct {
	flow.Display
	api.ReindexProgress
	in api.ReindexInput
}

func (run *reindex) build(ctx workflow.Context) error {
	if run.Generation.ID == "" {
		if err := run.begin(ctx); err != nil {
			return err
		}
	}
	if err := run.fill(ctx); err != nil {
		return err
	}
	generation := indexing.GenerationRequest{Generation: run.Generation.ID}
	if run.Replaces != nil && run.Replaces.Model == run.Generation.Model && !run.Rebuilt {
		run.show(ctx, api.PhaseRebuild)
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, rebuildOptions),
			indexer.RebuildIndexes, generation).Get(ctx, nil); err != nil {
			return err
		}
	}
	run.Rebuilt = true
	if err := run.verify(ctx); err != nil {
		return err
	}
	if err := run.switchOver(ctx, generation); err != nil {
		return err
	}
	run.show(ctx, api.PhaseDrop)
	grace := vector.DropGrace
	if run.in.GraceSeconds != 0 {
		grace = time.Duration(max(run.in.GraceSeconds, -1)) * time.Second
	}
	if run.Replaces != nil && grace > 0 {
		// searchers of the previous generation have switched by then
		if err := workflow.Sleep(ctx, grace); err != nil {
			return err
		}
	}
	var dropped indexing.DropResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.IndexOptions("drop generations that are not searched any more")),
		indexer.DropRetired).Get(ctx, &dropped)
	run.Dropped += dropped.Dropped
	return err
}

func (run *reindex) begin(ctx workflow.Context) error {
	run.show(ctx, api.PhaseBegin)
	var began indexing.BeginReindexResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.BuildOptions("begin a generation", flow.InfrastructureAttempts)), indexer.BeginReindex,
		indexing.BeginReindexRequest{Index: run.in.Index, Model: run.in.Model,
			GraceSeconds: run.in.GraceSeconds}).Get(ctx, &began)
	if err != nil {
		return err
	}
	run.Generation, run.Replaces, run.Resumed, run.Memories = began.Generation, began.Replaces,
		began.Resumed, began.Memories
	return nil
}

func (run *reindex) fill(ctx workflow.Context) error {
	run.show(ctx, api.PhaseFill)
	for !run.FilledAll {
		var page indexing.FillResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.IndexOptions("bring memories to the new generation")), indexer.FillGeneration,
			indexing.FillRequest{Generation: run.Generation.ID, Cursor: run.Cursor,
				MaxPages: pagesPerFill}).Get(ctx, &page)
		if err != nil {
			return err
		}
		run.Filled, run.Embedded, run.Refused = run.Filled+page.Memories, run.Embedded+page.Embedded, run.Refused+
			page.Refused
		run.Cursor, run.FilledAll = page.Cursor, page.Done
		run.show(ctx, api.PhaseFill)
		if !run.FilledAll && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return run.goOn(ctx)
		}
	}
	return nil
}

// goOn continues as new with the current state.
func (run *reindex) goOn(ctx workflow.Context) error {
	next := run.in
	next.Sofar = &run.ReindexProgress
	return flow.ContinueAsNew(ctx, Reindex, next)
}

// verify compares the new generation with Postgres until nothing differs, then counts and samples it.
func (run *reindex) verify(ctx workflow.Context) error {
	for {
		run.show(ctx, api.PhaseVerify)
		round := api.Comparison{Generation: run.Generation.ID, Repair: true}
		if run.Comparing != nil {
			round, run.Comparing = *run.Comparing, nil
		}
		done, err := compareRound(ctx, run.in.Index, &round, run.Lean, &run.Drift)
		if err != nil {
			return err
		}
		if !done {
			run.Comparing = &round
			return run.goOn(ctx)
		}
		drift := round.Found
		run.Rounds++
		run.Drift = drift
		if drift.Found() == 0 {
			break
		}
		if run.Rounds == compareRounds {
			return temporal.NewApplicationError(
				fmt.Sprintf("after %d comparisons %d differences are left: the generation is kept, and a new "+
					"run continues with it",
					run.Rounds, drift.Found()), api.ErrTypeUnverified)
		}
	}
	for from := (indexing.VerifyPage{Waits: true}); ; {
		run.show(ctx, api.PhaseVerify)
		var page indexing.VerifyPage
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.IndexOptions("count and sample the new generation")),
			indexer.VerifyGeneration,
			indexing.VerifyRequest{Generation: run.Generation.ID, From: &from}).Get(ctx, &page); err != nil {
			return err
		}
		run.Verified = page.VerifyResult
		if !page.Waits {
			return nil
		}
		from = page
	}
}

// switchOver makes the new generation the searched one, first in the index and then in Postgres. It ends before a
// cancellation is handled, which would otherwise drop the searched generation between the two. If it fails, the index
// is set back to the generation that is active in Postgres.
func (run *reindex) switchOver(ctx workflow.Context, generation indexing.GenerationRequest) error {
	run.show(ctx, api.PhaseSwitch)
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("search the new generation", flow.InfrastructureAttempts)),
		indexer.ActivateGeneration, generation).Get(ctx, nil)
	if err == nil {
		return nil
	}
	backErr := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.IndexOptions("search active index")),
		indexer.SearchActive).Get(ctx, nil)
	if backErr != nil {
		// the drift check fixes it
		workflow.GetLogger(ctx).Warn("the index may search another generation than the active one", "error", backErr)
	}
	return err
}

// abandon drops the generation that a cancelled run has built.
func (run *reindex) abandon(ctx workflow.Context) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.IndexOptions("drop the new generation")),
		indexer.AbandonGeneration,
		indexing.GenerationRequest{Generation: run.Generation.ID}).Get(ctx, nil)
	if err != nil {
		// the next rebuild does
		workflow.GetLogger(ctx).Warn("generation not dropped", "generation", run.Generation.ID, "error", err)
	}
}

// show tells the UI the state of the run.
func (run *reindex) show(ctx workflow.Context, phase string, more ...temporal.SearchAttributeUpdate) {
	run.Phase = phase
	run.Display.Show(ctx, phase,
		fmt.Sprintf("%s; %d of %d memories, %d embedded, %d refused; comparison %d found %d differences",
			run.Generation.Model, run.Filled, run.Memories, run.Embedded, run.Refused, run.Rounds, run.Drift.Found()),
		more...)
}

var rebuildOptions = flow.BuildOptions("build the indexes in Postgres again", flow.IndexAttempts)
