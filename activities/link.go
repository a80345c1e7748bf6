package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Linking writes the entity graph.
type Linking struct {
	Store *store.Store
	Off   bool // no graph is written
	Now   func() time.Time
}

// LinkEntities writes the entities, relations and mentions of a range, in another transaction than the facts.
func (a *Linking) LinkEntities(ctx context.Context, r schema.Range) (schema.LinkCounts, error) {
	if a.Off {
		return schema.LinkCounts{}, nil
	}
	pace, ctx := step.StartPace(ctx, 0, r.To-r.From)
	defer pace.Stop()
	var counts schema.LinkCounts
	err := pace.Through(ctx, r, func(part schema.Range) error {
		linked, err := a.Store.Link(ctx, part, step.Now(a.Now))
		if err == nil {
			counts = counts.Add(linked)
			step.Advance(ctx)
		}
		return err
	})
	return counts, step.Fail(step.Stalled(ctx, err))
}
