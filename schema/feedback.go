package schema

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// FeedbackRequest reports how the results of a recall were used, and with what outcome (document 004 §11, §15.6). A
// reason is optional.
//
// If an item has no verdict, its Used and the request's Outcome determine it. Without items, Outcome applies to all
// returned memories.
type FeedbackRequest struct {
	Operation
	RetrievalID string         `json:"retrieval_id"`    // id of the answer
	Items       []FeedbackItem `json:"items,omitempty"` // up to MaxRecallLimit, each memory once
	// Outcome is the outcome of the task for which items without a verdict were used; default success.
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
	Used     *bool   `json:"used,omitempty"` // alternative to a verdict; true uses the request's outcome
}

// Verdict tells whether a returned memory was used, and whether it helped.
type Verdict string

// The verdicts.
const (
	VerdictSucceeded Verdict = "succeeded" // used, and it helped
	VerdictPartly    Verdict = "partly"    // used, and it helped in part
	VerdictFailed    Verdict = "failed"    // used, and it failed
	VerdictUnused    Verdict = "unused"    // returned without use
)

var verdicts = []Verdict{VerdictSucceeded, VerdictPartly, VerdictFailed, VerdictUnused}

// Valid reports whether v is a value of the enumeration.
func (v Verdict) Valid() bool { return slices.Contains(verdicts, v) }

var outcomes = []Outcome{OutcomeSuccess, OutcomeFailure, OutcomePartial}

// Valid reports whether v is a value of the enumeration.
func (v Outcome) Valid() bool { return slices.Contains(outcomes, v) }

// verdict returns the verdict on memories that were used with this outcome. The empty outcome means success.
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

// FeedbackStatus is the effect of feedback on one memory.
type FeedbackStatus string

// The feedback statuses. Only the first three change the memory.
const (
	FeedbackReinforced   FeedbackStatus = "reinforced"
	FeedbackPenalised    FeedbackStatus = "penalised"
	FeedbackCorrected    FeedbackStatus = "corrected"     // it replaces an earlier verdict, whose effect is undone
	FeedbackUnchanged    FeedbackStatus = "unchanged"     // the same verdict was given before
	FeedbackNotRetrieved FeedbackStatus = "not_retrieved" // this retrieval did not return it
	// The memory was deleted, erased, archived, superseded or retracted, or the caller may no longer see it.
	FeedbackGone   FeedbackStatus = "gone"
	FeedbackFrozen FeedbackStatus = "mutations_frozen"
)

// FeedbackResultItem is the result of feedback on one memory.
type FeedbackResultItem struct {
	MemoryID string         `json:"memory_id"`
	Status   FeedbackStatus `json:"status"`
	// the current verdict, or the one in the request if there is none
	Verdict  Verdict `json:"verdict"`
	Corrects Verdict `json:"corrects,omitempty"` // the verdict before this one

	// Current salience before and after, in [0,1]. Nil if the memory was not read.
	SalienceBefore *float64 `json:"salience_before,omitempty"`
	SalienceAfter  *float64 `json:"salience_after,omitempty"`
	// Outcomes and confidence of a procedure or a plan after the feedback. Nil for other types.
	SuccessCount *int64   `json:"success_count,omitempty"`
	FailureCount *int64   `json:"failure_count,omitempty"`
	Confidence   *float64 `json:"confidence,omitempty"`

	// CountsFor says for whom the verdict changes a memory that others read too, and Held why only for the caller. They
	// are empty for a memory that no one else reads.
	CountsFor ReportReach `json:"counts_for,omitempty"`
	Held      ReportHeld  `json:"held,omitempty"`
}

// FeedbackResult has the items in the order of the request, followed by the other returned memories in their order.
type FeedbackResult struct {
	RetrievalID string               `json:"retrieval_id"`
	Items       []FeedbackResultItem `json:"items"`
}

// Retrieved lists the memories that a recall returned, in order, with the feedback on them.
type Retrieved struct {
	RetrievalID string          `json:"retrieval_id"`
	At          time.Time       `json:"at"`
	Items       []RetrievedItem `json:"items"`
}

// RetrievedItem is one returned memory. The verdict is empty if there was no feedback.
type RetrievedItem struct {
	MemoryID    string     `json:"memory_id"`
	Verdict     Verdict    `json:"verdict,omitempty"`
	Actor       string     `json:"actor,omitempty"`
	SaidAt      *time.Time `json:"said_at,omitempty"` // time of the current verdict
	Corrections int        `json:"corrections,omitempty"`
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *FeedbackRequest) UnmarshalJSON(data []byte) error {
	type plain FeedbackRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *FeedbackRequest) DropUnread() bool { return r.decoded.DropUnread() }

// Validate returns a *ValidationError that lists every invalid field.
func (r *FeedbackRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
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

// VerdictOf returns the verdict on an item of the request.
func (r *FeedbackRequest) VerdictOf(item FeedbackItem) Verdict {
	if item.Used != nil && !*item.Used {
		return VerdictUnused
	}
	return cmp.Or(item.Verdict, r.Outcome.verdict())
}

// Rest returns the verdict on memories that the request does not name, or "".
func (r *FeedbackRequest) Rest() Verdict {
	switch {
	case r.AllOthersUnused:
		return VerdictUnused
	case len(r.Items) == 0 && r.Outcome != "":
		return r.Outcome.verdict()
	}
	return ""
}

// Refused counts the items whose feedback could not be applied.
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

// Summary returns ok, partial or refused.
func (r FeedbackResult) Summary() string {
	refused := r.Refused()
	return summaryWord(len(r.Items)-refused, refused)
}

// Changed returns nil, because no index depends on salience, confidence or counts.
func (r FeedbackResult) Changed() []string { return nil }

// ReportStatus says what became of the outcome of a report.
type ReportStatus string

// The statuses of reports.
const (
	// ReportCounted means that the outcome counts for the memory that was used.
	ReportCounted ReportStatus = "counted"
	// ReportCarried means that another memory is in the place of the one that was used, a new version or the procedure
	// that a tentative solution has become. It has the same steps, so the outcome counts for it too.
	ReportCarried ReportStatus = "carried"
	// ReportSuperseded means that the memory that was used was superseded, and that the outcome counts only for it: the
	// new version has other steps, is for other situations, or may not be read by the agent.
	ReportSuperseded ReportStatus = "superseded"
	// ReportShown means that an episode of the session has already shown the outcome, so it counted before.
	ReportShown ReportStatus = "shown"
	// ReportUndecided means that the outcome is partial or unknown, which does not count.
	ReportUndecided ReportStatus = "undecided"
	// ReportGone means that the memory that was used was forgotten, erased or retracted, or that the agent may no longer
	// read it. The outcome does not count.
	ReportGone ReportStatus = "gone"
)

// ReportReach says for whom a reported outcome or a verdict counts.
type ReportReach string

// The reaches of reports.
const (
	ReachAll ReportReach = "all" // everyone who reads the memory
	ReachOwn ReportReach = "own" // the reporter only; see ReportHeld
)

// ReportHeld says why a reported outcome or a verdict counts only for the reporter for now.
type ReportHeld string

// The reasons why reports are held.
const (
	// HeldOneSource means that others follow the memory, and none of them has reported the same outcome since.
	HeldOneSource ReportHeld = "one_source"
	// HeldRepeated means that the reporter has reported the same outcome in this session before, or on this day if there
	// is no session.
	HeldRepeated ReportHeld = "repeated"
)
