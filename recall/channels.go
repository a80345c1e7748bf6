package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/language"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// Deadlines and widths. A channel that misses its deadline is left out and named in meta.degraded.
const (
	analyseDeadline = time.Second // of the analysis of the query's words

	textDeadline   = 2 * time.Second
	vectorDeadline = 1 * time.Second
	embedDeadline  = 2 * time.Second

	// The filter removes candidates and collapsing merges them, so a channel yields three candidates for each
	// result. Then a page is still full.
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

// channel searches for candidate ids. It reads no content.
type channel struct {
	name     string
	deadline time.Duration
	words    bool // it uses the query's words
	search   func(context.Context, *analysis) (channelHits, error)
}

// channelHits is what a channel found, with the data that ranking needs about the search.
type channelHits struct {
	hits    []search.Hit
	weights []float64        // of the text plan's terms; set only by the text channel
	trust   rank.VectorTrust // in the searched space; set only by the vector channel
	skipped bool             // the channel was not searched, because it was not needed
}

// hitsByWords makes a channel from a search that uses the words of the query.
func hitsByWords(find func(context.Context, search.Question) ([]search.Hit, error),
) func(context.Context, *analysis) (channelHits, error) {
	return func(ctx context.Context, words *analysis) (channelHits, error) {
		question, err := words.wait(ctx)
		if err != nil {
			return channelHits{}, err
		}
		hits, err := find(ctx, question)
		return channelHits{hits: hits}, err
	}
}

// hitsAlone makes a channel from a search that does not use the words of the query.
func hitsAlone(find func(context.Context) ([]search.Hit, error),
) func(context.Context, *analysis) (channelHits, error) {
	return func(ctx context.Context, _ *analysis) (channelHits, error) {
		hits, err := find(ctx)
		return channelHits{hits: hits}, err
	}
}

func (q *query) channels() []channel {
	return slices.DeleteFunc([]channel{
		{rank.ChannelText, textDeadline, true, q.searchText},
		{rank.ChannelVector, vectorDeadline + embedDeadline, true, q.searchVector},
		{rank.ChannelHints, hintsDeadline, true, hitsByWords(q.searchHints)},
		{rank.ChannelClaims, claimsDeadline, true, hitsByWords(q.searchClaims)},
		{rank.ChannelGraph, graphDeadline, true, hitsByWords(q.searchGraph)},
		{rank.ChannelTime, timeDeadline, false, hitsAlone(q.searchTime)},
		{layers.ChannelSignals, signalsDeadline, false, hitsAlone(q.searchSignals)},
	}, func(c channel) bool { return q.off(c.name) || c.name == layers.ChannelSignals && !q.layered() })
}

// analysis holds the query's words as lexemes with the tenant's frequencies. Channels that use words wait for it,
// each until its own deadline.
type analysis struct {
	done     chan struct{}
	question search.Question
	err      error

	textDone chan struct{} // closed when the text channel has ended, or if it is off
	textHits int           // memories that it found; 0 if it failed or is off
}

// analyse prepares the question for the channels and then closes done.
func (q *query) analyse(ctx context.Context, words *analysis) {
	defer close(words.done)
	defer q.timed("analyse")()
	ctx, cancel := q.within(ctx, analyseDeadline)
	defer cancel()
	words.question, words.err = q.Store.Analyse(ctx, q.filter.Principal.Tenant, search.Wording{
		Query:     q.req.Query,
		Keywords:  cmp.Or(q.req.KeywordQuery, language.Content(q.req.Query)),
		Expansion: q.expansion(),
	})
}

// textSuffices reports whether full text is enough: memories of the tenant contain each word of the query, and full text
// found at least width memories. It waits for full text only if each word is known.
func (a *analysis) textSuffices(ctx context.Context, width int) (bool, error) {
	question, err := a.wait(ctx)
	if err != nil || !question.AllKnown() {
		return false, nil // vectors do not need the words
	}
	select {
	case <-a.textDone:
		return a.textHits >= width, nil
	case <-ctx.Done():
		return false, fmt.Errorf("wait for full text: %w", ctx.Err())
	}
}

// wait waits for the analysis.
func (a *analysis) wait(ctx context.Context) (search.Question, error) {
	select {
	case <-a.done:
		return a.question, a.err
	case <-ctx.Done():
		return search.Question{}, fmt.Errorf("analyse: %w", ctx.Err())
	}
}

func (q *query) searchText(ctx context.Context, words *analysis) (channelHits, error) {
	question, err := words.wait(ctx)
	if err != nil {
		return channelHits{}, err
	}
	ranking, err := q.Store.RankText(ctx, q.filter, question, q.width())
	words.textHits = len(ranking.Hits)
	return channelHits{hits: ranking.Hits, weights: ranking.Weights}, err
}

func (q *query) searchVector(ctx context.Context, words *analysis) (channelHits, error) {
	// If the searched model can change, this query uses one embedder throughout.
	embedder := q.Embedder
	if several, ok := embedder.(interface {
		Current(context.Context) (inference.Embedder, error)
	}); ok {
		var err error
		if embedder, err = several.Current(ctx); err != nil {
			return channelHits{}, fmt.Errorf("embed query: %w", err)
		}
	}
	trust := rank.TrustIn(embedder.Model().Name)
	// Vectors of words find what full text finds, and misspelt words. They compare the query, and full text the keywords.
	if trust.Meaning == 0 && q.req.KeywordQuery == "" {
		if enough, err := words.textSuffices(ctx, q.width()); err != nil || enough {
			return channelHits{trust: trust, skipped: enough}, err
		}
	}
	embedCtx, cancel := q.within(ctx, embedDeadline)
	defer cancel()
	embedded := q.timed("embed")
	asked, _, err := inference.EmbedQuery(embedCtx, embedder, q.req.Query)
	embedded()
	if err != nil {
		return channelHits{}, fmt.Errorf("embed query: %w", err)
	}
	ctx, cancelSearch := q.within(ctx, vectorDeadline)
	defer cancelSearch()
	hits, err := q.Index.Search(ctx, q.filter, pg.Embedding{Model: embedder.Model(), Vector: asked}, q.width())
	return channelHits{hits: hits, trust: trust}, err
}

// collected is what the channels found together.
type collected struct {
	evidence []rank.Evidence
	weights  []float64        // of the text plan's terms
	trust    rank.VectorTrust // in the space that the vector channel searched
}

// collect runs all channels concurrently, each with its own deadline, and merges their results by id. The diagnostics
// of a channel that fails are kept.
func (q *query) collect(ctx context.Context) collected {
	defer q.timed("collect")()
	channels := q.channels()
	q.together = q.structured(ctx)
	found := make([]channelHits, len(channels))
	words := &analysis{done: make(chan struct{}), textDone: make(chan struct{})}
	if !slices.ContainsFunc(channels, func(c channel) bool { return c.name == rank.ChannelText }) {
		close(words.textDone)
	}
	var wg sync.WaitGroup
	if slices.ContainsFunc(channels, func(c channel) bool { return c.words }) {
		wg.Go(func() { q.analyse(ctx, words) })
	}
	for i, ch := range channels {
		wg.Go(func() {
			defer q.timed(ch.name)()
			if ch.name == rank.ChannelText {
				defer close(words.textDone)
			}
			ctx, cancel := q.within(ctx, ch.deadline)
			defer cancel()
			var err error
			if found[i], err = ch.search(ctx, words); err != nil {
				q.degrade(ch.name, err)
				found[i].hits = nil
			}
		})
	}
	wg.Wait()
	places := map[uuid.UUID]int{}
	var all collected
	var out []rank.Evidence
	for i, ch := range channels {
		switch ch.name {
		case rank.ChannelText:
			all.weights = found[i].weights
		case rank.ChannelVector:
			all.trust = found[i].trust
		}
		if !found[i].skipped {
			q.meta.Channels[ch.name] = len(found[i].hits)
		}
		for _, hit := range found[i].hits {
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
	all.evidence = out
	return all
}
