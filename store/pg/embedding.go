package pg

import "github.com/mneme/mneme/inference"

// Embedding is a vector and the space that it belongs to.
type Embedding struct {
	Model  inference.EmbeddingModel
	Vector []float32
	Hash   []byte // content hash of the stored memory that was embedded; nil where the text is part of the change
}
