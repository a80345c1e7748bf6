package agents

import (
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/sessions"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows/flow"
)

var sessioning *sessions.Sessions

// SessionEventsPerRun is the number of events after which a run continues as new, unless Temporal suggests it earlier.
// It is a variable only for tests.
var SessionEventsPerRun = 10_000

// maxBatchBytes bounds the payloads of the events in one append.
const maxBatchBytes = 4 << 20

// Session takes the events of an agent's work into the ledger, keeps the state of the work for queries, and closes
// into one episodic record. It closes when the agent ends it (run.ended), on request, or after the idle time. An event
// that arrives after the end belongs to the next episode, for which the run continues. The run of an idle session
// completes, and the next event starts a new one.
//
// The ledger stores the events. A run holds only numbers, the state of the work, and the events that wait to be
// appended. Events arrive by update, which returns their numbers, or by signal. If a caller has appended events to the
// ledger itself, its signal has the number of the last one. All waiting events are appended together, including those
// of different callers.
func Session(ctx workflow.Context, in api.SessionInput) (api.SessionResult, error) {
	run := &sessionRun{Display: flow.Display{Lean: true}, in: in, phase: sessionOpen, idleFrom: workflow.Now(ctx)}
	if in.State != nil {
		run.runs, run.told, run.unreflected = in.State.Runs, in.State.Told, in.State.Unreflected
	}
	run.runs++
	if err := run.setup(ctx); err != nil {
		return api.SessionResult{}, err
	}
	run.Begin(ctx, sessionOpen, "opening", in.Principal)
	if err := run.checkInput(ctx); err != nil {
		return run.fail(ctx, err)
	}
	if err := run.open(ctx); err != nil {
		return run.fail(ctx, err)
	}
	workflow.Go(ctx, run.watchIdle)
	for {
		if err := workflow.Await(ctx, func() bool { return run.hasWork() || run.mustRenew(ctx) }); err != nil {
			return run.cancelled(ctx, err)
		}
		run.receive()
		run.closeAgain(ctx)
		switch {
		case run.mustAppend():
			if err := run.append(ctx); err != nil {
				return run.fail(ctx, err)
			}
		case run.mustClose():
			if err := run.close(ctx); err != nil {
				return run.notClosed(ctx, err)
			}
			if over, err := run.over(ctx); over || err != nil {
				return run.finish(ctx, err)
			}
		case run.mustRenew(ctx):
			if run.settled(ctx) {
				return api.SessionResult{}, flow.ContinueAsNew(ctx, Session, run.next())
			}
		}
	}
}

// Phases of a session.
const (
	sessionOpen    = "open"
	sessionClosing = "closing"
	sessionDone    = api.PhaseDone
)

// sessionRun is the state of one run.
type sessionRun struct {
	flow.Display
	in      api.SessionInput
	phase   string
	runs    int // this one included
	state   sessions.State
	working schema.WorkingPayload

	queue    []*handedIn
	closers  []*closing
	told     int64 // the ledger has the session's events up to this number, as far as is known here
	refused  int   // invalid events that arrived by signal
	appended int   // events that this run appended or read from the ledger

	idleFrom time.Time
	idle     bool
	renew    bool // a caller requested a new history

	known bool // a caller sent events that the ledger already has

	unreflected int // events that the agent has seen since the last request to reflect

	failed error // the error of the run

	signals struct{ append, appended, close, renew workflow.ReceiveChannel }
	result  api.SessionResult // of the last episode
}

// handedIn are events of one caller that wait to be appended.
type handedIn struct {
	events []ledger.Event
	update bool // a caller waits for the answer
	part   sessions.Part
	err    error
	done   bool
}

// closing is a request to close.
type closing struct {
	request api.CloseRequest
	result  api.SessionResult
	err     error
	done    bool
}

func (run *sessionRun) setup(ctx workflow.Context) error {
	run.signals.append = workflow.GetSignalChannel(ctx, api.SignalAppend)
	run.signals.appended = workflow.GetSignalChannel(ctx, api.SignalAppended)
	run.signals.close = workflow.GetSignalChannel(ctx, api.SignalClose)
	run.signals.renew = workflow.GetSignalChannel(ctx, api.SignalRenew)
	if err := workflow.SetQueryHandler(ctx, api.QueryWorking, func() (api.SessionWorking, error) {
		return api.SessionWorking{Stream: run.in.StreamName(), Seq: run.state.LastSeq, Working: run.working}, nil
	}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.SessionProgress, error) {
		return run.progress(), nil
	}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, api.UpdateAppend, run.appendUpdate,
		workflow.UpdateHandlerOptions{Validator: func(ctx workflow.Context, in api.AppendSignal) error {
			if err := in.Validate(); err != nil {
				return flow.InvalidRequest(err) //workflowcheck:ignore: a replay does not validate again
			}
			events := run.in.Fill(in.Events, workflow.Now(ctx))
			//workflowcheck:ignore: a replay does not validate again
			return flow.InvalidRequest(run.in.CheckEvents(events))
		}}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, api.UpdateClose, run.closeUpdate,
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, in api.CloseRequest) error {
			in.SessionRef = run.in.SessionRef
			return flow.InvalidRequest(in.Validate()) //workflowcheck:ignore: a replay does not validate again
		}})
}

// checkInput refuses an input with unknown or misread fields. If events came by signal with the start, it only ignores
// unknown fields: no one waits for the answer to a signal, and the events would be lost.
func (run *sessionRun) checkInput(ctx workflow.Context) error {
	if run.signals.append.Len()+run.signals.appended.Len() > 0 && run.in.DropUnread() {
		workflow.GetLogger(ctx).Warn("fields of the input left out")
	}
	return flow.Strict(ctx, &run.in)
}

// appendUpdate passes events to the main loop and returns their numbers. A cancelled run answers too.
func (run *sessionRun) appendUpdate(ctx workflow.Context, in api.AppendSignal) (api.AppendResult, error) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	h := &handedIn{events: in.Events, update: true}
	run.queue = append(run.queue, h)
	if err := workflow.Await(ctx, func() bool { return h.done || run.failed != nil }); err != nil {
		return api.AppendResult{}, err
	}
	if !h.done {
		return api.AppendResult{}, run.failed
	}
	if h.err != nil {
		return api.AppendResult{}, h.err
	}
	out := api.AppendResult{LastSeq: run.state.LastSeq}
	for i, seq := range h.part.Seqs {
		out.Appended = append(out.Appended, ledger.Appended{ID: in.Events[i].ID, Stream: run.in.StreamName(), Seq: seq,
			Added: !slices.Contains(h.part.There, i)})
		out.LastSeq = max(out.LastSeq, seq)
	}
	return out, nil
}

// closeUpdate asks the main loop to close the session, and returns the episode.
func (run *sessionRun) closeUpdate(ctx workflow.Context, in api.CloseRequest) (api.SessionResult, error) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	c := &closing{request: in}
	run.closers = append(run.closers, c)
	if err := workflow.Await(ctx, func() bool { return c.done || run.failed != nil }); err != nil {
		return api.SessionResult{}, err
	}
	if !c.done {
		return api.SessionResult{}, run.failed
	}
	return c.result, c.err
}

// watchIdle marks the session as idle when the idle time has passed without an event. One timer serves all events that
// arrive while it runs.
func (run *sessionRun) watchIdle(ctx workflow.Context) {
	for {
		left := run.in.Settings.Idle() - workflow.Now(ctx).Sub(run.idleFrom)
		if left > 0 {
			if workflow.Sleep(ctx, left) != nil {
				return
			}
			continue
		}
		run.idle = true
		if workflow.Await(ctx, func() bool { return !run.idle }) != nil {
			return
		}
	}
}

// hasWork reports whether the main loop has something to do.
func (run *sessionRun) hasWork() bool {
	s := run.signals
	return s.append.Len()+s.appended.Len()+s.close.Len()+s.renew.Len() > 0 ||
		run.mustAppend() || run.mustClose() || run.known && run.state.Events == 0
}

func (run *sessionRun) mustAppend() bool {
	return len(run.queue) > 0 || run.told > run.state.LastSeq && run.state.Ended == 0
}

func (run *sessionRun) mustClose() bool {
	return run.state.Ended > 0 || len(run.closers) > 0 || run.idle
}

// mustRenew reports whether to continue as new: the history is long, or a caller requested a new one.
func (run *sessionRun) mustRenew(ctx workflow.Context) bool {
	return run.renew || run.appended >= SessionEventsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// receive takes all waiting signals.
func (run *sessionRun) receive() {
	for {
		var in api.AppendSignal
		if !run.signals.append.ReceiveAsync(&in) {
			break
		}
		if len(in.Mistyped()) > 0 { // no version has read such a signal
			run.refused += max(1, len(in.Events))
			continue
		}
		if len(in.Events) > 0 {
			run.queue = append(run.queue, &handedIn{events: in.Events})
		}
	}
	for {
		var in api.AppendedSignal
		if !run.signals.appended.ReceiveAsync(&in) {
			break
		}
		run.told = max(run.told, in.Seq)
		run.known = run.known || in.Seq <= run.state.LastSeq
	}
	for {
		var in api.CloseRequest
		if !run.signals.close.ReceiveAsync(&in) {
			break
		}
		if len(in.Mistyped()) > 0 { // no version has read such a signal
			continue
		}
		run.closers = append(run.closers, &closing{request: in})
	}
	for {
		var none any
		if !run.signals.renew.ReceiveAsync(&none) {
			break
		}
		run.renew = true
	}
}

// changeCloseAgain is the version marker of closeAgain.
const changeCloseAgain = "close-again"

// closeAgain closes at once a run that was started only by repeated events of an earlier episode, and returns that
// episode. Otherwise the run would stay open for the whole idle time.
func (run *sessionRun) closeAgain(ctx workflow.Context) {
	if !run.known || run.mustAppend() {
		return // waiting events may be new
	}
	run.known = false
	if run.state.Events == 0 &&
		workflow.GetVersion(ctx, changeCloseAgain, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		run.idle = true
	}
}

// open opens the session, for the first episode or for the next.
func (run *sessionRun) open(ctx workflow.Context) error {
	var st sessions.State
	err := run.persist(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx,
			flow.SessionOptions("open the session")),
			sessioning.OpenSession, api.SessionInput{SessionRef: run.in.SessionRef,
				Settings: run.in.Settings}).Get(ctx, &st)
	})
	if err != nil {
		return err
	}
	counted := 0 // by the previous run
	if run.state.FirstSeq == 0 && run.in.State != nil && run.in.State.FirstSeq == st.FirstSeq {
		counted = run.in.State.Events
	}
	run.unreflected += max(0, st.Events-counted)
	run.idle, run.idleFrom = false, workflow.Now(ctx)
	run.setState(ctx, st)
	return nil
}

// setState updates the run with the session's state in the ledger.
func (run *sessionRun) setState(ctx workflow.Context, st sessions.State) {
	if st.FirstSeq == run.state.FirstSeq { // the same episode
		run.appended += int(max(0, st.LastSeq-run.state.LastSeq))
		run.unreflected += max(0, st.Events-run.state.Events)
	}
	if st.Working != nil {
		run.working = *st.Working
	}
	run.state = st
	run.working.State, run.working.LastUpdated = st.Task, st.LastUpdated
	run.state.Working = nil
	if st.Ended == 0 {
		run.told = min(run.told, st.LastSeq) // the ledger has no more events
	}
	run.Display.Show(ctx, run.phase, fmt.Sprintf("%d events, up to %d of the stream", st.Events, st.LastSeq))
}

// batch takes waiting events, from as many callers as fit into one append.
func (run *sessionRun) batch() []*handedIn {
	count, size := 0, 0
	for i, h := range run.queue {
		count += len(h.events)
		for _, e := range h.events {
			size += len(e.Payload)
		}
		if i > 0 && (count > ledger.MaxAppend || size > maxBatchBytes) {
			return run.queue[:i]
		}
	}
	return run.queue
}

// append appends the waiting events, and reads events that callers have appended to the ledger.
func (run *sessionRun) append(ctx workflow.Context) error {
	batch := run.batch()
	in := sessions.AppendRequest{Session: run.in.SessionRef, Known: run.state.Changed}
	for _, h := range batch {
		in.Parts = append(in.Parts, h.events)
	}
	var out sessions.AppendResult
	err := run.persist(ctx, func(ctx workflow.Context) error {
		out = sessions.AppendResult{}
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx,
			flow.SessionOptions("append events")),
			sessioning.AppendSessionEvents, in).Get(ctx, &out)
	})
	if err != nil {
		return err
	}
	run.queue = run.queue[len(batch):]
	for i, h := range batch {
		h.part, h.done = out.Parts[i], true
		run.known = run.known || len(h.part.There) > 0
		for _, seq := range h.part.Seqs {
			run.told = max(run.told, seq)
		}
		if h.part.Refused != nil {
			h.err = flow.InvalidRequest(h.part.Refused)
			if !h.update { // no caller waits for the answer
				run.refused += len(h.events)
				workflow.GetLogger(ctx).Warn("events refused", "error", h.part.Refused)
			}
		}
		h.events = nil
	}
	run.idle, run.idleFrom = false, workflow.Now(ctx)
	run.setState(ctx, out.State)
	run.reflect(ctx)
	return nil
}

// persist calls a local activity until it succeeds or fails permanently, because an outage of Postgres must not lose
// events. Cancelling the run does not stop it.
func (run *sessionRun) persist(ctx workflow.Context, call func(workflow.Context) error) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	for {
		err := call(ctx)
		var failed *temporal.ApplicationError
		if err == nil || errors.As(err, &failed) && (failed.NonRetryable() || slices.Contains(flow.PermanentErrors,
			failed.Type())) {
			return err
		}
		workflow.GetLogger(ctx).Warn("not stored: the session waits", "error", err)
		if err := workflow.Sleep(ctx, flow.LongestWait); err != nil {
			return err
		}
	}
}

// reflect starts the agent's reflection when the agent has seen enough events. It waits only for the start. If a
// reflection is already running, it starts none: later events request another.
func (run *sessionRun) reflect(ctx workflow.Context) {
	threshold := run.in.Settings.ReflectionThreshold
	if threshold <= 0 || run.unreflected < threshold {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx) // never cancelled: that would cancel the reflection
	p, stream := run.in.Principal, run.in.StreamName()
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            api.ReflectWorkflowID(p, stream),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		StaticSummary:         fmt.Sprintf("reflection of %s of %s", p.Agent, p.Tenant),
		TypedSearchAttributes: mneme.OfPrincipal(p),
	}), api.WorkflowReflect, api.ReflectInput{Principal: p, Stream: stream,
		Threshold: min(threshold, api.MaxReflectionThreshold), // the reflection makes several beliefs
		Through:   run.state.LastSeq})
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		var there *temporal.ChildWorkflowExecutionAlreadyStartedError
		if !errors.As(err, &there) {
			workflow.GetLogger(ctx).Warn("reflection not started", "error", err)
		}
		return
	}
	run.unreflected = 0
}
