package rules

import (
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules/reasoning"
)

// New returns the offline brain: Extractor, Decider, HashEmbedder and reasoning.Reasoner.
func New() inference.Brain {
	return inference.Brain{Extractor: Extractor{}, Decider: Decider{}, Embedder: HashEmbedder{},
		Reasoner: reasoning.Reasoner{}}
}
