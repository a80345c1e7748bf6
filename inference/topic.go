package inference

import (
	"context"

	"github.com/mneme/mneme/memory/topics"
)

// TopicWriter answers a standing question from texts only.
type TopicWriter interface {
	// WriteTopic returns sentences with the numbers, from 1, of the texts that each cites. If the answer cannot be
	// read, there are no sentences and the usage is set. Package memory/topics checks the result. Errors are as for
	// Extractor.Extract.
	WriteTopic(ctx context.Context, question string, texts []string) ([]topics.Cited, Usage, error)
}

// TopicAnswerTokens is the maximum length of the answer to a standing question, for reservations of a token budget.
const TopicAnswerTokens = 1_500

// TopicWriter is a writer that passes the gate first.
func (g *Gate) TopicWriter(w TopicWriter) TopicWriter { return gatedTopicWriter{g, w} }

type gatedTopicWriter struct {
	gate *Gate
	next TopicWriter
}

func (w gatedTopicWriter) WriteTopic(ctx context.Context, question string,
	texts []string) ([]topics.Cited, Usage, error) {
	leave, err := w.gate.enter(ctx)
	if err != nil {
		return nil, Usage{}, err
	}
	defer leave()
	return w.next.WriteTopic(ctx, question, texts)
}
