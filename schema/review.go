package schema

import "time"

// Decision is a reviewer's.
type Decision string

// The decisions.
const (
	DecisionApprove Decision = "approve"
	DecisionReject  Decision = "reject"
)

// ReviewRequest decides on a proposal that waits.
type ReviewRequest struct {
	Operation
	ProposalID string   `json:"proposal_id"`
	Decision   Decision `json:"decision"`
}

// ReviewStatus is what became of a review.
type ReviewStatus string

// The review statuses.
const (
	ReviewApplied         ReviewStatus = "applied"
	ReviewRejected        ReviewStatus = "rejected"
	ReviewExpired         ReviewStatus = "expired"
	ReviewVersionConflict ReviewStatus = "version_conflict" // the ground has changed; the proposal waits on
	ReviewDecided         ReviewStatus = "already_decided"
	ReviewNotFound        ReviewStatus = "not_found"
	ReviewFrozen          ReviewStatus = "mutations_frozen"
)

// ReviewResult says what became of a review.
type ReviewResult struct {
	ProposalID string        `json:"proposal_id"`
	Status     ReviewStatus  `json:"status"`
	State      ProposalState `json:"state,omitempty"`
	MemoryID   string        `json:"memory_id,omitempty"` // written or removed
	Why        string        `json:"why,omitempty"`
}

// ReviewItem is a proposal that waits, or waited, for a decision.
type ReviewItem struct {
	ProposalID        string        `json:"proposal_id"`
	BatchID           string        `json:"batch_id"`
	State             ProposalState `json:"state"`
	Action            Action        `json:"action"`
	Outcome           string        `json:"outcome"` // why the pipeline did not apply it
	Fact              string        `json:"fact"`
	Category          Category      `json:"category"`
	Confidence        float64       `json:"confidence"`
	Reason            string        `json:"reason"` // the decider's
	ContradictionRisk bool          `json:"contradiction_risk,omitempty"`
	SourceID          string        `json:"source_id"`
	TargetID          string        `json:"target_id,omitempty"`
	TargetVersion     int           `json:"target_version,omitempty"`
	TargetContent     string        `json:"target_content,omitempty"` // as it stands now
	DecidedAt         time.Time     `json:"decided_at"`
	ExpiresAt         time.Time     `json:"expires_at,omitzero"`
	ReviewedBy        string        `json:"reviewed_by,omitempty"`
	ReviewReason      string        `json:"review_reason,omitempty"`
	ReviewedAt        *time.Time    `json:"reviewed_at,omitempty"`
}

// Contradiction is a pair of memories that contradict each other, or a memory and a proposal.
type Contradiction struct {
	Kind       string    `json:"kind"` // memories or proposal
	Left       Side      `json:"left"`
	Right      Side      `json:"right"`
	Reason     string    `json:"reason,omitempty"`
	ProposalID string    `json:"proposal_id,omitempty"`
	Since      time.Time `json:"since"`
}

// Side is one side of a contradiction.
type Side struct {
	ID         string  `json:"id,omitempty"` // empty for a proposal's fact
	Version    int     `json:"version,omitempty"`
	Status     Status  `json:"status,omitempty"`
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ReviewRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}
