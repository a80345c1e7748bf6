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

// MinRecallScore is what a result must reach to be returned (notes on recall constants).
const MinRecallScore = 0.1

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

// Fuse merges the evidence of all channels by id and orders it, best first; ties go by id.
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
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
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
