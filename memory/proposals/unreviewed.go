package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// NotReviewed is the reason in history for a proposal that was not decided in time.
const NotReviewed = "no one decided in time"

// Unreviewed is a proposal that was not reviewed in time, with the current state of a memory that it concerns.
type Unreviewed struct {
	Proposal memory.Proposal
	Outcome  string // reason for the review
	Fact     string
	Retracts bool   // the fact is no longer true
	Existing string // the memory's content
	Changed  bool   // the memory has another version than the one that the proposal was decided on
	Claims   bool   // the memory has the functional claim of the fact, with another value
}

// MayContradict reports whether a proposal that waits for a review may contradict a memory: it changes a memory, or
// another memory has its claim. Other proposals only add memories.
func MayContradict(action schema.Action, outcome string) bool {
	return action == schema.ActionUpdate || action == schema.ActionDelete || outcome == ReasonActiveFactExists
}

// ContestUnreviewed reports whether such a proposal contradicts the memory. Then both are kept and marked as
// contested, because a contradiction must end in replacement, in a fork or in contestation (document 004 §7). A
// proposal that only adds to the memory, or rewords it, is discarded. So is a retraction: the retracted statement is
// not a memory that could be kept.
//
// If the memory has changed since, only words that are in both versions count.
func ContestUnreviewed(u Unreviewed) bool {
	if u.Retracts || normalize.Normalize(u.Fact).Normalized == "" {
		return false
	}
	if u.Claims || revision.DetectContradiction(u.Fact, u.Existing).Risk {
		return true
	}
	p := u.Proposal
	if u.Changed || p.Action != schema.ActionUpdate && p.Action != schema.ActionDelete {
		return false
	}
	return p.Change != "" || p.Action == schema.ActionDelete || u.Outcome == ReasonRevisionPolicy
}
