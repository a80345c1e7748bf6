package schema

import (
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// WriteCounts gives the outcome of the proposals of a range.
type WriteCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Blocked int `json:"blocked"`
	Stale   int `json:"stale"` // to be decided again
	// Decided counts the decisions of the range, when writing made some of them again.
	Decided *DecideCounts `json:"decided,omitempty"`
}

// Add returns the sum of two counts. Stale and Decided are not summed: they are a state, not an outcome.
func (w WriteCounts) Add(v WriteCounts) WriteCounts {
	return WriteCounts{Added: w.Added + v.Added, Updated: w.Updated + v.Updated, Deleted: w.Deleted + v.Deleted,
		Skipped: w.Skipped + v.Skipped, Blocked: w.Blocked + v.Blocked, Stale: v.Stale,
		Decided: v.Decided}
}

// ExtractCounts counts what a range yielded, over all attempts.
type ExtractCounts struct {
	Candidates int `json:"candidates"`
	Facts      int `json:"facts"`
	Triples    int `json:"triples"`
	Warnings   int `json:"warnings"`
	Dead       int `json:"dead"`
	// More says that the time of one attempt was over: the rest of the range is for another.
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
	// WithoutVectors says that the embedder was not available: neighbours were found by text alone.
	WithoutVectors bool `json:"without_vectors,omitempty"`
	// More says that the time of one attempt was over: the rest of the range is for another.
	More bool `json:"more,omitempty" db:"-"`
	// Group is how many candidates were searched together last, if a statement with more timed out.
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

// LinkCounts says what a range added to the graph.
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

// IndexLag is how far the index lags Postgres.
type IndexLag struct {
	Pending int64      `json:"pending"`          // changes that the index does not have yet
	Parked  int64      `json:"parked"`           // changes that are no longer retried
	Oldest  *time.Time `json:"oldest,omitempty"` // when the oldest pending change was made
}

// DueCursor is a place in the order in which memories fall due.
type DueCursor struct {
	DueAt time.Time `json:"due_at"`
	ID    uuid.UUID `json:"id"`
}

// HistoryCursor is a place in a table ordered by age. Rows that stay are thus read once a run, and not again by each
// batch.
type HistoryCursor struct {
	CreatedAt time.Time `json:"created_at"`
	ID        uuid.UUID `json:"id"`
	Key       string    `json:"key,omitempty"`     // instead of ID, if that is not a UUID
	Version   int       `json:"version,omitempty"` // of the step versions
}

// PurgeStep is one step of a retention purge.
type PurgeStep string

// Range names a run of candidates of one batch: those with From <= position < To. It is all that travels through a
// workflow's history; content stays in Postgres (claim check).
type Range struct {
	Tenant  string    `json:"tenant"`
	BatchID uuid.UUID `json:"batch_id"`
	From    int       `json:"from"`
	To      int       `json:"to"`
}

// Decision is a reviewer's.
type Decision string

// The decisions.
const (
	DecisionApprove Decision = "approve"
	DecisionReject  Decision = "reject"
)

// ReviewRequest decides on a waiting proposal. History keeps its reason. Without an operation id every request is a
// separate decision, and a second one finds what the first did.
type ReviewRequest struct {
	Operation
	ProposalID string   `json:"proposal_id"` // UUID
	Decision   Decision `json:"decision"`
	// TargetVersion is the version of the target that the reviewer read, if it is not the one that the proposal was
	// decided on. Approve only; 0 means the proposal's.
	TargetVersion int `json:"target_version,omitempty"`

	decoded check.Decoded
}

// ReviewStatus is the outcome of a review.
type ReviewStatus string

// The review statuses. All but applied and rejected leave everything as it was.
const (
	ReviewApplied         ReviewStatus = "applied"
	ReviewRejected        ReviewStatus = "rejected"
	ReviewExpired         ReviewStatus = "expired"
	ReviewVersionConflict ReviewStatus = "version_conflict" // the ground has changed; the proposal waits on
	ReviewDecided         ReviewStatus = "already_decided"
	ReviewNotFound        ReviewStatus = "not_found"
	ReviewFrozen          ReviewStatus = "mutations_frozen" // of the request or of the worker; the proposal waits on
)

// ReviewResult gives the outcome of a review.
type ReviewResult struct {
	ProposalID     string        `json:"proposal_id"`
	Status         ReviewStatus  `json:"status"`
	State          ProposalState `json:"state,omitempty"`           // of the proposal, after the review
	MemoryID       string        `json:"memory_id,omitempty"`       // written, already there or removed
	Superseded     []string      `json:"superseded,omitempty"`      // memories that the written one replaces
	CurrentVersion int           `json:"current_version,omitempty"` // of the target, on a version conflict
	// What prevented it, or who decided before; ids, never content.
	Why string `json:"why,omitempty"`
}

// Summary is a word for operators: the outcome of the request.
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

// ReviewItem is a proposal that waits, or waited, for a decision: both sides, and why it waits.
type ReviewItem struct {
	ProposalID        string        `json:"proposal_id"`
	BatchID           string        `json:"batch_id"`
	State             ProposalState `json:"state"`
	Action            Action        `json:"action"`
	Outcome           string        `json:"outcome"` // why the pipeline did not apply it
	Fact              string        `json:"fact"`
	Category          Category      `json:"category"`
	Confidence        float64       `json:"confidence"`         // in the fact, [0,1]
	Reason            string        `json:"reason"`             // the decider's
	Warnings          []string      `json:"warnings,omitempty"` // likewise
	ContradictionRisk bool          `json:"contradiction_risk,omitempty"`
	SourceID          string        `json:"source_id"`
	Source            string        `json:"source,omitempty"`   // text that the fact was extracted from
	Evidence          []Ref         `json:"evidence,omitempty"` // of the source
	TargetID          string        `json:"target_id,omitempty"`
	TargetVersion     int           `json:"target_version,omitempty"` // that the proposal was decided on
	TargetNow         *Side         `json:"target_now,omitempty"`     // current state; absent if it no longer exists
	MemoryID          string        `json:"memory_id,omitempty"`      // written, or what made the claim already
	// other memories that it was compared with, and their versions
	Offered      []Target   `json:"offered,omitempty"`
	DecidedAt    time.Time  `json:"decided_at"`
	ExpiresAt    time.Time  `json:"expires_at,omitzero"` // absent when no review run waits
	ReviewedBy   string     `json:"reviewed_by,omitempty"`
	ReviewReason string     `json:"review_reason,omitempty"`
	ReviewedAt   *time.Time `json:"reviewed_at,omitempty"`
}

// Kinds of contradictions.
const (
	ContradictionOfMemories = "memories" // two contested memories
	ContradictionOfProposal = "proposal" // a waiting proposal's fact, and the memory that it would replace
)

// Contradiction is a pair of memories that contradict each other, or a memory and a proposal.
type Contradiction struct {
	Kind       string    `json:"kind"`
	Left       Side      `json:"left"`  // the younger of two memories, or the proposal's fact
	Right      Side      `json:"right"` // the older, or the stored memory
	Reason     string    `json:"reason,omitempty"`
	ProposalID string    `json:"proposal_id,omitempty"`
	Since      time.Time `json:"since"`
	Cursor     string    `json:"cursor"` // to go on after this one
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

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ReviewRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequences of these
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
