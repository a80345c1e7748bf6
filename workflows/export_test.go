package workflows

import (
	"context"

	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/agents"
)

// RenewReview is renewReview, for tests.
var RenewReview = mneme.RenewReview

// OfTenant is ofTenant, for tests.
var OfTenant = mneme.OfTenant

// ShortSessions makes sessions continue as new after this number of events.
func ShortSessions(events int) { agents.SessionEventsPerRun = events }

// Cancellable checks whether a caller may cancel a run, for tests.
func Cancellable(ctx context.Context, c client.Client, callers Callers, kind, workflowID string) error {
	return nexusHandlers{callers: callers}.cancellable(ctx, c, kind, workflowID, "")
}
