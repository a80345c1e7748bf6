package normalize

import "strings"

// CanonicalEntity is the form by which an entity is unique in its tenant: lower-cased, with
// whitespace collapsed and trailing punctuation cut (document 002 "Graph Entity Persistence"), also
// where a space is before it.
func CanonicalEntity(name string) string {
	return strings.TrimRight(Normalize(name).Normalized, trailingPunctuation+" ")
}
