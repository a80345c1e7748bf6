package memory

import (
	"slices"
	"time"

	"github.com/mneme/mneme/schema"
)

// Grounds has the grounds of active facts by their claims. No two with one claim are the same ground (SameGround).
type Grounds map[ground][]schema.Validity // windows that do not overlap, in order of time

// ground is a claim under conditions, at any time.
type ground struct{ claim, conditions string }

// Add adds the ground of a fact, unless the set has the same ground for its claim. It reports whether it did. Its cost
// hardly depends on the number of facts.
func (g Grounds) Add(claim string, v schema.Validity) bool {
	key := ground{claim, ConditionsHash(schema.Validity{Mode: v.Mode, Conditions: v.Conditions})}
	if isGlobal(v) {
		v.Start, v.End = nil, nil
	}
	windows := g[key]
	i, _ := slices.BinarySearchFunc(windows, v.Start, func(w schema.Validity, start *time.Time) int {
		if w.End == nil || start == nil || start.Before(*w.End) {
			return 1
		}
		return -1 // it ends before
	})
	if i < len(windows) && windowsOverlap(windows[i], v) {
		return false
	}
	g[key] = slices.Insert(windows, i, v)
	return true
}
