package memory

import (
	"cmp"
	"slices"
)

// Channel names, as results and timings show them.
const (
	ChannelText   = "text"
	ChannelVector = "vector"
)

// minRelativeScore is the share of the best score that a result must reach to be returned. The notes'
// minimum of 0.1 is for scores divided by the best of the batch.
const minRelativeScore = 0.1

// Evidence is one candidate with each channel's calibrated score, all in [0,1].
type Evidence[ID cmp.Ordered] struct {
	ID       ID
	Channels map[string]float64
	Score    float64
}

// VectorTrust says how far an embedding space is to be believed beside full text, each in [0,1].
type VectorTrust struct {
	Blend float64 // α where both channels found a memory: α·vector + (1−α)·text
	Alone float64 // by which a vector score counts where full text found nothing
}

// Fuse merges the evidence of all channels by id and orders it, best first; ties go by vector, then
// by id.
//
// With both scores present the result is their blend, but never less than the text score alone: the
// strongest calibrated evidence wins (document 002 Phase 2).
func Fuse[ID cmp.Ordered](evidence []Evidence[ID], trust VectorTrust) []Evidence[ID] {
	out := slices.Clone(evidence)
	for i := range out {
		text, vector := out[i].Channels[ChannelText], out[i].Channels[ChannelVector]
		switch {
		case vector == 0:
			out[i].Score = text
		case text == 0:
			out[i].Score = trust.Alone * vector
		default:
			out[i].Score = max(text, trust.Blend*vector+(1-trust.Blend)*text)
		}
	}
	slices.SortFunc(out, func(a, b Evidence[ID]) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Channels[ChannelVector], a.Channels[ChannelVector]), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Relevant cuts fused evidence, best first, where it gets too weak to be worth a place.
func Relevant[ID cmp.Ordered](fused []Evidence[ID]) []Evidence[ID] {
	for i, e := range fused {
		if e.Score <= 0 || e.Score < minRelativeScore*fused[0].Score {
			return fused[:i]
		}
	}
	return fused
}

// CollapseDerived drops what says again what stands above it: a fact whose source ranks higher, since
// the source contains it, and a source of which a fact ranks higher, since the fact says it shorter.
// Facts of one source stay side by side. sourceOf returns what a memory was derived from, if anything.
func CollapseDerived[ID cmp.Ordered](fused []Evidence[ID], sourceOf func(ID) (ID, bool)) []Evidence[ID] {
	out := make([]Evidence[ID], 0, len(fused))
	kept := map[ID]bool{}      // memories above
	spokenFor := map[ID]bool{} // sources of facts above
	for _, e := range fused {
		source, derived := sourceOf(e.ID)
		if spokenFor[e.ID] || derived && kept[source] {
			continue
		}
		kept[e.ID] = true
		if derived {
			spokenFor[source] = true
		}
		out = append(out, e)
	}
	return out
}

// TrustIn returns how far a model's space is believed. Feature hashing sees words, as full text does,
// but not how rare they are: it mends misspellings and inflections and otherwise follows (measured in
// docs/benchmarks.md). A trained model leads (notes on recall constants, α 0.7).
func TrustIn(model string) VectorTrust {
	if model == HashModel {
		return VectorTrust{Blend: 0.1, Alone: 0.25}
	}
	return VectorTrust{Blend: 0.7, Alone: 0.7}
}

// HashModel names the offline feature-hashing space.
const HashModel = "hash-v1"
