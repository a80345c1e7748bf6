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
	duplicatesSystem  = system("duplicates")
)

var duplicatesSchema = []byte(
	`{"type":"object","properties":{"pairs":{"type":"array","items":{"type":"object",` +
		`"properties":{"number":{"type":"integer"},"same":{"type":"boolean"}},` +
		`"required":["number","same"],"additionalProperties":false}}},` +
		`"required":["pairs"],"additionalProperties":false}`)

var descriptionSchema = []byte(
	`{"type":"object","properties":{"name":{"type":"string"},"steps":{"type":"array","items":{"type":"object",` +
		`"properties":{"number":{"type":"integer"},"tool":{"type":"string"},"text":{"type":"string"}},` +
		`"required":["number","tool","text"],"additionalProperties":false}}},` +
		`"required":["name","steps"],"additionalProperties":false}`)

var (
	_ inference.EpisodeWriter  = (*chat)(nil)
	_ inference.Describer      = (*chat)(nil)
	_ inference.DuplicateJudge = (*chat)(nil)
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
	a, usage, err := c.complete(ctx, prompt{
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
	a, usage, err := c.complete(ctx, prompt{
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

// JudgeDuplicates implements inference.DuplicateJudge.
func (c *chat) JudgeDuplicates(ctx context.Context, pairs [][2]string) ([]bool, inference.Usage, error) {
	if len(pairs) == 0 {
		return nil, inference.Usage{}, nil
	}
	type numbered struct {
		Number int    `json:"number"`
		One    string `json:"one"`
		Other  string `json:"other"`
	}
	texts := make([]numbered, len(pairs))
	for i, p := range pairs {
		texts[i] = numbered{i + 1, p[0], p[1]}
	}
	a, usage, err := c.complete(ctx, prompt{
		name: "duplicates", schema: duplicatesSchema, system: duplicatesSystem,
		user: enclose("list of pairs", "", encode(texts)) +
			"\n\nSay of each pair whether it says the same, as one JSON object.",
	})
	if err != nil || a.text == "" || a.partial {
		return nil, usage, err
	}
	said, err := reply.Duplicates(a.text, len(pairs))
	if err != nil {
		return nil, usage, nil //nolint:nilerr // no answer: the rules decide
	}
	return said, usage, nil
}
