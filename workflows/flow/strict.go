package flow

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
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

// Validate returns the problems of an input. A replay ignores the fields that the older run ignored; so does a run
// that continues another, whose input may come from a newer worker. The version is requested only if it makes a
// difference: other histories have no marker.
func Validate(ctx workflow.Context, in input) error {
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

// InvalidRequest turns what Validate says into a failure that is not retried.
func InvalidRequest(err error) error {
	if err == nil {
		return nil
	}
	var invalid *schema.ValidationError
	errors.As(err, &invalid)
	return temporal.NewNonRetryableApplicationError(err.Error(), api.ErrTypeInvalidRequest, nil, invalid)
}
