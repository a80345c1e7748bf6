package rank

import "slices"

// Constants for the nearness of a text to the question in a trained space. Measured with two models on two sets of
// conversations (docs/embeddings.md): random texts have cosines of 0.19 to 0.25 with a question, the 50th best text of
// a conversation 0.29 to 0.39, the best 0.56 to 0.64.
const (
	// backgroundRank is the rank of the neighbour whose cosine counts as background: that of a text that is only about
	// similar things.
	backgroundRank = 50
	// unrelated is the cosine of unrelated texts. It is the background if there are too few neighbours.
	unrelated = 0.2
	// leastNear is the least nearness of a neighbour, as a share of its cosine, so that weak results are still found.
	leastNear = 0.1
)

// near makes the cosines of a trained space comparable with the scores of full text. A cosine alone means little: a
// value that is high in one space is background in another. So near measures how far a cosine lies above the background
// of the question, relative to the nearest memory. The background comes from the memories that the asker may see. The
// nearest memory counts like the best text, or by its own distance from the background of the space if that is more.
// near returns one score for each candidate, and 0 for memories that vectors did not find.
func near(evidence []Evidence) []float64 {
	var cosines []float64
	text := 0.0
	for _, e := range evidence {
		if v := e.Channels[ChannelVector]; v > 0 {
			cosines = append(cosines, v)
		}
		text = max(text, e.Channels[ChannelText])
	}
	out := make([]float64, len(evidence))
	if len(cosines) == 0 {
		return out
	}
	slices.SortFunc(cosines, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	nearest := cosines[0]
	background := min(cosines[len(cosines)-1], unrelated)
	if len(cosines) >= backgroundRank {
		background = cosines[backgroundRank-1]
	}
	scale := min(1, max(text, (nearest-unrelated)/(1-unrelated)))
	for i, e := range evidence {
		cosine := e.Channels[ChannelVector]
		if cosine <= 0 {
			continue
		}
		share := 1.0
		if nearest > background {
			share = max(0, (cosine-background)/(nearest-background))
		}
		out[i] = max(share*scale, leastNear*cosine)
	}
	return out
}
