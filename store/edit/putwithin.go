package edit

import (
	"context"
	"slices"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// PutWithin is Put as part of a change that its caller makes and keeps from being carried out twice. The records are
// written with the rest of the change, or not at all.
func PutWithin(ctx context.Context, c *commit.Change, in PutInput) (schema.PutResult, error) {
	p := &putting{Change: c, in: in, items: slices.Clone(classify(in))}
	return p.run(ctx)
}

// ReviseWithin is Revise as part of a change that its caller makes and keeps from being carried out twice.
func ReviseWithin(ctx context.Context, c *commit.Change, in ReviseInput) (schema.ReviseResult, error) {
	return revise(ctx, c, in)
}
