package proposals

import (
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Reasons why a fact is new although a memory already states it. They are stored with proposals.
const (
	WhyOnlyFading = "new: only a memory that fades says it"
	WhyKnownToFew = "new: known to fewer than it is meant for"
	WhyBounded    = "new: known only under conditions or for a time"
)

// KeepLasting turns the decision that a neighbour already states the fact into an add if that neighbour cannot
// represent it: it fades, is not always true, or has fewer readers than the fact's visibility. So no accepted fact is
// lost together with such a neighbour. Other proposals are returned unchanged.
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

// whyNew returns the reason why a memory cannot represent a fact that it states, or "".
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

// Restated is a lasting record, or a memory that repeats its statement.
type Restated struct {
	Trust       float64 // [0,1]
	Sensitivity schema.Sensitivity
	Visibility  schema.Visibility
}

// RelationRestates is the relation from a memory to a record whose statement it repeats, if the record is not derived
// from it.
const RelationRestates = "restates"

// RelationDetails leads from a fact that says more about a value to the memory that makes the claim: "Ana lives in
// Porto near the river" to "Ana lives in Porto". A change of one changes the other.
const RelationDetails = "details"

// MaxSources is the greatest number of sources of a record. A further memory with its statement gets RelationRestates,
// which is an edge of that memory.
const MaxSources = 200

// TieOf returns the relation between a lasting record and a memory that repeats it. A memory from which the record
// could have been extracted unchanged becomes a source of it (RelationDerivedFrom, from the record). A less trusted,
// more sensitive or less visible memory restates it (RelationRestates, to the record): if the record were derived from
// it, the record would also be less trusted and less visible.
func TieOf(record, again Restated) string {
	if again.Trust < record.Trust || sensitive.Rank(again.Sensitivity) > sensitive.Rank(record.Sensitivity) ||
		memory.Narrower(again.Visibility, record.Visibility) {
		return RelationRestates
	}
	return revision.RelationDerivedFrom
}

// Restate returns the reinforcement of a lasting record whose statement is repeated, which counts as one success. A
// statement that is still repeated must not fade.
func Restate(m lifecycle.Rated, now time.Time) (lifecycle.Reinforcement, error) {
	return lifecycle.Reinforce(m, schema.VerdictSucceeded, nil, now)
}

// SourceRef returns the evidence of a fact whose source has no references: the kind, the id and the time of the source.
// It is kept after the source has faded.
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

// SourceRefPrefix is the prefix of a reference to a memory.
const SourceRefPrefix = "memory:"
