package question

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mneme/mneme/memory/lexicon"
)

// resemblance computes how similar a word is in meaning to the nearest word of a list, once for each word.
type resemblance struct {
	list  []lexicon.Place
	known []atomic.Uint64 // by place: the bits of the similarity plus one; 0 if it is not known yet
}

// resemblanceTo returns the resemblance to the words of a list, which is prepared at the first call.
func resemblanceTo(words string) func() *resemblance {
	return sync.OnceValue(func() *resemblance {
		r := &resemblance{known: make([]atomic.Uint64, lexicon.Places())}
		for w := range strings.FieldsSeq(words) {
			r.list = append(r.list, lexicon.PlaceOf(w))
		}
		return r
	})
}

// of returns the similarity of the word at a place, in [0,1], or 0 if the word is unknown.
func (r *resemblance) of(p lexicon.Place) float64 {
	if p < 0 {
		return 0
	}
	known := &r.known[p]
	if bits := known.Load(); bits != 0 {
		return math.Float64frombits(bits - 1)
	}
	near := 0.0
	for _, w := range r.list {
		near = max(near, p.Similarity(w))
	}
	known.Store(math.Float64bits(near) + 1)
	return near
}
