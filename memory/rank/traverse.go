package rank

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// StagePrimary ranks the graph's evidence like that of the other channels, if a request asks for it.
const StagePrimary = "primary"

// Limits of a traversal of the entity graph (notes on recall constants, "traversal"). They bound its cost, even if an
// entity has many edges and memories.
const (
	MaxFocalEntities    = 20  // entities that the query names
	MaxGraphDepth       = 2   // edges from a focal entity
	MaxGraphBranches    = 4   // best edges of one entity
	MaxGraphNodes       = 50  // entities in total
	MaxGraphEdges       = 64  // edges read of one entity in one direction
	MaxGraphMentions    = 64  // newest memories read of one entity
	MinEdgeConfidence   = 0.5 // confidence of an edge
	MinEdgeStrength     = 0.3 // confidence times strength of an edge
	maxFocalWords       = 4   // words of an entity's name
	maxFocalQueryWords  = 64  // words read of the query
	unanchoredTraversal = 0.35

	// minFlatShare is the least share of the flat channels in the pool if traversal is primary.
	minFlatShare = 0.4
	poolPerLimit = 4
	minPool      = 20
)

// FocalNames returns the possible names of entities in a query: each sequence of up to four of its words, in canonical
// form, the longest first. It omits sequences of only common words and single letters. Their number is bounded.
func FocalNames(query string) []string {
	fields := strings.Fields(query[:min(len(query), 16<<10)])
	fields = fields[:min(len(fields), maxFocalQueryWords)]
	var clean []string
	for _, f := range fields {
		f = strings.Trim(normalize.Apostrophes.Replace(f), `"'“”«»()[]{}<>,.;:!?¿¡`)
		f, _ = strings.CutSuffix(f, "'s")
		f, _ = strings.CutSuffix(f, "'")
		clean = append(clean, f)
	}
	var out []string
	seen := map[string]bool{}
	for size := maxFocalWords; size > 0; size-- {
		for i := 0; i+size <= len(clean); i++ {
			name := normalize.CanonicalEntity(strings.Join(clean[i:i+size], " "))
			said := normalize.Words(name, "")
			if len([]rune(name)) < 2 || seen[name] || !slices.ContainsFunc(said, func(w string) bool {
				return !focalStops[w]
			}) {
				continue
			}
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// focalStops has words that name no entity.
var focalStops = normalize.Set(
	`a an and are as at be been but by can could did do does for from had has have he her him his how i if in is it its
	me my no not of on or our she so than that the their them then there they this to us was we were what when where which
	who whom whose
	why will with would you your`,
)

// Primary gives the graph's evidence the same weight as that of the flat channels and returns a pool of max(limit,
// min(20, 4·limit)) candidates. At least 40 % of the pool are the best candidates of the flat channels. The graph's
// scores are scaled so that their best equals the best flat one. If both found a candidate, the higher score counts, so
// that a weak graph score never lowers a direct result (document 002 Phase 2).
func Primary(fused []Evidence, limit int) []Evidence {
	flatBest, graphBest := 0.0, 0.0
	for _, e := range fused {
		graphBest = max(graphBest, e.Channels[ChannelGraph])
		flatBest = max(flatBest, e.Score)
	}
	if graphBest == 0 {
		return fused
	}
	size := max(limit, min(minPool, poolPerLimit*limit))
	reserved := int(minFlatShare*float64(size) + 0.999)
	flat := slices.Clone(fused)
	Rank(flat)
	var pool, rest []Evidence
	for _, e := range flat {
		if len(pool) < reserved && e.direct() > 0 {
			pool = append(pool, e)
		} else {
			rest = append(rest, e)
		}
	}
	merged := func(list []Evidence) {
		for i := range list {
			if graph := list[i].Channels[ChannelGraph] / graphBest * flatBest; graph > list[i].Score {
				list[i].Set(StagePrimary, graph, "the graph is asked first")
			}
		}
		Rank(list)
	}
	merged(pool)
	merged(rest)
	pool = append(pool, rest[:min(len(rest), max(0, size-len(pool)))]...)
	Rank(pool)
	return pool
}
