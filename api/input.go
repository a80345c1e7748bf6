package api

import "github.com/mneme/mneme/schema/check"

// strict is embedded in the inputs that this package defines. It holds the problems found by decoding.
type strict struct{ decoded check.Decoded }

// Validate returns a *schema.ValidationError that lists every invalid field.
func (s *strict) Validate() error { return s.decoded.Err() }

// DecodeErr returns the problems found by decoding, as a *schema.ValidationError. The first step of a workflow refuses
// an input that has any; the checks of its values are in activities, so that they can change.
func (s *strict) DecodeErr() error { return s.decoded.Err() }

// DropUnread ignores unknown fields, as older versions did, and reports whether there were any.
func (s *strict) DropUnread() bool { return s.decoded.DropUnread() }

// LargeField returns the field that may be large in requests of a kind, or "".
func LargeField(kind string) string {
	switch kind {
	case "ingest":
		return "candidates"
	case "put":
		return "records"
	case "revise":
		return "record"
	case "modify":
		return "patches"
	case "forget":
		return "selector"
	case "recover":
		return "targets"
	case "feedback":
		return "items"
	}
	return ""
}
