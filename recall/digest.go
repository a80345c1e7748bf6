package recall

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

const (
	// minSummaryTime is the least time of the reranker's deadline that must be left for a summary.
	minSummaryTime = 300 * time.Millisecond
	// maxSummarized is the number of results that a summary covers.
	maxSummarized = 10
)

// sessions returns the notes and facts of the sessions that results, or the sources of facts, come from. They are
// the structured counterpart of the transcripts (document 002 "Source and Transcript Rescue Paths").
func (e *expansion) sessions(ctx context.Context) ([]schema.RecallResult, error) {
	of := map[uuid.UUID][]string{} // results by the memories that lead to their sessions
	var places []uuid.UUID
	add := func(place uuid.UUID, result string) {
		if of[place] == nil {
			places = append(places, place)
		}
		of[place] = append(of[place], result)
	}
	for _, id := range e.ids(func(schema.RecallResult) bool { return true }) {
		add(id, id.String())
	}
	for _, l := range e.byResult(e.sources) {
		add(l.ID, l.Of.String())
	}
	notes, err := e.Store.SessionNotes(ctx, e.filter, places)
	if err != nil || len(notes) == 0 {
		return nil, err
	}
	var ids []uuid.UUID
	for _, n := range notes {
		ids = append(ids, n.IDs...)
	}
	rows, err := e.Store.Hydrate(ctx, e.filter, ids, e.now())
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(notes, func(a, b search.SessionNotes) int {
		return slices.Index(places, a.Of[0]) - slices.Index(places, b.Of[0])
	})
	var out []schema.RecallResult
	for _, n := range notes {
		var noted []rank.Noted
		var last schema.RecallResult
		for _, id := range n.IDs {
			if row, ok := rows[id]; ok {
				noted = append(noted, rank.Noted{ID: id, Type: row.Type, Category: row.Category, Text: row.Content})
				if row.OccurredAt.After(last.OccurredAt) {
					last = row
				}
			}
		}
		text, shown, cut := rank.SessionDigest(noted)
		if !slices.ContainsFunc(shown, func(id uuid.UUID) bool { return !e.known[id] }) {
			continue // it adds nothing new
		}
		var results []string
		for _, place := range n.Of {
			results = append(results, of[place]...)
		}
		slices.Sort(results)
		row := made(string(schema.SupplementSession)+":"+shown[0].String(), schema.TypeSemantic, text, last.OccurredAt)
		row.Session, row.Truncated = last.Session, cut
		out = append(out, supplementary(row, schema.SupplementSession, slices.Compact(results), shown...))
	}
	return out, nil
}

// summary returns a model's summary of the results, if a reranker is configured and has left time (document 002
// Phase 5). The model gets contents that passed the filter, and no ids.
func (e *expansion) summary(ctx context.Context) []schema.RecallResult {
	if e.Reranking.Summarizer == nil || e.summaryTime < minSummaryTime || e.off(stageSummary) {
		return nil
	}
	var texts, of []string
	var members []uuid.UUID
	var latest time.Time
	for _, r := range e.results[:min(len(e.results), maxSummarized)] {
		id, err := uuid.Parse(r.ID)
		if err != nil || r.Content == "" {
			continue
		}
		texts, of, members = append(texts, r.Content), append(of, r.ID), append(members, id)
		if r.OccurredAt.After(latest) {
			latest = r.OccurredAt
		}
	}
	if len(texts) == 0 {
		return nil
	}
	defer e.timed(stageSummary)()
	ctx, cancel := context.WithTimeout(ctx, e.summaryTime)
	defer cancel()
	text, err := unlessDone(ctx, func() (string, error) {
		text, _, err := e.Reranking.Summarizer.Summarize(ctx, e.req.Query, texts)
		return text, err
	})
	if err != nil {
		e.degrade(stageSummary, err)
		return nil
	}
	if text == "" {
		return nil
	}
	row := made(string(schema.SupplementSummary)+":"+of[0], schema.TypeSemantic, text, latest)
	return []schema.RecallResult{supplementary(row, schema.SupplementSummary, of, members...)}
}
