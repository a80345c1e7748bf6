package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
)

var summarySystem = system("summary")

var summarySchema = []byte(
	`{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"],"additionalProperties":false}`,
)

var _ inference.Summarizer = (*chat)(nil)

// Summarize implements inference.Summarizer.
func (c *chat) Summarize(ctx context.Context, query string, texts []string) (string, inference.Usage, error) {
	if len(texts) == 0 {
		return "", inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, prompt{
		name: "summary", schema: summarySchema, system: summarySystem,
		user: enclose(
			"query and texts",
			"",
			encode(queryAndTexts(query, texts)),
		) + "\n\nAnswer the query out of the texts, as one JSON object.",
	})
	if err != nil {
		return "", usage, err
	}
	if a.text == "" || a.partial {
		return "", usage, temporaryError("its summary is empty or was cut off")
	}
	summary, err := reply.Summary(a.text)
	if err != nil {
		return "", usage, temporaryError("its summary cannot be used: " + err.Error())
	}
	return summary, usage, nil
}
