package frame

import "math"

// model is a logistic model: measures with weights, fitted by bench/changes/fit to the development conversations
// of bench/changes, those of relevance to chats too. What a measure is about no weight knows: none belongs to a word.
type model struct {
	bias  float64
	terms []weighted
}

// weighted is the weight of one measure, which is mostly in [0,1].
type weighted struct {
	measure string
	weight  float64
}

// logit weighs measures, given in the order of the terms.
func (m model) logit(measures []float64) float64 {
	sum := m.bias
	for i, t := range m.terms {
		sum += t.weight * measures[i]
	}
	return sum
}

// names are the measures of a model.
func (m model) names() []string {
	out := make([]string, len(m.terms))
	for i, t := range m.terms {
		out[i] = t.measure
	}
	return out
}

// probability turns a logit into [0,1].
func probability(logit float64) float64 { return 1 / (1 + math.Exp(-logit)) }

// when is 1 when a condition holds.
func when(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
