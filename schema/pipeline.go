package schema

import (
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// Phases of the job of a candidate, which are also phases of its run (package api).
const (
	PhaseExtract = "extract"
	PhaseDecide  = "decide"
	PhaseDone    = "done"
)

// WriteCounts counts the proposals of a range by outcome.
type WriteCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Blocked int `json:"blocked"`
	Stale   int `json:"stale"` // must be decided again
	// Decided counts the decisions of the range if the write phase repeated some of them.
	Decided *DecideCounts `json:"decided,omitempty"`
}

// Add returns the sum of two counts. Stale and Decided are not summed because they describe a state.
func (w WriteCounts) Add(v WriteCounts) WriteCounts {
	return WriteCounts{Added: w.Added + v.Added, Updated: w.Updated + v.Updated, Deleted: w.Deleted + v.Deleted,
		Skipped: w.Skipped + v.Skipped, Blocked: w.Blocked + v.Blocked, Stale: v.Stale,
		Decided: v.Decided}
}

// Changes is the number of proposals that added, updated or deleted a memory.
func (w WriteCounts) Changes() int { return w.Added + w.Updated + w.Deleted }

// ExtractCounts counts the results of a range over all attempts.
type ExtractCounts struct {
	Candidates int `json:"candidates"`
	Facts      int `json:"facts"`
	Triples    int `json:"triples"`
	Warnings   int `json:"warnings"`
	Dead       int `json:"dead"`
	// More means that the time of an attempt was over and the rest of the range needs another attempt.
	More bool `json:"more,omitempty" db:"-"`
}

// Add returns the sum of two counts.
func (r ExtractCounts) Add(o ExtractCounts) ExtractCounts {
	return ExtractCounts{Candidates: r.Candidates + o.Candidates, Facts: r.Facts + o.Facts,
		Triples:  r.Triples + o.Triples,
		Warnings: r.Warnings + o.Warnings, Dead: r.Dead + o.Dead}
}

// DecideCounts counts the proposals of a range by action, over all attempts and rounds.
type DecideCounts struct {
	Candidates int          `json:"candidates"`
	Actions    ActionCounts `json:"actions"`
	Dead       int          `json:"dead"`
	// WithoutVectors means that the embedder was not available and neighbors were found only by text.
	WithoutVectors bool `json:"without_vectors,omitempty"`
	// More means that the time of an attempt was over and the rest of the range needs another attempt.
	More bool `json:"more,omitempty" db:"-"`
	// Group is the last number of candidates that were searched together, if a statement with more timed out.
	Group int `json:"group,omitempty"`
}

// Add returns the sum of two counts.
func (r DecideCounts) Add(o DecideCounts) DecideCounts {
	return DecideCounts{Candidates: r.Candidates + o.Candidates, Dead: r.Dead + o.Dead,
		Actions:        r.Actions.Sum(o.Actions),
		WithoutVectors: r.WithoutVectors || o.WithoutVectors}
}

// ActionCounts counts proposals. It is a struct because workflow code must not range over a map.
type ActionCounts struct {
	Add    int `json:"add"`
	Update int `json:"update"`
	Delete int `json:"delete"`
	None   int `json:"none"`
}

// Sum returns the sum of two counts.
func (c ActionCounts) Sum(d ActionCounts) ActionCounts {
	return ActionCounts{Add: c.Add + d.Add, Update: c.Update + d.Update, Delete: c.Delete + d.Delete,
		None: c.None + d.None}
}

// LinkCounts counts the additions of a range to the graph.
type LinkCounts struct {
	Entities  int `json:"entities"`
	Relations int `json:"relations"`
	Mentions  int `json:"mentions"`
}

// Add returns the sum of two counts.
func (l LinkCounts) Add(m LinkCounts) LinkCounts {
	return LinkCounts{Entities: l.Entities + m.Entities, Relations: l.Relations + m.Relations,
		Mentions: l.Mentions + m.Mentions}
}

// IndexLag describes how far an index is behind Postgres.
type IndexLag struct {
	Pending int64      `json:"pending"`          // changes that are not yet in the index
	Parked  int64      `json:"parked"`           // changes that are no longer retried
	Oldest  *time.Time `json:"oldest,omitempty"` // time of the oldest pending change
}

// DueCursor is a place in the order in which memories fall due.
type DueCursor struct {
	DueAt time.Time `json:"due_at"`
	ID    uuid.UUID `json:"id"`
}

// HistoryCursor is a place in a table ordered by age. With it, rows that are kept are read once per run instead of once
// per batch.
type HistoryCursor struct {
	CreatedAt time.Time `json:"created_at"`
	ID        uuid.UUID `json:"id"`
	Key       string    `json:"key,omitempty"`     // instead of ID, if the key is not a UUID
	Version   int       `json:"version,omitempty"` // in the step versions
}

// PurgeStep is one step of a retention purge.
type PurgeStep string

// Range names the candidates of one batch with From <= position < To. Workflow histories contain only ranges; content
// stays in Postgres (claim check).
type Range struct {
	Tenant  string    `json:"tenant"`
	BatchID uuid.UUID `json:"batch_id"`
	From    int       `json:"from"`
	To      int       `json:"to"`
}

// Decision is the decision of a reviewer.
type Decision string

// The decisions.
const (
	DecisionApprove Decision = "approve"
	DecisionReject  Decision = "reject"
)

// ReviewRequest decides on a waiting proposal. History keeps its reason. Without an operation id, every request is a
// separate decision, and a second one reports the result of the first.
type ReviewRequest struct {
	Operation
	ProposalID string   `json:"proposal_id"` // UUID
	Decision   Decision `json:"decision"`
	// TargetVersion is the version of the target that the reviewer read, if it differs from the version in the
	// proposal. It is allowed only with approve. 0 means the version in the proposal.
	TargetVersion int `json:"target_version,omitempty"`

	decoded check.Decoded
}

// ReviewStatus is the outcome of a review.
type ReviewStatus string

// The review statuses. Only applied and rejected have an effect.
const (
	ReviewApplied         ReviewStatus = "applied"
	ReviewRejected        ReviewStatus = "rejected"
	ReviewExpired         ReviewStatus = "expired"
	ReviewVersionConflict ReviewStatus = "version_conflict" // the target has changed; the proposal continues to wait
	ReviewDecided         ReviewStatus = "already_decided"
	ReviewNotFound        ReviewStatus = "not_found"
	ReviewFrozen          ReviewStatus = "mutations_frozen" // by request or worker; the proposal continues to wait
)

// ReviewResult is the result of a review.
type ReviewResult struct {
	ProposalID     string        `json:"proposal_id"`
	Status         ReviewStatus  `json:"status"`
	State          ProposalState `json:"state,omitempty"`           // state of the proposal after the review
	MemoryID       string        `json:"memory_id,omitempty"`       // memory that was written, existed or was removed
	Superseded     []string      `json:"superseded,omitempty"`      // memories that the written one replaces
	CurrentVersion int           `json:"current_version,omitempty"` // version of the target, on a version conflict
	// Why names what prevented the decision, or who decided before. It contains ids, never content.
	Why string `json:"why,omitempty"`
}

// Summary returns the outcome of the request in one word.
func (r ReviewResult) Summary() string { return string(r.Status) }

// Changed lists the memories that the decision changed.
func (r ReviewResult) Changed() []string {
	if r.Status != ReviewApplied || r.MemoryID == "" {
		return nil
	}
	return append([]string{r.MemoryID}, r.Superseded...)
}

// ReviewFilter selects proposals by the state of their review.
type ReviewFilter string

// The review filters.
const (
	ReviewsWaiting ReviewFilter = "waiting"
	ReviewsDecided ReviewFilter = "decided" // by a person, or expired
	ReviewsAll     ReviewFilter = "all"
)

// Valid reports whether the value is one of the filters.
func (v ReviewFilter) Valid() bool {
	return v == ReviewsWaiting || v == ReviewsDecided || v == ReviewsAll
}

// ReviewItem is a proposal that waits or waited for a decision, with both sides and the reason for waiting.
type ReviewItem struct {
	ProposalID        string        `json:"proposal_id"`
	BatchID           string        `json:"batch_id"`
	State             ProposalState `json:"state"`
	Action            Action        `json:"action"`
	Outcome           string        `json:"outcome"` // why the pipeline did not apply it
	Fact              string        `json:"fact"`
	Category          Category      `json:"category"`
	Confidence        float64       `json:"confidence"`         // confidence in the fact, [0,1]
	Reason            string        `json:"reason"`             // reason of the decision engine
	Warnings          []string      `json:"warnings,omitempty"` // warnings of the decision engine
	ContradictionRisk bool          `json:"contradiction_risk,omitempty"`
	SourceID          string        `json:"source_id"`
	Source            string        `json:"source,omitempty"`   // text that the fact was extracted from
	Evidence          []Ref         `json:"evidence,omitempty"` // evidence of the source
	TargetID          string        `json:"target_id,omitempty"`
	TargetVersion     int           `json:"target_version,omitempty"` // version at the time of the proposal
	TargetNow         *Side         `json:"target_now,omitempty"`     // current state; absent if it no longer exists
	MemoryID          string        `json:"memory_id,omitempty"`      // memory that was written or has the claim
	// other memories with which the fact was compared, and their versions
	Offered      []Target   `json:"offered,omitempty"`
	DecidedAt    time.Time  `json:"decided_at"`
	ExpiresAt    time.Time  `json:"expires_at,omitzero"` // absent if no review run waits
	ReviewedBy   string     `json:"reviewed_by,omitempty"`
	ReviewReason string     `json:"review_reason,omitempty"`
	ReviewedAt   *time.Time `json:"reviewed_at,omitempty"`
}

// Kinds of contradictions.
const (
	ContradictionOfMemories = "memories" // two contested memories
	ContradictionOfProposal = "proposal" // the fact of a waiting proposal, and the memory that it would replace
)

// Contradiction is a pair of memories that contradict each other, or a memory and a proposal.
type Contradiction struct {
	Kind       string    `json:"kind"`
	Left       Side      `json:"left"`  // the newer of two memories, or the fact of the proposal
	Right      Side      `json:"right"` // the older of two memories, or the stored memory
	Reason     string    `json:"reason,omitempty"`
	ProposalID string    `json:"proposal_id,omitempty"`
	Since      time.Time `json:"since"`
	Cursor     string    `json:"cursor"` // to continue after this one
}

// Side is one side of a contradiction.
type Side struct {
	ID         string  `json:"id,omitempty"` // empty for a proposal's fact
	Version    int     `json:"version,omitempty"`
	Status     Status  `json:"status,omitempty"`
	Live       bool    `json:"live"` // not deleted, archived, superseded or retracted
	Pinned     bool    `json:"pinned,omitempty"`
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"` // [0,1]
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *ReviewRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	r.Operation.validate(&p)
	r.requireReason(&p)
	if !isUUID(r.ProposalID) {
		p.Add("proposal_id", "must be an id")
	}
	switch {
	case r.Decision != DecisionApprove && r.Decision != DecisionReject:
		p.Add("decision", "must be %s or %s", DecisionApprove, DecisionReject)
	case r.TargetVersion != 0 && r.Decision == DecisionReject:
		p.Add("target_version", "is allowed only with approve")
	case r.TargetVersion < 0:
		p.Add("target_version", "must not be negative")
	}
	return p.Err()
}
