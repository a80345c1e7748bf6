package rank

import (
	"cmp"
	"fmt"
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

	neighbourReach = 0.8  // evidence at distance d counts by neighbourReach / 2^d: 0.4, 0.2, 0.1, 0.05
	answerBoost    = 1.5  // factor for the turn after a question
	sessionWeight  = 0.15 // weight of the squared coverage of the session
	selfContained  = 370  // bytes; longer memories need less context
	otherSpeaker   = 0.7  // factor for a turn when the question names another speaker
)

// Anchor is a candidate that passes evidence to its neighbours. Place is the memory that gives its position in the
// session: the candidate itself, or its source.
type Anchor struct{ ID, Place uuid.UUID }

// Turn is a memory near an anchor in the anchor's session.
type Turn struct {
	Anchor, ID uuid.UUID
	Distance   int  // in turns: negative before the anchor, positive after it
	AnchorAsks bool // the anchor's text ends with a question mark
	Features
}

// Anchors returns the best of the ranked candidates that may be in a session, with their places, at most MaxAnchors. If
// several candidates have the same place, such as a source and its facts, only the best is an anchor.
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
	heard := make(map[[2]uuid.UUID]bool, len(turns)) // facts of one source have one place and count once
	for _, n := range strongestFirst(turns, out, places) {
		place := [2]uuid.UUID{n.turn.ID, anchorPlace(out, places, n.turn.Anchor)}
		if heard[place] {
			continue
		}
		heard[place] = true
		i, ok := at[n.turn.ID]
		if !ok {
			i = len(all)
			at[n.turn.ID], all = i, append(all, raised{n.turn, 1})
		}
		all[i].doubt *= 1 - lent(n.turn)*n.turn.needsContext()*n.evidence
	}
	slices.SortFunc(all, func(a, b raised) int { return compareIDs(a.turn.ID, b.turn.ID) })
	out = slices.Grow(out, len(all))
	for _, r := range all {
		i, known := places[r.turn.ID]
		if !known {
			out = append(out, Evidence{ID: r.turn.ID, Channels: map[string]float64{}, Features: r.turn.Features})
			i = len(out) - 1
		}
		out[i].Set(StageNeighbourhood, 1-(1-out[i].Score)*r.doubt, fmt.Sprintf("neighbours add %.3f", 1-r.doubt))
	}
	Rank(out)
	return out
}

// lent returns the share of the anchor's evidence that a turn gets.
func lent(t *Turn) float64 {
	share := neighbourReach
	for range max(t.Distance, -t.Distance) {
		share /= 2
	}
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

// neighbour is a turn with its anchor's evidence.
type neighbour struct {
	turn     *Turn
	evidence float64
}

// strongestFirst orders turns by their anchor's evidence, so that of several anchors in one place the strongest
// counts.
func strongestFirst(turns []Turn, evidence []Evidence, places map[uuid.UUID]int) []neighbour {
	out := make([]neighbour, len(turns))
	for i := range turns {
		out[i].turn = &turns[i]
		if at, ok := places[turns[i].Anchor]; ok {
			out[i].evidence = evidence[at].Score
		}
	}
	slices.SortStableFunc(out, func(a, b neighbour) int { return cmp.Compare(b.evidence, a.evidence) })
	return out
}

// anchorPlace returns the place of an anchor: its source or, if it has none, the anchor itself.
func anchorPlace(evidence []Evidence, places map[uuid.UUID]int, anchor uuid.UUID) uuid.UUID {
	if i, ok := places[anchor]; ok && evidence[i].Source != uuid.Nil {
		return evidence[i].Source
	}
	return anchor
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
		e.Set(
			StageSession,
			1-(1-e.Score)*(1-sessionWeight*e.needsContext()*covered*covered),
			fmt.Sprintf("the session covers %.2f of the query", covered),
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
