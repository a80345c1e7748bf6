package promote

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Limits of a group. If there are more attempts, see thin.
const (
	keptSuccesses = 60
	keptFailures  = 60
)

// Group has the attempts at one problem or one task.
type Group struct {
	Key       string
	Successes []trace.Attempt
	Failures  []trace.Attempt
	Seen      int // number of attempts added
	Set       evidence.Set
}

// Add adds an attempt. It returns false for an attempt without an outcome or without steps.
func (g *Group) Add(a trace.Attempt) bool {
	if len(a.Steps) == 0 || !a.Succeeded() && !a.Failed() || a.Succeeded() && len(a.Done()) == 0 {
		return false
	}
	g.Key = cmp.Or(g.Key, a.Key())
	g.Seen++
	g.Set.Add(a.ID)
	if a.Succeeded() {
		g.Successes = thin(append(g.Successes, a), keptSuccesses)
	} else {
		g.Failures = thin(append(g.Failures, a), keptFailures)
	}
	return true
}

// thin returns attempts unchanged up to twice the limit. Of more, it drops every second of the oldest limit attempts.
func thin(attempts []trace.Attempt, limit int) []trace.Attempt {
	if len(attempts) <= 2*limit {
		return attempts
	}
	slices.SortStableFunc(attempts, func(a, b trace.Attempt) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	older := attempts[:limit]
	out := make([]trace.Attempt, 0, 2*limit)
	for i := 0; i < len(older); i += 2 {
		out = append(out, older[i])
	}
	return append(out, attempts[limit:]...)
}

// Groups has the groups of a scope. The zero Groups is empty.
type Groups struct {
	byKey map[string]*Group
	Left  int // attempts that were ignored because there were too many groups
}

// MaxGroups is the number of problems that one run handles. Attempts at further problems are counted in Left and
// handled by a later run.
const MaxGroups = 5_000

// Add adds an attempt to the group of its problem or task.
func (g *Groups) Add(a trace.Attempt) {
	key := a.Key()
	if key == "" {
		return
	}
	if g.byKey == nil {
		g.byKey = map[string]*Group{}
	}
	group := g.byKey[key]
	if group == nil {
		if len(g.byKey) >= MaxGroups {
			g.Left++
			return
		}
		group = &Group{}
		if !group.Add(a) {
			return
		}
		g.byKey[key] = group
		return
	}
	group.Add(a)
}

// All returns the groups, sorted by key.
func (g *Groups) All() []*Group {
	out := make([]*Group, 0, len(g.byKey))
	for _, group := range g.byKey {
		out = append(out, group)
	}
	slices.SortFunc(out, func(a, b *Group) int { return strings.Compare(a.Key, b.Key) })
	return out
}
