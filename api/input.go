package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// strict is embedded in the inputs that this package defines: it keeps what reading one has found.
type strict struct{ decoded check.Decoded }

// Validate reports every field that is wrong, as a *schema.ValidationError.
func (s *strict) Validate() error { return s.decoded.Err() }

// DropUnread reads the input as older runs did, and reports whether that makes a difference.
func (s *strict) DropUnread() bool { return s.decoded.DropUnread() }

// MisreadErr is what no version can read, as a *schema.ValidationError. Fields that this version does not know are left
// out: a newer client may have set them.
func (s *strict) MisreadErr() error {
	if wrong := s.decoded.Misread(); len(wrong) > 0 {
		return &schema.ValidationError{Fields: wrong}
	}
	return nil
}

// LargeField is the field of a kind's requests that may be large.
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
