package proposals

import (
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/parsed"
)

// Added has the facts that a write adds, to find those that another fact of the same write seems to change. All facts
// of a batch are decided before any is written, so that no decision knows the others. The zero Added is empty.
type Added struct {
	facts  []addedFact
	byTerm map[string][]int // facts by the words of their statements
}

type addedFact struct {
	frames []frame.Frame
	at     time.Time
}

// Add adds a fact that was said at a time.
func (a *Added) Add(content, speaker string, at time.Time) {
	n := len(a.facts)
	frames := parsed.Statements(content, speaker)
	a.facts = append(a.facts, addedFact{frames, at})
	if a.byTerm == nil {
		a.byTerm = map[string][]int{}
	}
	for _, f := range frames {
		for _, term := range f.Terms() {
			if of := a.byTerm[term]; len(of) == 0 || of[len(of)-1] != n {
				a.byTerm[term] = append(of, n)
			}
		}
	}
}

// Changed reports whether a fact that was said at a time seems to change one of the added facts that was said before.
func (a *Added) Changed(fact memory.Fact, at time.Time) bool {
	if len(a.facts) == 0 {
		return false
	}
	said := parsed.Statements(fact.Content, fact.Speaker)
	compared := map[int]bool{}
	for _, f := range said {
		for _, term := range f.Terms() {
			for _, n := range a.byTerm[term] {
				if compared[n] || at.Before(a.facts[n].at) {
					continue
				}
				compared[n] = true
				if r, more := change.Best(a.facts[n].frames, said); !more && r.Certainty >= change.Likely &&
					r.Change != change.Restates {
					return true
				}
			}
		}
	}
	return false
}
