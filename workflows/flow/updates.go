package flow

import "go.temporal.io/sdk/workflow"

// DrainHandlers waits until the updates that the run has accepted are answered, also when the run is
// cancelled: an update whose run ends before it fails for its caller, whatever it has done.
func DrainHandlers(ctx workflow.Context) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		// unreachable: the context is never cancelled
		workflow.GetLogger(ctx).Warn("updates not answered", "error", err)
	}
}
