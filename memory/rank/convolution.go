package rank

import "slices"

// StageConvolve is structured evidence convolution.
const StageConvolve = "convolve"

// Weights and bounds of structured evidence convolution (notes on recall constants). The weights sum to
// more than one, but scores are limited to 1.
const (
	convolveLexical    = 0.25
	convolveSemantic   = 0.3
	convolveHint       = 0.3
	convolveTraversal  = 0.15
	convolveStructured = 0.15

	convolveHintAlone = 0.75 // weight of a hint without other evidence
	convolveAnchor    = 0.35 // semantic or structured evidence of this score anchors a traversal
	convolveLoose     = 0.35 // highest score of a traversal without an anchor
)

// Convolve compares the kinds of evidence for each memory, so that results of the graph alone do not dominate results
// of the query itself (document 002 Phase 4, "SEC-lite"). The score is the largest of the weighted sum of the
// channels, the lexical score, the hint, and the fused score. A memory that traversal found and that has no anchor
// gets at most 0.35; an anchor is any lexical or hint evidence, or semantic or structured evidence of 0.35.
//
// Semantic evidence is the vector score weighted by the trust in its space: a feature-hashing score anchors nothing.
func Convolve(evidence []Evidence, trust VectorTrust) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		lexical, hint := share(e.Channels[ChannelText]), share(e.Channels[ChannelHints])
		semantic := share(trust.Alone * e.Channels[ChannelVector])
		traversal, structured := share(e.Channels[ChannelGraph]), share(e.Channels[ChannelClaims])
		sum := convolveLexical*lexical + convolveSemantic*semantic + convolveHint*hint + convolveTraversal*traversal +
			convolveStructured*structured
		if lexical == 0 && semantic == 0 && structured == 0 {
			hint = min(hint, convolveHintAlone)
		}
		score, why := e.Score, ""
		for _, other := range []struct {
			score float64
			why   string
		}{{sum, "channels agree"}, {lexical, "lexical floor"}, {hint, "hint"}} {
			if other.score > score {
				score, why = other.score, other.why
			}
		}
		anchored := lexical > 0 || hint > 0 || semantic >= convolveAnchor || structured >= convolveAnchor
		if traversal > 0 && !anchored && score > convolveLoose {
			score, why = convolveLoose, "traversal without an anchor"
		}
		if why != "" {
			e.Set(StageConvolve, score, why)
		}
	}
	Rank(out)
	return out
}

// share limits x to [0,1]; NaN counts as 0.
func share(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(1, x)
}
