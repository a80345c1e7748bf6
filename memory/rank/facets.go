package rank

import (
	"math/bits"
	"slices"
)

// StageFacets is facet coverage.
const StageFacets = "facets"

// What a facet is worth (notes on recall constants).
const (
	facetNew      = 0.08
	facetRepeated = 0.02
)

// CoverFacets reorders evidence so that the first places together cover as much of the query as they can (document
// 002 Phase 4). A facet is a content word of the query, as in the text plan: Evidence.Terms says which candidate has
// which, so that no content is read. Greedily, each next place goes to the highest score after adding 0.08 for every
// facet that no higher place has, and subtracting 0.02 for every one that a higher place has. Scores within this sum
// are the new scores; they never rise from one place to the next.
func CoverFacets(evidence []Evidence) []Evidence {
	rest := slices.Clone(evidence)
	Rank(rest)
	out := make([]Evidence, 0, len(rest))
	var covered uint64
	for len(rest) > 0 {
		best, bestScore := 0, -1.0
		for i, e := range rest {
			// Of equal scores, the one that ranked higher before wins.
			if s := facetScore(e, covered); s > bestScore {
				best, bestScore = i, s
			}
		}
		e := rest[best]
		if e.Terms != 0 {
			why := ""
			if e.Terms&^covered != 0 {
				why = "speaks of what nothing above does"
			}
			e.Set(StageFacets, bestScore, why)
		}
		covered |= e.Terms
		out = append(out, e)
		rest = slices.Delete(rest, best, best+1)
	}
	return out
}

func facetScore(e Evidence, covered uint64) float64 {
	fresh, repeated := bits.OnesCount64(e.Terms&^covered), bits.OnesCount64(e.Terms&covered)
	return share(e.Score + facetNew*float64(fresh) - facetRepeated*float64(repeated))
}
