package check

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Text reports a text that Postgres cannot store or that is longer than maxChars.
func Text(p *Problems, field, value string, maxChars int) {
	switch {
	case !utf8.ValidString(value):
		p.Add(field, "is not valid UTF-8")
	case strings.ContainsRune(value, 0):
		p.Add(field, "contains a NUL character")
	case utf8.RuneCountInString(value) > maxChars:
		p.Add(field, "must be at most %d characters", maxChars)
	}
}

// Enum reports a value that is neither empty nor one of values.
func Enum[T enum](p *Problems, field string, value T, values []T) {
	if value != "" && !slices.Contains(values, value) {
		p.Add(field, "must be one of %s", Names(values))
	}
}

// Year reports a time that Postgres or JSON cannot represent. The zero time is valid.
func Year(p *Problems, field string, at time.Time) {
	if year := at.UTC().Year(); year < 1 || year > 9999 {
		p.Add(field, "must lie between the years 1 and 9999")
	}
}

// enum is a string enumeration.
type enum interface{ ~string }

// Names lists the values of an enumeration for error messages.
func Names[T enum](values []T) string {
	out := ""
	for i, v := range values {
		if i > 0 {
			out += ", "
		}
		out += string(v)
	}
	return out
}
