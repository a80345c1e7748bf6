package memory

import (
	"bytes"

	"github.com/mneme/mneme/memory/normalize"
)

// SameContent reports whether two content hashes are equal. Equal content is not stored twice. A hash is that of the
// normalized text, or RecordHash. A missing hash equals no other.
func SameContent(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }

// Says reports whether a memory has the same normalized text (normalize.Normalize) as the given one.
func (n Neighbor) Says(text normalize.Normalized) bool {
	if len(n.Hash) == 0 {
		return SameContent(normalize.Normalize(n.Content).Hash, text.Hash)
	}
	return SameContent(n.Hash, text.Hash)
}
