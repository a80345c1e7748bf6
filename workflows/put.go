package workflows

import (
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
