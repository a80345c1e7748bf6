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

// Ref names a memory as it was when evidence was read.
type Ref struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
}

// Evidence is a memory that recall found for a topic, in the order of recall.
type Evidence struct {
	Ref
	Text        string
	Type        schema.MemoryType
	Subject     string // of its claim; empty where it makes none
	Who         string // who said it
	OccurredAt  time.Time
	Status      schema.Status
	Currentness schema.Currentness
}

// outdated reports whether something newer says otherwise.
func (e Evidence) outdated() bool {
	return e.Currentness == schema.CurrentnessOlder || e.Currentness == schema.CurrentnessSuperseded ||
		e.Status == schema.StatusSuperseded || e.Status == schema.StatusRetracted
}

// Refs are the references of evidence, ordered by id.
func Refs(evidence []Evidence) []Ref {
	out := make([]Ref, len(evidence))
	for i, e := range evidence {
		out[i] = e.Ref
	}
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Hash is the same for the same memories in the same versions, in whatever order. It is of no content.
func Hash(refs []Ref) string {
	sorted := slices.SortedFunc(slices.Values(refs), func(a, b Ref) int { return strings.Compare(a.ID, b.ID) })
	sum := sha256.New()
	for _, r := range sorted {
		_, _ = fmt.Fprintf(sum, "%s:%d\n", r.ID, r.Version) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Changed counts the memories that differ between two evidence sets: added, gone, or of another version.
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

// Due is what a check of a topic found.
type Due struct {
	Refresh bool
	Changed int
}

// Judge says whether a topic needs a new answer: it has none, its answer was blanked, or its evidence set is another
// one. The same evidence gives the same answer and is never paid for twice.
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
