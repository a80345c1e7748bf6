package evidence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Set is the hash of a set of evidence. Each element must be added once; the order does not matter. The zero Set is
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

// HashOf returns the hash of the set of ids.
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

// UserKey returns a hash that identifies a user of an agent, or "" if there is no user. It is stored instead of the
// name with a report on a memory that others read.
func UserKey(tenant, agent, user string) string {
	if user == "" {
		return ""
	}
	return HashOf([]string{"user\x00" + tenant + "\x00" + agent + "\x00" + user})
}

// ProblemHash returns a hash of an attempt's key, which identifies a problem or a task without its words.
func ProblemHash(key string) string {
	if key == "" {
		return ""
	}
	return HashOf([]string{key})
}
