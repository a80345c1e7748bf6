package rank

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// StageFuse is the first stage: it turns the channels' evidence for a memory into its score.
const StageFuse = "fuse"

// minRelativeScore is the least score of a result, as a share of the best score. In the notes, the minimum of 0.1 also
// applies to scores divided by the best score.
const minRelativeScore = 0.1

// VectorTrust has the weights of an embedding space relative to full text, each in [0,1]. The scores of a space that
// compares words are blended with those of full text. The scores of a space that compares meanings are independent
// evidence.
type VectorTrust struct {
	Blend float64 // α if both channels found a memory: α·vector + (1−α)·text
	Alone float64 // weight of a vector score if full text did not find the memory
	// weight of nearness as evidence independent of full text; 0: the space compares only words
	Meaning float64
}

// Fuse combines the channels' evidence for each candidate and sorts the candidates, best first. It must get only
// candidates that the asker may see, because the nearness of a candidate is measured relative to the others.
//
// In a space of meanings the two are independent evidence: 1 − (1−text)·(1−Meaning·near). In a space of words, with
// both scores present, the result is their blend, but never less than the text score alone. Hints, claims, the graph
// and time each replace the result if they are higher: the strongest calibrated evidence wins (document 002 Phase 2).
// Without direct evidence a hint counts up to hintCap and the graph up to unanchoredTraversal.
func Fuse(evidence []Evidence, trust VectorTrust) []Evidence {
	out := evidence
	var nearness []float64
	if trust.Meaning > 0 {
		nearness = near(out)
	}
	for i := range out {
		e := &out[i]
		text, vector := e.Channels[ChannelText], e.Channels[ChannelVector]
		score := max(text, trust.Blend*vector+(1-trust.Blend)*text)
		switch {
		case trust.Meaning > 0:
			e.near = nearness[i]
			score = text + (1-text)*trust.Meaning*e.near
		case vector == 0:
			score = text
		case text == 0:
			score = trust.Alone * vector
		}
		hint, graph := e.Channels[ChannelHints], e.Channels[ChannelGraph]
		if text == 0 && e.Channels[ChannelClaims] == 0 {
			hint = min(hint, hintCap)
		}
		if e.direct() == 0 {
			graph = min(graph, unanchoredTraversal)
		}
		// Take the strongest channel, or the first of several equal ones.
		best, why := score, "text and vector"
		for _, c := range []struct {
			name  string
			score float64
		}{{ChannelHints, hint}, {ChannelGraph, graph}, {ChannelClaims, e.Channels[ChannelClaims]},
			{ChannelTime, e.Channels[ChannelTime]}} {
			if c.score > best {
				best, why = c.score, c.name
			}
		}
		e.Set(StageFuse, best, why)
	}
	Rank(out)
	return out
}

// direct returns the evidence for a candidate that does not come from the graph and anchors the graph's evidence.
func (e *Evidence) direct() float64 {
	direct := max(e.Channels[ChannelText], e.Channels[ChannelHints])
	for _, channel := range []string{ChannelVector, ChannelClaims} {
		if score := e.Channels[channel]; score >= minAnchor {
			direct = max(direct, score)
		}
	}
	return direct
}

// minAnchor is the least score of a vector or a claim that anchors evidence of the graph (notes on recall constants,
// "evidence convolution").
const minAnchor = 0.35

// Relevant returns fused evidence, sorted best first, without scores below minRelativeScore of the best.
func Relevant(fused []Evidence) []Evidence {
	for i, e := range fused {
		if e.Score <= 0 || e.Score < minRelativeScore*fused[0].Score {
			return fused[:i]
		}
	}
	return fused
}

// StageCollapse is the stage in which a fact replaces its source with the same words.
const StageCollapse = "collapse"

// CollapseDerived drops facts and sources that repeat a higher result. It drops a fact whose source ranks higher,
// because the source contains it, and a source whose fact ranks higher, because the fact is shorter. If a fact has
// several sources, the first is kept. Facts of one source do not replace each other.
//
// If a fact and a source have the same words, the fact is kept, in the higher place of the two, because the source
// fades. The same applies if the source is only a little longer and ranks only a little higher.
func CollapseDerived(ranked []Evidence) []Evidence {
	ranked = factsBeforeEqualSources(lastingForFading(ranked))
	out := make([]Evidence, 0, len(ranked))
	kept := map[uuid.UUID]bool{}      // kept memories that rank higher
	spokenFor := map[uuid.UUID]bool{} // sources of all facts that rank higher, even of dropped ones
	for _, e := range ranked {
		dropped := spokenFor[e.ID]
		if e.Source != uuid.Nil {
			dropped = dropped || kept[e.Source] || slices.ContainsFunc(e.Others, func(id uuid.UUID) bool {
				return kept[id]
			})
			spokenFor[e.Source] = true
			for _, id := range e.Others {
				spokenFor[id] = true
			}
		}
		if !dropped {
			kept[e.ID] = true
			out = append(out, e)
		}
	}
	return out
}

// A fact is as good an answer as its source within these limits.
const (
	equalScore  = 0.95 // least score of the fact, as a share of the source's score
	equalLength = 2    // the source is at most this many times as long as the fact
)

// factsBeforeEqualSources moves a fact before its source if both are equally good answers.
func factsBeforeEqualSources(ranked []Evidence) []Evidence {
	facts := map[uuid.UUID][]Evidence{} // by their source
	for _, e := range ranked {
		if e.Source != uuid.Nil {
			facts[e.Source] = append(facts[e.Source], e)
		}
	}
	if len(facts) == 0 {
		return ranked
	}
	out := make([]Evidence, 0, len(ranked))
	placed := map[uuid.UUID]bool{}
	for _, e := range ranked {
		for _, fact := range facts[e.ID] {
			if !placed[fact.ID] && fact.Score >= equalScore*e.Score && e.Bytes <= equalLength*fact.Bytes &&
				e.Channels[ChannelTime] <= fact.Channels[ChannelTime] {
				placed[fact.ID] = true
				if fact.Score < e.Score {
					fact.Set(StageCollapse, e.Score, "in the place of its source, which says little more")
				}
				out = append(out, fact)
			}
		}
		if !placed[e.ID] {
			placed[e.ID] = true
			out = append(out, e)
		}
	}
	return out
}

// lastingForFading drops episodes and working memories that have the same words as a fact among the candidates, and
// moves the fact to the place of the first of them.
func lastingForFading(ranked []Evidence) []Evidence {
	facts := map[int64][]int{} // by their words
	for i, e := range ranked {
		if memory.States(e.Type) && e.Words != 0 {
			facts[e.Words] = append(facts[e.Words], i)
		}
	}
	if len(facts) == 0 {
		return ranked
	}
	out := make([]Evidence, 0, len(ranked))
	placed := map[uuid.UUID]bool{}
	for i, e := range ranked {
		if placed[e.ID] {
			continue
		}
		k := slices.IndexFunc(facts[e.Words], func(k int) bool { return repeatedBy(e, ranked[k]) })
		if k < 0 {
			out, placed[e.ID] = append(out, e), true
			continue
		}
		if f := ranked[facts[e.Words][k]]; !placed[f.ID] {
			placed[f.ID] = true
			if facts[e.Words][k] > i {
				f.Set(StageCollapse, max(f.Score, e.Score), "in the place of its source, in the same words")
			}
			out = append(out, f)
		}
	}
	return out
}

// repeatedBy reports whether a fact replaces a memory with the same words, because both have the same speaker or the
// fact was extracted from the memory. A memory that fits the time in the question better than the fact is kept.
func repeatedBy(e, fact Evidence) bool {
	if e.Type != schema.TypeEpisodic && e.Type != schema.TypeWorking ||
		e.Channels[ChannelTime] > fact.Channels[ChannelTime] {
		return false
	}
	return fact.Source == e.ID || slices.Contains(fact.Others, e.ID) || strings.EqualFold(e.Speaker, fact.Speaker)
}

// TrustIn returns the trust in a model's space. Feature hashing compares words, like full text, but does not know how
// rare they are. It finds misspellings and inflections and otherwise agrees with full text (measured in
// docs/reference/benchmarks.md). A trained model adds meaning, which full text lacks. The weight of meaning improved
// one of the development sets with two models and made neither set worse (docs/embeddings.md).
func TrustIn(model string) VectorTrust {
	if model == HashModel {
		return VectorTrust{Blend: 0.1, Alone: 0.25}
	}
	return VectorTrust{Alone: 0.7, Meaning: 0.5}
}

// HashModel is the name of the offline feature-hashing space.
const HashModel = "hash-v1"
