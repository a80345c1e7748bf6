package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var putting *activities.Putting

// Put writes full records.
func Put(ctx workflow.Context, req schema.PutRequest) (schema.PutResult, error) {
	return runOperation[schema.PutResult](ctx, operation{kind: KindPut, common: req.Operation, request: &req,
		step: putting.Put, summary: "put", release: func() { clear(req.Records) }})
}

// StartPut starts a Put run, or joins the one that has the same request.
func StartPut(ctx context.Context, c client.Client, taskQueue string, req schema.PutRequest) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, KindPut, req.Operation, req.Validate(), Put, req, "put")
}
