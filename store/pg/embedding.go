package pg

import "github.com/mneme/mneme/inference"

// Embedding is a vector and the space that it belongs to.
type Embedding struct {
	Model  inference.EmbeddingModel
	Vector []float32
	Hash   []byte // content hash of the embedded stored memory; nil if the text is part of the change

	Speaker *string // of the embedded stored memory; nil if it is part of the change
}
