package rank

import (
	"slices"

	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/schema"
)

// StageRelevance estimates how likely the best candidates are to answer the question, and drops all results if none is
// relevant enough.
const StageRelevance = "relevance"

// Relevance constants, measured on conversations in which half of the questions have an answer
// (docs/recall.md, "I do not know").
const (
	// DefaultMinRelevance is the relevance below which the best candidate does not count as an answer.
	DefaultMinRelevance = 0.2
	// MaxRelevanceBytes limits the part of a text that is compared with the question by meaning.
	MaxRelevanceBytes = 1_500
)

// EndShare is the factor for the relevance of a memory that only says that something ended, because a memory with the
// new value is a better answer.
const EndShare = 0.8

// outdatedShare has the factors for the relevance of a memory that is outdated, wholly or in part.
var outdatedShare = map[schema.Currentness]float64{schema.CurrentnessMixed: 0.85, schema.CurrentnessSuperseded: 0.65}

// RelevanceOf returns the relevance of a candidate's text to a question, or the score of the time channel if that is
// higher. PreferRelevant adds the nearness in a trained space. Evidence from the session and from neighbours does not
// count. Memories that are hidden from the asker have no influence, so that they cannot decide whether there is an
// answer.
func RelevanceOf(e Evidence, q question.Question, text question.Text) float64 {
	out := q.Relevance(text)
	if e.Type != "" && e.Type != schema.TypeSemantic && e.Type != schema.TypeEpisodic {
		out = max(out, e.Score) // the text of a procedure or a plan rarely states its subject
	}
	return max(out, e.Channels[ChannelTime])
}

// Shares of relevance in the ranking. The relevance of short statements is reliable, because they name their subject.
// The relevance of turns of a conversation is less reliable.
const (
	longBlend  = 0.15
	shortBlend = 0.9
	keptShare  = 0.4 // the share of its score that a candidate keeps at any relevance
)

// Lengths (question.Text.Length) up to which texts are short statements, and from which they are turns of a conversation.
const (
	shortLength = 0.45
	longLength  = 0.6
)

// long returns the degree to which texts of a length are turns of a conversation rather than short statements, in [0,1].
func long(length float64) float64 {
	return min(max(0, (length-shortLength)/(longLength-shortLength)), 1)
}

// RelevanceBlend is the share of relevance in the ranking of candidates. Length is how long their texts are, in
// [0,1]: see question.Text.Length.
func RelevanceBlend(ranked []Evidence, length float64) float64 {
	if slices.ContainsFunc(ranked, func(e Evidence) bool { return e.passed(StageRerank) }) {
		return longBlend // a reranker has already judged the texts
	}
	return shortBlend + (longBlend-shortBlend)*long(length)
}

// RelevantScore returns a score moved towards the relevance. Part of the score is kept, because a neighbour of the
// answer may be the answer in other words.
func RelevantScore(score, relevance, blend float64) float64 {
	return max((1-blend)*score+blend*relevance, keptShare*score)
}

// Near returns the nearness of a candidate to the question in a trained space, in [0,1], or 0 if it is unknown.
func (e Evidence) Near() float64 { return e.near }

// PreferRelevant moves the scores of the best ranked candidates towards their relevance, by the share blend. A text
// that is near to the question in a trained space is relevant even with other words. Its score already contains the
// nearness, which therefore does not move it again: that cost one to two points of recall@10 on LoCoMo.
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

// EnoughRelevance drops candidates that are not relevant enough. If the request gives a minimum (least), each candidate
// must reach it. Otherwise only the best candidate must reach the floor; the others are kept with it, because their
// scores show their lower relevance. unknown reports that there is no answer.
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
