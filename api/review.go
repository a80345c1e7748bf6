package api

import (
	"time"

	"github.com/mneme/mneme/schema/check"
)

// ReviewInput names the batch whose proposals wait for a decision.
type ReviewInput struct {
	Tenant  string `json:"tenant"`
	BatchID string `json:"batch_id"`
	// ExpiresAfterSeconds is how long a proposal waits for a decision; 0 means ReviewWindow. It applies only to
	// proposals that begin to wait with this run.
	ExpiresAfterSeconds int64 `json:"expires_after_seconds,omitempty"`

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReviewInput) UnmarshalJSON(data []byte) error {
	type plain ReviewInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// ReviewProgress is the answer to QueryProgress and the result of a run. It counts over all runs of a batch.
type ReviewProgress struct {
	Open     int        `json:"open"`
	Approved int        `json:"approved"`
	Rejected int        `json:"rejected"`
	Expired  int        `json:"expired"`
	NextAt   *time.Time `json:"next_at,omitempty"` // when the next open proposal expires
}
