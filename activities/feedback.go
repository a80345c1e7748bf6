package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
)

// Reinforcing handles feedback on retrievals.
type Reinforcing struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	Now    func() time.Time
}

// Feedback carries out an accepted request in one transaction. A repeated delivery returns the first result. Feedback
// on a retrieval of another principal fails and is not retried.
func (a *Reinforcing) Feedback(ctx context.Context, ref schema.OperationRef) (schema.FeedbackResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := pipeline.FeedbackInput{Operation: ref, Policy: a.Policy, Now: step.Now(a.Now)}
	if _, err := a.Store.Accepted(ctx, in.Operation, &in.Request); err != nil {
		return schema.FeedbackResult{}, step.Fail(err)
	}
	result, err := a.Store.Feedback(ctx, in)
	return result, step.Fail(err)
}
