package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
)

var reinforcing *activities.Reinforcing

// Feedback reinforces and penalises what a retrieval returned. It fails with NotFound where the asker has no
// such retrieval.
func Feedback(ctx workflow.Context, req schema.FeedbackRequest) (schema.FeedbackResult, error) {
	return runOperation[schema.FeedbackResult](ctx, operation{kind: KindFeedback, common: req.Operation, request: &req,
		step: reinforcing.Feedback, summary: "feedback"})
}
