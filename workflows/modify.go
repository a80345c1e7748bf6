package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var modifying *activities.Modifying

// Modify applies patches.
func Modify(ctx workflow.Context, req schema.ModifyRequest) (schema.ModifyResult, error) {
	return runOperation[schema.ModifyResult](ctx, operation{kind: KindModify, common: req.Operation, request: &req,
		step: modifying.Modify, summary: "modify", release: func() { clear(req.Patches) }})
}

// StartModify starts a Modify run, or joins the one that has the same request.
func StartModify(ctx context.Context, c client.Client, taskQueue string, req schema.ModifyRequest) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, KindModify, req.Operation, req.Validate(), Modify, req, "modify")
}
