package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// DefaultMinFactConfidence is the confidence below which a fact is not written.
const DefaultMinFactConfidence = 0.7

// Machine reasons why a proposal was not applied. They are stored in history, counted in metrics and
// matched by clients: never reword one.
const (
	// Skipped: there is nothing to write.
	ReasonLowFactConfidence = "low_fact_confidence"
	ReasonEmptyFactContent  = "empty_fact_content" // nothing but punctuation
	ReasonAlreadyKnown      = "already_known"      // the decision was none
	ReasonDuplicate         = "duplicate_content_hash"
	ReasonParentForgotten   = "parent_forgotten" // the source was forgotten in the meantime

	// Skipped: the fact retracts a statement that no memory has.
	ReasonRetractionWithoutTarget = "retraction_without_target"

	// Skipped: the decision was unusable. CheckProposal turns it into none and leaves the reason.
	ReasonInvalidAction     = "invalid_action"
	ReasonInvalidConfidence = "invalid_confidence"
	ReasonMissingTarget     = "missing_target_id"
	ReasonUnknownTarget     = "unknown_target_id"
	ReasonUndecided         = "undecided" // the decider's answer could not be read

	// Blocked: a rule forbids it.
	ReasonPinnedTarget        = "pinned_target"
	ReasonDestructiveDisabled = "destructive_mutations_disabled"
	ReasonContradiction       = "semantic_contradiction"
	ReasonRevisionPolicy      = "revision_policy"    // the target must be forked or contested, or must not be replaced
	ReasonActiveFactExists    = "active_fact_exists" // another memory has the functional claim
	ReasonCandidatesChanged   = "candidates_changed" // after all rounds, the neighbours of the decision still change

	// Blocked: the mode forbids it, and nothing else does.
	ReasonShadowMode      = "shadow_mode"
	ReasonMutationsFrozen = "mutations_frozen"
)

// WritePolicy has the permissions of the pipeline without a review (document 002 "Shadow Mode vs. Controlled
// Writes"). The zero WritePolicy writes nothing.
type WritePolicy struct {
	Mode              schema.WriteMode // empty or unknown counts as shadow
	AllowUpdateDelete bool
	Supersede         Supersede // empty or unknown counts as review
	MinFactConfidence float64   // [0,1]
}

// Supersede decides which certain changes are applied without a review. They delete nothing and can be reverted, so
// AllowUpdateDelete has no effect on them: it neither prevents nor permits one.
type Supersede string

// Ways to apply certain changes.
const (
	SupersedeAuto   Supersede = "auto"   // all
	SupersedeOwn    Supersede = "own"    // people's changes of their own statements
	SupersedeReview Supersede = "review" // none: each waits for a review
)

// allows reports whether a proposal's change is applied without a review.
func (s Supersede) allows(p memory.Proposal) bool {
	return s == SupersedeAuto || s == SupersedeOwn && p.Own
}

// DefaultWritePolicy returns a policy of controlled writes: it allows adds of facts that are certain enough and certain
// changes, but no other updates or deletes.
func DefaultWritePolicy() WritePolicy {
	return WritePolicy{Mode: schema.ModeControlled, Supersede: SupersedeAuto,
		MinFactConfidence: DefaultMinFactConfidence}
}

// Narrow returns the policy for one request, which can only restrict what the worker allows: a looser mode or a lower
// confidence is ignored. An empty mode and a nil confidence change nothing.
func (p WritePolicy) Narrow(mode schema.WriteMode, noUpdateDelete bool, minConfidence *float64) WritePolicy {
	p.Mode = p.mode().Stricter(mode)
	p.AllowUpdateDelete = p.AllowUpdateDelete && !noUpdateDelete
	if noUpdateDelete {
		p.Supersede = SupersedeReview
	}
	if minConfidence != nil && *minConfidence > p.MinFactConfidence { // false for NaN
		p.MinFactConfidence = *minConfidence
	}
	return p
}

// mode returns the mode, or shadow if it is not valid, so that an unset mode does not write.
func (p WritePolicy) mode() schema.WriteMode {
	if !p.Mode.Valid() {
		return schema.ModeShadow
	}
	return p.Mode
}

// Verdict is the decision about a proposal.
type Verdict struct {
	// State is ProposalApplied ("apply it"), ProposalSkipped or ProposalBlocked.
	State schema.ProposalState
	// Reason is one of the machine reasons; empty when the proposal may be applied.
	Reason string
	// ContradictionRisk means that an update or delete seems to contradict its target.
	ContradictionRisk bool
	// ReviewNeeded means that a person should review the proposal: because of a contradiction, or because the target
	// is pinned or must not be replaced.
	ReviewNeeded bool
	// Change is the effect on the target of an update; empty means supersede.
	Change memory.Change
}

// EvaluateWrite decides whether a checked proposal about fact may be applied under policy. The target is the
// neighbour that an update or delete names, nil otherwise.
//
// It reports the first reason found. Reasons come in this order, so that in any mode the verdict shows the result in
// controlled mode:
//
//  1. Skipped, nothing to write: low confidence, empty content, a decision of none, an unusable action or target, a
//     retraction that would be added: a retracted statement is not a memory.
//  2. Blocked by a rule, updates and deletes only: the target is pinned; updates and deletes are not allowed; fact
//     and target contradict each other by their words; revision would not replace the target by the fact (document
//     004 §7 and §12, KeepsItsPlace). The last two apply even if updates and deletes are allowed: a person should
//     see when a memory is replaced by its opposite, or when policy or evidence support the memory. For a proposal
//     with a Change, Supersede alone decides instead of the two reasons in the middle: it deletes nothing, and
//     contradicting words are the reason why it was found.
//  3. Blocked by the mode: shadow or frozen. In controlled mode the proposal would have been applied.
func EvaluateWrite(policy WritePolicy, fact memory.Fact, p memory.Proposal, target *memory.Neighbor) Verdict {
	if reason := skipReason(policy, fact, p, target); reason != "" {
		return Verdict{State: schema.ProposalSkipped, Reason: reason}
	}
	v := Verdict{State: schema.ProposalBlocked}
	if p.Action != schema.ActionAdd {
		v.ContradictionRisk = revision.DetectContradiction(fact.Content, target.Content).Risk
		v.ReviewNeeded = v.ContradictionRisk || target.Pinned || target.Kept
		switch {
		case target.Pinned:
			v.Reason = ReasonPinnedTarget
		case p.Change == memory.ChangeContest && policy.Supersede.allows(p):
			v.Change = memory.ChangeContest
		case p.Change != "" && p.Change != memory.ChangeContest && policy.Supersede.allows(p):
			v.Change = p.Change
			if target.Kept {
				v.Reason = ReasonRevisionPolicy
			}
		case p.Change != "" || !policy.AllowUpdateDelete:
			v.Reason = ReasonDestructiveDisabled
		case v.ContradictionRisk:
			v.Reason = ReasonContradiction
		case target.Kept:
			v.Reason = ReasonRevisionPolicy
		}
		if v.Reason != "" {
			return v
		}
	}
	switch policy.mode() {
	case schema.ModeControlled:
		v.State = schema.ProposalApplied
	case schema.ModeFrozen:
		v.Reason = ReasonMutationsFrozen
	default:
		v.Reason = ReasonShadowMode
	}
	return v
}

// skipReason returns why there is nothing to write, or "".
func skipReason(policy WritePolicy, fact memory.Fact, p memory.Proposal, target *memory.Neighbor) string {
	switch {
	case !(fact.Confidence >= policy.MinFactConfidence): // negated so that NaN counts as low
		return ReasonLowFactConfidence
	case normalize.Normalize(fact.Content).Normalized == "":
		return ReasonEmptyFactContent
	}
	switch p.Action {
	case schema.ActionAdd:
		if fact.Retracts {
			return ReasonRetractionWithoutTarget
		}
		return ""
	case schema.ActionUpdate, schema.ActionDelete:
		switch {
		case p.TargetID == "":
			return ReasonMissingTarget
		case target == nil || target.ID != p.TargetID:
			return ReasonUnknownTarget
		}
		return ""
	case schema.ActionNone:
		switch p.Reason {
		case ReasonInvalidAction, ReasonInvalidConfidence, ReasonMissingTarget, ReasonUnknownTarget, ReasonUndecided:
			return p.Reason // none only because the decision could not be used
		}
		if fact.Retracts {
			return ReasonRetractionWithoutTarget
		}
		return ReasonAlreadyKnown
	default:
		return ReasonInvalidAction
	}
}

// MutationsFrozen reports whether the policy forbids changes of stored memories, as in all modes except controlled
// (document 002 "Shadow Mode vs. Controlled Writes").
func (p WritePolicy) MutationsFrozen() bool { return p.mode() != schema.ModeControlled }
