package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/frame"
)

// latest puts the newest of the statements about one thing first.
func (q *query) latest(ctx context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
	quotes, err := q.quotes(ctx, evidence)
	if err != nil {
		return nil, err
	}
	return memory.Latest(evidence, quotes, q.asked), nil
}

// quotes reads the texts of the best candidates.
func (q *query) quotes(ctx context.Context, evidence []memory.Evidence) (map[uuid.UUID]memory.Quote, error) {
	best := evidence[:min(len(evidence), memory.MaxLatest)]
	contents, err := q.contents(ctx, best)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]memory.Quote, len(best))
	for _, e := range best {
		out[e.ID] = memory.Quote{Text: contents[e.ID], Who: e.Speaker}
	}
	return out, nil
}

// relevance says of the best candidates how likely they are to be about what is asked. Where none is likely
// enough the answer is empty: nothing is known.
//
// Texts that one asks about, tasks, and questions in other scripts are not read: their answers have no floor.
func (q *query) relevance(ctx context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
	if len(q.req.Query) > maxAskedBytes || q.layered() || !frame.Readable(q.req.Query) {
		return evidence, nil
	}
	quotes, err := q.quotes(ctx, evidence)
	if err != nil {
		return nil, err
	}
	replaced, err := q.replaced(ctx, evidence)
	if err != nil {
		return nil, err
	}
	out := append([]memory.Evidence(nil), evidence...)
	best := out[:min(len(out), memory.MaxLatest)]
	words := make([]frame.Vocabulary, len(best))
	for i, e := range best {
		words[i] = frame.ReadVocabulary(firstBytes(quotes[e.ID].Text, memory.MaxRelevanceBytes), e.Speaker)
		for _, old := range replaced[e.ID] {
			words[i].Add(frame.ReadVocabulary(old, "")) // it is about what that was about
		}
	}
	var asked []memory.Asked // what the question asks for, each by itself
	for _, clause := range frame.Clauses(q.req.Query) {
		asked = append(asked, memory.Ask(frame.ReadQuestion(clause), words))
	}
	for i := range best {
		for _, a := range asked {
			best[i].Relevance = max(best[i].Relevance, memory.RelevanceOf(best[i], a, words[i], q.trust))
		}
		q.meta.Relevance = max(q.meta.Relevance, best[i].Relevance)
	}
	q.meta.Floor = asked[0].Floor()
	for _, a := range asked[1:] {
		q.meta.Floor = min(q.meta.Floor, a.Floor())
	}
	kept, unknown := memory.EnoughRelevance(memory.PreferRelevant(out), q.meta.Floor, q.req.MinScore)
	q.meta.Unknown = unknown
	return kept, nil
}

// replaced reads what the best candidates took the place of. Nothing of it is shown.
func (q *query) replaced(ctx context.Context, evidence []memory.Evidence) (map[uuid.UUID][]string, error) {
	var ids []uuid.UUID
	for _, e := range evidence[:min(len(evidence), memory.MaxLatest)] {
		if e.Replaces {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	f := q.filter
	f.Superseded = true
	chain, err := q.Store.Predecessors(ctx, f, ids)
	if err != nil || len(chain) == 0 {
		return nil, err
	}
	older := make([]uuid.UUID, len(chain))
	for i, link := range chain {
		older[i] = link.ID
	}
	texts, err := q.Store.Contents(ctx, f, older)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]string{}
	heads := map[uuid.UUID]uuid.UUID{} // the end of the chain that each leads to
	for _, link := range chain {
		head := link.Successor
		if h, ok := heads[head]; ok {
			head = h
		}
		heads[link.ID] = head
		out[head] = append(out[head], texts[link.ID])
	}
	return out, nil
}
