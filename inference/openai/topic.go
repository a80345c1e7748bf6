package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory/topics"
)

var topicSystem = system("topic")

var topicSchema = []byte(
	`{"type":"object","properties":{"sentences":{"type":"array","items":{"type":"object","properties":{` +
		`"text":{"type":"string"},"sources":{"type":"array","items":{"type":"integer"}}},` +
		`"required":["text","sources"],"additionalProperties":false}}},` +
		`"required":["sentences"],"additionalProperties":false}`,
)

var _ inference.TopicWriter = (*chat)(nil)

// WriteTopic implements inference.TopicWriter. An answer that was cut off is an error, because the missing end of a
// sentence may reverse its meaning.
func (c *chat) WriteTopic(ctx context.Context, question string,
	texts []string) ([]topics.Cited, inference.Usage, error) {
	if len(texts) == 0 {
		return nil, inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, prompt{
		name: "topic", schema: topicSchema, system: topicSystem,
		user: enclose(
			"query and texts",
			"",
			encode(queryAndTexts(question, texts)),
		) + "\n\nAnswer the query out of the texts, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return nil, usage, err
	}
	said, err := reply.Topic(a.text)
	if err != nil {
		return nil, usage, nil //nolint:nilerr // no sentences: the rules answer
	}
	return said, usage, nil
}
