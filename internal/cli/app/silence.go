package app

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

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
)

const (
	// probeAfter is how long to wait for an acknowledgement before Postgres is checked. It usually takes well under a
	// second.
	probeAfter = 3 * time.Second
	// probeTimeout bounds that check, and the query of a worker.
	probeTimeout = 3 * time.Second
	// ImportTimeout is how long an import waits for a worker or Postgres that restarts.
	ImportTimeout = time.Minute
)

// Silence is the error of a request that is durable in Temporal and continues, but was not acknowledged in time.
type Silence struct {
	Why        string
	workflowID string
	err        error // the error of Postgres, if that is the cause
}

func (s *Silence) Error() string { return s.Why + " (workflow " + s.workflowID + ")" }
func (s *Silence) Unwrap() error { return s.err }

// StartIngest submits a request and returns when its candidates are durable. If that takes too long, the error has the
// cause and says what happens to the request.
func (a *App) StartIngest(ctx context.Context, req schema.IngestRequest) (mneme.Started, error) {
	return a.StartIngestWithin(ctx, req, a.Timeout)
}

// StartIngestWithin is StartIngest with another timeout than --timeout.
func (a *App) StartIngestWithin(
	ctx context.Context,
	req schema.IngestRequest,
	timeout time.Duration,
) (mneme.Started, error) {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return mneme.Started{}, err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	go func() { // if Postgres is the cause, the wait ends early
		select {
		case <-limited.Done():
		case <-time.After(min(probeAfter, timeout/2)):
			if a.postgresProblem(limited) != nil {
				cancel()
			}
		}
	}()
	started, err := mneme.StartIngest(limited, c, a.Cfg.TaskQueue, req)
	if err == nil || ctx.Err() != nil || (limited.Err() == nil && !TimedOut(err)) {
		return started, err
	}
	return mneme.Started{}, a.ExplainSilence(ctx, c, api.IngestWorkflowID(req), timeout)
}

func (a *App) probeTime() time.Duration { return cmp.Or(a.Probe, probeTimeout) }

// postgresProblem returns the error of a connection to Postgres, if its address is configured.
func (a *App) postgresProblem(ctx context.Context) error {
	if a.Cfg.DatabaseURL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.probeTime())
	defer cancel()
	db, err := admin.Inspect(ctx, a.Cfg.DatabaseURL)
	if err == nil {
		db.Close(ctx)
		return nil
	}
	var coded *CodedError
	if err = DatabaseError(err); errors.As(err, &coded) {
		return err
	}
	return nil
}

// ExplainSilence returns an error with the reason why a request was not acknowledged in time.
func (a *App) ExplainSilence(ctx context.Context, c client.Client, workflowID string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 2*a.probeTime()+5*time.Second)
	defer cancel()
	described, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil || described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return Unavailable("Temporal has not accepted the request within %s: send it again", timeout)
	}
	s := &Silence{workflowID: workflowID, err: a.postgresProblem(ctx)}
	switch w, err := a.WorkerState(ctx, c); {
	case s.err != nil:
		s.Why = s.err.Error() + "; the request is durable in Temporal and continues when Postgres accepts it"
	case err == nil && w.There():
		s.Why = "the worker has not acknowledged the request within " + Span(timeout) +
			"; it is durable in Temporal and continues"
	default:
		s.Why = "no worker has picked the request up; it is durable in Temporal and will run " +
			"when a worker starts: `make worker`"
	}
	return WithCode(ExitUnavailable, s)
}

// WorkerAway is the time since the last poll after which a worker counts as gone. A worker polls at least once a
// minute.
const WorkerAway = 75 * time.Second

// workerState is Temporal's information about the workers of a task queue.
type workerState struct {
	Seen     time.Time // last poll for work; zero for never
	Asked    bool      // whether there was a run to query
	Answered bool      // whether one answered
}

// There reports whether a worker accepts work. A stopped worker stays in Temporal's list for minutes, so if there was a
// run to query, the answer to the query decides.
func (w workerState) There() bool {
	if w.Asked {
		return w.Answered
	}
	return time.Since(w.Seen) < WorkerAway
}

// WorkerState asks Temporal when a worker last polled for work and, if that was recently, asks a worker directly: by
// a query of the latest completed run, which only a worker can answer and which changes nothing.
func (a *App) WorkerState(ctx context.Context, c client.Client) (workerState, error) {
	var w workerState
	var err error
	if w.Seen, err = a.workerSeen(ctx, c); err != nil || time.Since(w.Seen) >= WorkerAway {
		return w, err
	}
	latest, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: a.Cfg.Namespace, PageSize: 1,
		Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Completed'", a.Cfg.TaskQueue)})
	if err != nil || len(latest.GetExecutions()) == 0 {
		return w, nil //nolint:nilerr // there is no run to query
	}
	run := latest.GetExecutions()[0].GetExecution()
	ctx, cancel := context.WithTimeout(ctx, a.probeTime())
	defer cancel()
	_, err = c.QueryWorkflow(ctx, run.GetWorkflowId(), run.GetRunId(), client.QueryTypeOpenSessions)
	var failed *serviceerror.QueryFailed
	var denied *serviceerror.PermissionDenied
	w.Answered = err == nil || errors.As(err, &failed) // a worker has answered
	w.Asked = !IsNotFound(err) && !errors.As(err, &denied)
	return w, nil
}

// workerSeen returns when a worker last polled, or the zero time.
func (a *App) workerSeen(ctx context.Context, c client.Client) (time.Time, error) {
	queue, err := c.DescribeTaskQueue(ctx, a.Cfg.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
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
