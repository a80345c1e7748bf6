package recall

import (
	"context"
	"time"

	"github.com/mneme/mneme/memory"
)

const contextDeadline = time.Second

// neighbourhood looks at what stands around the best candidates in their sessions. The turns that it
// brings in have passed the filter.
func (q *query) neighbourhood(ctx context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
	ctx, cancel := q.within(ctx, contextDeadline)
	defer cancel()
	anchors := memory.Anchors(evidence)
	if len(anchors) == 0 {
		return evidence, nil
	}
	turns, err := q.Store.SessionTurns(ctx, q.filter, anchors, memory.NeighbourRadius)
	if err != nil {
		return nil, err
	}
	return memory.Neighbourhood(evidence, turns), nil
}

func (q *query) session(_ context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
	return memory.Sessions(evidence, q.weights), nil
}

func (q *query) speaker(_ context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
	return memory.Speakers(evidence, q.req.Query), nil
}
