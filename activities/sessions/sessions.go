package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sessions"
)

// Sessions carries out the steps of sessions.
type Sessions struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	Rules  func() *policy.Policy // classification rules in force; nil, or a nil policy, for the defaults
	// Tell tells a session that the ledger has events up to a number. It starts the session if it does not run.
	Tell func(ctx context.Context, c client.Client, taskQueue string, in api.SessionInput, seq int64) error
	// GlobalKinds are the kinds of events that every agent sees (views.OpenKinds).
	GlobalKinds []string
	Arrivals    *step.Arrivals // called for every new episode; may be nil
	Now         func() time.Time
}

// State is the part of a session's state that a run needs: numbers, and the state of the work if it was requested or
// has changed.
type State struct {
	FirstSeq int64 `json:"first_seq"`
	LastSeq  int64 `json:"last_seq"`
	Events   int   `json:"events"`
	Ended    int64 `json:"ended,omitempty"` // the event with which the agent ended the session

	Task        schema.TaskState       `json:"task"`
	LastUpdated *time.Time             `json:"last_updated,omitempty"`
	Changed     int64                  `json:"changed"` // the event that last changed Working
	Working     *schema.WorkingPayload `json:"working,omitempty"`
}

func keyOf(r api.SessionRef) sessions.Key {
	return sessions.Key{Principal: r.Principal, Session: r.Session, Stream: r.StreamName(),
		WorkflowID: api.SessionWorkflowID(r)}
}

// stateOf omits the state of the work if the run has the current one: known is the last event that changed the run's.
func stateOf(st sessions.State, known int64) State {
	out := State{FirstSeq: st.FirstSeq, LastSeq: st.LastSeq, Events: st.Events, Ended: st.Ended,
		Task: st.Working.Payload.State, LastUpdated: st.Working.Payload.LastUpdated, Changed: st.Changed}
	if known != st.Changed {
		out.Working = &st.Working.Payload
	}
	return out
}

// OpenSession opens a session, or finds it open, and processes the events in its stream.
func (a *Sessions) OpenSession(ctx context.Context, in api.SessionInput) (State, error) {
	in.DropUnread() // of a newer worker
	if err := in.Validate(); err != nil {
		return State{}, step.Fail(err)
	}
	st, err := a.Store.TakeIn(ctx, keyOf(in.SessionRef), step.Now(a.Now))
	if err != nil {
		return State{}, step.Fail(err)
	}
	return stateOf(st, -1), nil
}

// AppendRequest appends events to the ledger and updates the session from the stream. Each part is from one caller
// and has its own answer: a refused part does not prevent the others.
type AppendRequest struct {
	Session api.SessionRef   `json:"session"`
	Parts   [][]ledger.Event `json:"parts,omitempty"`
	Known   int64            `json:"known"` // the event that last changed the state of the work that the run has
}

// AppendResult is in the order of the parts.
type AppendResult struct {
	Parts []Part `json:"parts,omitempty"`
	State State  `json:"state"`
}

// Part has the places of one part's events in the session's stream, or the reason why they were refused.
type Part struct {
	Seqs []int64 `json:"seqs,omitempty"`
	// There lists events that were already in the ledger, by their place in the part. An earlier attempt may have
	// appended them before its answer was lost.
	There   []int                   `json:"there,omitempty"`
	Refused *schema.ValidationError `json:"refused,omitempty"`
}

// AppendSessionEvents appends the parts and updates the session. A repeated delivery returns the same numbers.
func (a *Sessions) AppendSessionEvents(ctx context.Context, in AppendRequest) (AppendResult, error) {
	if err := in.Session.Validate(); err != nil {
		return AppendResult{}, step.Fail(err)
	}
	var out AppendResult
	if len(in.Parts) > 0 {
		var err error
		if out.Parts, err = a.appendParts(ctx, in); err != nil {
			return AppendResult{}, step.Fail(err)
		}
	}
	st, err := a.Store.TakeIn(ctx, keyOf(in.Session), step.Now(a.Now))
	if err != nil {
		return AppendResult{}, step.Fail(err)
	}
	out.State = stateOf(st, in.Known)
	return out, nil
}

// appendParts appends all parts at once or, if that is refused, one after another.
func (a *Sessions) appendParts(ctx context.Context, in AppendRequest) ([]Part, error) {
	var all []ledger.Event
	for _, part := range in.Parts {
		all = append(all, part...)
	}
	whole, err := a.appendPart(ctx, in.Session, all)
	if err != nil || whole.Refused != nil && len(in.Parts) == 1 {
		return []Part{whole}, err
	}
	out := make([]Part, len(in.Parts))
	if whole.Refused == nil {
		split(whole, in.Parts, out)
		return out, nil
	}
	for i, part := range in.Parts {
		if out[i], err = a.appendPart(ctx, in.Session, part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// split assigns to each part its share of the joint answer.
func split(whole Part, parts [][]ledger.Event, out []Part) {
	from, there := 0, whole.There
	for i, part := range parts {
		out[i].Seqs = whole.Seqs[from : from+len(part)]
		for len(there) > 0 && there[0] < from+len(part) {
			out[i].There, there = append(out[i].There, there[0]-from), there[1:]
		}
		from += len(part)
	}
}

func (a *Sessions) appendPart(ctx context.Context, ref api.SessionRef, part []ledger.Event) (Part, error) {
	appended, err := a.append(ctx, ref, part)
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		return Part{Refused: invalid}, nil
	}
	if code, refused := pg.Refused(err); refused {
		return Part{Refused: &schema.ValidationError{Fields: []schema.FieldError{{Field: "events",
			Problem: "hold what the database cannot keep (SQLSTATE " + code + ")"}}}}, nil
	}
	if err != nil {
		return Part{}, err
	}
	var out Part
	for i, e := range appended {
		out.Seqs = append(out.Seqs, e.Seq)
		if !e.Added {
			out.There = append(out.There, i)
		}
	}
	return out, nil
}

// append appends events of the session to the ledger.
func (a *Sessions) append(ctx context.Context, ref api.SessionRef, part []ledger.Event) ([]ledger.Appended, error) {
	now := step.Now(a.Now)
	filled := ref.Fill(part, now)
	if err := ref.CheckEvents(filled); err != nil {
		return nil, err
	}
	appended, err := a.Store.Append(ctx, events.AppendInput{Tenant: ref.Principal.Tenant,
		PolicyGroup: ref.Principal.PolicyGroup, User: ref.Principal.User, Events: filled,
		Open: views.OpenKinds(a.GlobalKinds), Now: now})
	if err != nil {
		return nil, err
	}
	for i, e := range appended {
		if e.Stream != filled[i].Stream { // the event was erased, and is in another stream
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: fmt.Sprintf("events[%d].id", i),
				Problem: "is the id of another event"}}}
		}
	}
	return appended, nil
}

// CloseRequest is a request to close a session.
type CloseRequest struct {
	api.SessionRef
	Outcome  schema.Outcome  `json:"outcome,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	FirstSeq int64           `json:"first_seq"` // of the episode; 0 for the open one
	Why      session.Closing `json:"why"`
	Handed   bool            `json:"handed,omitempty"` // recorded as a whole after it had ended
}

// CloseSession makes an episode of the session. A repeated delivery returns the same episode.
func (a *Sessions) CloseSession(ctx context.Context, in CloseRequest) (api.SessionResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	request := api.CloseRequest{SessionRef: in.SessionRef, Outcome: in.Outcome, Summary: in.Summary}
	if err := request.Validate(); err != nil {
		return api.SessionResult{}, step.Fail(err)
	}
	closing := sessions.CloseInput{Key: keyOf(in.SessionRef), FirstSeq: in.FirstSeq, Why: in.Why, Outcome: in.Outcome,
		Summary: in.Summary, Handed: in.Handed, Policy: a.Policy.Narrow("", false, nil), Now: step.Now(a.Now)}
	if a.Rules != nil {
		closing.Rules = a.Rules()
	}
	closed, err := a.Store.CloseSession(ctx, closing)
	if err != nil {
		return api.SessionResult{}, step.Fail(step.Stalled(ctx, err))
	}
	out := api.SessionResult{Stream: in.StreamName(), Events: closed.Events, FirstSeq: closed.FirstSeq,
		LastSeq: closed.LastSeq, Outcome: closed.Outcome, Closed: string(closed.Closed)}
	if closed.MemoryID != nil {
		out.EpisodeID = closed.MemoryID.String()
		if err := a.Arrivals.Arrived(ctx, in.Principal.Tenant, *closed.MemoryID); err != nil {
			return api.SessionResult{}, step.Fail(step.Stalled(ctx, err))
		}
	}
	return out, nil
}

// AppendEvents appends events of a session and notifies the session. Workflows of other programs call it.
func (a *Sessions) AppendEvents(ctx context.Context, in api.AppendRequest) (api.AppendResult, error) {
	in.DropUnread() // a recorder may be newer than this worker, and its events must not be lost
	if err := in.Validate(); err != nil {
		return api.AppendResult{}, step.Fail(err)
	}
	// The session is opened first, so that it includes the events appended here.
	if _, err := a.Store.OpenSession(ctx, keyOf(in.SessionRef), step.Now(a.Now)); err != nil {
		return api.AppendResult{}, step.Fail(err)
	}
	appended, err := a.append(ctx, in.SessionRef, in.Events)
	if err != nil {
		return api.AppendResult{}, step.Fail(err)
	}
	out := api.AppendResult{Appended: appended}
	for _, e := range appended {
		out.LastSeq = max(out.LastSeq, e.Seq)
	}
	err = a.Tell(ctx, activity.GetClient(ctx), activity.GetInfo(ctx).TaskQueue,
		api.SessionInput{SessionRef: in.SessionRef, Settings: in.Settings}, out.LastSeq)
	if err != nil {
		return api.AppendResult{}, fmt.Errorf("tell the session: %w", err)
	}
	return out, nil
}
