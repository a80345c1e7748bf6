package workflows

import (
	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// IngestResult says what became of a request. It holds ids and counts, never content.
type IngestResult struct {
	schema.IngestAck
	Extracted activities.ExtractResult `json:"extracted"`
	Decided   activities.DecideResult  `json:"decided"`
	Written   pipeline.WriteCounts     `json:"written"`
	Linked    pipeline.LinkCounts      `json:"linked"`
	Indexed   activities.IndexResult   `json:"indexed"`
	Dead      int                      `json:"dead"`                // candidates that could not be processed
	Deferred  []string                 `json:"deferred,omitempty"`  // phases that failed and are made up for later
	ToReview  int                      `json:"to_review,omitempty"` // proposals that wait for a person
	ReviewID  string                   `json:"review_id,omitempty"` // of the run that waits for the decisions
}

// Progress answers QueryProgress.
type Progress struct {
	Phase     string               `json:"phase"`
	Total     int                  `json:"total"` // candidates of the request
	Staged    int                  `json:"staged"`
	Processed int                  `json:"processed"` // candidates through all phases
	Written   pipeline.WriteCounts `json:"written"`
	Dead      int                  `json:"dead"`
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
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}
