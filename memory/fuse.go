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

// Fuse merges the evidence of all channels by id and orders it, best first; ties go by id.
//
// vectorWeight says how far the embedding space is to be believed beside full text, in [0,1]: with
// both scores present the result is a blend, α·vector + (1−α)·text, but never less than the text
// score alone; with one of them, that one counts, a vector score by its weight. The strongest
// calibrated evidence wins (document 002 Phase 2).
func Fuse[ID cmp.Ordered](evidence []Evidence[ID], vectorWeight float64) []Evidence[ID] {
	out := slices.Clone(evidence)
	for i := range out {
		text, vector := out[i].Channels[ChannelText], out[i].Channels[ChannelVector]
		blend := vectorWeight*vector + (1-vectorWeight)*text
		out[i].Score = max(text, blend)
	}
	slices.SortFunc(out, func(a, b Evidence[ID]) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// VectorWeight is α for an embedding space. Feature hashing sees words, as full text does, but not
// how rare they are: it mends misspellings and inflections and otherwise follows. A trained model
// leads (notes on recall constants).
func VectorWeight(model string) float64 {
	if model == HashModel {
		return 0.3
	}
	return 0.7
}

// HashModel names the offline feature-hashing space.
const HashModel = "hash-v1"
