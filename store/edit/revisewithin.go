package edit

import (
	"context"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// ReviseWithin is Revise as part of a change that its caller makes and keeps from being carried out twice. What is
// revised is written with the rest of the change, or not at all.
func ReviseWithin(ctx context.Context, c *commit.Change, in ReviseInput) (schema.ReviseResult, error) {
	return revise(ctx, c, in)
}
