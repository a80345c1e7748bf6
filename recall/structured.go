package recall

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

// Deadlines of the structured channels. Late results are dropped.
const (
	hintsDeadline  = time.Second
	claimsDeadline = time.Second
	graphDeadline  = 500 * time.Millisecond // notes on recall constants, "traversal"
	timeDeadline   = 500 * time.Millisecond
)

// structuredDeadline is the deadline of one query for hints, claims and the graph together. If the query misses it,
// each channel is queried separately, within the rest of its deadline.
const structuredDeadline = graphDeadline / 2

// structured queries hints, claims and the graph together, once. The first channel to call it runs the query, and
// the others wait for the result. The result is nil if they must be queried separately: if some are switched off,
// or if one failed, so that it does not fail the others.
func (q *query) structured(ctx context.Context) func(search.Question) *search.Structured {
	if q.off(rank.ChannelHints) || q.off(rank.ChannelClaims) || q.off(rank.ChannelGraph) {
		return func(search.Question) *search.Structured { return nil }
	}
	var once sync.Once
	var found *search.Structured
	return func(question search.Question) *search.Structured {
		once.Do(func() {
			ctx, cancel := q.within(ctx, structuredDeadline)
			defer cancel()
			if all, err := q.Store.SearchStructured(ctx, q.filter, question, q.width()); err == nil {
				found = &all
			}
		})
		return found
	}
}

func (q *query) searchHints(ctx context.Context, question search.Question) ([]search.Hit, error) {
	if all := q.together(question); all != nil {
		return all.Hints, nil
	}
	return q.Store.SearchHints(ctx, q.filter, question, q.width())
}

func (q *query) searchClaims(ctx context.Context, question search.Question) ([]search.Hit, error) {
	if all := q.together(question); all != nil {
		return all.Claims, nil
	}
	return q.Store.SearchClaims(ctx, q.filter, question, q.width())
}

func (q *query) searchGraph(ctx context.Context, question search.Question) ([]search.Hit, error) {
	if all := q.together(question); all != nil {
		return all.Graph, nil
	}
	return q.Store.SearchGraph(ctx, q.filter, question, q.width())
}

func (q *query) searchTime(ctx context.Context) ([]search.Hit, error) {
	return q.Store.SearchTime(ctx, q.filter, q.windows, q.width())
}

// keywords is the text for full text and hints; vectors and models use the query itself.
func (q *query) keywords() string { return cmp.Or(q.req.KeywordQuery, q.req.Query) }

// expansion is the additional words for full text and hints.
func (q *query) expansion() string {
	if q.off(rank.StageExpand) {
		return ""
	}
	return rank.ExpandQuery(q.keywords())
}

// primary gives the graph the same weight as the flat channels together, if the request asks for graph-first
// traversal.
func (q *query) primary(evidence []rank.Evidence) []rank.Evidence {
	if q.req.Traversal != schema.TraversalPrimary {
		return evidence
	}
	return rank.Primary(evidence, q.limit)
}
