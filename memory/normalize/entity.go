package normalize

import "strings"

// CanonicalEntity is the form in which an entity is unique in its tenant: lower-cased, with whitespace collapsed and
// trailing punctuation removed (document 002 "Graph Entity Persistence"), even if a space precedes it.
func CanonicalEntity(name string) string {
	return strings.TrimRight(Normalize(name).Normalized, trailingPunctuation+" ")
}
