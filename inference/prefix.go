package inference

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// prefixed puts a model's prefix before the texts that it embeds.
type prefixed struct {
	Embedder
	query, passage string
}

// WithPrefixes returns an embedder that puts query before every question and passage before every other text. It is for
// models that were trained with prefixes and whose endpoint does not add them. The passage prefix becomes part of the
// space's name, because vectors made with and without it must not be compared. The query prefix does not, because
// stored vectors do not depend on it.
func WithPrefixes(e Embedder, query, passage string) Embedder {
	if query == "" && passage == "" {
		return e
	}
	return prefixed{Embedder: e, query: query, passage: passage}
}

// Model implements Embedder.
func (p prefixed) Model() EmbeddingModel {
	m := p.Embedder.Model()
	if p.passage != "" {
		sum := sha256.Sum256([]byte(p.passage))
		m.Name += "+" + hex.EncodeToString(sum[:4])
	}
	return m
}

// Embed implements Embedder.
func (p prefixed) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	if p.passage != "" {
		longer := make([]string, len(texts))
		for i, t := range texts {
			longer[i] = p.passage + t
		}
		texts = longer
	}
	return p.Embedder.Embed(ctx, texts)
}

// EmbedQuery implements QueryEmbedder.
func (p prefixed) EmbedQuery(ctx context.Context, text string) ([]float32, Usage, error) {
	return EmbedQuery(ctx, p.Embedder, p.query+text)
}
