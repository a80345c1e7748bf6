package flow

import "go.temporal.io/sdk/workflow"

// DrainHandlers waits until all accepted updates are answered, even if the run is cancelled. If the run ended
// earlier, the caller of an update would get an error although the update was carried out.
func DrainHandlers(ctx workflow.Context) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		// unreachable: the context is never cancelled
		workflow.GetLogger(ctx).Warn("updates not answered", "error", err)
	}
}
