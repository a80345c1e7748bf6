package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/workflows"
)

const (
	// probeAfter is how long an acknowledgement is waited for before Postgres is looked at: it usually takes well
	// under a second.
	probeAfter = 3 * time.Second
	// probeTimeout bounds that look, and the question to a worker.
	probeTimeout = 3 * time.Second
	// importPatience is how long an import waits for a worker or Postgres that restarts.
	importPatience = time.Minute
)

// silence is the error of a request that is durable in Temporal, was not acknowledged in time, and goes on.
type silence struct {
	why        string
	workflowID string
	err        error // of Postgres, if that is why
}

func (s *silence) Error() string { return s.why + " (workflow " + s.workflowID + ")" }
func (s *silence) Unwrap() error { return s.err }

// startIngest hands a request in and returns once its candidates are durable. When they are not in time, the
// error says why, and what becomes of the request.
func (a *app) startIngest(ctx context.Context, req schema.IngestRequest) (workflows.Started, error) {
	return a.startIngestWithin(ctx, req, a.timeout)
}

func (a *app) startIngestWithin(ctx context.Context, req schema.IngestRequest, patience time.Duration) (workflows.Started, error) {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return workflows.Started{}, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() { // what Postgres holds up need not be waited for until the end
		select {
		case <-limited.Done():
		case <-time.After(min(probeAfter, patience/2)):
			if a.postgresProblem(limited) != nil {
				cancel()
			}
		}
	}()
	started, err := workflows.StartIngest(limited, c, a.cfg.TaskQueue, req)
	if err == nil || ctx.Err() != nil || (limited.Err() == nil && !timedOut(err)) {
		return started, err
	}
	return workflows.Started{}, a.explainSilence(ctx, c, workflows.IngestWorkflowID(req), patience)
}

func (a *app) probeTime() time.Duration { return cmp.Or(a.probe, probeTimeout) }

// postgresProblem says what keeps this program from Postgres, if it knows where that is.
func (a *app) postgresProblem(ctx context.Context) error {
	if a.cfg.DatabaseURL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.probeTime())
	defer cancel()
	db, err := admin.Inspect(ctx, a.cfg.DatabaseURL)
	if err == nil {
		db.Close(ctx)
		return nil
	}
	var coded *codedError
	if err = databaseError(err); errors.As(err, &coded) {
		return err
	}
	return nil
}

// explainSilence says why a request was not acknowledged in time.
func (a *app) explainSilence(ctx context.Context, c client.Client, workflowID string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 2*a.probeTime()+5*time.Second)
	defer cancel()
	described, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil || described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return unavailable("Temporal has not taken the request within %s: hand it in again", patience)
	}
	s := &silence{workflowID: workflowID, err: a.postgresProblem(ctx)}
	switch w, err := a.workerState(ctx, c); {
	case s.err != nil:
		s.why = s.err.Error() + "; the request is durable in Temporal and goes on when Postgres takes it"
	case err == nil && w.there():
		s.why = "the worker has not acknowledged the request within " + span(patience) + "; it is durable in Temporal and goes on"
	default:
		s.why = "no worker has picked the request up; it is durable in Temporal and will run when a worker starts: `make worker`"
	}
	return &codedError{exitUnavailable, s}
}

// workerAway is how long a worker may be silent before it counts as gone: it asks for work again at
// least once a minute.
const workerAway = 75 * time.Second

// workerState is what Temporal knows of the workers of a task queue.
type workerState struct {
	seen     time.Time // when one last asked for work; zero for never
	asked    bool      // whether there was a run to ask one about
	answered bool      // whether one answered
}

// there reports whether a worker takes work. One that has stopped stays in Temporal's list for minutes, so
// that an answer counts where one could be asked for.
func (w workerState) there() bool {
	if w.asked {
		return w.answered
	}
	return time.Since(w.seen) < workerAway
}

// workerState asks Temporal when a worker last asked for work and, if that was lately, a worker itself: by a
// query of the latest run that has completed, which only a worker can answer, and which changes nothing.
func (a *app) workerState(ctx context.Context, c client.Client) (workerState, error) {
	var w workerState
	var err error
	if w.seen, err = a.workerSeen(ctx, c); err != nil || time.Since(w.seen) >= workerAway {
		return w, err
	}
	latest, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: a.cfg.Namespace, PageSize: 1,
		Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Completed'", a.cfg.TaskQueue)})
	if err != nil || len(latest.GetExecutions()) == 0 {
		return w, nil //nolint:nilerr // there is nothing to ask about
	}
	run := latest.GetExecutions()[0].GetExecution()
	ctx, cancel := context.WithTimeout(ctx, a.probeTime())
	defer cancel()
	_, err = c.QueryWorkflow(ctx, run.GetWorkflowId(), run.GetRunId(), client.QueryTypeOpenSessions)
	var failed *serviceerror.QueryFailed
	var denied *serviceerror.PermissionDenied
	w.answered = err == nil || errors.As(err, &failed) // a worker has looked at it
	w.asked = !isNotFound(err) && !errors.As(err, &denied)
	return w, nil
}

// workerSeen returns when a worker last asked for work, or the zero time.
func (a *app) workerSeen(ctx context.Context, c client.Client) (time.Time, error) {
	queue, err := c.DescribeTaskQueue(ctx, a.cfg.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return time.Time{}, fmt.Errorf("describe task queue: %w", err)
	}
	var seen time.Time
	for _, poller := range queue.GetPollers() {
		if at := poller.GetLastAccessTime().AsTime(); at.After(seen) {
			seen = at
		}
	}
	return seen, nil
}
