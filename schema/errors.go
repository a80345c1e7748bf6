package schema

import (
	"fmt"
	"strings"
)

// FieldError names one field of a request and what is wrong with it. It never quotes the value:
// the value may be memory content.
type FieldError struct {
	Field   string `json:"field"`   // path of the field, such as candidates[3].content
	Problem string `json:"problem"` // what is wrong, in words
}

// Error implements error.
func (e FieldError) Error() string { return e.Field + ": " + e.Problem }

// ValidationError lists every field of a request that is wrong. It is permanent: retrying cannot help.
type ValidationError struct {
	Fields []FieldError `json:"fields"`
}

// maxListedFields keeps the message of a batch with hundreds of bad candidates readable.
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

// problems collects field errors under a path prefix.
type problems struct{ fields []FieldError }

func (p *problems) add(field, format string, args ...any) {
	p.fields = append(p.fields, FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// err returns the collected problems as a *ValidationError, or nil.
func (p *problems) err() error {
	if len(p.fields) == 0 {
		return nil
	}
	return &ValidationError{Fields: p.fields}
}

// VersionConflict says that a memory is not at the version that a request names. Nothing was changed.
type VersionConflict struct {
	ID        string `json:"id"`
	IfVersion int    `json:"if_version"`        // of the request
	Version   int    `json:"version,omitempty"` // of the memory; 0: it changed while the request was carried out
}

// Error implements error.
func (e *VersionConflict) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("memory %s is no longer at version %d", e.ID, e.IfVersion)
	}
	return fmt.Sprintf("memory %s is at version %d, not %d", e.ID, e.Version, e.IfVersion)
}
