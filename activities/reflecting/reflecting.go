package reflecting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
)

// Reflecting lets agents reflect.
type Reflecting struct {
	Store      *store.Store
	Reasoner   inference.Reasoner // if nil, every belief is refused
	Visibility schema.Visibility  // the widest visibility of a belief; empty: every agent of the tenant
	Observe    func(outcome string)
	Now        func() time.Time
}

// Outcomes of a reflection that are passed to Observe.
const (
	OutcomeMade    = "made"
	OutcomeRefused = "refused"
)

// maxDrafts is how often a reasoner is called for one belief if its answers cannot be used or its evidence is erased
// during the call.
const maxDrafts = 3

// Span is a range of events to reflect on.
type Span struct {
	Due     bool   `json:"due"`
	Through string `json:"through,omitempty"` // the id of the last event
	Seq     int64  `json:"seq,omitempty"`     // its number
	Events  int    `json:"events,omitempty"`
}

// FindSpan returns the events that the agent should reflect on now, if a reflection is due.
func (a *Reflecting) FindSpan(ctx context.Context, in api.ReflectInput) (Span, error) {
	in.DropUnread() // of a newer worker; a client's were refused before
	if err := in.Validate(); err != nil {
		return Span{}, step.Fail(err)
	}
	pending, err := a.pending(ctx, in, in.Through)
	if err != nil {
		return Span{}, step.Fail(err)
	}
	span, due := views.ReflectionTracker{Viewer: viewer(in), Threshold: in.Threshold}.Due(pending)
	if !due {
		return Span{}, nil
	}
	last := span.Events[len(span.Events)-1]
	return Span{Due: true, Through: last.ID, Seq: last.Seq, Events: len(span.Events)}, nil
}

func (a *Reflecting) pending(ctx context.Context, in api.ReflectInput, through int64) ([]ledger.Event, error) {
	return a.Store.Pending(ctx, events.PendingInput{Principal: in.Principal, Stream: in.Stream, Through: through,
		MaxSensitivity: ceiling(in), Limit: max(views.MaxSpan, in.Threshold)})
}

func ceiling(in api.ReflectInput) schema.Sensitivity {
	return cmp.Or(in.MaxSensitivity, schema.SensitivityMedium)
}

func viewer(in api.ReflectInput) views.Viewer {
	return views.Viewer{Agent: in.Principal.Agent, PolicyGroup: in.Principal.PolicyGroup,
		User: in.Principal.User, MaxSensitivity: ceiling(in)}
}

// BeliefRequest is a request for the belief on a span.
type BeliefRequest struct {
	Input api.ReflectInput `json:"input"`
	Span  Span             `json:"span"`
}

// Belief says where a belief is stored, or why there is none. It never has its content.
type Belief struct {
	EventID string `json:"event_id,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
	Covers  int    `json:"covers,omitempty"`
	BasedOn int    `json:"based_on,omitempty"`
	Refused string `json:"refused,omitempty"`
	Tokens  int    `json:"tokens,omitempty"`
}

// AppendBelief calls the reasoner for a span and appends its conclusion. The id is computed from the span, so a
// repeated delivery finds the belief. A belief is refused if it cites an event that the reasoner was not given. If
// evidence was erased during the call, the reasoner is called again without it.
func (a *Reflecting) AppendBelief(ctx context.Context, req BeliefRequest) (Belief, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := req.Input
	id := views.ReflectionID(in.Principal.Tenant, in.Principal.Agent, in.Stream, req.Span.Through)
	out, found, err := a.earlier(ctx, in.Principal.Tenant, id)
	if found || err != nil {
		return out, step.Fail(err)
	}
	var tokens int64
	for draft := 1; ; draft++ {
		out, refusal, usage, err := a.believe(ctx, req, id)
		tokens += usage.PromptTokens + usage.CompletionTokens
		step.Advance(ctx)
		switch {
		case err != nil:
			return Belief{}, step.Stalled(ctx, err)
		case refusal.why == "":
			a.observe(OutcomeMade)
			out.Tokens = int(tokens)
			return out, nil
		case refusal.final || draft == maxDrafts:
			a.observe(OutcomeRefused)
			return Belief{Refused: refusal.why, Tokens: int(tokens)}, nil
		}
	}
}

// refusal says why there is no belief. Another draft may help, unless it is final.
type refusal struct {
	why   string
	final bool
}

func (a *Reflecting) believe(
	ctx context.Context,
	req BeliefRequest,
	id string,
) (out Belief, no refusal, usage inference.Usage, err error) {
	if a.Reasoner == nil {
		return out, refusal{"reasoner: none is configured", true}, usage, nil
	}
	span, err := a.pending(ctx, req.Input, req.Span.Seq)
	if err != nil {
		return out, no, usage, step.Fail(err)
	}
	if len(span) == 0 {
		return out, refusal{"span: was erased, or reflected on by another", true}, usage, nil
	}
	draft, usage, err := a.Reasoner.Reflect(ctx, req.Input.Principal.Agent, span)
	if err != nil {
		no, err = judge(ctx, err)
		return out, no, usage, err
	}
	if i := slices.IndexFunc(draft.BasedOn, func(id string) bool {
		return !slices.ContainsFunc(span, func(e ledger.Event) bool { return e.ID == id })
	}); i >= 0 {
		return out, refusal{why: fmt.Sprintf("based_on[%d]: is not an event that the reasoner was given", i)}, usage,
			nil
	}
	r := views.Span{Events: span, Through: span[len(span)-1].ID}.Reflection(draft.Text, draft.BasedOn)
	done, err := a.Store.Reflect(ctx, a.event(req.Input, id, span, r))
	var invalid *schema.ValidationError
	switch {
	case errors.As(err, &invalid) && len(invalid.Fields) > 0:
		return out, refusal{why: invalid.Fields[0].Field + ": " + invalid.Fields[0].Problem}, usage, nil
	case err != nil:
		return out, no, usage, step.Fail(err)
	}
	return Belief{EventID: id, Seq: done.Seq, Covers: r.Covers, BasedOn: len(r.BasedOn)}, no, usage, nil
}

// event returns the belief's event: its stream and its visibility.
func (a *Reflecting) event(
	in api.ReflectInput,
	id string,
	span []ledger.Event,
	r ledger.Reflection,
) events.ReflectInput {
	now := step.Now(a.Now)
	e := ledger.Event{ID: id, Stream: in.Stream, Agent: in.Principal.Agent, PolicyGroup: in.Principal.PolicyGroup,
		Kind: ledger.KindAgentReflected, Turn: span[len(span)-1].Turn, OccurredAt: now.UTC(),
		Visibility: narrower(in.Visibility, a.Visibility)}
	return events.ReflectInput{Tenant: in.Principal.Tenant, Viewer: viewer(in), Event: e, Reflection: r,
		Open: views.GlobalKinds(), Now: now}
}

// narrower returns the narrower of the requested visibility and the one that the deployment allows.
func narrower(asked, most schema.Visibility) schema.Visibility {
	width := func(v schema.Visibility) int {
		return slices.Index([]schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGroup,
			schema.VisibilityShared,
			schema.VisibilityGlobal}, cmp.Or(v, schema.VisibilityGlobal))
	}
	if width(most) < width(asked) {
		return most
	}
	return cmp.Or(asked, schema.VisibilityGlobal)
}

// judge classifies the error of a reasoner: a refusal, or an error that is retried.
func judge(ctx context.Context, err error) (refusal, error) {
	var unusable *inference.AnswerError
	if errors.As(err, &unusable) {
		return refusal{why: unusable.Problem}, nil
	}
	if ctx.Err() != nil {
		return refusal{}, err
	}
	wait, _, permanent, why := step.Classify(err)
	if permanent {
		return refusal{why: "reasoner: " + why, final: true}, nil
	}
	if wait = min(wait, step.MaxRetryAfter); wait <= 0 {
		wait = step.RetryWait(attempt(ctx))
	}
	return refusal{}, step.PendingError(1, wait, why)
}

func attempt(ctx context.Context) int32 {
	if activity.IsActivity(ctx) {
		return activity.GetInfo(ctx).Attempt
	}
	return 1
}

// earlier returns the belief that an earlier attempt has appended.
func (a *Reflecting) earlier(ctx context.Context, tenant, id string) (out Belief, found bool, err error) {
	there, err := a.Store.ByID(ctx, tenant, []string{id})
	if err != nil || len(there) == 0 {
		return out, false, err
	}
	r, _ := ledger.Payload[ledger.Reflection](there[0])
	return Belief{EventID: id, Seq: there[0].Seq, Covers: r.Covers, BasedOn: len(r.BasedOn)}, true, nil
}

func (a *Reflecting) observe(outcome string) {
	if a.Observe != nil {
		a.Observe(outcome)
	}
}
