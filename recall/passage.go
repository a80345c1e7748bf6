package recall

import (
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/passages"
	"github.com/mneme/mneme/schema"
)

// passage returns the part of a long text that answers the question. It is nil if the text is short or has no word
// of the question.
func (q *query) passage(text string) *schema.Passage {
	if len(text) <= passages.MaxBytes {
		return nil
	}
	span, ok := passages.Best(text, q.beginnings())
	if !ok {
		return nil
	}
	return &schema.Passage{Text: text[span.Start:span.End], Start: span.Start, End: span.End}
}

// itemOf returns what a result costs of a token budget, in full and with its passage only.
func itemOf(r schema.RecallResult) layers.Item {
	item := layers.Item{Layer: schema.LayerOf(r.Type)}
	item.Tokens, item.Shell = layers.ResultTokens(r)
	if r.Passage != nil && !r.Truncated {
		short := r
		short.Content = passageOf(r)
		if tokens, _ := layers.ResultTokens(short); tokens < item.Tokens {
			item.Passage = tokens
		}
	}
	return item
}

// cutTo cuts the content of a result to a number of tokens: to its passage, or else to its beginning.
func cutTo(r schema.RecallResult, tokens int) schema.RecallResult {
	whole := r.Content
	if r.Passage != nil && !r.Truncated && layers.EstimateTokens(whole) > tokens {
		r.Content = passageOf(r)
	}
	r.Content, _ = layers.CutTokens(r.Content, tokens)
	r.Truncated = r.Truncated || r.Content != whole
	return r
}

// passageOf returns the passage with marks where text is missing.
func passageOf(r schema.RecallResult) string {
	return normalize.MarkCut(r.Content, r.Passage.Start, r.Passage.End)
}
