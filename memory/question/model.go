package question

import (
	"math"
)

// model is a logistic regression: measures with weights. bench/changes/fit fitted them to the development conversations
// of bench/changes, and the weights of relevance also to chats. No weight belongs to a particular word.
type model struct {
	bias  float64
	terms []weighted
}

// weighted is a measure with its weight. Most measures are in [0,1].
type weighted struct {
	measure string
	weight  float64
}

// logit returns the weighted sum of measures, given in the order of the terms.
func (m model) logit(measures []float64) float64 {
	sum := m.bias
	for i, t := range m.terms {
		sum += t.weight * measures[i]
	}
	return sum
}

// names returns the names of a model's measures.
func (m model) names() []string {
	out := make([]string, len(m.terms))
	for i, t := range m.terms {
		out[i] = t.measure
	}
	return out
}

// weights returns a model's weights and, as the last, its bias.
func (m model) weights() []float64 {
	out := make([]float64, 0, len(m.terms)+1)
	for _, t := range m.terms {
		out = append(out, t.weight)
	}
	return append(out, m.bias)
}

// probability returns the probability of a logit.
func probability(logit float64) float64 { return 1 / (1 + math.Exp(-logit)) }

// when returns 1 if the condition holds, and 0 otherwise.
func when(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
