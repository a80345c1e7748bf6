package workflows

import (
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
