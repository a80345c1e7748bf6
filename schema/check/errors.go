package check

import (
	"fmt"
	"strings"
)

// FieldError describes the problem of one field of a request. It never quotes the value, which may be memory content.
type FieldError struct {
	Field   string `json:"field"`   // path of the field, such as candidates[3].content
	Problem string `json:"problem"` // description of the problem
}

// Error implements error.
func (e FieldError) Error() string { return e.Field + ": " + e.Problem }

// ValidationError lists every invalid field of a request. It is permanent: retrying cannot help.
type ValidationError struct {
	Fields []FieldError `json:"fields"`
}

// maxListedFields keeps the message of a batch with hundreds of invalid candidates readable.
const maxListedFields = 10

// Error implements error.
func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString("invalid request: ")
	for i, f := range e.Fields {
		if i == maxListedFields {
			fmt.Fprintf(&b, " (and %d more)", len(e.Fields)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Error())
	}
	return b.String()
}

// Problems collects field errors under a path prefix.
type Problems struct{ Fields []FieldError }

// Add adds a problem of a field.
func (p *Problems) Add(field, format string, args ...any) {
	p.Fields = append(p.Fields, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// Err returns the collected problems as a *ValidationError, or nil.
func (p *Problems) Err() error {
	if len(p.Fields) == 0 {
		return nil
	}
	return &ValidationError{Fields: p.Fields}
}
