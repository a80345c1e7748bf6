package memory

import (
	"strings"

	"github.com/google/uuid"
)

// Text is the content of a memory.
type Text struct {
	ID      uuid.UUID
	Content string
}

// Naming returns the memories whose text contains all of the canonical names. The texts are a source and the facts
// that were extracted from it. If no text contains all names, Naming returns the source, in which the names were found,
// or the first text if the source is not among them. Every entity and every edge of the graph thus comes from a memory
// and is removed with it.
func Naming(texts []Text, source uuid.UUID, names ...string) []uuid.UUID {
	if len(texts) == 0 {
		return nil
	}
	var out []uuid.UUID
	fallback := texts[0].ID
	for _, t := range texts {
		text, all := strings.ToLower(t.Content), true
		for _, name := range names {
			all = all && strings.Contains(text, name)
		}
		if all {
			out = append(out, t.ID)
		}
		if t.ID == source {
			fallback = source
		}
	}
	if len(out) == 0 {
		out = []uuid.UUID{fallback}
	}
	return out
}
