package normalize

import "strings"

// CanonicalEntity returns the form of a name that identifies an entity in its tenant: in lower case, with whitespace
// collapsed and trailing punctuation removed, even after a space (document 002 "Graph Entity Persistence").
func CanonicalEntity(name string) string {
	return strings.TrimRight(Normalize(name).Normalized, trailingPunctuation+" ")
}
