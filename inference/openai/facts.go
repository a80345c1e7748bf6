package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory/learning/facts"
)

var (
	factsSystem     = system("facts")
	conflictsSystem = system("conflicts")
)

var factsSchema = []byte(
	`{"type":"object","properties":{"facts":{"type":"array","items":{"type":"object",` +
		`"properties":{"text":{"type":"string"},"statements":{"type":"array","items":{"type":"integer"}}},` +
		`"required":["text","statements"],"additionalProperties":false}}},` +
		`"required":["facts"],"additionalProperties":false}`)

var conflictsSchema = []byte(
	`{"type":"object","properties":{"pairs":{"type":"array","items":{"type":"object",` +
		`"properties":{"number":{"type":"integer"},` +
		`"verdict":{"type":"string","enum":["both","excludes","unsure"]}},` +
		`"required":["number","verdict"],"additionalProperties":false}}},` +
		`"required":["pairs"],"additionalProperties":false}`)

var _ inference.FactReader = (*chat)(nil)

// ReadFacts implements inference.FactReader.
func (c *chat) ReadFacts(ctx context.Context, statements []facts.Statement) ([]facts.Proposed, bool, inference.Usage,
	error) {
	if len(statements) < 2 {
		return nil, true, inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, prompt{
		name: "facts", schema: factsSchema, system: factsSystem,
		user: enclose("list of statements", "", encode(statements)) +
			"\n\nSay which statements say the same, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return nil, false, usage, err
	}
	said, err := reply.Facts(a.text, len(statements))
	if err != nil {
		return nil, false, usage, nil //nolint:nilerr // no answer: the rules decide
	}
	return said, true, usage, nil
}

// JudgeConflicts implements inference.FactReader.
func (c *chat) JudgeConflicts(ctx context.Context, pairs []facts.Pair) ([]facts.Verdict, inference.Usage, error) {
	if len(pairs) == 0 {
		return nil, inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, prompt{
		name: "conflicts", schema: conflictsSchema, system: conflictsSystem,
		user: enclose("list of pairs", "", encode(pairs)) +
			"\n\nSay of each pair whether both can be true, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return nil, usage, err
	}
	said, err := reply.Conflicts(a.text, len(pairs))
	if err != nil {
		return nil, usage, nil //nolint:nilerr // no answer: the rules decide
	}
	return said, usage, nil
}
