package memory

import (
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/schema"
)

// HistorySubject is the memory or candidate that a history belongs to.
type HistorySubject struct {
	Kind        HistoryKind
	Holding     Holding // of a candidate: of its batch; of a memory without a row: only the agent is known
	Sensitivity schema.Sensitivity
}

// HistoryKind is the kind of a history's subject.
type HistoryKind int

// The kinds of histories.
const (
	HistoryOfMemory    HistoryKind = iota // of a memory in any state
	HistoryOfCandidate                    // of a candidate without a memory: shadow mode, or its memory is gone
	HistoryOfForgotten                    // of a memory that was put and is gone: forgotten by force, or purged
)

// MayReadHistory reports whether a principal may read a history of its tenant. The history of a memory may be read by
// principals who may read the memory, within the sensitivities that they are cleared for. If the memory no longer
// exists, its agent may read the history within the memory's sensitivity, because a purge keeps its texts. A user may
// read it only if the scope is known to be the user's. This function specifies the SQL condition by which histories are
// read; a test compares the two.
func MayReadHistory(p schema.Principal, cleared []schema.Sensitivity, of HistorySubject) bool {
	own := of.Holding.Owner.Agent == p.Agent
	switch of.Kind {
	case HistoryOfMemory:
		return MayLook(p, of.Holding) && slices.Contains(cleared, of.Sensitivity)
	case HistoryOfCandidate:
		return own && p.MayRead(of.Holding.Owner.Scope) && slices.Contains(cleared, of.Sensitivity)
	case HistoryOfForgotten:
		return own && p.User == "" && slices.Contains(cleared, of.Sensitivity)
	}
	return false
}

// Metadata keys of a history entry that name other memories. A revision of several memories writes the first two for
// each memory, and the pipeline the others.
const (
	HistorySuccessor = "successor" // id of the memory that replaced it
	// HistoryOther has the id of the memory that it is contested with, or forked from. The value is in stored histories.
	HistoryOther   = "beside"
	HistoryTarget  = "targetMemoryId" // id of the memory that a decision is about
	HistoryWritten = "memory_id"      // id of the memory that has a decided fact
	HistorySource  = "parentId"       // id of the memory that a decided fact was extracted from
)

// Metadata keys of a history entry that are withheld with the reason.
const (
	HistoryEvidence  = "evidence" // evidence of the revision
	historyCandidate = "candidateId"
	historyFactHash  = "factHash"
)

// WithheldReason replaces a reason that the reader may not see.
const WithheldReason = "[withheld]"

// HistoryNames has the metadata keys that name other memories.
var HistoryNames = []string{HistorySuccessor, HistoryOther, HistoryTarget, HistoryWritten, HistorySource}

// WithheldMetadata has the metadata keys that are withheld together with the reason.
var WithheldMetadata = append([]string{HistoryEvidence, historyCandidate, historyFactHash}, HistoryNames...)

// ShowHistory returns a history entry as its reader may see it. The reason and the evidence of a revision or of a
// decision may also concern the other memories that the entry names, so they are shown only if mayLook allows the
// reader to read all of these. A purged memory withholds nothing: mayLook must return true for it. Like MayReadHistory,
// this function specifies the SQL.
func ShowHistory(e schema.HistoryEntry, mayLook func(id string) bool) schema.HistoryEntry {
	var members map[string]any
	if json.Unmarshal(e.Metadata, &members) != nil {
		return e // no metadata
	}
	if !slices.ContainsFunc(HistoryNames, func(name string) bool {
		other, ok := members[name].(string)
		return ok && !mayLook(other)
	}) {
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
