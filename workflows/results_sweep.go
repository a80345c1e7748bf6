package workflows

import (
	"time"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

// SweepInput asks for a sweep. The zero value is what schedules start: every tenant.
type SweepInput struct {
	Tenant    string `json:"tenant,omitempty"`     // this one alone
	BatchSize int    `json:"batch_size,omitempty"` // rows in one transaction; 0: sweeping.SweepBatchSize, which is the most

	// Set by continue-as-new.
	Sofar *activities.SweepResult `json:"so_far,omitempty" decode:"state"`
	At    *time.Time              `json:"at,omitempty"`

	strict
}

// Validate reports every field that is wrong, as a *schema.ValidationError.
func (in *SweepInput) Validate() error {
	if err := in.strict.Validate(); err != nil {
		return err
	}
	if in.BatchSize < 0 {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "batch_size", Problem: "must not be negative"}}}
	}
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *SweepInput) UnmarshalJSON(data []byte) error {
	type plain SweepInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}
