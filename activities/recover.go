package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
)

// Recovering takes back soft deletions.
type Recovering struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	Now    func() time.Time
}

// Recover carries out an accepted request in one transaction. Delivered again, it returns the
// first result.
func (a *Recovering) Recover(ctx context.Context, ref schema.OperationRef) (schema.RecoverResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in := edit.RecoverInput{Operation: ref, Policy: a.Policy, Now: step.Now(a.Now)}
	if _, err := a.Store.Accepted(ctx, in.Operation, &in.Request); err != nil {
		return schema.RecoverResult{}, step.Fail(err)
	}
	result, err := a.Store.Recover(ctx, in)
	return result, step.Fail(err)
}
