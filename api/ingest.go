package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// IngestResult says what became of a request. It holds ids and counts, never content.
type IngestResult struct {
	schema.IngestAck
	Extracted ExtractResult      `json:"extracted"`
	Decided   DecideResult       `json:"decided"`
	Written   schema.WriteCounts `json:"written"`
	Linked    schema.LinkCounts  `json:"linked"`
	Indexed   IndexResult        `json:"indexed"`
	Dead      int                `json:"dead"`                // candidates that could not be processed
	Deferred  []string           `json:"deferred,omitempty"`  // phases that failed and are made up for later
	ToReview  int                `json:"to_review,omitempty"` // proposals that wait for a person
	ReviewID  string             `json:"review_id,omitempty"` // of the run that waits for the decisions
}

// Progress answers QueryProgress.
type Progress struct {
	Phase     string             `json:"phase"`
	Total     int                `json:"total"` // candidates of the request
	Staged    int                `json:"staged"`
	Processed int                `json:"processed"` // candidates through all phases
	Written   schema.WriteCounts `json:"written"`
	Dead      int                `json:"dead"`
}

// ResumeInput names a dead job to replay.
type ResumeInput struct {
	Tenant string `json:"tenant"`
	JobID  string `json:"job_id"`
	Actor  string `json:"actor"` // who wants it, for history

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ResumeInput) UnmarshalJSON(data []byte) error {
	type plain ResumeInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// ExtractResult counts what a range yielded, over all attempts.
type ExtractResult struct {
	Candidates int `json:"candidates"`
	Facts      int `json:"facts"`
	Triples    int `json:"triples"`
	Warnings   int `json:"warnings"`
	Dead       int `json:"dead"`
	// More says that the time of one attempt was over: the rest of the range is for another.
	More bool `json:"more,omitempty"`
}

// Add returns the sum of two results.
func (r ExtractResult) Add(o ExtractResult) ExtractResult {
	return ExtractResult{Candidates: r.Candidates + o.Candidates, Facts: r.Facts + o.Facts, Triples: r.Triples + o.Triples,
		Warnings: r.Warnings + o.Warnings, Dead: r.Dead + o.Dead}
}

// DecideResult counts the proposals of a range by action, over all attempts and rounds.
type DecideResult struct {
	Candidates int          `json:"candidates"`
	Actions    ActionCounts `json:"actions"`
	Dead       int          `json:"dead"`
	// WithoutVectors says that the embedder was not available: neighbours were found by text alone.
	WithoutVectors bool `json:"without_vectors,omitempty"`
	// More says that the time of one attempt was over: the rest of the range is for another.
	More bool `json:"more,omitempty"`
	// Group is how many candidates were searched together at last, where that was fewer than may be.
	Group int `json:"group,omitempty"`
}

// Add returns the sum of two results.
func (r DecideResult) Add(o DecideResult) DecideResult {
	return DecideResult{Candidates: r.Candidates + o.Candidates, Dead: r.Dead + o.Dead, Actions: r.Actions.add(o.Actions),
		WithoutVectors: r.WithoutVectors || o.WithoutVectors}
}

// ActionCounts counts proposals. It is a struct because workflow code must not range over a map.
type ActionCounts struct {
	Add    int `json:"add"`
	Update int `json:"update"`
	Delete int `json:"delete"`
	None   int `json:"none"`
}

func (c ActionCounts) add(d ActionCounts) ActionCounts {
	return ActionCounts{Add: c.Add + d.Add, Update: c.Update + d.Update, Delete: c.Delete + d.Delete, None: c.None + d.None}
}

// IndexResult counts what the index was told.
type IndexResult struct {
	Upserted  int `json:"upserted"`
	Deleted   int `json:"deleted"`
	Embedded  int `json:"embedded"`            // memories that had been left without an embedding
	Postponed int `json:"postponed,omitempty"` // memories that the embedder refuses: they come again later
	Parked    int `json:"parked,omitempty"`    // of those, given up until somebody looks
}

// Add returns the sum of two results.
func (r IndexResult) Add(o IndexResult) IndexResult {
	return IndexResult{Upserted: r.Upserted + o.Upserted, Deleted: r.Deleted + o.Deleted, Embedded: r.Embedded + o.Embedded,
		Postponed: r.Postponed + o.Postponed, Parked: r.Parked + o.Parked}
}
