package recall

import (
	"cmp"
	"context"
	"time"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

// Deadlines of the structured channels. Each is a help: what is late is left out.
const (
	hintsDeadline  = time.Second
	claimsDeadline = time.Second
	graphDeadline  = 500 * time.Millisecond // notes on recall constants, "traversal"
	timeDeadline   = 500 * time.Millisecond
)

func (q *query) searchHints(ctx context.Context, question search.Question) ([]search.Hit, error) {
	return q.Store.SearchHints(ctx, q.filter, question, q.width())
}

func (q *query) searchClaims(ctx context.Context, question search.Question) ([]search.Hit, error) {
	return q.Store.SearchClaims(ctx, q.filter, question, q.width())
}

func (q *query) searchGraph(ctx context.Context, question search.Question) ([]search.Hit, error) {
	return q.Store.SearchGraph(ctx, q.filter, question, q.width())
}

func (q *query) searchTime(ctx context.Context) ([]search.Hit, error) {
	return q.Store.SearchTime(ctx, q.filter, q.windows, q.width())
}

// keywords is what full text and hints look for; vectors and models see the query itself.
func (q *query) keywords() string { return cmp.Or(q.req.KeywordQuery, q.req.Query) }

// expansion is what full text and hints look for besides.
func (q *query) expansion() string {
	if q.off(rank.StageExpand) {
		return ""
	}
	return rank.ExpandQuery(q.keywords())
}

// primary lets the graph stand on a level with the flat channels, where the request asks for it.
func (q *query) primary(evidence []rank.Evidence) []rank.Evidence {
	if q.req.Traversal != schema.TraversalPrimary {
		return evidence
	}
	return rank.Primary(evidence, q.limit)
}
