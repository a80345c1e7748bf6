package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSONProblem describes a decoding error without quoting the input, which may be memory content.
func JSONProblem(err error) FieldError {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return FieldError{Field: "(json)", Problem: fmt.Sprintf("is not valid JSON (at byte %d)", syntax.Offset)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return FieldError{Field: "(json)", Problem: "is not valid JSON (it ends too early)"}
	case errors.As(err, &wrongType):
		return FieldError{Field: "(json)", Problem: "must be an object"}
	default: // only occurred_at has its own decoder
		return FieldError{Field: "occurred_at", Problem: "must be a time in RFC 3339"}
	}
}
