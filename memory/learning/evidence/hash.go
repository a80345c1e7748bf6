package evidence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Set is the hash of a set of evidence. Elements are added one by one, in any order, each once. The zero Set is
// empty.
type Set struct {
	sum [4]uint64
	n   uint64
}

// Add adds an element.
func (s *Set) Add(id string) {
	h := sha256.Sum256([]byte(id))
	for i := range s.sum {
		s.sum[i] += binary.BigEndian.Uint64(h[8*i:])
	}
	s.n++
}

// String returns the hash. Equal sets have equal hashes.
func (s Set) String() string {
	var b []byte
	for _, part := range append(s.sum[:], s.n) {
		b = binary.BigEndian.AppendUint64(b, part)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// HashOf is the hash of the set of ids.
func HashOf(ids []string) string {
	var s Set
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			s.Add(id)
		}
	}
	return s.String()
}

// ProblemHash names a problem or a task without its words, by the key that attempts at it have.
func ProblemHash(key string) string {
	if key == "" {
		return ""
	}
	return HashOf([]string{key})
}
