package inference

import (
	"context"

	"github.com/mneme/mneme/memory/learning/facts"
)

// FactReader finds what the rules do not see in statements: that several say one thing in different words, and that a
// fact and a statement can both hold. Package memory/learning/facts checks the results.
type FactReader interface {
	// ReadFacts says which of the statements say one thing. The bool is false for an answer that cannot be read or
	// that cites what was not given; it has a usage. Errors are as for Extractor.Extract.
	ReadFacts(ctx context.Context, statements []facts.Statement) ([]facts.Proposed, bool, Usage, error)
	// JudgeConflicts says of each pair whether both can hold. An answer that cannot be read, or that is not about these
	// pairs, is empty, but has a usage: the rules decide. Errors are as for Extractor.Extract.
	JudgeConflicts(ctx context.Context, pairs []facts.Pair) ([]facts.Verdict, Usage, error)
}

// How long answers are at most, for reservations of a token budget.
const (
	FactsAnswerTokens     = 2_500
	ConflictsAnswerTokens = 1_500
)

// FactReader is a reader that passes the gate first.
func (g *Gate) FactReader(r FactReader) FactReader { return gatedFactReader{g, r} }

type gatedFactReader struct {
	gate *Gate
	next FactReader
}

func (r gatedFactReader) ReadFacts(ctx context.Context, statements []facts.Statement) ([]facts.Proposed, bool, Usage,
	error) {
	leave, err := r.gate.enter(ctx)
	if err != nil {
		return nil, false, Usage{}, err
	}
	defer leave()
	return r.next.ReadFacts(ctx, statements)
}

func (r gatedFactReader) JudgeConflicts(ctx context.Context, pairs []facts.Pair) ([]facts.Verdict, Usage, error) {
	leave, err := r.gate.enter(ctx)
	if err != nil {
		return nil, Usage{}, err
	}
	defer leave()
	return r.next.JudgeConflicts(ctx, pairs)
}
