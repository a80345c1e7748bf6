package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory/learning/wording"
)

var (
	episodesSystem    = system("episodes")
	descriptionSystem = system("description")
)

var descriptionSchema = []byte(
	`{"type":"object","properties":{"name":{"type":"string"},"steps":{"type":"array","items":{"type":"object",` +
		`"properties":{"number":{"type":"integer"},"tool":{"type":"string"},"text":{"type":"string"}},` +
		`"required":["number","tool","text"],"additionalProperties":false}}},` +
		`"required":["name","steps"],"additionalProperties":false}`)

var (
	_ inference.EpisodeWriter = (*chat)(nil)
	_ inference.Describer     = (*chat)(nil)
)

// SummarizeEpisodes implements inference.EpisodeWriter.
func (c *chat) SummarizeEpisodes(ctx context.Context, episodes []string) (string, inference.Usage, error) {
	if len(episodes) == 0 {
		return "", inference.Usage{}, nil
	}
	type numbered struct {
		Number int    `json:"number"`
		Text   string `json:"text"`
	}
	texts := make([]numbered, len(episodes))
	for i, text := range episodes {
		texts[i] = numbered{i + 1, text}
	}
	a, usage, err := c.ask(ctx, prompt{
		name: "summary", schema: summarySchema, system: episodesSystem,
		user: enclose("list of texts", "", encode(texts)) + "\n\nSum the texts up, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return "", usage, err
	}
	said, err := reply.Summary(a.text)
	if err != nil {
		return "", usage, nil //nolint:nilerr // no summary: the rules write it
	}
	return said, usage, nil
}

// Describe implements inference.Describer.
func (c *chat) Describe(ctx context.Context, s wording.Subject) (wording.Description, inference.Usage, error) {
	a, usage, err := c.ask(ctx, prompt{
		name: "description", schema: descriptionSchema, system: descriptionSystem,
		user: enclose("procedure", "", encode(s)) + "\n\nName the procedure and word its steps, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return wording.Description{}, usage, err
	}
	said, err := reply.Description(a.text)
	if err != nil {
		return wording.Description{}, usage, nil //nolint:nilerr // no description: the rules word it
	}
	return said, usage, nil
}
