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

// MayReadHistory reports whether a principal may read a history of its tenant. That of a memory is read by those who
// may read the memory, within the sensitivities that they are cleared for. Where there is no memory, it is its
// agent's to read, and a user's as far as the scope is known to be the user's. It is the specification of the
// condition in SQL by which histories are read, which is tested against it.
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

// ShowHistory returns a history entry as it is shown to one who may read the history. A revision together with
// another memory was given its reason and its evidence for that one, too: they are shown to those who may read
// both. A purged memory hides nothing. mayLook says whether the reader may read a memory that exists; it
// is asked about ids only. Like MayReadHistory it is the specification of what the statements do.
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
