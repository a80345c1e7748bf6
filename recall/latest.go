package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/memory/rank"
)

// latest puts the newest of several statements about the same thing first.
func (q *query) latest(
	ctx context.Context,
	evidence []rank.Evidence,
	texts *reader,
) ([]rank.Evidence, error) {
	said, err := texts.quotes(ctx, evidence)
	if err != nil {
		return nil, err
	}
	return rank.Latest(evidence, said, q.clauses()), nil
}

// readClauses parses each clause of a question. Each is compared with every candidate, so their length is bounded.
func readClauses(query string) []question.Question {
	var out []question.Question
	for _, clause := range question.Clauses(firstBytes(query, maxAskedBytes)) {
		out = append(out, question.Read(clause))
	}
	return out
}

// relevance estimates how likely the best candidates are to be about the question. If none is likely enough, the
// answer is empty because nothing is known.
//
// Questions that are whole texts, tasks, and questions in other languages are not parsed, so their answers have no
// floor.
func (q *query) relevance(
	ctx context.Context,
	evidence []rank.Evidence,
	texts *reader,
) ([]rank.Evidence, relevance, error) {
	if !q.parsable() {
		return evidence, relevance{}, nil
	}
	said, err := texts.quotes(ctx, evidence)
	if err != nil {
		return nil, relevance{}, err
	}
	replaced, err := q.replaced(ctx, evidence)
	if err != nil {
		return nil, relevance{}, err
	}
	found := relevance{floor: rank.DefaultMinRelevance}
	out := evidence
	asked := q.clauses()
	best := out[:min(len(out), rank.MaxLatest)]
	length := 0.0
	for i := range best {
		e := &out[i]
		text := said[e.ID].Text
		length += text.Length() / float64(len(best))
		for _, clause := range asked {
			e.Relevance = max(e.Relevance, rank.RelevanceOf(*e, clause, text))
		}
		for _, old := range replaced[e.ID] { // the same subject
			before := parsed.Text(old, e.Speaker)
			share := 1.0
			if text.OnlyEnds() {
				share = rank.EndShare
			}
			for _, clause := range asked {
				e.Relevance = max(e.Relevance, share*clause.Relevance(before))
			}
		}
		found.best = max(found.best, e.Relevance, e.Near())
	}
	found.blend = rank.RelevanceBlend(best, length)
	kept, unknown := rank.EnoughRelevance(rank.PreferRelevant(out, found.blend), found.floor, q.req.MinScore)
	found.unknown = unknown
	return kept, found, nil
}

// parsable reports whether the query is parsed as a question. Otherwise no text has a relevance.
func (q *query) parsable() bool {
	return len(q.req.Query) <= maxAskedBytes && !q.layered() && question.Readable(q.req.Query)
}

// replaced reads the texts that the best candidates replaced. They are not part of the answer.
func (q *query) replaced(ctx context.Context, evidence []rank.Evidence) (map[uuid.UUID][]string, error) {
	var ids []uuid.UUID
	for _, e := range evidence[:min(len(evidence), rank.MaxLatest)] {
		if e.Replaces {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
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
	heads := map[uuid.UUID]uuid.UUID{} // the newest memory of each one's chain
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
