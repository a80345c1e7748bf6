package rank

import (
	"slices"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/schema"
)

// StageRelevance estimates how likely the best candidates are to be about the question, and empties an answer that is
// about something else.
const StageRelevance = "relevance"

// Relevance constants, measured on conversations in which half of the questions have an answer
// (docs/recall.md, "I do not know").
const (
	// DefaultMinRelevance is the relevance below which the best candidate does not count as an answer.
	DefaultMinRelevance = 0.2
	// MaxRelevanceBytes bounds how much of a text is compared with the question's words by meaning.
	MaxRelevanceBytes = 1_500
)

// EndShare is the factor for the relevance of a memory that only says that something ended, because the memory of
// its replacement is the better answer.
const EndShare = 0.8

// outdatedShare is the factor for the relevance of a memory that no longer holds, or holds only in part.
var outdatedShare = map[schema.Currentness]float64{schema.CurrentnessMixed: 0.85, schema.CurrentnessSuperseded: 0.65}

// RelevanceOf is the relevance of a candidate: that of its text, or that of a hint or claim if it is higher.
// PreferRelevant adds the nearness in a trained space. Evidence from its session and neighbours does not count.
// Nothing in it depends on memories that are hidden from the asker: they must not decide whether there is an answer.
func RelevanceOf(e Evidence, q frame.Question, text frame.Text) float64 {
	out := q.Relevance(text)
	if e.Type != "" && e.Type != schema.TypeSemantic && e.Type != schema.TypeEpisodic {
		out = max(out, e.Score) // the text of a procedure or a plan hardly shows its subject
	}
	return max(out, e.Channels[ChannelTime])
}

// Shares of relevance in the ranking, where it is known. Short statements say what they are about, and their
// relevance can be trusted; in turns of a conversation it is a hint.
const (
	longBlend   = 0.15
	shortBlend  = 0.9
	keptShare   = 0.4 // the share of its score that a candidate keeps at any relevance
	shortLength = 0.45
	longLength  = 0.6
)

// RelevanceBlend is the share of relevance in the ranking of candidates. Length is how long their texts are, in
// [0,1]: see frame.Text.Length.
func RelevanceBlend(ranked []Evidence, length float64) float64 {
	if slices.ContainsFunc(ranked, func(e Evidence) bool { return e.passed(StageRerank) }) {
		return longBlend // a reranker has read them
	}
	long := min(max(0, (length-shortLength)/(longLength-shortLength)), 1)
	return shortBlend + (longBlend-shortBlend)*long
}

// RelevantScore moves a score towards the relevance. A part of the score stays: the neighbour of an answer may be
// the answer in other words.
func RelevantScore(score, relevance, blend float64) float64 {
	return max((1-blend)*score+blend*relevance, keptShare*score)
}

// Near is how near a candidate is to the question in a trained space, [0,1]; 0 where that is not known.
func (e Evidence) Near() float64 { return e.near }

// PreferRelevant moves the scores of the ranked candidates towards their relevance, by a share of it. A text that is
// near to the question in a trained space is relevant in other words. But its nearness is in its score already, and
// does not move it again: that cost one to two points of recall@10 on LoCoMo.
func PreferRelevant(ranked []Evidence, blend float64) []Evidence {
	out := ranked
	for i := range out[:min(len(out), MaxLatest)] {
		e := &out[i]
		relevance := e.Relevance
		e.Relevance = max(e.Relevance, e.near)
		if share, ok := outdatedShare[e.Currentness]; ok {
			relevance *= share
		}
		e.SetMeasured(StageRelevance, RelevantScore(e.Score, relevance, blend), "relevance %.2f", e.Relevance)
	}
	for i := range out[min(len(out), MaxLatest):] {
		e := &out[MaxLatest+i]
		e.Set(StageRelevance, max(1-blend, keptShare)*e.Score, "not compared with the question")
	}
	Rank(out)
	return out
}

// EnoughRelevance drops candidates that are not relevant enough. With a minimum each candidate has to reach it.
// Without one the best has to reach the floor, and the others keep their places, because their scores show their
// lower relevance. It reports whether nothing is known.
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
