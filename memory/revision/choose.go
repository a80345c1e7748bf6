package revision

import (
	"encoding/json"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Standing is the current state of a memory in a revision, or the new record.
type Standing struct {
	ID          string
	Found       bool // false: there is none, or the caller may not see it
	Version     int
	IfVersion   int // the version that the caller saw; 0: no check (only for a record)
	Type        schema.MemoryType
	Status      schema.Status
	Live        bool
	Pinned      bool
	Sensitivity schema.Sensitivity
	SourceTrust float64 // [0,1]
	Confidence  float64 // [0,1]
	Content     string  // the text for DetectContradiction

	// Of semantic memories.
	Claim    memory.Claim
	Validity schema.Validity
	Policy   schema.RevisionPolicy // empty means replace
	// ClaimKey and the validity must be unique among active facts. The key has the scope, the readers that share the
	// claim, the subject and the predicate. It is empty unless the claim is functional.
	ClaimKey string
	// Sources is the number of distinct sources of the memory or the record.
	Sources int
}

// Weight returns the weight of the evidence for a claim: confidence × source trust × support, in [0,1). Support is
// (n+1)/(n+2) for n distinct sources, from 0.5 without sources towards 1. Many sources do not make up for sources that
// are not trusted.
func (s Standing) Weight() float64 {
	n := float64(max(s.Sources, 0))
	return memory.ClampUnit(s.Confidence) * memory.ClampUnit(s.SourceTrust) * (n + 1) / (n + 2)
}

// Choose decides how new evidence is reconciled with a stored fact (document 004 §7 and §12, "conflicts are resolved
// by context, evidence and performance rather than forced unification"), and by which rule. It returns no action if
// there is no conflict.
//
// There is a conflict if both have the same subject and predicate but different objects, and either the predicate has
// one object at a time or their words contradict each other (DetectContradiction). Between other claims only the words
// decide.
//
//   - With disjoint validities both can be true: fork, under any policy (§15A.4 of the canonical schemas: coexistence
//     of conditional truths).
//   - Policy fork: fork if targetConditions make the validities disjoint, contest otherwise.
//   - Policy contest: contest.
//   - Policy replace: supersede if the weight of the record is at least that of the fact (Standing.Weight) and its
//     validity covers that of the fact; otherwise contest. A special case must not replace a general fact, which is
//     still true in all other cases.
func Choose(existing, incoming Standing, targetConditions *schema.Validity) (schema.ReviseAction, string) {
	if why := agree(existing, incoming); why != "" {
		return "", why
	}
	return choose(existing, incoming, targetConditions)
}

// KeepsItsPlace reports whether the pipeline must not replace a memory by a fact, or delete it because of one (document
// 004 §7 and §12). It must not if Choose would fork or contest, or if the memory is already contested. It must not
// either if the memory is only conditionally true, because a text without conditions does not end a special case. Other
// types than semantic are never kept. The caller has already decided that fact and memory conflict.
func KeepsItsPlace(existing, incoming Standing) bool {
	if existing.Type != schema.TypeSemantic {
		return false
	}
	action, _ := choose(existing, incoming, nil)
	return action != schema.ReviseSupersede || existing.Status == schema.StatusContested ||
		!memory.SameGround(existing.Validity, incoming.Validity)
}

// choose is Choose for memories that conflict.
func choose(existing, incoming Standing, targetConditions *schema.Validity) (schema.ReviseAction, string) {
	if memory.Disjoint(existing.Validity, incoming.Validity) {
		return schema.ReviseFork, "both hold: their grounds are disjoint"
	}
	switch existing.Policy {
	case schema.PolicyFork:
		if targetConditions != nil && memory.Disjoint(*targetConditions, incoming.Validity) &&
			memory.Covers(existing.Validity, *targetConditions) {
			return schema.ReviseFork, "policy fork: target_conditions make the grounds disjoint"
		}
		return schema.ReviseContest, "policy fork: the grounds are not disjoint"
	case schema.PolicyContest:
		return schema.ReviseContest, "policy contest"
	}
	switch {
	case !memory.Covers(incoming.Validity, existing.Validity):
		return schema.ReviseContest, "policy replace: the record does not hold everywhere where the target holds"
	case incoming.Weight() < existing.Weight():
		return schema.ReviseContest, "policy replace: less speaks for the record than for the target"
	default:
		return schema.ReviseSupersede, "policy replace: at least as much speaks for the record"
	}
}

// agree returns the reason why two memories do not conflict, or "".
func agree(existing, incoming Standing) string {
	a, b := existing.Claim, incoming.Claim
	risk := DetectContradiction(existing.Content, incoming.Content).Risk
	sameClaim := !a.IsZero() && !b.IsZero() && normalize.Lower(a.Subject) == normalize.Lower(b.Subject) &&
		a.Predicate == b.Predicate
	switch {
	case sameClaim && SameObject(a.Object, b.Object):
		return "both say the same"
	case sameClaim && (a.Functional || b.Functional), risk:
		return ""
	case sameClaim:
		return "the predicate may have several objects"
	default:
		return "they are about different things and their words do not contradict each other"
	}
}

// SameObject reports whether two objects are equal as normalized texts or as JSON values.
func SameObject(a, b string) bool {
	if normalize.StorageContent(a) == normalize.StorageContent(b) {
		return true
	}
	first := func(s string) bool { return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") }
	return first(a) && first(b) && memory.Canonical(json.RawMessage(a)) == memory.Canonical(json.RawMessage(b))
}
