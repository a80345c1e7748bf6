package rank

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
)

// Stages that look at the surroundings of a candidate.
const (
	StageNeighbourhood = "neighbourhood"
	StageSession       = "session"
	StageSpeaker       = "speaker"
)

// Constants of context. What is said next to a hit is often what the question is about, in other words:
// an answer rarely repeats the words of its question. Measured on the evaluation conversations, where
// the three stages together lift recall@10 by some 15 points (docs/recall.md); other weights, from half
// to double, move it by about one.
const (
	// MaxAnchors is how many of the best candidates lend evidence to their neighbours.
	MaxAnchors = 60
	// NeighbourRadius is how far, in turns, a candidate's evidence reaches.
	NeighbourRadius = 4

	neighbourReach = 0.8  // evidence at distance d counts by neighbourReach / 2^d: 0.4, 0.2, 0.1, 0.05
	answerBoost    = 1.5  // by which it counts more for the turn right after one that asks
	sessionWeight  = 0.15 // of the session's coverage, squared
	selfContained  = 370  // bytes, from which a memory needs the less context the longer it is
	otherSpeaker   = 0.7  // by which a turn counts when the question names another speaker
)

// Anchor is a candidate that lends evidence to its surroundings, and the memory whose place in the
// session it has: its own, or its source's.
type Anchor struct{ ID, Place uuid.UUID }

// Turn is a memory that is near an anchor in its session.
type Turn struct {
	Anchor, ID uuid.UUID
	Distance   int  // in turns: negative before the anchor, positive after it
	AnchorAsks bool // the anchor's text ends with a question mark
	Features
}

// Anchors returns those of the best of the ranked candidates that may stand in a session, with their places. Of
// several in one place, as a source and the facts drawn from it are, the best is taken.
func Anchors(ranked []Evidence) []Anchor {
	out := make([]Anchor, 0, MaxAnchors)
	taken := make(map[uuid.UUID]bool, MaxAnchors)
	for _, e := range ranked {
		if len(taken) == MaxAnchors {
			break
		}
		place := e.ID
		if e.Source != uuid.Nil {
			place = e.Source
		}
		if taken[place] {
			continue
		}
		taken[place] = true
		if e.Source == uuid.Nil && e.Session == "" {
			continue
		}
		out = append(out, Anchor{ID: e.ID, Place: place})
	}
	return out
}

// Neighbourhood adds to each candidate, as evidence independent of its own, what its neighbours in the
// session have: 1 - (1-own)·(1-theirs). Neighbours that no channel found come in with theirs alone.
func Neighbourhood(ranked []Evidence, turns []Turn) []Evidence {
	out := slices.Clone(ranked)
	places, direct := map[uuid.UUID]int{}, map[uuid.UUID]float64{}
	for i, e := range out {
		places[e.ID], direct[e.ID] = i, e.Score
	}
	doubt := map[uuid.UUID]float64{} // product of (1-evidence) over the neighbours
	features := map[uuid.UUID]Features{}
	heard := map[[2]uuid.UUID]bool{} // facts of one source stand in one place and say one thing
	for _, t := range strongestFirst(turns, direct) {
		place := [2]uuid.UUID{t.ID, anchorPlace(out, places, t.Anchor)}
		if heard[place] {
			continue
		}
		heard[place] = true
		if _, ok := doubt[t.ID]; !ok {
			doubt[t.ID] = 1
		}
		doubt[t.ID] *= 1 - lent(t)*t.needsContext()*direct[t.Anchor]
		features[t.ID] = t.Features
	}
	for _, id := range slices.SortedFunc(maps.Keys(doubt), compareIDs) {
		i, known := places[id]
		if !known {
			out = append(out, Evidence{ID: id, Channels: map[string]float64{}, Features: features[id]})
			i = len(out) - 1
		}
		out[i].Set(StageNeighbourhood, 1-(1-out[i].Score)*doubt[id], fmt.Sprintf("neighbours add %.3f", 1-doubt[id]))
	}
	Rank(out)
	return out
}

// lent is the share of the anchor's evidence that a turn gets, [0,1).
func lent(t Turn) float64 {
	share := neighbourReach
	for range max(t.Distance, -t.Distance) {
		share /= 2
	}
	if t.Distance == 1 && t.AnchorAsks {
		share *= answerBoost
	}
	return share
}

// needsContext is the share of its surroundings' evidence that a memory gets, by its length, in (0,1]. A short turn
// leaves out what was said before it. A long one says by itself what it is about, and repeats what it answers: the
// evidence of its neighbours is its own once more.
func (f *Features) needsContext() float64 {
	return min(1, selfContained/max(1, float64(f.Bytes)))
}

// strongestFirst orders turns by their anchor's evidence, so that of several anchors in one place the
// strongest is heard.
func strongestFirst(turns []Turn, direct map[uuid.UUID]float64) []Turn {
	out := slices.Clone(turns)
	slices.SortStableFunc(out, func(a, b Turn) int { return cmp.Compare(direct[b.Anchor], direct[a.Anchor]) })
	return out
}

// anchorPlace is where an anchor stands.
func anchorPlace(evidence []Evidence, places map[uuid.UUID]int, anchor uuid.UUID) uuid.UUID {
	if i, ok := places[anchor]; ok && evidence[i].Source != uuid.Nil {
		return evidence[i].Source
	}
	return anchor
}

// Sessions adds to each candidate how much of the query its session covers as a whole: the weight of the
// terms that the session's candidates hold between them, squared, since most sessions hold some.
func Sessions(ranked []Evidence, weights []float64) []Evidence {
	type session struct{ agent, name string }
	held := map[session]uint64{}
	for _, e := range ranked {
		held[session{e.Agent, e.Session}] |= e.Terms
	}
	out := slices.Clone(ranked)
	for i := range out {
		e := &out[i]
		covered := 0.0
		for term, weight := range weights {
			if held[session{e.Agent, e.Session}]&(1<<term) != 0 {
				covered += weight
			}
		}
		if e.Session == "" || covered == 0 {
			continue
		}
		e.Set(
			StageSession,
			1-(1-e.Score)*(1-sessionWeight*e.needsContext()*covered*covered),
			fmt.Sprintf("the session covers %.2f of the query", covered),
		)
	}
	Rank(out)
	return out
}

// Speakers lowers what others said, when the query names some of those who spoke: "what did Ann decide"
// asks for Ann's words. A name counts when each of its words, or its first, stands in the query.
func Speakers(ranked []Evidence, query string) []Evidence {
	asked := map[string]bool{}
	for _, w := range normalize.Words(query, "") {
		asked[w] = true
	}
	named := map[string]bool{}
	for _, e := range ranked {
		if e.Speaker == "" || named[strings.ToLower(e.Speaker)] {
			continue
		}
		if name := normalize.Words(e.Speaker, ""); len(name) > 0 && asked[name[0]] {
			named[strings.ToLower(e.Speaker)] = true
		}
	}
	if len(named) == 0 {
		return ranked
	}
	out := slices.Clone(ranked)
	for i := range out {
		if e := &out[i]; e.Speaker != "" && !named[strings.ToLower(e.Speaker)] {
			e.Set(StageSpeaker, e.Score*otherSpeaker, "the query names another speaker")
		}
	}
	Rank(out)
	return out
}
