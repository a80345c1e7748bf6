package rules

import "github.com/mneme/mneme/inference"

// New returns the offline brain: Extractor, Decider and HashEmbedder.
func New() inference.Brain {
	return inference.Brain{Extractor: Extractor{}, Decider: Decider{}, Embedder: HashEmbedder{}}
}
