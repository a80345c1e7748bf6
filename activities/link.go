package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Linking writes the entity graph.
type Linking struct {
	Store *store.Store
	Off   bool // no graph is written
	Now   func() time.Time
}

// LinkEntities writes the entities, relations and mentions of a range, in a transaction apart from
// the facts'.
func (a *Linking) LinkEntities(ctx context.Context, r schema.Range) (schema.LinkCounts, error) {
	if a.Off {
		return schema.LinkCounts{}, nil
	}
	pace, ctx := startPace(ctx, 0, r.To-r.From)
	defer pace.stop()
	var counts schema.LinkCounts
	err := pace.through(ctx, r, func(part schema.Range) error {
		linked, err := a.Store.Link(ctx, part, now(a.Now))
		if err == nil {
			counts = counts.Add(linked)
			advance(ctx)
		}
		return err
	})
	return counts, fail(stalled(ctx, err))
}
