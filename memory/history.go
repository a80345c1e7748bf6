package memory

import (
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/schema"
)

// HistorySubject is the memory or candidate that a history belongs to.
type HistorySubject struct {
	Kind        HistoryKind
	Holding     Holding // of a candidate: of its batch; of a memory forgotten by force: only the agent is known
	Sensitivity schema.Sensitivity
}

// HistoryKind is the kind of a history's subject.
type HistoryKind int

// The kinds of histories.
const (
	HistoryOfMemory    HistoryKind = iota // of a memory in any state
	HistoryOfCandidate                    // of a candidate without a memory: shadow mode, or forgotten by force
	HistoryOfForgotten                    // of a memory that was put and then forgotten by force
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

// Metadata keys of a history entry. A revision of several memories writes them for each memory.
const (
	HistorySuccessor = "successor" // id of the memory that replaced it
	// HistoryOther has the id of the memory that it is contested with, or forked from. The value is in stored histories.
	HistoryOther    = "beside"
	HistoryEvidence = "evidence" // evidence of the revision
)

// WithheldReason replaces a reason that the reader may not see.
const WithheldReason = "[withheld]"

// WithheldMetadata has the metadata keys that are withheld together with the reason.
var WithheldMetadata = []string{HistorySuccessor, HistoryOther, HistoryEvidence}

// ShowHistory returns a history entry as its reader may see it. The reason and the evidence of a revision may also
// concern another memory, so they are shown only if mayLook allows the reader to read that memory. A purged memory
// withholds nothing: mayLook must return true for it. Like MayReadHistory, this function specifies the SQL.
func ShowHistory(e schema.HistoryEntry, mayLook func(id string) bool) schema.HistoryEntry {
	var members map[string]any
	if json.Unmarshal(e.Metadata, &members) != nil {
		return e // no metadata
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
		shown = []byte("{}") // unreachable: members was decoded from JSON
	}
	e.Reason, e.Metadata = WithheldReason, shown
	return e
}
