package views

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var globalKinds = []string{ledger.KindWorldObserved, ledger.KindJudgeVerdict, ledger.KindUserInjected,
	ledger.KindRunStarted, ledger.KindAgentReflected}

// GlobalKinds returns the kinds of events that every agent sees (document 001, Layer 1), unless a Viewer names others.
func GlobalKinds() []string { return slices.Clone(globalKinds) }

// OpenKinds returns the kinds of events that every agent sees in a deployment: the named ones, which may be none
// (empty), or GlobalKinds if named is nil.
func OpenKinds(named []string) []string {
	if named == nil {
		return GlobalKinds()
	}
	return named
}

// Viewer is the agent for which a view is computed. It has no tenant, because all events of a view are of one tenant.
type Viewer struct {
	Agent       string `json:"agent"`
	PolicyGroup string `json:"policy_group,omitempty"`
	// User is the person for whom the agent acts. Empty: no one in particular.
	User string `json:"user,omitempty"`

	// MaxSensitivity is the highest class that is shown, even of the agent's own events. Empty: no limit.
	MaxSensitivity schema.Sensitivity `json:"max_sensitivity,omitempty"`

	// GlobalKinds has the kinds that every agent sees. Nil means those of document 001; empty means none. JSON keeps
	// the difference, as null and [].
	GlobalKinds []string `json:"global_kinds"`
}

// Reads reports whether the viewer reads a stream of a scope: user/NAME for the stream of a user, empty for a stream
// of no user. A viewer that acts for a user reads the streams of that user and those of no user, as
// schema.Principal.MayRead does for memories.
func (v Viewer) Reads(scope string) bool { return schema.Principal{User: v.User}.MayRead(scope) }

// Problems of a stream that a user's event or session names.
const (
	notOfUser   = "is not a stream of this user"
	ofNoUser    = "is a world, which belongs to no user: leave the user out, or use a stream of the user"
	ofSomeUser  = "is the stream of a user: name the user"
	worldPrefix = "world."
)

// AppendProblem returns why an agent that acts for a user must not append an event of a kind to a stream of a scope, or
// "". A user's events belong in the user's own streams, because what is in other streams is read for other users. A
// world takes observations (world.…) for a user as well. Without a user the agent may append to every stream.
func AppendProblem(user, stream, kind, scope string) string {
	switch {
	case user == "" || scope == schema.UserScope(user):
		return ""
	case ledger.StreamKindOf(stream) != ledger.StreamWorld:
		return notOfUser
	case strings.HasPrefix(kind, worldPrefix):
		return ""
	}
	return ofNoUser
}

// SessionProblem returns why an agent that acts for a user, or for none, must not have a session on a stream of a
// scope, or "". A session makes a memory of its owner out of all events of the stream.
func SessionProblem(user, stream, scope string) string {
	switch {
	case user == "" && scope == "", user != "" && scope == schema.UserScope(user):
		return ""
	case user == "":
		return ofSomeUser
	case ledger.StreamKindOf(stream) == ledger.StreamWorld:
		return ofNoUser
	}
	return notOfUser
}

// Sees reports whether an event is visible to the viewer:
//
//   - The viewer's own events are visible, with any kind and visibility.
//   - The visibility of another agent's event decides if it is set: global and shared are for every agent of the
//     tenant, group is for agents of the same policy group, private is for the event's own agent.
//   - If none is set, the kind decides: globally visible kinds are for everyone, all others are private. An event
//     of a globally visible kind is therefore hidden only if its agent set it so.
//
// No viewer sees events above its MaxSensitivity, erased events, or events with an unknown visibility or class.
func (v Viewer) Sees(e ledger.Event) bool {
	return !e.Erased && v.admits(e) && v.cleared(e)
}

// admits is Sees without regard to sensitivity and erasure.
func (v Viewer) admits(e ledger.Event) bool {
	if v.Agent != "" && e.Agent == v.Agent {
		return true
	}
	switch e.Visibility {
	case schema.VisibilityGlobal, schema.VisibilityShared:
		return true
	case schema.VisibilityGroup:
		return e.PolicyGroup != "" && e.PolicyGroup == v.PolicyGroup
	case "":
		if v.GlobalKinds == nil {
			return slices.Contains(globalKinds, e.Kind)
		}
		return slices.Contains(v.GlobalKinds, e.Kind)
	}
	return false
}

// cleared reports whether the event's sensitivity is within the viewer's ceiling.
func (v Viewer) cleared(e ledger.Event) bool {
	return v.MaxSensitivity == "" || slices.Contains(v.MaxSensitivity.AtMost(), sensitivity(e))
}

// sensitivity returns the class of an event; low if none is set.
func sensitivity(e ledger.Event) schema.Sensitivity {
	if e.Sensitivity == "" {
		return schema.SensitivityLow
	}
	return e.Sensitivity
}

// Visible returns the events that the viewer sees, in ledger order, each once.
func (v Viewer) Visible(events []ledger.Event) []ledger.Event {
	var out []ledger.Event
	for _, e := range Order(events) {
		if v.Sees(e) {
			out = append(out, e)
		}
	}
	return out
}
