package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonProblem words a decoding error without quoting the input, which may be memory content.
func jsonProblem(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("is not valid JSON (at byte %d)", syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "is not valid JSON (it ends too early)"
	default:
		return "is not a valid value (times are RFC 3339)"
	}
}
