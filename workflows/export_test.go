package workflows

import (
	"context"

	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
)

// RenewReview is renewReview, for tests.
var RenewReview = mneme.RenewReview

// OfTenant is ofTenant, for tests.
var OfTenant = mneme.OfTenant

// Cancellable checks that callers may cancel a run, for tests.
func Cancellable(ctx context.Context, c client.Client, callers Callers, kind, workflowID string) error {
	return nexusHandlers{callers: callers}.cancellable(ctx, c, kind, workflowID, "")
}
