package workflows

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

// References to activities by method, so that a renamed activity does not compile.
var (
	staging    *activities.Staging
	extraction *activities.Extraction
	decision   *activities.Decision
	writing    *activities.Writing
	linking    *activities.Linking
	indexer    *indexing.Indexing
	jobs       *activities.Jobs
)

// Ingest takes candidates through stage, extract, decide, write, link and index. The request is its
// only input that carries content; the update UpdateStaged returns the acknowledgement as soon as
// the candidates are durable. An invalid request fails the run with ErrTypeInvalidRequest before
// anything is written.
func Ingest(ctx workflow.Context, req schema.IngestRequest) (api.IngestResult, error) {
	run := &ingest{Display: flow.Display{Lean: flow.Lean(ctx)}, principal: req.Principal,
		progress: api.Progress{Phase: api.PhaseStage, Total: len(req.Candidates)}}
	if req.IdempotencyKey != "" {
		run.digest = api.ContentDigest(req)
	}
	if err := run.setup(ctx); err != nil {
		return api.IngestResult{}, err
	}
	err := run.stage(ctx, req)
	// The texts are in Postgres now. The activity has a separate list: an attempt that timed out may still read it.
	clear(req.Candidates)
	if err == nil {
		if batch, parseErr := uuid.Parse(run.result.BatchID); parseErr != nil {
			err = flow.InvalidRequest(fmt.Errorf("batch_id: %w", parseErr))
		} else {
			err = run.pipeline(ctx, ranges(run.principal.Tenant, batch, 0, run.progress.Total))
		}
		run.startReview(ctx)
	}
	return run.finish(ctx, err)
}

// ResumeIngest replays a dead job from the phase in which it failed, and keeps the results of earlier phases.
func ResumeIngest(ctx workflow.Context, in api.ResumeInput) (api.IngestResult, error) {
	run := &ingest{Display: flow.Display{Lean: flow.Lean(ctx)}, principal: schema.Principal{Tenant: in.Tenant},
		progress: api.Progress{Phase: api.PhaseStage, Total: 1}}
	if err := run.setup(ctx); err != nil {
		return api.IngestResult{}, err
	}
	if !run.Lean {
		if err := flow.InvalidRequest(flow.Validate(ctx, &in)); err != nil {
			return api.IngestResult{}, err
		}
		run.show(ctx, api.PhaseStage, mneme.AttrTenant.ValueSet(in.Tenant))
	} else {
		if err := flow.Strict(ctx, &in); err != nil {
			return api.IngestResult{}, err
		}
		run.Display.Begin(ctx, api.PhaseStage, run.details(), run.principal)
	}
	var r schema.Range
	err := settled(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.StoreOptions("put the dead job back", flow.InfrastructureAttempts)),
			jobs.ReviveJob, activities.ReviveRequest{Tenant: in.Tenant, JobID: in.JobID, Actor: in.Actor,
				Operation: workflow.GetInfo(ctx).FirstRunID}).Get(ctx, &r)
	})
	run.staged, run.stageErr = true, err
	if err == nil {
		run.result.BatchID = r.BatchID.String()
		run.progress.Staged = 1
		err = run.pipeline(ctx, []schema.Range{r})
		run.startReview(ctx)
	}
	return run.finish(ctx, err)
}

// ingest is the state of one run.
type ingest struct {
	flow.Display
	principal schema.Principal // for a replayed job only the tenant
	progress  api.Progress
	result    api.IngestResult
	digest    string // of the contents, if the request has an idempotency key
	staged    bool   // or failed to
	stageErr  error
}

func (run *ingest) setup(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.Progress, error) {
		return run.progress, nil
	}); err != nil {
		return err
	}
	if err := flow.AnswerWhose(ctx, run.digest, flow.Reading(api.ContentDigest)); err != nil {
		return err
	}
	staged := func(ctx workflow.Context, _ string) (schema.IngestAck, error) {
		if err := workflow.Await(ctx, func() bool { return run.staged }); err != nil {
			return schema.IngestAck{}, err
		}
		return run.result.IngestAck, run.stageErr
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, api.UpdateStaged, staged, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, digest string) error {
			if digest != "" && run.digest != "" && digest != run.digest {
				return flow.InvalidRequest(schema.OtherRequest("idempotency_key"))
			}
			return nil
		},
	})
}

// stage makes the candidates durable.
func (run *ingest) stage(ctx workflow.Context, req schema.IngestRequest) error {
	defer func() { run.staged = true }()
	in := activities.StageRequest{OperationID: operationID(ctx, req),
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID, Compact: run.Lean}
	if req.IdempotencyKey != "" {
		in.OtherIDs = api.EarlierOperationKeys(in.OperationID, api.KindIngest, req.Principal, req.IdempotencyKey)
	}
	if run.Lean {
		in.Misread, in.Unknown = req.Misread(), req.Unknown()
		if len(in.Unknown) > 0 {
			workflow.GetLogger(ctx).Warn("fields of the request left out", "fields", in.Unknown)
		}
	} else if run.stageErr = flow.InvalidRequest(flow.Validate(ctx, &req)); run.stageErr != nil {
		return run.stageErr
	}
	in.Request = req
	in.Request.Candidates = slices.Clone(req.Candidates)
	run.Begin(ctx, api.PhaseStage, run.details(), req.Principal)
	var staged activities.StageResult
	run.stageErr = settled(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, flow.StageOptions),
			staging.StageCandidates, in).Get(ctx, &staged)
	})
	if run.stageErr == nil {
		run.stageErr = flow.InvalidRequest(staged.Err())
	}
	if run.stageErr == nil {
		run.result.IngestAck = staged.Ack()
		run.progress.Staged = len(run.result.MemoryIDs)
	}
	return run.stageErr
}

// changeSettled marks the cancelled runs that learn what they have opened; older runs left open jobs.
const changeSettled = "settled"

// settled makes a call that opens jobs. A call that was cancelled may have opened them, or may do so yet. It is
// therefore made once more, out of reach of the cancellation: it is the same operation and returns its first result.
// The run can then mark the jobs as dead.
func settled(ctx workflow.Context, call func(workflow.Context) error) error {
	err := call(ctx)
	if !temporal.IsCanceledError(err) ||
		workflow.GetVersion(ctx, changeSettled, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return err
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return call(ctx)
}

// operationID is the key of the staging. With an idempotency key it outlives the namespace's retention; with a
// content key every new run is a separate operation, because forgotten content may be learned again. The first run id
// stays the same over retries, resets and continue-as-new.
func operationID(ctx workflow.Context, req schema.IngestRequest) string {
	info := workflow.GetInfo(ctx)
	if req.IdempotencyKey != "" {
		return info.WorkflowExecution.ID
	}
	return info.WorkflowExecution.ID + "#" + info.FirstRunID
}

// ranges splits [from, to) into ranges that one activity takes.
func ranges(tenant string, batch uuid.UUID, from, to int) []schema.Range {
	var out []schema.Range
	for ; from < to; from += flow.PhaseRange {
		out = append(out, schema.Range{Tenant: tenant, BatchID: batch, From: from, To: min(to, from+flow.PhaseRange)})
	}
	return out
}

// pipeline takes each range through all phases. A range whose phase fails permanently becomes dead jobs, and the others
// continue.
func (run *ingest) pipeline(ctx workflow.Context, all []schema.Range) error {
	if len(run.result.Deduped)+len(run.result.Recalled) == run.progress.Total {
		return nil // it has no new facts
	}
	for i, r := range all {
		phase, err := run.process(ctx, r)
		if temporal.IsCanceledError(err) {
			return run.abandon(ctx, all[i:], phase, err)
		}
		if err != nil {
			if err := run.markDead(ctx, r, phase, err); err != nil {
				return err
			}
		}
		run.progress.Processed += r.To - r.From
		run.progress.Dead = run.result.Dead
	}
	return nil
}

// process runs the phases over one range and returns the phase that failed, or the last one. It repeats them for the
// statements of the range that repeat one which a later statement of the batch has changed.
func (run *ingest) process(ctx workflow.Context, r schema.Range) (phase string, err error) {
	before := run.result // each pass reports the range's totals, except of what it wrote
	for pass := r.From; ; pass++ {
		var again int
		phase, again, err = run.pass(ctx, r)
		if err != nil || again == 0 || pass == r.To {
			return phase, err
		}
		run.result.Extracted, run.result.Decided = before.Extracted, before.Decided
		run.result.Dead, run.result.ToReview = before.Dead, before.ToReview
	}
}

// pass runs the phases once over the candidates of a range that are staged. It returns the number of candidates that
// were staged again.
func (run *ingest) pass(ctx workflow.Context, r schema.Range) (phase string, again int, err error) {
	run.show(ctx, api.PhaseExtract)
	extracted := schema.ExtractCounts{More: true}
	for extracted.More { // it reports the range's totals each time
		extracted = schema.ExtractCounts{}
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.ModelOptions("extract facts: "+label(r))),
			extraction.ExtractFacts, r).Get(ctx, &extracted)
		if err != nil {
			return api.PhaseExtract, 0, err
		}
	}
	run.result.Extracted = run.result.Extracted.Add(extracted)
	run.result.Dead += extracted.Dead

	if phase, err := run.decideAndWrite(ctx, r); err != nil {
		return phase, 0, err
	}
	if err := run.link(ctx, r); err != nil {
		return api.PhaseLink, 0, err
	}
	if err := run.index(ctx, r); err != nil {
		return api.PhaseIndex, 0, err
	}
	var completed activities.CompleteResult
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("complete jobs: "+label(r), flow.InfrastructureAttempts)),
		jobs.CompleteJobs, activities.CloseRequest{Range: r, Phase: api.PhaseDone}).Get(ctx, &completed)
	run.result.ToReview += completed.ToReview
	return api.PhaseDone, completed.Again, err
}

// decideAndWrite decides on the facts of a range and writes the proposals, in rounds until none is stale, or until
// several rounds have changed no memory. It returns the phase that failed, if any.
func (run *ingest) decideAndWrite(ctx workflow.Context, r schema.Range) (phase string, _ error) {
	decidedBefore, deadBefore := run.result.Decided, run.result.Dead // each round reports the range's totals
	// the number of candidates in the last search; the next search begins with the same number
	group := 0
	for round, idle := 1, 0; idle < flow.MaxDecideRounds; round++ { // idle rounds change no memory
		run.show(ctx, api.PhaseDecide)
		decided := activities.DecideResult{DecideCounts: schema.DecideCounts{More: true}}
		for decided.More { // it reports the range's totals each time
			decided = activities.DecideResult{}
			err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
				flow.ModelOptions(fmt.Sprintf("decide, round %d: %s", round, label(r)))),
				decision.DecideFacts, activities.DecideRequest{Range: r, Group: group}).Get(ctx, &decided)
			if err != nil {
				return api.PhaseDecide, err
			}
			group = decided.Group
		}
		run.result.Decided = decidedBefore.Add(decided.DecideCounts)
		run.result.Dead = deadBefore + decided.Dead

		run.show(ctx, api.PhaseWrite)
		var written schema.WriteCounts
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.EmbedOptions("write proposals: "+label(r), flow.InfrastructureAttempts)),
			writing.WriteProposals, activities.WriteRequest{Range: r,
				MaxRounds: flow.MaxDecideRounds, Last: idle == flow.MaxDecideRounds-1,
				Before: decided.Written}).Get(ctx, &written)
		if err != nil {
			return api.PhaseWrite, err
		}
		if again := written.Decided; again != nil { // totals of the range, too
			run.result.Decided, run.result.Dead = decidedBefore.Add(*again), deadBefore+again.Dead
			written.Decided = nil
		}
		run.result.Written = run.result.Written.Add(written)
		run.progress.Written = run.result.Written
		if written.Stale == 0 {
			return "", nil
		}
		if idle++; written.Changes() > 0 {
			idle = 0
		}
	}
	return "", nil
}

// changeReview marks the runs that start a review; older runs started none.
const changeReview = "start-review"

// startReview starts the run in which people decide on proposals that this run may not apply, and does not wait for
// it, because it may take days. If the batch has an open review already, as when a dead job is replayed, that one is
// used; if its review has ended, a new one starts. An ingest never fails because no review could be started:
// decisions start one as well.
func (run *ingest) startReview(ctx workflow.Context) {
	if run.result.ToReview == 0 ||
		!run.Lean && workflow.GetVersion(ctx, changeReview, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	// Proposals of a cancelled run need a review too. The context is disconnected, because cancelling it would cancel
	// the review.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	tenant := run.principal.Tenant
	id := api.ReviewWorkflowID(tenant, run.result.BatchID)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id,
		// a second concurrent one is refused: the first continues
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:         "review of batch " + run.result.BatchID,
		TypedSearchAttributes: run.attributes(),
	}), Review, api.ReviewInput{Tenant: tenant, BatchID: run.result.BatchID})
	err := child.GetChildWorkflowExecution().Get(ctx, nil)
	var there *temporal.ChildWorkflowExecutionAlreadyStartedError
	if err != nil && !errors.As(err, &there) {
		workflow.GetLogger(ctx).Warn("review not started", "error", err)
		return
	}
	run.result.ReviewID = id
}

// link writes the graph. Its failure is recorded and reverts nothing.
func (run *ingest) link(ctx workflow.Context, r schema.Range) error {
	run.show(ctx, api.PhaseLink)
	var linked schema.LinkCounts
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.LinkOptions("link entities: "+label(r))),
		linking.LinkEntities, r).Get(ctx, &linked)
	run.result.Linked = run.result.Linked.Add(linked)
	return run.tolerate(ctx, r, api.PhaseLink, err)
}

// index updates the index with the written memories. Its failure is only recorded: the outbox keeps the change, and
// SyncIndex writes it later.
func (run *ingest) index(ctx workflow.Context, r schema.Range) error {
	run.show(ctx, api.PhaseIndex)
	var indexed api.IndexResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.EmbedOptions("index: "+label(r),
		flow.IndexAttempts)),
		indexer.IndexBatch, r).Get(ctx, &indexed)
	run.result.Indexed = run.result.Indexed.Add(indexed)
	return run.tolerate(ctx, r, api.PhaseIndex, err)
}

// tolerate records the failure of an optional phase. A cancellation is not such a failure.
func (run *ingest) tolerate(ctx workflow.Context, r schema.Range, phase string, err error) error {
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	run.result.Deferred = append(run.result.Deferred, phase)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("note that "+phase+" failed", flow.InfrastructureAttempts)),
		jobs.NoteFailure, activities.CloseRequest{Range: r, Phase: phase, Reason: rootCause(err)}).Get(ctx, nil)
}

// abandon marks the unfinished jobs of a cancelled run as dead, because a job without a run would stay open.
func (run *ingest) abandon(ctx workflow.Context, left []schema.Range, phase string, cause error) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	for _, r := range left {
		if err := run.markDead(ctx, r, phase, cause); err != nil {
			return err
		}
	}
	return cause
}

// markDead marks the open jobs of a range as dead, so that operators find them and can replay them.
func (run *ingest) markDead(ctx workflow.Context, r schema.Range, phase string, cause error) error {
	var marked activities.MarkDeadResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("mark jobs dead: "+label(r), flow.InfrastructureAttempts)),
		jobs.BuryJobs, activities.CloseRequest{Range: r, Phase: phase, Reason: rootCause(cause)}).Get(ctx, &marked)
	run.result.Dead += marked.Dead
	if err != nil {
		return fmt.Errorf("%s failed: %w; and its jobs could not be closed: %w", phase, cause, err)
	}
	return nil
}

// finish sets the outcome and lets waiting updates return before the run ends.
func (run *ingest) finish(ctx workflow.Context, err error) (api.IngestResult, error) {
	outcome := api.OutcomeOK
	switch {
	case err != nil:
		outcome = api.OutcomeFailed
	case run.result.Dead > 0:
		outcome = api.OutcomeDead
	}
	run.show(ctx, api.PhaseDone, mneme.AttrOutcome.ValueSet(outcome))
	flow.DrainHandlers(ctx)
	if err != nil {
		return api.IngestResult{}, err
	}
	return run.result, nil
}

// attributes are the search attributes of the review that this run starts.
func (run *ingest) attributes() temporal.SearchAttributes {
	switch {
	case !run.Lean:
		return temporal.SearchAttributes{} // older runs started reviews without attributes
	case run.principal.Agent == "":
		return mneme.OfTenant(run.principal.Tenant)
	}
	return mneme.OfPrincipal(run.principal)
}

// show makes the phase visible: to queries, in the UI's current details, and to search.
func (run *ingest) show(ctx workflow.Context, phase string, more ...temporal.SearchAttributeUpdate) {
	run.progress.Phase = phase
	run.Display.Show(ctx, phase, run.details(), more...)
}

func (run *ingest) details() string {
	w := run.result.Written
	return fmt.Sprintf(
		"%d of %d candidates staged, %d through; %d facts found; %d added, %d updated, %d skipped, %d blocked; %d dead",
		run.progress.Staged, run.progress.Total, run.progress.Processed, run.result.Extracted.Facts,
		w.Added, w.Updated, w.Skipped, w.Blocked, run.result.Dead)
}

// label names a range in the UI.
func label(r schema.Range) string { return fmt.Sprintf("candidates %d to %d", r.From+1, r.To) }

// rootCause is the innermost message of an activity's failure. Activities keep content out of it.
func rootCause(err error) string {
	if temporal.IsCanceledError(err) {
		return "the run was cancelled"
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return "timed out: " + timeout.TimeoutType().String()
	}
	return err.Error()
}
