package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/flow"
)

var forgetting *activities.Forgetting

// forgetBatchesPerRun is the number of batches after which a run continues as new.
const forgetBatchesPerRun = 400

// Forget selects memories by a request, waits until it is confirmed, and forgets them in batches (document 002
// "Forget"). Nothing is changed before the confirmation, which comes by the update or the signal of that name with
// the token that Store.ForgetToken makes. Results and queries do not contain the token; the history contains it only
// once it has been used. Without a confirmation, the run ends as expired. If it is cancelled, it stops between two
// batches: memories that are forgotten by then stay forgotten, and the receipt counts the rest.
//
// With IfVersion, a memory at another version fails the run with ErrTypeVersion, and nothing is changed.
//
// The history contains the request, which may have a query, and no other content.
func Forget(ctx workflow.Context, req schema.ForgetRequest) (schema.ForgetReceipt, error) {
	run := &forgetRun{Display: flow.Display{Lean: flow.Lean(ctx)}, tenant: req.Principal.Tenant,
		batchSize: req.BatchSize,
		ifVersion: req.IfVersion}
	if err := run.setup(ctx); err != nil {
		return schema.ForgetReceipt{}, err
	}
	if req.OperationID != "" {
		//workflowcheck:ignore: encoding a struct gives the same bytes every time
		digest, read := api.OperationDigest(&req), operationReader(&req)
		if err := flow.AnswerWhose(ctx, digest, read); err != nil {
			return schema.ForgetReceipt{}, err
		}
	}
	if !run.Lean {
		if run.selectErr = flow.InvalidRequest(req.Validate()); run.selectErr != nil {
			run.selected = true // an update that came with the start returns it, too
			flow.DrainHandlers(ctx)
			return schema.ForgetReceipt{}, run.selectErr
		}
	}
	run.Begin(ctx, api.PhaseSelect, "selecting memories to forget", req.Principal)
	run.selectErr = run.selects(ctx, req)
	run.selected = true
	if run.selectErr != nil {
		return run.finish(ctx, run.selectErr)
	}
	if run.preview.State == schema.ForgetPreviewed {
		if ended, err := run.wait(ctx); ended || err != nil {
			return run.finish(ctx, err)
		}
	}
	return run.forget(ctx)
}

// ContinueForget is the rest of a long Forget, or of one whose workflow has ended before it was done, under the same
// workflow id and without its request.
func ContinueForget(ctx workflow.Context, in api.ForgetRest) (schema.ForgetReceipt, error) {
	run := &forgetRun{Display: flow.Display{Lean: flow.Lean(ctx)}, tenant: in.Tenant, preview: in.Preview,
		receipt: in.Receipt, selected: true, batchSize: in.BatchSize}
	if err := run.setup(ctx); err != nil {
		return schema.ForgetReceipt{}, err
	}
	return run.forget(ctx)
}

// forgetRun is the state of one run.
type forgetRun struct {
	flow.Display
	tenant    string
	batchSize int
	preview   schema.ForgetPreview
	receipt   schema.ForgetReceipt // so far
	selected  bool                 // or failed to
	selectErr error
	confirmed bool
	ifVersion int // of the one memory that is named; 0: any
}

func (run *forgetRun) ref() activities.ForgetRef {
	return activities.ForgetRef{Tenant: run.tenant, RunID: run.preview.RunID}
}

func (run *forgetRun) setup(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, api.QueryPreview, func() (schema.ForgetPreview, error) {
		return run.preview, nil
	}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (schema.ForgetReceipt, error) {
		return run.receipt, nil
	}); err != nil {
		return err
	}
	err := workflow.SetUpdateHandler(ctx, api.UpdateSelected, func(ctx workflow.Context) (schema.ForgetPreview, error) {
		if err := workflow.Await(ctx, func() bool { return run.selected }); err != nil {
			return schema.ForgetPreview{}, err
		}
		return run.preview, run.selectErr
	})
	if err != nil {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for signals := workflow.GetSignalChannel(ctx, api.SignalConfirm); ; {
			var in schema.ForgetConfirmation
			if !signals.Receive(ctx, &in) {
				return
			}
			in.DropUnread() // no one waits for the answer to a signal
			if !run.Lean && in.Validate() != nil {
				continue // the update's validator refuses the same; the activity refuses the rest
			}
			if _, err := run.confirm(ctx, in); err != nil {
				workflow.GetLogger(ctx).Warn("confirmation refused", "error", err) // the error never contains the token
			}
		}
	})
	return workflow.SetUpdateHandlerWithOptions(ctx, api.UpdateConfirm, run.confirm, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, in schema.ForgetConfirmation) error {
			return flow.InvalidRequest(in.Validate())
		},
	})
}

// confirm checks the token. It also answers for a run that is already confirmed. It ends before a cancellation is
// handled, so that the caller learns what Postgres has recorded.
func (run *forgetRun) confirm(ctx workflow.Context, in schema.ForgetConfirmation) (schema.ForgetApproval, error) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if err := workflow.Await(ctx, func() bool { return run.selected }); err != nil {
		return schema.ForgetApproval{}, err
	}
	if run.selectErr != nil {
		return schema.ForgetApproval{}, run.selectErr
	}
	var out schema.ForgetApproval
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("check the confirmation", flow.InfrastructureAttempts)), forgetting.ConfirmForget,
		activities.ConfirmForgetRequest{Run: run.ref(), Confirmation: in}).Get(ctx, &out)
	run.confirmed = run.confirmed || err == nil
	return out, err
}

// selects stages the request and selects its memories.
func (run *forgetRun) selects(ctx workflow.Context, req schema.ForgetRequest) error {
	ref, err := accept(ctx, operation{kind: api.KindForget, common: req.Operation, request: &req}, run.Lean)
	if err == nil {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SelectOptions()), forgetting.SelectForget,
			ref).Get(ctx, &run.preview)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // a cancellation takes precedence over the error of the attempt
		}
	}
	if err != nil {
		if ref.ID != "" {
			drop(ctx, ref)
		}
		return err
	}
	run.receipt = schema.ForgetReceipt{State: run.preview.State, RunID: run.preview.RunID,
		Mode: run.preview.Mode, Total: run.preview.Total, Remaining: run.preview.Total,
		Everywhere: run.preview.Everywhere}
	return nil
}

// wait waits for the confirmation. If the token expires or the run is cancelled first, the run has ended. The state in
// the database decides: a confirmation that was recorded in time counts.
func (run *forgetRun) wait(ctx workflow.Context) (ended bool, err error) {
	run.Display.Wait(ctx, api.PhaseConfirm,
		fmt.Sprintf("%d memories selected to be forgotten (%s); waits for its confirmation until %s",
			run.preview.Total, run.preview.Mode, run.preview.ExpiresAt.UTC().Format("2006-01-02 15:04:05 MST")))
	confirmed, err := workflow.AwaitWithTimeout(ctx, run.preview.ExpiresAt.Sub(workflow.Now(ctx)), func() bool {
		return run.confirmed
	})
	if confirmed && err == nil {
		run.goAhead(ctx)
		return false, nil
	}
	state := schema.ForgetExpired
	if err != nil {
		if !temporal.IsCanceledError(err) {
			return true, err
		}
		state = schema.ForgetCancelled
		var stop workflow.CancelFunc
		ctx, stop = workflow.NewDisconnectedContext(ctx)
		defer stop()
	}
	if err := run.close(ctx, state, nil); err != nil {
		return true, err
	}
	ended = run.receipt.State != schema.ForgetConfirmed
	if !ended {
		run.goAhead(ctx)
	}
	return ended, nil
}

// goAhead shows that the run does not wait for a person any more.
func (run *forgetRun) goAhead(ctx workflow.Context) {
	if run.Lean {
		run.Display.Wait(ctx, api.PhaseForget, run.described())
	}
}

// forget runs the batches of a confirmed run, and then removes the memories outside of Postgres.
func (run *forgetRun) forget(ctx workflow.Context) (schema.ForgetReceipt, error) {
	if err := run.batches(ctx); err != nil {
		if !temporal.IsCanceledError(err) {
			return run.finish(ctx, err)
		}
		// Closing waits for a batch that is still running, so that the receipt is final. Whatever was forgotten must
		// also be removed everywhere else.
		var stop workflow.CancelFunc
		ctx, stop = workflow.NewDisconnectedContext(ctx)
		defer stop()
		if err := run.close(ctx, schema.ForgetCancelled, nil); err != nil {
			return run.finish(ctx, err)
		}
	}
	pending := run.elsewhere(ctx)
	if err := run.close(ctx, schema.ForgetDone, pending); err != nil {
		return run.finish(ctx, err)
	}
	return run.finish(ctx, run.conflict())
}

// conflict is the failure of a run whose one memory was changed after it was selected. A caller that names a version
// wants that version forgotten, or nothing.
func (run *forgetRun) conflict() error {
	if run.ifVersion == 0 || run.receipt.Skipped[lifecycle.OutcomeVersionConflict] == 0 ||
		len(run.preview.Sample) == 0 {
		return nil
	}
	conflict := &schema.VersionConflict{ID: run.preview.Sample[0], IfVersion: run.ifVersion}
	return temporal.NewNonRetryableApplicationError(conflict.Error(), api.ErrTypeVersion, nil, conflict)
}

func (run *forgetRun) batches(ctx workflow.Context) error {
	for n := 0; ; n++ {
		run.show(ctx)
		if n == forgetBatchesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			flow.DrainHandlers(ctx)
			return flow.ContinueAsNew(ctx, ContinueForget, api.ForgetRest{Tenant: run.tenant, Preview: run.preview,
				Receipt: run.receipt, BatchSize: run.batchSize})
		}
		var receipt schema.ForgetReceipt
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.EmbedOptions("forget a batch", flow.InfrastructureAttempts)), forgetting.ForgetBatch,
			activities.ForgetBatchRequest{ForgetRef: run.ref(), BatchSize: run.batchSize}).Get(ctx, &receipt)
		if err != nil {
			return err
		}
		run.receipt = receipt
		if receipt.Remaining == 0 || receipt.State != schema.ForgetConfirmed {
			run.show(ctx)
			return nil
		}
	}
}

// elsewhere removes forgotten memories from the vector index and, for an erase, deletes the workflow runs that
// carried the texts. It returns the places that could not be reached.
func (run *forgetRun) elsewhere(ctx workflow.Context) (pending []string) {
	if run.receipt.Forgotten == 0 && !run.erasesAgain(ctx) {
		return nil
	}
	ref := run.ref()
	run.Display.Show(ctx, api.PhaseIndex,
		fmt.Sprintf("%d forgotten; removing them from the index", run.receipt.Forgotten))
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.EmbedOptions("delete from the index", flow.IndexAttempts)), forgetting.ForgetVectors, ref).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("index put off", "error", err) // SyncIndex writes it later
		pending = append(pending, "index")
	}
	if run.preview.Mode != schema.ForgetErase {
		return pending
	}
	for from := 0; ; {
		var out activities.ForgetRunsResult
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			flow.EmbedOptions("delete the runs that carried it", flow.InfrastructureAttempts)),
			forgetting.ForgetRuns, activities.ForgetRunsRequest{Run: ref, From: from,
				CancelAfter:    flow.ForgetCancelAfter,
				TerminateAfter: flow.ForgetTerminateAfter}).Get(ctx, &out)
		if err != nil {
			workflow.GetLogger(ctx).Warn("runs not deleted", "error", err)
			return append(pending, "temporal_runs")
		}
		if from = out.Next; from == 0 {
			return pending
		}
	}
}

// changeEraseAgain is the version marker of erasesAgain. Older runs removed nothing if all memories were erased before.
const changeEraseAgain = "erase-again"

// erasesAgain reports whether an earlier run has emptied memories of this erasure. That run may have been terminated
// before it removed what is outside of Postgres.
func (run *forgetRun) erasesAgain(ctx workflow.Context) bool {
	return run.preview.Mode == schema.ForgetErase && run.receipt.Skipped[lifecycle.OutcomeErased] > 0 &&
		workflow.GetVersion(ctx, changeEraseAgain, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

func (run *forgetRun) close(ctx workflow.Context, state schema.ForgetState, pending []string) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.StoreOptions("close the run", flow.InfrastructureAttempts)), forgetting.CloseForget,
		activities.CloseForgetRequest{Run: run.ref(), State: state, Pending: pending}).Get(ctx, &run.receipt)
}

// finish sets the outcome and lets waiting updates return before the run ends.
func (run *forgetRun) finish(ctx workflow.Context, err error) (schema.ForgetReceipt, error) {
	var next *workflow.ContinueAsNewError
	if errors.As(err, &next) {
		return run.receipt, err
	}
	outcome := api.OutcomeFailed
	if err == nil {
		outcome = run.receipt.Summary()
	}
	run.Display.Show(ctx, api.PhaseDone, run.described(), mneme.AttrOutcome.ValueSet(outcome))
	flow.DrainHandlers(ctx)
	if err != nil {
		return schema.ForgetReceipt{}, err
	}
	return run.receipt, nil
}

func (run *forgetRun) show(ctx workflow.Context) {
	run.Display.Show(ctx, api.PhaseForget, run.described())
}

func (run *forgetRun) described() string {
	r := run.receipt
	skipped := r.Processed() - r.Forgotten //workflowcheck:ignore: a sum over a map is the same in any order
	return fmt.Sprintf("%s: %d of %d forgotten (%s), %d not changed, %d to go", r.State, r.Forgotten,
		r.Total, r.Mode, skipped, r.Remaining)
}
