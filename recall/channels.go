package recall

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// Deadlines and widths. A channel that misses its deadline is left out and named in meta.degraded.
const (
	analyseDeadline = time.Second // of what all channels that go by words wait for

	textDeadline   = 2 * time.Second
	vectorDeadline = 1 * time.Second
	embedDeadline  = 2 * time.Second

	// A channel yields three candidates a result, so that a page stays full when sources and facts
	// are collapsed and when an index returns ids that do not pass authorisation.
	candidatesPerResult = 3
	minCandidates       = 50
)

// width is how many candidates a channel yields.
func (q *query) width() int {
	if q.layered() {
		return layersWidth * max(minCandidates, candidatesPerResult*q.limit)
	}
	return max(minCandidates, candidatesPerResult*q.limit)
}

// channel yields candidate ids; it reads no content.
type channel struct {
	name     string
	deadline time.Duration
	words    bool // it goes by the query's words
	search   func(context.Context) ([]search.Hit, error)
}

func (q *query) channels() []channel {
	return slices.DeleteFunc([]channel{
		{rank.ChannelText, textDeadline, true, q.searchText},
		{rank.ChannelVector, vectorDeadline + embedDeadline, false, q.searchVector},
		{rank.ChannelHints, hintsDeadline, true, q.searchHints},
		{rank.ChannelClaims, claimsDeadline, true, q.searchClaims},
		{rank.ChannelGraph, graphDeadline, true, q.searchGraph},
		{rank.ChannelTime, timeDeadline, false, q.searchTime},
		{layers.ChannelSignals, signalsDeadline, false, q.searchSignals},
	}, func(c channel) bool { return q.off(c.name) || c.name == layers.ChannelSignals && !q.layered() })
}

// analysis is the query's words as the tenant knows them. Channels that go by words wait for it, each as
// long as it may.
type analysis struct {
	done     chan struct{}
	question search.Question
	err      error
}

// analyse makes the question that channels ask with; it closes done in the end.
func (q *query) analyse(ctx context.Context) {
	defer close(q.words.done)
	defer q.timed("analyse")()
	ctx, cancel := q.within(ctx, analyseDeadline)
	defer cancel()
	q.words.question, q.words.err = q.Store.Analyse(ctx, q.filter.Principal.Tenant,
		search.Wording{Query: q.req.Query, Keywords: q.req.KeywordQuery, Expansion: q.expansion()})
}

// question waits for the analysis.
func (q *query) question(ctx context.Context) (search.Question, error) {
	select {
	case <-q.words.done:
		return q.words.question, q.words.err
	case <-ctx.Done():
		return search.Question{}, fmt.Errorf("analyse: %w", ctx.Err())
	}
}

func (q *query) searchText(ctx context.Context) ([]search.Hit, error) {
	question, err := q.question(ctx)
	if err != nil {
		return nil, err
	}
	ranking, err := q.Store.RankText(ctx, q.filter, question, q.width())
	q.weights = ranking.Weights
	return ranking.Hits, err
}

func (q *query) searchVector(ctx context.Context) ([]search.Hit, error) {
	// Where the searched model can change, one embedder stands for the whole of this query.
	embedder := q.Embedder
	if several, ok := embedder.(interface {
		Current(context.Context) (inference.Embedder, error)
	}); ok {
		var err error
		if embedder, err = several.Current(ctx); err != nil {
			return nil, fmt.Errorf("embed query: %w", err)
		}
	}
	embedCtx, cancel := q.within(ctx, embedDeadline)
	defer cancel()
	embedded := q.timed("embed")
	asked, _, err := inference.EmbedQuery(embedCtx, embedder, q.req.Query)
	embedded()
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	q.trust = rank.TrustIn(embedder.Model().Name)
	ctx, cancelSearch := q.within(ctx, vectorDeadline)
	defer cancelSearch()
	return q.Index.Search(ctx, q.filter, pg.Embedding{Model: embedder.Model(), Vector: asked}, q.width())
}

// collect runs every channel at once, each with its own deadline, and merges what they found by id.
func (q *query) collect(ctx context.Context) []rank.Evidence {
	defer q.timed("collect")()
	channels := q.channels()
	found := make([][]search.Hit, len(channels))
	var wg sync.WaitGroup
	if slices.ContainsFunc(channels, func(c channel) bool { return c.words }) {
		wg.Go(func() { q.analyse(ctx) })
	}
	for i, ch := range channels {
		wg.Go(func() {
			defer q.timed(ch.name)()
			ctx, cancel := q.within(ctx, ch.deadline)
			defer cancel()
			hits, err := ch.search(ctx)
			if err != nil {
				q.degrade(ch.name, err)
				return
			}
			found[i] = hits
		})
	}
	wg.Wait()
	places := map[uuid.UUID]int{}
	var out []rank.Evidence
	for i, ch := range channels {
		q.meta.Channels[ch.name] = len(found[i])
		for _, hit := range found[i] {
			at, known := places[hit.ID]
			if !known {
				at = len(out)
				places[hit.ID] = at
				out = append(out, rank.Evidence{ID: hit.ID, Channels: map[string]float64{}})
			}
			e := &out[at]
			e.Channels[ch.name] = max(e.Channels[ch.name], hit.Score)
			e.Terms |= hit.Terms
		}
	}
	return rank.Fuse(out, q.trust)
}
