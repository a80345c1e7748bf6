package revision

import (
	"encoding/json"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Standing is a memory as a revision finds it, or the record that it brings.
type Standing struct {
	ID          string
	Found       bool // false: there is none, or the caller may not see it
	Version     int
	IfVersion   int // as the caller saw it; 0 asks for nothing (a record only)
	Type        schema.MemoryType
	Status      schema.Status
	Live        bool
	Pinned      bool
	Sensitivity schema.Sensitivity
	SourceTrust float64 // [0,1]
	Confidence  float64 // [0,1]
	Content     string  // what DetectContradiction compares

	// Of semantic memories.
	Claim    memory.Claim
	Validity schema.Validity
	Policy   schema.RevisionPolicy // empty means replace
	// ClaimKey is what active facts are unique by, in addition to their ground: scope, the readers that share
	// the claim, subject and predicate. Empty unless the claim is functional.
	ClaimKey string
	// Sources counts the distinct sources that the memory or the record rests on.
	Sources int
}

// Weight is how much speaks for a claim: confidence × source trust × support. Support grows with the
// number n of distinct sources as (n+1)/(n+2), from a half without any towards one: a second source
// counts for more than a tenth, and no number of sources makes up for sources that are not trusted.
// The result lies in [0,1).
func (s Standing) Weight() float64 {
	n := float64(max(s.Sources, 0))
	return memory.ClampUnit(s.Confidence) * memory.ClampUnit(s.SourceTrust) * (n + 1) / (n + 2)
}

// Choose decides how new evidence is reconciled with a stored fact (document 004 §7 and §12, "conflicts are resolved
// by context, evidence and performance rather than forced unification"), and by which rule. It returns no action if
// there is no conflict.
//
// There is a conflict if both are about the same subject and predicate, give it different values, and either the
// predicate has one object at a time or their words contradict each other (DetectContradiction). Between other claims
// only the words decide.
//
//   - On disjoint grounds both are true: fork, whatever the policy (§15A.4 of the canonical schemas:
//     coexistence of conditional truths).
//   - Policy fork: fork if targetConditions make the grounds disjoint, contest otherwise.
//   - Policy contest: contest.
//   - Policy replace: supersede if the record weighs at least as much as the fact (Standing.Weight) and
//     holds wherever that does; otherwise contest. A special case does not replace the rule: that would
//     forget what holds everywhere else.
func Choose(existing, incoming Standing, targetConditions *schema.Validity) (schema.ReviseAction, string) {
	if why := agree(existing, incoming); why != "" {
		return "", why
	}
	return choose(existing, incoming, targetConditions)
}

// KeepsItsPlace reports whether the pipeline may not replace a memory by a fact, or delete it because of one
// (document 004 §7 and §12): if Choose would fork or contest; if the memory holds only on some ground, because a text
// without conditions does not say that the special case has ended; and if the memory is contested already. Only
// semantic memories are revised so. The decision has said whether fact and memory conflict.
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

// agree says why two memories do not conflict, or "".
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

// SameObject compares objects as text does, and JSON by its value.
func SameObject(a, b string) bool {
	if normalize.StorageContent(a) == normalize.StorageContent(b) {
		return true
	}
	first := func(s string) bool { return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") }
	return first(a) && first(b) && memory.Canonical(json.RawMessage(a)) == memory.Canonical(json.RawMessage(b))
}
