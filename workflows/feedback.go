package workflows

import (
	"context"

	"go.temporal.io/sdk/client"
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

// StartFeedback starts a Feedback run, or joins the one that has the same request.
func StartFeedback(ctx context.Context, c client.Client, taskQueue string, req schema.FeedbackRequest) (client.WorkflowRun, error) {
	return startOperation(ctx, c, taskQueue, KindFeedback, req.Operation, req.Validate(), Feedback, req, "feedback")
}
