package api

import (
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// SessionRef names a session: the work of one agent on one stream of the ledger.
type SessionRef struct {
	Principal schema.Principal `json:"principal"`
	Session   string           `json:"session"` // chosen by the agent and unique for it
	// stream of its events; default run/SESSION. Agents may share a stream
	Stream string `json:"stream,omitempty"`
}

// StreamName returns the stream of the session.
func (r SessionRef) StreamName() string {
	if r.Stream != "" {
		return r.Stream
	}
	return ledger.StreamRun.Stream(r.Session)
}

// SessionSettings are fixed when a session starts. The zero value has the defaults.
type SessionSettings struct {
	// IdleSeconds is the time without an event after which the session closes. 0 means 1,800. The maximum is 7 days.
	IdleSeconds int `json:"idle_seconds,omitempty"`
	// ReflectionThreshold is the number of visible events after which the agent reflects. 0 disables reflection.
	ReflectionThreshold int `json:"reflection_threshold,omitempty"`
}

// SessionInput starts the workflow Session. Clients that send events by Signal-With-Start or Update-With-Start set the
// reference and the settings. Continue-as-new sets the other fields.
type SessionInput struct {
	SessionRef
	Settings SessionSettings `json:"settings"`

	State *SessionState `json:"state,omitempty" decode:"state"`

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *SessionInput) UnmarshalJSON(data []byte) error {
	type plain SessionInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// SessionState is the state that a run of Session passes to the next one. It contains numbers and ids, never content.
type SessionState struct {
	FirstSeq int64 `json:"first_seq"` // first event of the open episode
	LastSeq  int64 `json:"last_seq"`  // newest processed event
	Events   int   `json:"events"`    // events of the session so far
	Runs     int   `json:"runs"`

	Told        int64 `json:"told,omitempty"`        // number of the newest event that the ledger is known to have
	Unreflected int   `json:"unreflected,omitempty"` // events since the agent was last asked to reflect
}

// AppendRequest adds events of a session to the ledger. Events without a stream belong to the session's stream, and
// events without an agent belong to the principal. Events with a known id are not added again.
type AppendRequest struct {
	SessionRef
	Settings SessionSettings `json:"settings"` // for a session that this request starts
	Events   []ledger.Event  `json:"events"`

	decoded check.Decoded
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them: a
// misspelt visibility must not show an event to others.
func (r *AppendRequest) UnmarshalJSON(data []byte) error {
	type plain AppendRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread ignores unknown fields, which a newer client may have set, and reports whether there were any.
func (r *AppendRequest) DropUnread() bool { return r.decoded.DropUnread() }

// AppendSignal is the payload of SignalAppend.
type AppendSignal struct {
	Events []ledger.Event `json:"events"`

	decoded check.Decoded
}

// UnmarshalJSON reads the payload. Unknown fields, wrong types and duplicates are recorded.
func (s *AppendSignal) UnmarshalJSON(data []byte) error {
	type plain AppendSignal
	s.decoded = check.DecodeInput(data, (*plain)(s))
	return nil
}

// Validate returns the problems of decoding, as a *schema.ValidationError. An update with problems is refused.
func (s *AppendSignal) Validate() error { return s.decoded.Err() }

// Mistyped returns the fields of a wrong type. No version has read them.
func (s *AppendSignal) Mistyped() []schema.FieldError { return s.decoded.Wrong }

// AppendedSignal is the payload of SignalAppended: the ledger already has the events up to Seq.
type AppendedSignal struct {
	Seq int64 `json:"seq"`
}

// AppendResult lists the places of the events of a request in the ledger, in the order of the request.
type AppendResult struct {
	Appended []ledger.Appended `json:"appended"`
	LastSeq  int64             `json:"last_seq"` // of the session's stream
}

// CloseRequest ends a session. If Outcome is set, an event run.ended is appended first.
type CloseRequest struct {
	SessionRef
	Outcome schema.Outcome `json:"outcome,omitempty"`
	Summary string         `json:"summary,omitempty"`

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (r *CloseRequest) UnmarshalJSON(data []byte) error {
	type plain CloseRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// Mistyped returns the fields of a wrong type. No version has read them.
func (r *CloseRequest) Mistyped() []schema.FieldError { return r.decoded.Wrong }

// SessionResult is the result of a session.
type SessionResult struct {
	Stream    string         `json:"stream"`
	Events    int            `json:"events"`
	FirstSeq  int64          `json:"first_seq"`
	LastSeq   int64          `json:"last_seq"`
	EpisodeID string         `json:"episode_id,omitempty"` // id of the episodic record; empty without events
	Outcome   schema.Outcome `json:"outcome,omitempty"`
	Closed    string         `json:"closed,omitempty"` // finished or idle
}

// SessionWorking is the answer to QueryWorking.
type SessionWorking struct {
	Stream  string                `json:"stream"`
	Seq     int64                 `json:"seq"` // newest event included
	Working schema.WorkingPayload `json:"working"`
}

// SessionProgress is the answer to QueryProgress of Session.
type SessionProgress struct {
	Phase   string `json:"phase"` // open, closing or done
	Events  int    `json:"events"`
	LastSeq int64  `json:"last_seq"`
	Waiting int    `json:"waiting"` // accepted events that are not yet in the ledger
	// events of signals that cannot be stored, because they are invalid or their id is in use
	Refused  int       `json:"refused"`
	Runs     int       `json:"runs"` // including this one
	IdleFrom time.Time `json:"idle_from"`
}

// RecordRequest starts the workflow RecordSession, which makes one episode of a complete session. It has at most
// ledger.MaxAppend events. Send larger sessions in several AppendRequests.
type RecordRequest struct {
	SessionRef
	Outcome schema.Outcome `json:"outcome,omitempty"` // if the events do not have it
	Events  []ledger.Event `json:"events"`

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (r *RecordRequest) UnmarshalJSON(data []byte) error {
	type plain RecordRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// ReflectInput starts the workflow Reflect. The agent reflects on the events that it saw since its last reflection, if
// there are at least Threshold.
type ReflectInput struct {
	Principal schema.Principal `json:"principal"`
	Stream    string           `json:"stream"`
	Threshold int              `json:"threshold"`         // events; 1 or more
	Through   int64            `json:"through,omitempty"` // only events up to this number of the stream; 0 for all

	// Visibility determines who else sees the belief. The default is the setting of the deployment or, without one,
	// every agent of the tenant. A request cannot exceed the setting, because a belief may reveal private events.
	Visibility schema.Visibility `json:"visibility,omitempty"`
	// MaxSensitivity is the highest class of events that the agent reflects on; default medium.
	MaxSensitivity schema.Sensitivity `json:"max_sensitivity,omitempty"`

	Sofar *ReflectResult `json:"so_far,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReflectInput) UnmarshalJSON(data []byte) error {
	type plain ReflectInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// ReflectResult tells whether a reflection was due, and names the belief. If there were many events and several
// beliefs, it names the last one.
type ReflectResult struct {
	Due     bool   `json:"due"`
	Beliefs int    `json:"beliefs,omitempty"`  // number of beliefs
	EventID string `json:"event_id,omitempty"` // id of the event agent.reflected
	Seq     int64  `json:"seq,omitempty"`
	Covers  int    `json:"covers,omitempty"`   // number of events that it summarizes
	BasedOn int    `json:"based_on,omitempty"` // number of events that it cites
	Refused string `json:"refused,omitempty"`  // reason why there is no belief: a field and a problem, never content
	Tokens  int    `json:"tokens,omitempty"`   // tokens that a model used for all beliefs
}
