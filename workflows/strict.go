package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/schema"
)

// changeStrictInput marks runs that refuse an input with fields that they do not know; older ones dropped them.
const changeStrictInput = "strict-input"

// input is what a workflow is started with by clients that may misspell a field.
type input interface {
	// Validate reports every field that is wrong, as a *schema.ValidationError.
	Validate() error
	// DropUnread reads the input as older runs did, and reports whether that makes a difference.
	DropUnread() bool
}

// validate says what is wrong with an input. What older runs dropped, they drop when they are replayed; and so
// does a run that continues another, whose input may be a newer worker's. The version is asked for only where it
// makes a difference: other histories have no marker.
func validate(ctx workflow.Context, in input) error {
	err := in.Validate()
	if err == nil || !in.DropUnread() {
		return err
	}
	continues := workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
	if continues || workflow.GetVersion(ctx, changeStrictInput, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return in.Validate()
	}
	return err
}

// strict is embedded in the inputs that this package defines: it keeps what reading one has found.
type strict struct{ decoded schema.Decoded }

// Validate reports every field that is wrong, as a *schema.ValidationError.
func (s *strict) Validate() error { return s.decoded.Err() }

// DropUnread reads the input as older runs did, and reports whether that makes a difference.
func (s *strict) DropUnread() bool { return s.decoded.DropUnread() }

// misread is what no version can read, as a *schema.ValidationError. Fields that this version does not know are left
// out: a newer client may have set them.
func (s *strict) misread() error {
	if wrong := s.decoded.Misread(); len(wrong) > 0 {
		return &schema.ValidationError{Fields: wrong}
	}
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *SweepInput) UnmarshalJSON(data []byte) error {
	type plain SweepInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ResumeInput) UnmarshalJSON(data []byte) error {
	type plain ResumeInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReviewInput) UnmarshalJSON(data []byte) error {
	type plain ReviewInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *DriftInput) UnmarshalJSON(data []byte) error {
	type plain DriftInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReindexInput) UnmarshalJSON(data []byte) error {
	type plain ReindexInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}
