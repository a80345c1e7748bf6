package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// IngestResult is the result of an ingest. It contains ids and counts, never content.
type IngestResult struct {
	schema.IngestAck
	Extracted schema.ExtractCounts `json:"extracted"`
	Decided   schema.DecideCounts  `json:"decided"`
	Written   schema.WriteCounts   `json:"written"`
	Linked    schema.LinkCounts    `json:"linked"`
	Indexed   IndexResult          `json:"indexed"`
	Dead      int                  `json:"dead"`                // candidates that could not be processed
	Deferred  []string             `json:"deferred,omitempty"`  // phases that failed and are repeated later
	ToReview  int                  `json:"to_review,omitempty"` // proposals that wait for a person
	ReviewID  string               `json:"review_id,omitempty"` // id of the run that waits for the decisions
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
	Actor  string `json:"actor"` // name in history

	strict
}

// UnmarshalJSON reads the input strictly. Validate reports the problems.
func (in *ResumeInput) UnmarshalJSON(data []byte) error {
	type plain ResumeInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// IndexResult counts the changes that were written to the index.
type IndexResult struct {
	Upserted  int `json:"upserted"`
	Deleted   int `json:"deleted"`
	Embedded  int `json:"embedded"`            // memories that were missing an embedding
	Postponed int `json:"postponed,omitempty"` // memories that the embedder refuses; they are retried later
	Parked    int `json:"parked,omitempty"`    // of those, parked until an operator retries them
}

// Add returns the sum of two results.
func (r IndexResult) Add(o IndexResult) IndexResult {
	return IndexResult{Upserted: r.Upserted + o.Upserted, Deleted: r.Deleted + o.Deleted,
		Embedded:  r.Embedded + o.Embedded,
		Postponed: r.Postponed + o.Postponed, Parked: r.Parked + o.Parked}
}
