package recall

import (
	"context"
	"time"

	"github.com/mneme/mneme/memory/rank"
)

const contextDeadline = time.Second

// neighbourhood reads the turns around the best candidates in their sessions. The turns pass the filter.
func (q *query) neighbourhood(ctx context.Context, evidence []rank.Evidence) ([]rank.Evidence, error) {
	ctx, cancel := q.within(ctx, contextDeadline)
	defer cancel()
	anchors := rank.Anchors(evidence)
	if len(anchors) == 0 {
		return evidence, nil
	}
	turns, err := q.Store.SessionTurns(ctx, q.filter, anchors)
	if err != nil {
		return nil, err
	}
	return rank.Neighbourhood(evidence, turns), nil
}
