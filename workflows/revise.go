package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var revising *activities.Revising

// Revise revises what is known.
func Revise(ctx workflow.Context, req schema.ReviseRequest) (schema.ReviseResult, error) {
	release := func() {
		if req.Record != nil {
			*req.Record = schema.MemoryRecord{}
		}
	}
	return runOperation[schema.ReviseResult](ctx, operation{kind: KindRevise, common: req.Operation, request: &req,
		step: revising.Revise, summary: reviseSummary(req), release: release})
}

// StartRevise starts a Revise run, or joins the one that has the same request.
func StartRevise(ctx context.Context, c client.Client, taskQueue string, req schema.ReviseRequest) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, KindRevise, req.Operation, req.Validate(), Revise, req, reviseSummary(req))
}

// reviseSummary names the action of a valid request.
func reviseSummary(req schema.ReviseRequest) string { return "revise: " + string(req.Action) }
