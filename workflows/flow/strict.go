package flow

import (
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// changeStrictInput marks runs that refuse an input with unknown fields; older runs ignored such fields.
const changeStrictInput = "strict-input"

// input is the input of a workflow, from clients that may misspell a field.
type input interface {
	// Validate reports every field that is wrong, as a *schema.ValidationError.
	Validate() error
	// DropUnread ignores unknown fields, as older runs did, and reports whether there were any.
	DropUnread() bool
}

// Decoded is an input that knows what was wrong with its JSON.
type Decoded interface {
	// DecodeErr reports unknown and duplicate fields and wrong types, as a *schema.ValidationError.
	DecodeErr() error
	// DropUnread ignores unknown and duplicate fields, as older runs did, and reports whether there were any.
	DropUnread() bool
}

// Strict refuses an input with fields that are unknown, given twice or of a wrong type. As with Validate, replays and
// runs that continue another one ignore what older runs ignored.
func Strict(ctx workflow.Context, in Decoded) error {
	return InvalidRequest(refused(ctx, in.DecodeErr, in.DropUnread))
}

// Validate returns the problems of an input. A replay ignores the fields that the older run ignored. A run that
// continues another one ignores unknown fields too, because its input may come from a newer worker. The version is
// requested only if it makes a difference, so that other histories need no marker.
func Validate(ctx workflow.Context, in input) error { return refused(ctx, in.Validate, in.DropUnread) }

func refused(ctx workflow.Context, problems func() error, dropUnread func() bool) error {
	err := problems()
	if err == nil || !dropUnread() {
		return err
	}
	continues := workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
	if continues || workflow.GetVersion(ctx, changeStrictInput, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return problems()
	}
	return err
}

// InvalidRequest turns an error of Validate into a failure that is not retried.
func InvalidRequest(err error) error {
	if err == nil {
		return nil
	}
	var invalid *schema.ValidationError
	errors.As(err, &invalid)
	return temporal.NewNonRetryableApplicationError(err.Error(), api.ErrTypeInvalidRequest, nil, invalid)
}

// AnswerWhose lets a client that found the run by the key of its request ask whether the run is that of its request.
// The client gives the digest or, if its language cannot compute it, the request itself, which read turns into a
// digest. An empty digest means that the run has no key.
func AnswerWhose(ctx workflow.Context, digest string, read func(request []byte) (string, error)) error {
	if digest == "" {
		return nil
	}
	return workflow.SetQueryHandler(ctx, api.QueryRequest, func(other json.RawMessage) (bool, error) {
		var given string
		//workflowcheck:ignore: in a query; and decoding the same bytes gives the same value
		if json.Unmarshal(other, &given) == nil {
			return given == digest, nil
		}
		given, err := read(other)
		return given == digest, InvalidRequest(err)
	})
}

// Reading returns the argument read of AnswerWhose for requests of one type.
func Reading[R any](digest func(R) string) func(request []byte) (string, error) {
	return func(request []byte) (string, error) {
		var r R
		//workflowcheck:ignore: in a query; and decoding the same bytes gives the same value
		if err := json.Unmarshal(request, &r); err != nil {
			return "", &schema.ValidationError{Fields: []schema.FieldError{{Field: "(json)", Problem: "cannot be read"}}}
		}
		return digest(r), nil
	}
}
