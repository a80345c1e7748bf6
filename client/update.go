package client

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// updateTries bounds how often an update is sent again when its run ends first. updatePause is the delay between two
// tries.
const (
	updateTries = 5
	updatePause = 100 * time.Millisecond
)

// errTypeAcceptedUpdate is the type of the failure that the server gives to an update whose run has ended, was
// renewed or continued as new after it accepted the update and before it answered.
const errTypeAcceptedUpdate = "AcceptedUpdateCompletedWorkflow"

// retryUpdate calls send until the update is answered or ctx ends. All calls use one update id, which is the key of
// the update's effect: it is carried out once. With gone, it also retries if the run no longer exists, because
// sending starts a new one.
func retryUpdate(ctx context.Context, gone bool, send func() error) error {
	for try := 1; ; try++ {
		err := send()
		if err == nil || try >= updateTries && !unaccepted(err) || ctx.Err() != nil {
			return err
		}
		var ended *serviceerror.NotFound
		switch {
		case unaccepted(err):
		case unanswered(err), status.Code(err) == codes.Aborted:
		case gone && errors.As(err, &ended):
		default:
			return err
		}
		select {
		case <-time.After(updatePause):
		case <-ctx.Done():
			return err
		}
	}
}

// update hands an update in and waits for its answer.
func update(ctx context.Context, c client.Client, options client.UpdateWorkflowOptions, out any) error {
	handle, err := c.UpdateWorkflow(ctx, options)
	if err != nil {
		return err
	}
	return handle.Get(ctx, out)
}

// unanswered reports whether a run accepted an update and ended without an answer.
func unanswered(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == errTypeAcceptedUpdate
}

// unaccepted reports whether a call ended before a run had accepted the update. The SDK limits a call to a minute,
// even if the caller has more time.
func unaccepted(err error) bool {
	var waited *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &waited)
}

// unreadyPause is between two attempts to reach a run whose workers fail or are too slow.
const unreadyPause = time.Second
