package memory

import (
	"bytes"

	"github.com/mneme/mneme/memory/normalize"
)

// SameContent reports whether two content hashes are of one content, which is then not stored again. A hash is that
// of the normalized form, or RecordHash; a missing one equals none.
func SameContent(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }

// Says reports whether a memory says what a text says, word for word but for spelling (normalize.Normalize).
func (n Neighbor) Says(text normalize.Normalized) bool {
	if len(n.Hash) == 0 {
		return SameContent(normalize.Normalize(n.Content).Hash, text.Hash)
	}
	return SameContent(n.Hash, text.Hash)
}
