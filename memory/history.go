package memory

import (
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/schema"
)

// HistorySubject is what a history is of.
type HistorySubject struct {
	Kind        HistoryKind
	Holding     Holding // of a candidate, its batch's; of what was forgotten by force, the agent alone is known
	Sensitivity schema.Sensitivity
}

// HistoryKind says what a history is of.
type HistoryKind int

// The kinds of histories.
const (
	HistoryOfMemory    HistoryKind = iota // of a memory, in whatever state
	HistoryOfCandidate                    // of a candidate without a memory: shadow mode, or forgotten by force
	HistoryOfForgotten                    // of what was put and then forgotten by force
)

// MayReadHistory reports whether a principal may read a history of its tenant. The history of a memory may be read by
// principals who may read the memory, within the sensitivities that they are cleared for. If the memory no longer
// exists, its agent may read the history, and a user only if the scope is known to be the user's. This function
// specifies the SQL condition by which histories are read; a test compares the two.
func MayReadHistory(p schema.Principal, cleared []schema.Sensitivity, of HistorySubject) bool {
	own := of.Holding.Owner.Agent == p.Agent
	switch of.Kind {
	case HistoryOfMemory:
		return MayLook(p, of.Holding) && slices.Contains(cleared, of.Sensitivity)
	case HistoryOfCandidate:
		return own && p.MayRead(of.Holding.Owner.Scope) && slices.Contains(cleared, of.Sensitivity)
	case HistoryOfForgotten:
		return own && p.User == ""
	}
	return false
}

// Keys of the metadata of a history entry, which a revision of several memories writes for each of them.
const (
	HistorySuccessor = "successor" // id of the memory that took its place
	HistoryOther     = "beside"    // id of the memory that it is contested with, or forked from
	HistoryEvidence  = "evidence"  // what the revision rests on
)

// WithheldReason takes the place of a reason that is not shown.
const WithheldReason = "[withheld]"

// WithheldMetadata are the members that are not shown where the reason is not.
var WithheldMetadata = []string{HistorySuccessor, HistoryOther, HistoryEvidence}

// ShowHistory returns a history entry as it is shown to a reader of the history. A revision together with another
// memory also recorded its reason and evidence for that one: they are shown only to readers of both. A purged memory
// hides nothing. mayLook reports whether the reader may read a memory that exists; it gets ids only. Like
// MayReadHistory it specifies what the statements do.
func ShowHistory(e schema.HistoryEntry, mayLook func(id string) bool) schema.HistoryEntry {
	var members map[string]any
	if json.Unmarshal(e.Metadata, &members) != nil {
		return e // it has none
	}
	other, ok := members[HistorySuccessor].(string)
	if !ok {
		other, ok = members[HistoryOther].(string)
	}
	if !ok || mayLook(other) {
		return e
	}
	for _, member := range WithheldMetadata {
		delete(members, member)
	}
	shown, err := json.Marshal(members)
	if err != nil {
		shown = []byte("{}") // unreachable: they were decoded from JSON
	}
	e.Reason, e.Metadata = WithheldReason, shown
	return e
}
