package inference

import (
	"context"
	"strings"
)

// SpokenSuffix ends the name of a space whose vectors of memories include the speaker.
const SpokenSuffix = "+speaker"

// spoken is an embedder in a space that differs from the embedder's own only in whether it includes speakers.
type spoken struct {
	Embedder
	model EmbeddingModel
}

// WithSpeakers returns an embedder whose callers put the speaker's name before a memory's text (see
// EmbeddingModel.Passage). It suits trained models: a turn such as "I passed the exam" does not say who passed it. In a
// mean of token vectors the name would outweigh the words. The name of the space says that its vectors include
// speakers, because vectors made with and without them must not be compared.
func WithSpeakers(e Embedder) Embedder {
	m := e.Model().WithoutSpeakers()
	m.Name += SpokenSuffix
	return InSpace(e, m)
}

// InSpace returns the embedder for another space of the same model, with or without speakers. The space must be of the
// embedder's model: see EmbeddingModel.WithoutSpeakers.
func InSpace(e Embedder, m EmbeddingModel) Embedder {
	if e.Model() == m {
		return e
	}
	return spoken{e, m}
}

// Model implements Embedder.
func (s spoken) Model() EmbeddingModel { return s.model }

// EmbedQuery implements QueryEmbedder.
func (s spoken) EmbedQuery(ctx context.Context, text string) ([]float32, Usage, error) {
	return EmbedQuery(ctx, s.Embedder, text)
}

// IncludesSpeakers reports whether the vectors of memories in the space include the speaker.
func (m EmbeddingModel) IncludesSpeakers() bool { return strings.HasSuffix(m.Name, SpokenSuffix) }

// WithoutSpeakers returns the space of the same model whose vectors do not include speakers.
func (m EmbeddingModel) WithoutSpeakers() EmbeddingModel {
	m.Name = strings.TrimSuffix(m.Name, SpokenSuffix)
	return m
}

// Passage returns the text that represents a memory in the space: its text, after the speaker's name if the space
// includes speakers. The role of a speaker ("user", "assistant") is not a name and is left out.
func (m EmbeddingModel) Passage(speaker, text string) string {
	if !m.IncludesSpeakers() || speaker == "" || roles[strings.ToLower(speaker)] {
		return text
	}
	return speaker + ": " + text
}

// roles are speakers that are not named.
var roles = map[string]bool{"user": true, "human": true, "assistant": true, "ai": true, "bot": true, "chatbot": true,
	"llm": true, "copilot": true, "model": true, "agent": true, "system": true, "tool": true}
