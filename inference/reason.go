package inference

import (
	"context"

	"github.com/mneme/mneme/schema/ledger"
)

// Limits of a belief.
const (
	MaxBeliefChars = 1_000 // characters of its text
	MaxCitations   = 32    // events that it is based on
)

// Reasoner draws a conclusion from what an agent saw (document 001, Layer 3).
type Reasoner interface {
	// Reflect returns a belief based on some of the events, which are in ledger order and visible to the agent. It is
	// called with at least one event. Errors are as for Extractor.Extract, or an *AnswerError.
	Reflect(ctx context.Context, agent string, span []ledger.Event) (Belief, Usage, error)
}

// Belief is the conclusion of a Reasoner.
type Belief struct {
	Text    string
	BasedOn []string // ids of events of the span, in ledger order, each once; at least one
}

// AnswerError reports that a model's answer cannot be used; another call may help. Problem names a field of the answer
// and never quotes it.
type AnswerError struct{ Problem string }

// Error implements error.
func (e *AnswerError) Error() string { return "the model's answer cannot be used: " + e.Problem }
