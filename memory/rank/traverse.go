package rank

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// StagePrimary puts the graph first, where a request asks for that.
const StagePrimary = "primary"

// Bounds of a walk over the graph of entities (notes on recall constants, "traversal"). They make its cost
// that of the bounds, however many edges and memories an entity has.
const (
	MaxFocalEntities    = 20  // that the query names
	MaxGraphDepth       = 2   // edges away from them
	MaxGraphBranches    = 4   // best edges of one entity
	MaxGraphNodes       = 50  // entities in all
	MaxGraphEdges       = 64  // of one entity, in one direction, that are looked at
	MaxGraphMentions    = 64  // latest memories of one entity that are looked at
	MinEdgeConfidence   = 0.5 // of one edge
	MinEdgeStrength     = 0.3 // confidence times strength
	maxFocalWords       = 4   // of an entity's name in the query
	maxFocalQueryWords  = 64  // of the query that are looked at
	unanchoredTraversal = 0.35

	// minFlatShare is the share of the pool that stays with the flat channels where traversal is primary.
	minFlatShare = 0.4
	poolPerLimit = 4
	minPool      = 20
)

// FocalNames returns the names that entities in a query may have: every run of up to four of its words, in canonical
// form, the longest first. Runs of only common words and single letters are omitted. Their number is bounded for any
// query.
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

// focalStops are words that name no one.
var focalStops = normalize.Set(
	`a an and are as at be been but by can could did do does for from had has have he her him his how i if in is it its
	me my no not of on or our she so than that the their them then there they this to us was we were what when where which
	who whom whose
	why will with would you your`,
)

// Primary gives the graph's evidence the same weight as that of the flat channels and forms the pool of max(limit,
// min(20, 4·limit)) candidates, at least 40 % of it the best of the flat ones. The graph's scores are stretched so
// that its best equals the best flat one; for a candidate that both found the higher score counts, so that a weak
// graph score never lowers a direct result (document 002 Phase 2).
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
