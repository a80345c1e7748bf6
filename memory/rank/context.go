package rank

import (
	"cmp"
	"math"
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

// Constants of context. The answer to a query is often a turn adjacent to a hit, because an answer rarely repeats the
// words of its question. Measured on the evaluation conversations, where the three stages together raise recall@10 by
// about 15 points (docs/recall.md); other weights, from half to double, change it by about one.
const (
	// MaxAnchors is the number of the best candidates that pass evidence to their neighbours.
	MaxAnchors = 60
	// NeighbourRadius is the greatest distance, in turns, at which a neighbour gets evidence.
	NeighbourRadius = 4

	neighbourReach = 0.8   // evidence at distance d counts by neighbourReach / 2^d: 0.4, 0.2, 0.1, 0.05
	leastLent      = 0.015 // smaller evidence of an anchor is left out: its turns are not read
	answerBoost    = 1.5   // factor for the turn after a question
	sessionWeight  = 0.15  // weight of the squared coverage of the session
	selfContained  = 370   // bytes; longer memories need less context
	otherSpeaker   = 0.7   // factor for a turn when the question names another speaker
)

// Anchor is a candidate that passes evidence to its neighbours.
type Anchor struct {
	ID     uuid.UUID
	Place  uuid.UUID // the memory that gives its position in the session: the candidate itself, or its source
	Radius int       // how many turns on each side get evidence
}

// Turn is a memory near an anchor in the anchor's session.
type Turn struct {
	Anchor, ID uuid.UUID
	Distance   int  // in turns: negative before the anchor, positive after it
	AnchorAsks bool // the anchor's text ends with a question mark
	Features
}

// Anchors returns the best of the ranked candidates that may be in a session, with their places, at most MaxAnchors. If
// several candidates have the same place, such as a source and its facts, only the best is an anchor. A candidate with
// little evidence passes it to fewer turns: each turn costs reading a row.
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
		if radius := radiusOf(e.Score); radius > 0 {
			out = append(out, Anchor{ID: e.ID, Place: place, Radius: radius})
		}
	}
	return out
}

// radiusOf returns the distance up to which an anchor passes evidence, from 0 to NeighbourRadius.
func radiusOf(evidence float64) int {
	for d := 1; d <= NeighbourRadius; d++ {
		if evidence*shareAt(d) < leastLent {
			return d - 1
		}
	}
	return NeighbourRadius
}

// shareAt returns the share of an anchor's evidence that a turn at a distance gets.
func shareAt(distance int) float64 { return math.Ldexp(neighbourReach, -distance) }

// Neighbourhood adds the evidence of its neighbours in the session to each candidate, as independent evidence: 1 -
// (1-own)·(1-theirs). It also adds the turns near an anchor that no channel found, with only this evidence.
func Neighbourhood(ranked []Evidence, turns []Turn) []Evidence {
	out := ranked
	places := make(map[uuid.UUID]int, len(out))
	for i := range out {
		places[out[i].ID] = i
	}
	type raised struct {
		turn  *Turn
		doubt float64 // product of (1-evidence) over the neighbours
	}
	all, at := make([]raised, 0, len(turns)), make(map[uuid.UUID]int, len(turns))
	neighbours, facts := strongestFirst(turns, out, places)
	heard := map[[2]uuid.UUID]bool{} // facts of one source have one place and count once
	for _, n := range neighbours {
		if facts {
			place := [2]uuid.UUID{n.turn.ID, n.place}
			if heard[place] {
				continue
			}
			heard[place] = true
		}
		i, ok := at[n.turn.ID]
		if !ok {
			i = len(all)
			at[n.turn.ID], all = i, append(all, raised{n.turn, 1})
		}
		all[i].doubt *= 1 - lent(n.turn)*n.turn.needsContext()*n.evidence
	}
	out = slices.Grow(out, len(all))
	for _, r := range all {
		i, known := places[r.turn.ID]
		if !known {
			out = append(out, Evidence{ID: r.turn.ID, Features: r.turn.Features})
			i = len(out) - 1
		}
		out[i].SetMeasured(StageNeighbourhood, 1-(1-out[i].Score)*r.doubt, "neighbours add %.3f", 1-r.doubt)
	}
	Rank(out)
	return out
}

// lent returns the share of the anchor's evidence that a turn gets.
func lent(t *Turn) float64 {
	share := shareAt(max(t.Distance, -t.Distance))
	if t.Distance == 1 && t.AnchorAsks {
		share *= answerBoost
	}
	return share
}

// needsContext returns the share of the neighbours' evidence that a memory gets, by its length, in (0,1]. A short turn
// depends on the turns before it. A long turn names its subject and repeats the question that it answers, so that the
// evidence of its neighbours would count the same words twice.
func (f *Features) needsContext() float64 {
	return min(1, selfContained/max(1, float64(f.Bytes)))
}

// neighbour is a turn with its anchor's evidence and place.
type neighbour struct {
	turn     *Turn
	evidence float64
	place    uuid.UUID // the anchor's source, or the anchor
}

// strongestFirst orders turns by their anchor's evidence, so that of several anchors in one place the strongest
// counts. facts reports whether an anchor is a fact with a source.
func strongestFirst(turns []Turn, evidence []Evidence, places map[uuid.UUID]int) (out []neighbour, facts bool) {
	out = make([]neighbour, len(turns))
	for i := range turns {
		t := &turns[i]
		if i > 0 && t.Anchor == turns[i-1].Anchor { // the turns of an anchor usually come together
			out[i] = neighbour{t, out[i-1].evidence, out[i-1].place}
			continue
		}
		out[i] = neighbour{turn: t, place: t.Anchor}
		if at, ok := places[t.Anchor]; ok {
			out[i].evidence = evidence[at].Score
			if source := evidence[at].Source; source != uuid.Nil {
				out[i].place, facts = source, true
			}
		}
	}
	slices.SortStableFunc(out, func(a, b neighbour) int { return cmp.Compare(b.evidence, a.evidence) })
	return out, facts
}

// Sessions adds the session's coverage of the query to each candidate: the weight of all query terms that the
// candidates of its session contain together. The coverage is squared, because most sessions contain some terms.
func Sessions(ranked []Evidence, weights []float64) []Evidence {
	type session struct{ agent, name string }
	held := map[session]uint64{}
	for i := range ranked {
		if e := &ranked[i]; e.Terms != 0 {
			held[session{e.Agent, e.Session}] |= e.Terms
		}
	}
	out := ranked
	for i := range out {
		e := &out[i]
		covered, terms := 0.0, held[session{e.Agent, e.Session}]
		for term, weight := range weights {
			if terms&(1<<term) != 0 {
				covered += weight
			}
		}
		if e.Session == "" || covered == 0 {
			continue
		}
		e.SetMeasured(
			StageSession,
			1-(1-e.Score)*(1-sessionWeight*e.needsContext()*covered*covered),
			"the session covers %.2f of the query",
			covered,
		)
	}
	Rank(out)
	return out
}

// Speakers lowers the statements of other speakers if the query names a speaker: "what did Ann decide" asks for Ann's
// words. The query names a speaker if it has all words of the name, or the first one.
func Speakers(ranked []Evidence, query string) []Evidence {
	asked := map[string]bool{}
	for _, w := range normalize.Words(query, "") {
		asked[w] = true
	}
	named := map[string]bool{}
	for i := range ranked {
		e := &ranked[i]
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
	out := ranked
	for i := range out {
		if e := &out[i]; e.Speaker != "" && !named[strings.ToLower(e.Speaker)] {
			e.Set(StageSpeaker, e.Score*otherSpeaker, "the query names another speaker")
		}
	}
	Rank(out)
	return out
}
