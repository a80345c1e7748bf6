package recorder

import (
	"errors"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Retries of a delivery. It is repeated for Options.RetryFor.
const (
	deliverWithin = 30 * time.Second
	retryFirst    = time.Second
	retryMost     = time.Minute
	maxRefusals   = 3 // consecutive refusals after which the rest of the run is not recorded
)

// deliver sends events to the ledger until the run ends. Events that arrive during a delivery are sent with the next
// one.
func (r *Recorder) deliver(ctx workflow.Context) {
	for {
		if err := workflow.Await(ctx, func() bool { return len(r.waiting) > 0 || r.ready() }); err != nil {
			return
		}
		r.settle()
		if len(r.waiting) == 0 {
			continue
		}
		r.sending = min(len(r.waiting), r.set.Batch)
		err := r.send(ctx, r.waiting[:r.sending])
		r.waiting = append([]ledger.Event(nil), r.waiting[r.sending:]...)
		if err == nil {
			r.refusals = 0
		} else {
			r.failed(r.sending, err)
		}
		r.sending = 0
	}
}

func (r *Recorder) failed(events int, err error) {
	r.miss(events)
	logger := workflow.GetLogger(r.ctx)
	logger.Error("events of the session are not recorded", "session", r.set.Session, "events", events,
		"lost", r.lost, "error", reasonOf(err))
	if r.refusals++; r.refusals >= maxRefusals {
		r.abandoned = true
		r.miss(len(r.waiting))
		r.waiting = nil
		logger.Error("the rest of this run is not recorded", "session", r.set.Session, "lost", r.lost)
	}
}

// reasonOf returns the reason of a failed delivery, without content.
func reasonOf(err error) string {
	if app := new(temporal.ApplicationError); errors.As(err, &app) {
		return app.Type()
	}
	if timeout := new(temporal.TimeoutError); errors.As(err, &timeout) {
		return "timeout"
	}
	return "failure"
}

// send appends events. It returns after they are in the ledger, or after the last retry.
func (r *Recorder) send(ctx workflow.Context, events []ledger.Event) error {
	req := api.AppendRequest{SessionRef: r.set.ref(), Settings: r.set.Settings, Events: events}
	if r.set.Endpoint != "" {
		return r.operation(ctx, api.OperationAppend, req)
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              r.set.TaskQueue,
		StartToCloseTimeout:    deliverWithin,
		ScheduleToCloseTimeout: r.set.RetryFor,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: retryFirst, BackoffCoefficient: 2,
			MaximumInterval: retryMost},
		Summary: "recorder",
	})
	return workflow.ExecuteActivity(ctx, api.ActivityAppendEvents, req).Get(ctx, nil)
}

func (r *Recorder) operation(ctx workflow.Context, name string, req any) error {
	service := workflow.NewNexusClient(r.set.Endpoint, api.NexusService)
	options := workflow.NexusOperationOptions{ScheduleToCloseTimeout: r.set.RetryFor, Summary: "recorder"}
	err := service.ExecuteOperation(ctx, name, req, options).Get(ctx, nil)
	if refused := new(nexus.HandlerError); errors.As(err, &refused) {
		return temporal.NewNonRetryableApplicationError("refused", string(refused.Type), nil)
	}
	return err
}

// Flush waits until the recorded events are in the ledger, at most for Options.CloseWithin, and reports whether they
// are. It also waits if the run is cancelled. Call it before the run continues as new.
func (r *Recorder) Flush(ctx workflow.Context) bool {
	if r == nil {
		return true
	}
	r.settle()
	delivered := func() bool { return len(r.waiting) == 0 }
	if !delivered() {
		whole, _ := workflow.NewDisconnectedContext(ctx)
		if ok, _ := workflow.AwaitWithTimeout(whole, r.set.CloseWithin, delivered); !ok {
			workflow.GetLogger(r.ctx).Error("events of the session were not delivered in time", "session",
				r.set.Session,
				"events", len(r.waiting))
			return false
		}
	}
	return r.lost == 0
}

// Close records the outcome (run.ended), and waits like Flush. The event closes the session, which then becomes an
// episode. Nothing is recorded after it.
func (r *Recorder) Close(ctx workflow.Context, outcome schema.Outcome, summary string) bool {
	if r == nil || r.closed {
		return r == nil || r.lost == 0
	}
	r.compose(ledger.KindOutcome, ledger.Outcome{Outcome: outcome, Summary: textOf(summary, r.set.MaxBytes)})
	r.closed = true
	return r.Flush(ctx)
}
