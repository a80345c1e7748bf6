package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Source is the text that an Extractor reads, with its origin.
type Source struct {
	Content    string            // at most normalize.MaxExtractInput characters, marker included
	Kind       schema.SourceKind // observation when unknown
	Category   schema.Category   // as given by the caller or inferred; never empty
	Speaker    string            // empty when unknown
	Session    string
	OccurredAt time.Time
}

// Extractor finds the facts in a source that should be stored.
type Extractor interface {
	// Extract returns facts and entity triples. An answer that cannot be parsed is not an error: Extract returns the
	// readable part and warnings. Errors are those of the endpoint. They are temporary unless they are a
	// *PermanentError; a *RateLimitError has the delay.
	Extract(ctx context.Context, src Source) (memory.Extraction, Usage, error)
}

// Decider decides how a fact changes stored memories.
type Decider interface {
	// Decide is called only with neighbours. Errors are as for Extract. An answer that cannot be parsed, or that names
	// none of the neighbours, gives ActionNone with a warning.
	Decide(ctx context.Context, fact memory.Fact, neighbors []memory.Neighbor) (memory.Proposal, Usage, error)
}

// Embedder turns texts into unit-length vectors.
type Embedder interface {
	// Model names the embedding space. Vectors of different models are never compared.
	Model() EmbeddingModel
	// Embed returns one vector for each text, in order. Errors are as for Extract.
	Embed(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Brain has the models, or rules, that a worker uses.
type Brain struct {
	Extractor Extractor
	Decider   Decider
	Embedder  Embedder
	Reranking Reranking // the zero value leaves reranking out
	Reasoner  Reasoner  // reflects on events; if nil, agents do not reflect

	// TopicWriter answers standing questions; nil leaves them to the rules (memory/topics).
	TopicWriter TopicWriter

	// EpisodeWriter and Describer word what is learned; nil leaves the wording to the rules (memory/learning).
	EpisodeWriter EpisodeWriter
	Describer     Describer

	// DuplicateJudge confirms restated facts; nil leaves them to the rules (memory/learning/duplicates).
	DuplicateJudge DuplicateJudge

	// FactReader is asked about statements that the rules find too rarely repeated, and about doubtful conflicts; nil
	// leaves them to the rules (memory/learning/facts).
	FactReader FactReader
}

// AsksModel reports whether a decider may call a model, which takes time. A decider that never does so has a method
// AsksModel that returns false.
func AsksModel(d Decider) bool {
	says, ok := d.(interface{ AsksModel() bool })
	return !ok || says.AsksModel()
}

// EmbeddingModel identifies an embedding space.
type EmbeddingModel struct {
	Name       string // such as hash-v1 or text-embedding-3-small
	Dimensions int
}

// Usage is the cost of one call. The zero Usage is that of a call without a model.
type Usage struct {
	Model            string `json:"model,omitempty"`
	Calls            int    `json:"calls,omitempty"`
	PromptTokens     int64  `json:"prompt_tokens,omitempty"`
	CompletionTokens int64  `json:"completion_tokens,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	if u.Model == "" {
		u.Model = v.Model
	}
	u.Calls += v.Calls
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	return u
}

// RateLimitError means that the endpoint asked for a later call.
type RateLimitError struct {
	RetryAfter time.Duration // zero if the endpoint set none
}

// Error implements error.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("rate limited by the model endpoint (retry after %s)", e.RetryAfter)
}

// PermanentError is a refusal for which a retry cannot help, such as a wrong key or an input that the endpoint does not
// accept. Reason never contains memory content.
type PermanentError struct{ Reason string }

// Error implements error.
func (e *PermanentError) Error() string { return "model endpoint refused: " + e.Reason }

// IsPermanent reports whether retrying err cannot help.
func IsPermanent(err error) bool {
	var p *PermanentError
	return errors.As(err, &p)
}
