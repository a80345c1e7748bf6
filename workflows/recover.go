package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var recovering *activities.Recovering

// Recover takes back soft deletions.
func Recover(ctx workflow.Context, req schema.RecoverRequest) (schema.RecoverResult, error) {
	return runOperation[schema.RecoverResult](ctx, operation{kind: KindRecover, common: req.Operation, request: &req,
		step: recovering.Recover, summary: "recover"})
}
