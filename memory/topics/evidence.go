package topics

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// Ref names a version of a memory.
type Ref struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
}

// Evidence is a memory that recall found for a topic, in the order of recall.
type Evidence struct {
	Ref
	Text        string
	Type        schema.MemoryType
	Subject     string // of its claim; empty if it makes none
	Who         string // who said it
	OccurredAt  time.Time
	Status      schema.Status
	Currentness schema.Currentness
}

// outdated reports whether a newer memory replaces this one.
func (e Evidence) outdated() bool {
	return e.Currentness == schema.CurrentnessOlder || e.Currentness == schema.CurrentnessSuperseded ||
		e.Status == schema.StatusSuperseded || e.Status == schema.StatusRetracted
}

// Refs returns the references of evidence, ordered by id.
func Refs(evidence []Evidence) []Ref {
	out := make([]Ref, len(evidence))
	for i, e := range evidence {
		out[i] = e.Ref
	}
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Hash returns a hash of the ids and versions of the memories. It does not depend on their order or content.
func Hash(refs []Ref) string {
	sorted := slices.SortedFunc(slices.Values(refs), func(a, b Ref) int { return strings.Compare(a.ID, b.ID) })
	sum := sha256.New()
	for _, r := range sorted {
		_, _ = fmt.Fprintf(sum, "%s:%d\n", r.ID, r.Version) // a hash never returns an error
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Changed counts the memories that differ between two sets of evidence: added, removed, or of another version.
func Changed(answered, now []Ref) int {
	before := make(map[string]int, len(answered))
	for _, r := range answered {
		before[r.ID] = r.Version
	}
	n := 0
	for _, r := range now {
		if version, there := before[r.ID]; !there || version != r.Version {
			n++
		}
		delete(before, r.ID)
	}
	return n + len(before)
}

// Due is the result of checking a topic.
type Due struct {
	Refresh bool
	Changed int
}

// Judge decides whether a topic needs a new answer: it has none, its answer was blanked, or its set of evidence
// changed. The same evidence is never sent to a model twice.
func Judge(number int, blanked bool, answered, now []Ref) Due {
	switch {
	case number == 0:
		return Due{Refresh: true, Changed: len(now)}
	case blanked:
		return Due{Refresh: true, Changed: max(1, Changed(answered, now))}
	}
	n := Changed(answered, now)
	return Due{Refresh: n > 0, Changed: n}
}
