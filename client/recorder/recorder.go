package recorder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// changeID marks the histories of runs that record (workflow.GetVersion). A run that passed this point before Open
// was added replays without it, and records nothing.
const changeID = "mneme-recorder"

// Recorder records one session. A Recorder that is nil, off or has invalid options records nothing. Methods are for
// workflow code only. Except Flush and Close, they do not block.
type Recorder struct {
	ctx      workflow.Context // of the run, not cancelled with it
	set      settings
	prefix   string // of the ids of events
	attempts int    // events so far, including dropped ones
	calls    int
	turn     int

	problem   *Call          // the last call that failed and did not succeed since
	open      []*Call        // calls whose result the interceptor waits for
	waiting   []ledger.Event // not in the ledger yet; the first `sending` of them are being delivered
	sending   int
	dropped   int // dropped events since the last accepted one
	lost      int // all lost events
	refusals  int // consecutive refused deliveries
	closed    bool
	abandoned bool // delivery has stopped
}

// Open opens the recorder of the running workflow. Call it once in a run. Before the run ends, call Close or, if the
// session continues (after continue-as-new, or in another workflow), Flush.
//
// Open may be added to workflows that are running: a run that has passed this point records nothing. Do not remove it
// before the last run that recorded has ended; use Options.Off to stop recording.
func Open(ctx workflow.Context, o Options) *Recorder {
	h := holderOf(ctx)
	return open(ctx, func() Options { return o }, h)
}

// From returns the recorder that Open or the interceptor opened last in this run. It returns nil on a worker without
// the interceptor.
func From(ctx workflow.Context) *Recorder {
	if h := holderOf(ctx); h != nil {
		return h.current
	}
	return nil
}

//workflowcheck:ignore
func open(ctx workflow.Context, options func() Options, h *holder) *Recorder {
	if workflow.GetVersion(ctx, changeID, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	info := workflow.GetInfo(ctx)
	var set settings
	err := workflow.SideEffect(ctx, func(workflow.Context) any {
		o := options().settle(info.WorkflowExecution.ID)
		if problem := o.problem(); problem != nil && !o.Off {
			o.Off = true
			workflow.GetLogger(ctx).Error("the session is not recorded: its options are wrong", "problem", problem)
		}
		s := settings{Options: o, Run: info.WorkflowExecution.RunID, Batch: batchSize}
		if h != nil {
			tools := h.filter
			// Advice is not a step of the work. Runs of earlier versions continue to record it.
			tools.Deny = append(slices.Clone(tools.Deny), api.WorkflowAdvise, api.WorkflowReport)
			s.Tools = &tools
		}
		return s
	}).Get(&set)
	if err != nil || set.Off || set.Batch <= 0 {
		return nil
	}
	whole, _ := workflow.NewDisconnectedContext(ctx)
	sum := sha256.Sum256([]byte(info.WorkflowExecution.ID + "\x00" + set.Run + "\x00" + set.Session))
	r := &Recorder{ctx: whole, set: set, prefix: hex.EncodeToString(sum[:10])}
	if h != nil {
		h.opened(r)
	}
	workflow.GoNamed(whole, changeID, r.deliver)
	return r
}

// Session returns the name of the session, and "" if nothing is recorded.
func (r *Recorder) Session() string {
	if r == nil {
		return ""
	}
	return r.set.Session
}

// Turn sets the turn of the events that follow.
func (r *Recorder) Turn(turn int) {
	if r != nil {
		r.turn = max(turn, 0)
	}
}

// Started records the start of the work and its description (run.started). Every agent of the tenant sees it.
func (r *Recorder) Started(text string) { r.text(ledger.KindRunStarted, text, nil) }

// Heard records what a user said (user.injected). Every agent of the tenant sees it, unless Options limit that.
func (r *Recorder) Heard(text string, artifacts ...string) {
	r.text(ledger.KindUserInjected, text, artifacts)
}

// Said records what the agent said (agent.spoke).
func (r *Recorder) Said(text string, artifacts ...string) {
	r.text(ledger.KindAgentSpoke, text, artifacts)
}

// Thought records what the agent thought (agent.thought).
func (r *Recorder) Thought(text string) { r.text(ledger.KindAgentThought, text, nil) }

// Observed records the state of the world: a text, or an object whose fields are folded into the current scene
// (world.observed). Every agent of the tenant sees it, unless Options say otherwise.
func (r *Recorder) Observed(what any) {
	if text, ok := what.(string); ok {
		r.text(ledger.KindWorldObserved, text, nil)
		return
	}
	r.Event(ledger.KindWorldObserved, what)
}

// Environment records the environment of the agent (world.environment).
func (r *Recorder) Environment(e schema.Environment) { r.Event(ledger.KindEnvironment, e) }

// Working records the state of the task (working.updated): a field that is left out keeps its value.
func (r *Recorder) Working(update ledger.WorkingUpdate) { r.Event(ledger.KindWorkingUpdated, update) }

// Event records an event of any kind. Its payload is an object; anything else becomes the member "value" of one.
func (r *Recorder) Event(kind string, payload any) {
	if r == nil {
		return
	}
	r.add(kind, argsOf([]any{payload}, r.set.MaxBytes))
}

func (r *Recorder) text(kind, text string, artifacts []string) {
	if r == nil {
		return
	}
	r.compose(kind, ledger.Text{Text: textOf(text, r.set.MaxBytes), Artifacts: artifactsOf(artifacts)})
}

// artifactsOf removes secrets from references.
func artifactsOf(refs []string) []string {
	var out []string
	for _, ref := range refs[:min(len(refs), 20)] {
		out = append(out, textOf(ref, 500))
	}
	return out
}

// compose adds an event whose parts have been masked and cut.
//
//workflowcheck:ignore
func (r *Recorder) compose(kind string, payload any) {
	encoded, err := json.Marshal(payload)
	if err != nil {
		encoded = note("not JSON", nil) // unreachable: the shapes of the ledger can be encoded
	}
	r.add(kind, encoded)
}

// kindMissed is the kind of an event that replaces events that were not kept: payload {"events": n, "why": "…"}.
const kindMissed = "recorder.missed"

//workflowcheck:ignore
func (r *Recorder) add(kind string, payload json.RawMessage) {
	r.settle()
	r.attempts++
	switch {
	case r.closed || r.abandoned:
		r.miss(1)
		return
	case len(r.waiting) >= r.set.MaxWaiting && kind != ledger.KindOutcome:
		r.miss(1)
		return
	}
	if r.dropped > 0 {
		encoded, _ := json.Marshal(map[string]any{"events": r.dropped, "why": "not delivered"}) // of plain values
		r.dropped = 0
		r.waiting = append(r.waiting, r.event(kindMissed, encoded))
		r.attempts++
	}
	r.waiting = append(r.waiting, r.event(kind, payload))
}

func (r *Recorder) miss(events int) {
	r.dropped += events
	r.lost += events
}

// event makes an event. Its id is derived from the run, the event's place in it, and its content. A repeated delivery
// has the same id. A run that was reset and took another path has another id.
//
//workflowcheck:ignore
func (r *Recorder) event(kind string, payload json.RawMessage) ledger.Event {
	sum := sha256.Sum256([]byte(kind + "\x00" + string(payload)))
	e := ledger.Event{ID: fmt.Sprintf("%s-%d-%s", r.prefix, r.attempts, hex.EncodeToString(sum[:4])),
		Stream: r.set.ref().StreamName(), Agent: r.set.Principal.Agent, PolicyGroup: r.set.Principal.PolicyGroup,
		Kind: kind, Turn: r.turn, OccurredAt: workflow.Now(r.ctx).UTC(), Visibility: r.set.Visibility,
		Sensitivity: r.set.Sensitivity, Payload: payload}
	e.Sensitivity = sensitive.Raised(e.Sensitivity, string(payload))
	if err := e.Validate(); err != nil {
		// The number of events must not depend on validation, because a later version may validate differently.
		e.Kind = kindMissed
		e.Payload, _ = json.Marshal(map[string]any{"events": 1, "why": strings.ToValidUTF8(err.Error(), "")})
	}
	return e
}

// outcomeOf returns the outcome of a run for Close.
func outcomeOf(err error, cancelled bool) schema.Outcome {
	switch {
	case cancelled:
		return schema.OutcomePartial
	case err != nil:
		return schema.OutcomeFailure
	}
	return schema.OutcomeSuccess
}

func (r *Recorder) since(at time.Time) int64 { return workflow.Now(r.ctx).Sub(at).Milliseconds() }
