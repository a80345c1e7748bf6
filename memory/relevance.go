package memory

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/schema"
)

// StageRelevance says of the best candidates how likely they are to be about what is asked, and leaves an
// answer empty that is about something else.
const StageRelevance = "relevance"

// Relevance constants, measured on conversations in which half of the questions have an answer
// (docs/recall.md, "I do not know").
const (
	// DefaultMinRelevance is the relevance below which the best candidate is no answer; PlainMinRelevance that
	// of a question for one attribute, which is answered in so many words or not at all; and
	// StrangerMinRelevance that of one about somebody or something that no candidate names.
	DefaultMinRelevance  = 0.2
	PlainMinRelevance    = 0.42
	StrangerMinRelevance = 0.6
	// MaxRelevanceBytes bounds how much of a text is compared with the question's words by meaning.
	MaxRelevanceBytes = 1_500

	ownerShare   = 0.5  // of the relevance that rests on the weaker of whose and what
	otherKind    = 0.85 // by which it counts when it gives no value of the kind that is asked for
	selfWeight   = 0.5  // of "I" and "we" beside a word that no candidate has, 1
	commonWeight = 0.3  // of a word that all candidates have
)

// Asked is a question with the weights of its words. Nothing in it depends on memories that are hidden from
// the asker: they must not decide whether there is an answer.
type Asked struct {
	frame.Question
	weights []float64 // of Terms, (0,1]
	met     []bool    // which of Terms some candidate covers
}

// Ask weighs the words of a question by how few of the candidates cover them.
func Ask(question frame.Question, candidates []frame.Vocabulary) Asked {
	a := Asked{Question: question}
	for _, t := range question.Terms {
		covered := 0
		for _, v := range candidates {
			if v.Covers(t) > 0 {
				covered++
			}
		}
		weight := selfWeight
		if !pseudo(t) {
			weight = commonWeight + (1-commonWeight)*(1-float64(covered)/float64(max(1, len(candidates))))
		}
		a.weights, a.met = append(a.weights, weight), append(a.met, covered > 0)
	}
	return a
}

// Floor is the relevance that the best of the candidates needs.
func (a Asked) Floor() float64 {
	for i, t := range a.Terms {
		if t.Owner && !pseudo(t) && !a.met[i] {
			return StrangerMinRelevance
		}
	}
	if a.Plain {
		return PlainMinRelevance
	}
	return DefaultMinRelevance
}

// pseudo reports whether a term is who asks.
func pseudo(t frame.Term) bool { return t.Stem == frame.SelfTerm || t.Stem == frame.TeamTerm }

// Relevance says how likely a text is to be about what is asked, in [0,1]: the share of the question's
// words that it covers, by the word itself or by one of the same concept, and as much the weaker of
// whose and what. Of a question without content words everything is relevant.
func (a Asked) Relevance(v frame.Vocabulary) float64 {
	var all, covered float64
	var whose, what [2]float64
	for i, t := range a.Terms {
		w, c := a.weights[i], v.Covers(t)
		all += w
		covered += w * c
		part := &what
		if t.Owner {
			part = &whose
		}
		part[0] += w
		part[1] += w * c
	}
	if all == 0 {
		return 1
	}
	out := covered / all
	if a.Asks && whose[0] > 0 && what[0] > 0 {
		out = (1-ownerShare)*out + ownerShare*min(whose[1]/whose[0], what[1]/what[0])
	}
	if !v.Answers(a.Question) {
		out *= otherKind
	}
	return out
}

// RelevanceOf is the relevance of a candidate: that of its words, or what a trained embedding space, a hint
// or a claim found, where that is more. What its session and neighbours lend it counts nothing.
func RelevanceOf(e Evidence, a Asked, v frame.Vocabulary, trust VectorTrust) float64 {
	out := a.Relevance(v)
	if trust.Alone > TrustIn(HashModel).Alone {
		out = max(out, e.Channels[ChannelVector])
	}
	if e.Type != "" && e.Type != schema.TypeSemantic && e.Type != schema.TypeEpisodic {
		out = max(out, e.Score) // what a procedure or a plan is about its text hardly tells
	}
	return max(out, e.Channels[ChannelTime])
}

// relevanceBlend is how much of the ranking relevance decides, where it is known.
const relevanceBlend = 0.3

// PreferRelevant moves the scores of the ranked candidates towards their relevance.
func PreferRelevant(ranked []Evidence) []Evidence {
	out := slices.Clone(ranked)
	for i := range out {
		if e := &out[i]; e.Relevance > 0 {
			e.Set(StageRelevance, (1-relevanceBlend)*e.Score+relevanceBlend*e.Relevance, fmt.Sprintf("relevance %.2f", e.Relevance))
		} else if i < MaxLatest {
			e.Set(StageRelevance, (1-relevanceBlend)*e.Score, "no relevance")
		}
	}
	Rank(out)
	return out
}

// EnoughRelevance leaves out what is not relevant enough. With a minimum each candidate has to reach it.
// Without one the best has to reach the floor, and the others keep their places: what they lack in
// relevance their scores tell. It reports whether nothing is known.
func EnoughRelevance(ranked []Evidence, floor float64, least *float64) (kept []Evidence, unknown bool) {
	best := 0.0
	for _, e := range ranked {
		best = max(best, e.Relevance)
	}
	if least == nil {
		if best < floor {
			return nil, len(ranked) > 0
		}
		return ranked, false
	}
	for _, e := range ranked {
		if e.Relevance >= *least {
			kept = append(kept, e)
		}
	}
	return kept, len(kept) == 0 && len(ranked) > 0
}
