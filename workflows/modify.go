package workflows

import (
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
