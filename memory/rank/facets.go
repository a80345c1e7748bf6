package rank

import (
	"math/bits"
	"slices"
)

// StageFacets is facet coverage.
const StageFacets = "facets"

// Weights of facets (notes on recall constants).
const (
	facetNew      = 0.08
	facetRepeated = 0.02
)

// CoverFacets reorders evidence so that the first places together cover as much of the query as possible (document 002
// Phase 4). A facet is a term of the text plan; Evidence.Terms has the facets of a candidate. The next place goes to
// the candidate with the highest score after adding 0.08 for each facet that no higher place has, and subtracting 0.02
// for each facet that a higher place has. This sum becomes the new score, limited to the score of the place before.
func CoverFacets(evidence []Evidence) []Evidence {
	rest := slices.Clone(evidence)
	Rank(rest)
	out := make([]Evidence, 0, len(rest))
	var covered uint64
	for len(rest) > 0 {
		best, bestScore := 0, -1.0
		for i, e := range rest {
			// If scores are equal, the earlier rank decides.
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
