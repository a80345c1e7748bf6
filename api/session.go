package api

import (
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// SessionRef names a session: the work of one agent on one stream of the ledger.
type SessionRef struct {
	Principal schema.Principal `json:"principal"`
	Session   string           `json:"session"` // chosen by the agent, unique for it
	// where its events go; empty: run/SESSION. Agents may share one
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
	// IdleSeconds is after how long without an event the session closes; 0: 1,800. At most 7 days.
	IdleSeconds int `json:"idle_seconds,omitempty"`
	// ReflectionThreshold is after how many visible events the agent reflects; 0: it does not.
	ReflectionThreshold int `json:"reflection_threshold,omitempty"`
}

// SessionInput starts the workflow Session. Clients that send events by Signal-With-Start or Update-With-Start
// give the reference and the settings; the rest is set by continue-as-new.
type SessionInput struct {
	SessionRef
	Settings SessionSettings `json:"settings"`

	State *SessionState `json:"state,omitempty"`
}

// SessionState is what a run of Session hands to the next one. It holds numbers and ids, never content.
type SessionState struct {
	FirstSeq int64 `json:"first_seq"` // of the episode that is open
	LastSeq  int64 `json:"last_seq"`  // the newest event that was taken in
	Events   int   `json:"events"`    // of the session, so far
	Runs     int   `json:"runs"`

	Told        int64 `json:"told,omitempty"`        // the ledger has the session's events up to this number
	Unreflected int   `json:"unreflected,omitempty"` // events since the agent was last asked to reflect
}

// AppendRequest hands events of a session to the ledger. Events without a stream are of the session's stream, and
// events without an agent are the principal's. The id of an event makes it count once.
type AppendRequest struct {
	SessionRef
	Settings SessionSettings `json:"settings"` // for a session that this request starts
	Events   []ledger.Event  `json:"events"`
}

// AppendSignal is what SignalAppend carries.
type AppendSignal struct {
	Events []ledger.Event `json:"events"`
}

// AppendedSignal is the payload of SignalAppended: the ledger already has the events up to Seq.
type AppendedSignal struct {
	Seq int64 `json:"seq"`
}

// AppendResult says where the events of a request are in the ledger, in their order.
type AppendResult struct {
	Appended []ledger.Appended `json:"appended"`
	LastSeq  int64             `json:"last_seq"` // of the session's stream
}

// CloseRequest ends a session. Where Outcome is given, an event run.ended is appended first.
type CloseRequest struct {
	SessionRef
	Outcome schema.Outcome `json:"outcome,omitempty"`
	Summary string         `json:"summary,omitempty"`
}

// SessionResult says what became of a session.
type SessionResult struct {
	Stream    string         `json:"stream"`
	Events    int            `json:"events"`
	FirstSeq  int64          `json:"first_seq"`
	LastSeq   int64          `json:"last_seq"`
	EpisodeID string         `json:"episode_id,omitempty"` // of the episodic record; empty: the session had no event
	Outcome   schema.Outcome `json:"outcome,omitempty"`
	Closed    string         `json:"closed,omitempty"` // finished or idle
}

// SessionWorking answers QueryWorking.
type SessionWorking struct {
	Stream  string                `json:"stream"`
	Seq     int64                 `json:"seq"` // the newest event that it takes into account
	Working schema.WorkingPayload `json:"working"`
}

// SessionProgress answers QueryProgress of Session.
type SessionProgress struct {
	Phase   string `json:"phase"` // open, closing or done
	Events  int    `json:"events"`
	LastSeq int64  `json:"last_seq"`
	Waiting int    `json:"waiting"` // events accepted and not in the ledger yet
	// events of signals that cannot be kept: not well formed, or the id is another's
	Refused  int       `json:"refused"`
	Runs     int       `json:"runs"` // this one included
	IdleFrom time.Time `json:"idle_from"`
}

// RecordRequest sends a whole session that has ended to the workflow RecordSession: one request, one episode. It has
// at most ledger.MaxAppend events; send more with AppendRequest, page by page.
type RecordRequest struct {
	SessionRef
	Outcome schema.Outcome `json:"outcome,omitempty"` // if the events do not have it
	Events  []ledger.Event `json:"events"`
}

// ReflectInput starts the workflow Reflect: the agent reflects on what it saw since its last reflection, if that is
// at least Threshold events.
type ReflectInput struct {
	Principal schema.Principal `json:"principal"`
	Stream    string           `json:"stream"`
	Threshold int              `json:"threshold"`         // events; 1 or more
	Through   int64            `json:"through,omitempty"` // only events up to this number of the stream; 0 for all

	// Visibility is who else sees the belief. Empty: every agent of the tenant, or the deployment's setting, which is
	// also the widest that a request gets. An agent's conclusion may reveal its private events.
	Visibility schema.Visibility `json:"visibility,omitempty"`
	// MaxSensitivity is the highest class of events that the agent reflects on. Empty: medium.
	MaxSensitivity schema.Sensitivity `json:"max_sensitivity,omitempty"`

	Sofar *ReflectResult `json:"so_far,omitempty"` // set by continue-as-new
}

// ReflectResult says whether a reflection was due, and where the belief is: the last one, if there were many events
// and the agent made several.
type ReflectResult struct {
	Due     bool   `json:"due"`
	Beliefs int    `json:"beliefs,omitempty"`  // how many were made
	EventID string `json:"event_id,omitempty"` // of agent.reflected
	Seq     int64  `json:"seq,omitempty"`
	Covers  int    `json:"covers,omitempty"`   // number of events that it summarizes
	BasedOn int    `json:"based_on,omitempty"` // number of events that it cites
	Refused string `json:"refused,omitempty"`  // why there is no belief: a field and a problem, never content
	Tokens  int    `json:"tokens,omitempty"`   // that a model used, for all of them
}

// EraseEventsRequest starts the workflow EraseEvents: events are emptied permanently, and the histories of the sessions
// that may have carried them are deleted.
type EraseEventsRequest struct {
	Tenant string   `json:"tenant"`
	IDs    []string `json:"ids"` // at most ledger.MaxAppend
	// Everywhere also erases the episodes that repeat the events, and other memories with the same content. It needs
	// a reason, which their history keeps.
	Everywhere bool   `json:"everywhere,omitempty"`
	Actor      string `json:"actor,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// EraseEventsResult says what was erased.
type EraseEventsResult struct {
	Erased   int      `json:"erased"`             // events that were emptied now
	Sessions int      `json:"sessions"`           // whose histories were deleted
	Runs     int      `json:"runs"`               // that were deleted
	Indexed  int      `json:"indexed,omitempty"`  // events that were removed from a hosted memory index
	Episodes []string `json:"episodes,omitempty"` // ids of records that repeat the events and were not erased
	// Receipts are the receipts of records that were erased with Everywhere, one for each agent that had such
	// records.
	Receipts []schema.ForgetReceipt `json:"receipts,omitempty"`
}
