package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
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

// StartRecover starts a Recover run, or joins the one that has the same request.
func StartRecover(ctx context.Context, c client.Client, taskQueue string, req schema.RecoverRequest) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, KindRecover, req.Operation, req.Validate(), Recover, req, "recover")
}
