package proposals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Reasons of Vouch. They name the rule and have no content.
const (
	WhyStaysTrue = "new: the model would change what was said, or was said later; that stays"
	vouchedFor   = "change: %s, by the rules; the model proposed %s"
)

// Unusable reports whether a proposal is none only because the decision was unusable: it could not be read, or it named
// an unknown action or a target that was not offered.
func Unusable(p memory.Proposal) bool {
	if p.Action != schema.ActionNone {
		return false
	}
	switch p.Reason {
	case ReasonInvalidAction, ReasonInvalidConfidence, ReasonMissingTarget, ReasonUnknownTarget, ReasonUndecided:
		return true
	}
	return false
}

// Vouch compares a model's checked proposal with the words of the fact (FindChange), so that no model alone can
// supersede a memory or ignore a change that the words clearly state:
//
//	the model                            the words                      the result
//	add, none, or another target         surely change a neighbour      the change by the words
//	update or delete of a neighbour      surely or probably change it   the surer of both changes
//	update, change supersede or contest  say nothing                    contest
//	update or delete, no change          say nothing                    as proposed: EvaluateWrite decides
//	update or delete of an episode or    —                              add: what was said stays true, and
//	of what was said after the fact                                     an old statement changes no later one
//	none of no neighbour in particular   —                              add where all neighbours fade (KeepLasting)
//
// A none with a neighbour of the same statement does not change. If the words state a change, the result is never a
// delete: the target is kept and marked.
func Vouch(p memory.Proposal, fact memory.Fact, neighbors []memory.Neighbor) memory.Proposal {
	found, ok := FindChange(fact, neighbors)
	sure := ok && found.Change == memory.ChangeSupersede
	at := slices.IndexFunc(neighbors, func(n memory.Neighbor) bool { return p.TargetID != "" && n.ID == p.TargetID })
	switch p.Action {
	case schema.ActionAdd, schema.ActionNone:
		switch {
		case sure && (at < 0 || !saysFact(neighbors[at], fact)):
			return byWords(p, found)
		case p.Action == schema.ActionNone && at < 0 && !slices.ContainsFunc(neighbors, func(n memory.Neighbor) bool {
			return memory.States(n.Type)
		}):
			return memory.Proposal{
				Action:     schema.ActionAdd,
				Confidence: p.Confidence,
				Reason:     WhyOnlyFading,
				Warnings:   p.Warnings,
			}
		}
		return p
	case schema.ActionUpdate, schema.ActionDelete:
	default:
		return p
	}
	if at < 0 {
		return p
	}
	target := neighbors[at]
	if ok && (target.ID == found.Target.ID || slices.Contains(found.Also, target.ID)) {
		return agreed(p, found)
	}
	if sure {
		return byWords(p, found)
	}
	// By the words, several targets are possible: the model's choice counts.
	if alone, ok := FindChange(fact, []memory.Neighbor{target}); ok {
		return agreed(p, alone)
	}
	if target.Type == schema.TypeEpisodic || saidBefore(fact.SaidAt, target.OccurredAt) {
		return memory.Proposal{Action: schema.ActionAdd, Confidence: p.Confidence, Reason: WhyStaysTrue,
			Warnings: p.Warnings}
	}
	if p.Change == memory.ChangeSupersede {
		p.Change = memory.ChangeContest
		p.Warnings = append(
			slices.Clone(p.Warnings),
			"proposal: the words do not say that the fact replaces its target; contested",
		)
	}
	return p
}

// byWords returns a proposal with the change by the words instead of the model's.
func byWords(p memory.Proposal, found FoundChange) memory.Proposal {
	return memory.Proposal{Action: schema.ActionUpdate, TargetID: found.Target.ID, Confidence: changeCertain,
		Reason: fmt.Sprintf(vouchedFor, found.Relation.Why, p.Action), Warnings: p.Warnings,
		Change: found.Change, Own: found.Own, Also: found.Also}
}

// agreed returns a proposal for a change that the model and the words both state. The more certain of the two counts.
func agreed(p memory.Proposal, found FoundChange) memory.Proposal {
	out := byWords(p, found)
	if p.Action == schema.ActionUpdate {
		out.Reason = p.Reason
	}
	if p.Change == memory.ChangeSupersede {
		out.Change = memory.ChangeSupersede
	}
	out.Confidence = max(p.Confidence, out.Confidence)
	return out
}

// saysFact reports whether a neighbour has the same statement as the fact.
func saysFact(n memory.Neighbor, fact memory.Fact) bool {
	return SaysSame(Statement{Type: n.Type, Content: n.Content, Hash: n.Hash, Speaker: n.Who, Claim: n.Claim},
		Statement{Type: schema.TypeSemantic, Content: fact.Content, Speaker: fact.Speaker, Claim: fact.Claim})
}

// VouchRetractions drops the retractions in a model's extraction whose cue does not occur word for word in the source.
// Such a fact is dropped, not kept as a statement, because it is unknown whether the source states or retracts it.
// Other facts only lose a cue that is not in the source.
func VouchRetractions(e memory.Extraction, source string) memory.Extraction {
	text := normalize.Lower(strings.Join(strings.Fields(source), " "))
	facts := make([]memory.Fact, 0, len(e.Facts))
	for i, f := range e.Facts {
		if !strings.Contains(text, f.Cue) {
			f.Cue = ""
		}
		if f.Retracts && f.Cue == "" {
			e.Warnings = append(
				slices.Clone(e.Warnings),
				fmt.Sprintf("facts[%d]: retracts something that its source does not retract; dropped", i),
			)
			continue
		}
		facts = append(facts, f)
	}
	e.Facts = facts
	return e
}
