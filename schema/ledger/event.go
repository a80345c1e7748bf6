package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of an event.
const (
	MaxEventID      = 200     // characters of an id
	MaxStream       = 200     // characters of a stream's name
	MaxKind         = 64      // characters of a kind
	MaxPayloadBytes = 256_000 // bytes of a payload; use an artifact for larger data
	MaxAppend       = 1_000   // events of one request
	MaxTurn         = math.MaxInt32
)

// Event is one entry of the ledger. The ledger is append-only: an event never changes, except that its payload can be
// erased.
type Event struct {
	// chosen by the caller and unique in the tenant; an event with a known id is not added again
	ID     string `json:"id"`
	Stream string `json:"stream"`        // StreamKind/name, such as run/build-42
	Seq    int64  `json:"seq,omitempty"` // place in the stream: 1, 2, 3 without gaps; set by the ledger

	Agent string `json:"agent"` // owner of the event
	// PolicyGroup is the agent's policy group at the time of the append. It sees the event if Visibility is group.
	PolicyGroup string `json:"policy_group,omitempty"`

	Kind string `json:"kind"`           // such as tool.called
	Turn int    `json:"turn,omitempty"` // of the run; 0 or more

	OccurredAt time.Time  `json:"occurred_at"`
	RecordedAt *time.Time `json:"recorded_at,omitempty"` // set by the ledger

	// default: private, or global for kinds that everyone sees
	Visibility  schema.Visibility  `json:"visibility,omitempty"`
	Sensitivity schema.Sensitivity `json:"sensitivity,omitempty"` // default low

	Payload json.RawMessage `json:"payload,omitempty"` // an object whose type depends on Kind
	Erased  bool            `json:"erased,omitempty"`  // the payload was erased
}

// StreamKind is the kind of a stream.
type StreamKind string

// The kinds of streams.
const (
	StreamWorld        StreamKind = "world"
	StreamRun          StreamKind = "run"
	StreamConversation StreamKind = "conversation"
)

// Stream returns the name of a stream.
func (k StreamKind) Stream(name string) string { return string(k) + "/" + name }

// IngestStream returns the stream of the candidates that an agent ingests: conversation/AGENT. For a user a digest of
// the user follows the agent, so that users have streams of their own and the name of the stream is not that of a
// person.
func IngestStream(agent, user string) string {
	if user == "" {
		return StreamConversation.Stream(agent)
	}
	sum := sha256.Sum256([]byte(user))
	return StreamConversation.Stream(agent + "@" + hex.EncodeToString(sum[:16]))
}

// StreamKindOf returns the kind of a stream, or "" if its name has none.
func StreamKindOf(stream string) StreamKind {
	kind, name, found := strings.Cut(stream, "/")
	if !found || name == "" {
		return ""
	}
	switch k := StreamKind(kind); k {
	case StreamWorld, StreamRun, StreamConversation:
		return k
	}
	return ""
}

// Kinds of events that Mneme itself reads or writes. Events of other kinds may be appended too.
const (
	KindRunStarted     = "run.started"
	KindUserInjected   = "user.injected"     // what a user said (Text)
	KindWorldObserved  = "world.observed"    // Text or any object
	KindEnvironment    = "world.environment" // schema.Environment
	KindAgentSpoke     = "agent.spoke"       // Text
	KindAgentThought   = "agent.thought"     // Text
	KindAgentReflected = "agent.reflected"   // Reflection
	KindClueFound      = "clue.found"        // Text
	KindJudgeVerdict   = "judge.verdict"     // Text
	KindVerdictFinal   = "verdict.final"     // Text
	KindToolCalled     = "tool.called"       // ToolCall
	KindToolReturned   = "tool.returned"     // ToolResult
	KindToolFailed     = "tool.failed"       // ToolResult with Error
	KindArtifact       = "artifact.added"    // Text with Artifacts
	KindWorkingUpdated = "working.updated"   // WorkingUpdate: some fields of schema.WorkingPayload
	KindOutcome        = "run.ended"         // Outcome
	KindCandidate      = "memory.ingested"   // a candidate was ingested; its text is with the candidate
)

// Text is the payload of an event with a text.
type Text struct {
	Text      string   `json:"text"`
	Artifacts []string `json:"artifacts,omitempty"` // references sha256:<hex>
}

// ToolCall is the payload of tool.called.
type ToolCall struct {
	CallID    string          `json:"call_id"` // unique in the stream
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args,omitempty"`       // an object
	DependsOn []string        `json:"depends_on,omitempty"` // calls whose results it used, if the agent knows them
}

// ToolResult is the payload of tool.returned and tool.failed.
type ToolResult struct {
	CallID     string          `json:"call_id"`
	Result     json.RawMessage `json:"result,omitempty"` // any JSON
	Error      string          `json:"error,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	Artifacts  []string        `json:"artifacts,omitempty"`
}

// Reflection is the payload of agent.reflected: a belief and the events on which it is based.
type Reflection struct {
	Belief  string   `json:"belief"`
	BasedOn []string `json:"based_on"`          // ids of events
	Covers  int      `json:"covers,omitempty"`  // number of events that it summarizes in later views
	Through string   `json:"through,omitempty"` // last of these events; default: the last event before the reflection
}

// Outcome is the payload of run.ended.
type Outcome struct {
	Outcome schema.Outcome `json:"outcome"`
	Summary string         `json:"summary,omitempty"`
}

// DecodeEvent reads one event from JSON; fields that the JSON lacks keep their values. Unknown fields, wrong types,
// fields that are given twice, text that is not valid Unicode and trailing data are errors. It returns a
// *schema.ValidationError.
func DecodeEvent(data []byte, into *Event) error {
	var p check.Problems
	if _, ok := check.Scan(data, "", check.MaxDepth+1, math.MaxInt, &p); !ok {
		return p.Err()
	}
	d := check.DecodeInput(data, into)
	return d.Err()
}

// Validate checks an event before it is appended. It returns a *schema.ValidationError.
func (e *Event) Validate() error {
	var p check.Problems
	e.validate(&p, "")
	return p.Err()
}

func (e *Event) validate(p *check.Problems, path string) {
	if e.ID == "" {
		p.Add(path+"id", "is required")
	}
	check.Text(p, path+"id", e.ID, MaxEventID)
	if StreamKindOf(e.Stream) == "" {
		p.Add(path+"stream", "must be world/NAME, run/NAME or conversation/NAME")
	}
	check.Text(p, path+"stream", e.Stream, MaxStream)
	if e.Agent == "" {
		p.Add(path+"agent", "is required")
	}
	check.Text(p, path+"agent", e.Agent, schema.MaxNameLength)
	check.Text(p, path+"policy_group", e.PolicyGroup, schema.MaxNameLength)
	if !kindForm(e.Kind) {
		p.Add(path+"kind", "must be lower-case words joined by dots, at most %d characters", MaxKind)
	}
	if e.Turn < 0 || e.Turn > MaxTurn {
		p.Add(path+"turn", "must be between 0 and %d", MaxTurn)
	}
	if e.OccurredAt.IsZero() {
		p.Add(path+"occurred_at", "is required")
	} else {
		check.Year(p, path+"occurred_at", e.OccurredAt)
	}
	if e.Visibility != "" && !e.Visibility.Valid() {
		p.Add(path+"visibility", "must be private, group, shared or global")
	}
	if e.Sensitivity != "" && !e.Sensitivity.Valid() {
		p.Add(path+"sensitivity", "must be public, low, medium, high or hyper")
	}
	if e.Seq != 0 || e.RecordedAt != nil || e.Erased {
		p.Add(path+"seq", "seq, recorded_at and erased are set by the ledger")
	}
	e.validatePayload(p, path+"payload")
}

// ValidKind reports whether a kind is valid for an event.
func ValidKind(kind string) bool { return kindForm(kind) }

// kindForm reports whether a kind consists of lower-case words of letters, digits and underscores, joined by dots.
func kindForm(kind string) bool {
	if kind == "" || len(kind) > MaxKind {
		return false
	}
	for _, word := range strings.Split(kind, ".") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return true
}

func (e *Event) validatePayload(p *check.Problems, path string) {
	if len(e.Payload) == 0 {
		return
	}
	if e.Payload[0] != '{' {
		p.Add(path, "must be an object")
		return
	}
	if _, ok := check.Scan(e.Payload, path, check.MaxDepth, MaxPayloadBytes, p); !ok {
		return
	}
	wants := func(ok bool, field, problem string) {
		if !ok {
			p.Add(path+"."+field, "%s", problem)
		}
	}
	switch e.Kind {
	case KindToolCalled:
		v, ok := read[ToolCall](e.Payload, p, path)
		wants(!ok || v.CallID != "", "call_id", "is required")
		wants(!ok || v.Tool != "", "tool", "is required")
	case KindToolReturned, KindToolFailed:
		v, ok := read[ToolResult](e.Payload, p, path)
		wants(!ok || v.CallID != "", "call_id", "is required")
	case KindAgentReflected:
		v, ok := read[Reflection](e.Payload, p, path)
		wants(!ok || strings.TrimSpace(v.Belief) != "", "belief", "is required")
		wants(!ok || len(v.BasedOn) > 0, "based_on", "must name at least one event")
		wants(!ok || v.Covers >= 0, "covers", "must not be negative")
		check.Text(p, path+".through", v.Through, MaxEventID)
	case KindOutcome:
		v, ok := read[Outcome](e.Payload, p, path)
		wants(!ok || v.Outcome.Valid(), "outcome", "must be success, failure or partial")
	case KindEnvironment:
		read[schema.Environment](e.Payload, p, path)
	case KindWorkingUpdated:
		v, ok := read[schema.WorkingPayload](e.Payload, p, path)
		wants(!ok || v.State == "" || v.State.Valid(), "state", "must be planning, executing, blocked, waiting or done")
	}
}

// read decodes a payload, and adds a problem if it has another shape.
func read[T any](payload json.RawMessage, p *check.Problems, path string) (T, bool) {
	var v T
	if err := json.Unmarshal(payload, &v); err != nil {
		p.Add(path, "does not have the shape of its kind")
		return v, false
	}
	return v, true
}

// Payload decodes the payload of an event into the type of its kind. It returns false if the event has no payload, was
// erased, or has a payload of another shape.
func Payload[T any](e Event) (T, bool) {
	var v T
	if len(e.Payload) == 0 || json.Unmarshal(e.Payload, &v) != nil {
		return v, false
	}
	return v, true
}
