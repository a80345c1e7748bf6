package edit

import (
	"context"
	"slices"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// PutWithin is Put within the caller's change. The caller makes sure that the change is carried out only once. The
// records are written together with the rest of the change, or not at all.
func PutWithin(ctx context.Context, c *commit.Change, in PutInput) (schema.PutResult, error) {
	p := &putting{Change: c, in: in, items: slices.Clone(classify(in))}
	return p.run(ctx)
}

// ReviseWithin is Revise within the caller's change. The caller makes sure that the change is carried out only
// once.
func ReviseWithin(ctx context.Context, c *commit.Change, in ReviseInput) (schema.ReviseResult, error) {
	return revise(ctx, c, in)
}
