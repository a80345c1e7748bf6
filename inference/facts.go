package inference

import (
	"context"

	"github.com/mneme/mneme/memory/learning/facts"
)

// FactReader asks a model what the rules cannot tell about statements: whether several say the same in different words,
// and whether a fact and a statement can both hold. Package memory/learning/facts checks the results.
type FactReader interface {
	// ReadFacts returns groups of statements that say the same. It returns false for an unreadable answer or one that
	// cites a statement that was not given; such an answer has a usage too. Errors are as for Extractor.Extract.
	ReadFacts(ctx context.Context, statements []facts.Statement) ([]facts.Proposed, bool, Usage, error)
	// JudgeConflicts returns for each pair whether both can hold. The result is empty for an answer that is unreadable
	// or about other pairs; such an answer has a usage too. Errors are as for Extractor.Extract.
	JudgeConflicts(ctx context.Context, pairs []facts.Pair) ([]facts.Verdict, Usage, error)
}

// Maximum lengths of answers in tokens, for reservations of a token budget.
const (
	FactsAnswerTokens     = 2_500
	ConflictsAnswerTokens = 1_500
)

// FactReader returns a reader that passes the gate before each call.
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
