package schema

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// FeedbackRequest reports how the results of a recall were used, and how that ended (document 004 §11, §15.6). A
// reason is optional.
//
// If an item has no verdict, its Used and the request's Outcome give one. Without items, Outcome applies to
// everything that was returned.
type FeedbackRequest struct {
	Operation
	RetrievalID string         `json:"retrieval_id"`    // of the answer
	Items       []FeedbackItem `json:"items,omitempty"` // up to MaxRecallLimit, each memory once
	// Outcome is how the task ended for which the items without a verdict were used; default success.
	Outcome Outcome `json:"outcome,omitempty"`
	// AllOthersUnused marks every other returned memory as unused. It does not correct an earlier verdict on a single
	// memory.
	AllOthersUnused bool `json:"all_others_unused,omitempty"`

	decoded check.Decoded
}

// FeedbackItem is the feedback on one memory.
type FeedbackItem struct {
	MemoryID string  `json:"memory_id"`
	Verdict  Verdict `json:"verdict,omitempty"`
	Used     *bool   `json:"used,omitempty"` // instead of a verdict; true uses the request's outcome
}

// Verdict says how a memory that was returned was used.
type Verdict string

// The verdicts.
const (
	VerdictSucceeded Verdict = "succeeded" // used, and it helped
	VerdictPartly    Verdict = "partly"    // used, and it helped in part
	VerdictFailed    Verdict = "failed"    // used, and it failed
	VerdictUnused    Verdict = "unused"    // returned without use
)

var verdicts = []Verdict{VerdictSucceeded, VerdictPartly, VerdictFailed, VerdictUnused}

// Valid reports whether the value is one of the enumeration.
func (v Verdict) Valid() bool { return slices.Contains(verdicts, v) }

var outcomes = []Outcome{OutcomeSuccess, OutcomeFailure, OutcomePartial}

// Valid reports whether the value is one of the enumeration.
func (v Outcome) Valid() bool { return slices.Contains(outcomes, v) }

// verdict is that on what was used with this outcome; the empty one means success.
func (v Outcome) verdict() Verdict {
	switch v {
	case OutcomeFailure:
		return VerdictFailed
	case OutcomePartial:
		return VerdictPartly
	default:
		return VerdictSucceeded
	}
}

// FeedbackStatus is what feedback on one memory did.
type FeedbackStatus string

// The feedback statuses. The first three change the memory, the others leave it as it was.
const (
	FeedbackReinforced   FeedbackStatus = "reinforced"
	FeedbackPenalised    FeedbackStatus = "penalised"
	FeedbackCorrected    FeedbackStatus = "corrected"     // it replaces an earlier verdict, whose effect is undone
	FeedbackUnchanged    FeedbackStatus = "unchanged"     // the same was said before
	FeedbackNotRetrieved FeedbackStatus = "not_retrieved" // this retrieval did not return it
	// Deleted, erased, archived, superseded, retracted, or not the asker's to see any more.
	FeedbackGone   FeedbackStatus = "gone"
	FeedbackFrozen FeedbackStatus = "mutations_frozen"
)

// FeedbackResultItem is what feedback on one memory did.
type FeedbackResultItem struct {
	MemoryID string         `json:"memory_id"`
	Status   FeedbackStatus `json:"status"`
	// the current verdict; if there is none, the one in the request
	Verdict  Verdict `json:"verdict"`
	Corrects Verdict `json:"corrects,omitempty"` // the verdict before this one

	// Salience for now, [0,1], before and after. Nil where the memory was not read.
	SalienceBefore *float64 `json:"salience_before,omitempty"`
	SalienceAfter  *float64 `json:"salience_after,omitempty"`
	// How often a procedure or a plan has worked and failed, and its confidence in [0,1], after. Nil for others.
	SuccessCount *int64   `json:"success_count,omitempty"`
	FailureCount *int64   `json:"failure_count,omitempty"`
	Confidence   *float64 `json:"confidence,omitempty"`
}

// FeedbackResult has the items in the order of the request, followed by those that were not named, in the order in
// which they were returned.
type FeedbackResult struct {
	RetrievalID string               `json:"retrieval_id"`
	Items       []FeedbackResultItem `json:"items"`
}

// Retrieved is what a recall returned, in its order, with the feedback on it.
type Retrieved struct {
	RetrievalID string          `json:"retrieval_id"`
	At          time.Time       `json:"at"`
	Items       []RetrievedItem `json:"items"`
}

// RetrievedItem is one memory that a recall returned; without a verdict it had no feedback.
type RetrievedItem struct {
	MemoryID    string     `json:"memory_id"`
	Verdict     Verdict    `json:"verdict,omitempty"`
	Actor       string     `json:"actor,omitempty"`
	SaidAt      *time.Time `json:"said_at,omitempty"` // the current verdict
	Corrections int        `json:"corrections,omitempty"`
}

// UnmarshalJSON reads a request. What is unknown, of the wrong type or given twice is remembered, and
// Validate reports it.
func (r *FeedbackRequest) UnmarshalJSON(data []byte) error {
	type plain FeedbackRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread reads the request as earlier versions did: see Decoded.
func (r *FeedbackRequest) DropUnread() bool { return r.decoded.DropUnread() }

// Validate reports every field that is wrong, as a *ValidationError.
func (r *FeedbackRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequences of these
		return err
	}
	var p check.Problems
	r.Operation.validate(&p)
	if _, err := uuid.Parse(r.RetrievalID); err != nil || len(r.RetrievalID) != 36 {
		p.Add("retrieval_id", "must be the id of a retrieval")
	}
	if r.Outcome != "" && !r.Outcome.Valid() {
		p.Add("outcome", "must be one of %s", check.Names(outcomes))
	}
	switch n := len(r.Items); {
	case n > MaxRecallLimit:
		p.Add("items", "must hold at most %d memories, got %d", MaxRecallLimit, n)
	case n == 0 && r.Outcome == "" && !r.AllOthersUnused:
		p.Add("items", "must hold at least one memory, unless outcome or all_others_unused is given")
	case n == 0 && r.Outcome != "" && r.AllOthersUnused:
		p.Add("all_others_unused", "must not be set with an outcome for all memories: items must say what was used")
	}
	ids := distinctIDs{}
	for i, item := range r.Items[:min(len(r.Items), MaxRecallLimit)] {
		path := fmt.Sprintf("items[%d]", i)
		ids.check(&p, path+".memory_id", item.MemoryID)
		switch {
		case item.Verdict != "" && item.Used != nil:
			p.Add(path+".used", "does not go with a verdict")
		case item.Verdict != "" && !item.Verdict.Valid():
			p.Add(path+".verdict", "must be one of %s", check.Names(verdicts))
		case item.Verdict == "" && item.Used == nil && r.Outcome == "":
			p.Add(path+".verdict", "is required, or used, or an outcome of the request")
		}
	}
	return p.Err()
}

// VerdictOf is the verdict on an item of the request.
func (r *FeedbackRequest) VerdictOf(item FeedbackItem) Verdict {
	if item.Used != nil && !*item.Used {
		return VerdictUnused
	}
	return cmp.Or(item.Verdict, r.Outcome.verdict())
}

// Rest is the verdict on memories that the request does not name, or "" if it has none.
func (r *FeedbackRequest) Rest() Verdict {
	switch {
	case r.AllOthersUnused:
		return VerdictUnused
	case len(r.Items) == 0 && r.Outcome != "":
		return r.Outcome.verdict()
	}
	return ""
}

// Refused counts the items whose feedback could not be taken.
func (r FeedbackResult) Refused() int {
	n := 0
	for _, item := range r.Items {
		switch item.Status {
		case FeedbackNotRetrieved, FeedbackGone, FeedbackFrozen:
			n++
		}
	}
	return n
}

// Summary is a word for operators: ok, partial or refused.
func (r FeedbackResult) Summary() string {
	refused := r.Refused()
	return summaryWord(len(r.Items)-refused, refused)
}

// Changed lists no memory: nothing that an index holds follows from salience, confidence or counts.
func (r FeedbackResult) Changed() []string { return nil }
