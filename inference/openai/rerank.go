package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
)

// maxRerankedChars bounds a text in a reranking's prompt.
const maxRerankedChars = 1_000

var rerankSystem = system("reranking")

var rerankSchema = []byte(
	`{"type":"object","properties":{"scores":{"type":"array","items":{"type":"object","properties":{` +
		`"n":{"type":"integer"},"score":{"type":"number"}},"required":["n","score"],"additionalProperties":false}}},` +
		`"required":["scores"],"additionalProperties":false}`,
)

var _ inference.Reranker = (*chat)(nil)

// Rerank implements inference.Reranker. An answer that is partial or malformed, or scores an unknown text, is an error;
// the recall then keeps its order.
func (c *chat) Rerank(ctx context.Context, query string, texts []string) (map[int]float64, inference.Usage, error) {
	if len(texts) == 0 {
		return nil, inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, rerankPrompt(query, texts))
	if err != nil {
		return nil, usage, err
	}
	if a.text == "" || a.partial {
		return nil, usage, temporaryError("its reranking is empty or was cut off")
	}
	scores, err := reply.Scores(a.text, len(texts))
	if err != nil {
		return nil, usage, temporaryError("its reranking cannot be used: " + err.Error())
	}
	return scores, usage, nil
}

func rerankPrompt(query string, texts []string) prompt {
	return prompt{
		name: "reranking", schema: rerankSchema, system: rerankSystem,
		user: enclose(
			"query and texts",
			"",
			encode(queryAndTexts(query, texts)),
		) + "\n\nScore every text for the query, as one JSON object.",
	}
}

// queryAndTexts encodes query and texts as JSON, so that no text can be mistaken for another or for the query.
func queryAndTexts(query string, texts []string) any {
	type text struct {
		N    int    `json:"n"`
		Text string `json:"text"`
	}
	data := struct {
		Query string `json:"query"`
		Texts []text `json:"texts"`
	}{Query: query}
	for i, t := range texts {
		if cut := firstChars(t, maxRerankedChars); cut != t {
			t = cut + " [truncated]"
		}
		data.Texts = append(data.Texts, text{N: i + 1, Text: t})
	}
	return data
}
