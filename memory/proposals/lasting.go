package proposals

import (
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Why a fact is new although a memory says it already. They are stored with proposals.
const (
	WhyOnlyFading = "new: only a memory that fades says it"
	WhyKnownToFew = "new: known to fewer than it is meant for"
	WhyBounded    = "new: known only under conditions or for a time"
)

// KeepLasting turns the decision that a neighbour says the fact already into an add where that neighbour may
// not stand for it: it fades, does not always hold, or is for fewer than those of the visibility that the fact is
// meant for. Nothing that was accepted is lost with it. Other proposals are returned as they are.
func KeepLasting(p memory.Proposal, neighbors []memory.Neighbor, v schema.Visibility) memory.Proposal {
	if p.Action != schema.ActionNone || p.TargetID == "" {
		return p
	}
	for _, n := range neighbors {
		if why := whyNew(n, v); n.ID == p.TargetID && why != "" {
			return memory.Proposal{Action: schema.ActionAdd, Confidence: p.Confidence, Reason: why,
				Warnings: p.Warnings}
		}
	}
	return p
}

// whyNew says why a memory that says a fact may not stand for it, or "".
func whyNew(n memory.Neighbor, v schema.Visibility) string {
	switch {
	case !memory.States(n.Type):
		return WhyOnlyFading
	case n.Bounded:
		return WhyBounded
	case memory.Narrower(n.Visibility, v):
		return WhyKnownToFew
	}
	return ""
}

// Restated is a lasting record, or the memory that says it again.
type Restated struct {
	Trust       float64 // [0,1]
	Sensitivity schema.Sensitivity
	Visibility  schema.Visibility
}

// RelationRestates leads from a memory to a record that it says again, where the record is not derived from it.
const RelationRestates = "restates"

// MaxSources bounds what one record is derived from. What says it after that restates it, which is an edge of the
// other memory.
const MaxSources = 200

// TieOf is the relation between a lasting record and a memory that says it again. A memory from which the
// record could have been drawn as it is becomes a source of it (RelationDerivedFrom, from the record). What is
// trusted less, is more sensitive or is for fewer restates it (RelationRestates, to the record): were the record
// derived from it, the record would be trusted less, too, and seen by fewer.
func TieOf(record, again Restated) string {
	if again.Trust < record.Trust || sensitive.Rank(again.Sensitivity) > sensitive.Rank(record.Sensitivity) ||
		memory.Narrower(again.Visibility, record.Visibility) {
		return RelationRestates
	}
	return revision.RelationDerivedFrom
}

// Restate returns what changes in a lasting record when someone says the same again: as much as one success
// (Reinforce). What is still said is not to fade.
func Restate(m lifecycle.Rated, now time.Time) (lifecycle.Reinforcement, error) {
	return lifecycle.Reinforce(m, schema.VerdictSucceeded, nil, now)
}

// SourceRef is the evidence of a fact whose source brought no reference: the source itself, what kind it was
// and when it was said. It stays when the source has faded.
func SourceRef(kind schema.SourceKind, id string, at time.Time) schema.Ref {
	at = at.UTC()
	ref := schema.Ref{Kind: "observation", Ref: SourceRefPrefix + id, Timestamp: &at}
	switch kind {
	case schema.SourceUserInput, schema.SourceMemory:
		ref.Kind = "human"
	case schema.SourceToolOutput:
		ref.Kind = "tool_call"
	case schema.SourceOutcome:
		ref.Kind = "outcome"
	}
	return ref
}

// SourceRefPrefix begins a reference to a memory.
const SourceRefPrefix = "memory:"
