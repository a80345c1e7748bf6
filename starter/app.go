package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/workflows"
)

// app is what the commands share. Connections are opened when a command first needs them.
type app struct {
	in          io.Reader
	out, errOut io.Writer

	cfg     config.Config       // its principal is what the flags say
	trust   schema.TrustContext // what the flags say
	cfgErr  error
	json    bool
	timeout time.Duration
	started bool // flags and arguments were understood

	interrupted string // what to say of an interrupt

	store    *store.Store
	temporal client.Client
	closers  []func()          // of what else was opened
	traces   *telemetry.Traces // nil unless OpenTelemetry's variables ask for traces
}

// prepare checks what holds for every command that does something.
func (a *app) prepare(cmd *cobra.Command) (err error) {
	if cmd.Name() == "version" {
		return nil
	}
	if a.cfgErr != nil && cmd.Name() != doctorName { // which says what is wrong with it, beside what else is
		return &codedError{exitUsage, a.cfgErr}
	}
	if a.timeout <= 0 {
		return invalid("timeout", "must be more than 0")
	}
	if err := a.cfg.Principal.CheckUser(); err != nil {
		return err
	}
	if a.traces, err = telemetry.OpenTraces(cmd.Context(), "mneme", versionName()); err != nil {
		return &codedError{exitUsage, err}
	}
	return nil
}

func (a *app) close() {
	for _, fn := range a.closers {
		fn()
	}
	if a.store != nil {
		a.store.Close()
	}
	if a.temporal != nil {
		a.temporal.Close()
	}
	a.traces.Close()
}

// within bounds ctx by --timeout.
func (a *app) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.timeout)
}

func (a *app) databaseURL() (string, error) {
	if a.cfg.DatabaseURL == "" {
		return "", unavailable("DATABASE_URL is not set, and no stack was found: run `make up`")
	}
	return a.cfg.DatabaseURL, nil
}

// openStore returns the store, connecting on first use.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	databaseURL, err := a.databaseURL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	st, err := store.Open(ctx, store.Config{URL: databaseURL, MaxConns: int32(a.cfg.MaxConns), ApplicationName: "mneme-cli", Configure: a.traces.Pool})
	if err != nil {
		if ctx.Err() == nil && !store.IsUnavailable(err) {
			return nil, err
		}
		return nil, unavailable("Postgres does not answer (is it up? `make up`): %w", err)
	}
	a.store = st
	return st, nil
}

// openTemporal returns the Temporal client, connecting on first use. It must not be called from two
// goroutines before it has returned once.
func (a *app) openTemporal(ctx context.Context) (client.Client, error) {
	if a.temporal != nil {
		return a.temporal, nil
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	c, err := a.cfg.DialTemporal(ctx, slog.New(slog.DiscardHandler), a.traces.Client)
	if err != nil {
		if timedOut(err) || temporalAway(err) {
			return nil, unavailable("Temporal does not answer (is it up? `make up`): %w", err)
		}
		return nil, err
	}
	a.temporal = c
	return c, nil
}

// recaller returns the read path.
func (a *app) recaller(ctx context.Context) (*recall.Recaller, error) {
	st, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	brain, err := a.cfg.NewBrain(ctx)
	if err != nil {
		return nil, err
	}
	index, closeIndex, err := a.cfg.OpenIndex(st)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, closeIndex)
	policy, err := a.policyInForce()
	if err != nil {
		return nil, err
	}
	return &recall.Recaller{TrustKey: a.cfg.TrustKey, Policy: policy, Store: st, Index: index, Embedder: a.cfg.QueryEmbedder(st, index, brain.Embedder), Reranking: brain.Reranking,
		With: a.cfg.RecallWith, Without: a.cfg.RecallWithout}, nil
}

// startIngest hands a request in and returns once its candidates are durable. When no worker takes it
// in time, the error says what has become of it.
func (a *app) startIngest(ctx context.Context, req schema.IngestRequest) (workflows.Started, error) {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return workflows.Started{}, err
	}
	limited, cancel := a.within(ctx)
	defer cancel()
	started, err := workflows.StartIngest(limited, c, a.cfg.TaskQueue, req)
	if err == nil || ctx.Err() != nil || (limited.Err() == nil && !timedOut(err)) {
		return started, err
	}
	return workflows.Started{}, a.explainSilence(ctx, c, workflows.IngestWorkflowID(req))
}

// explainSilence says why a request was not acknowledged in time.
func (a *app) explainSilence(ctx context.Context, c client.Client, workflowID string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	described, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil || described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return unavailable("Temporal has not taken the request within %s: hand it in again", a.timeout)
	}
	seen, err := a.workerSeen(ctx, c)
	if err == nil && time.Since(seen) < workerAway {
		return unavailable("the worker has not acknowledged the request within %s; it is durable in Temporal and goes on (workflow %s)", a.timeout, workflowID)
	}
	return unavailable("no worker has picked the request up; it is durable in Temporal and will run when a worker starts: `make worker` (workflow %s)", workflowID)
}

// workerAway is how long a worker may be silent before it counts as gone: it asks for work again at
// least once a minute.
const workerAway = 75 * time.Second

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

// watchEvery is how often a run that is waited for is looked at.
const watchEvery = 10 * time.Second

// follow waits for a run to end, and says what holds it up. It gives up when no worker is left to
// take it there; the run itself goes on when one comes back.
func (a *app) follow(ctx context.Context, run client.WorkflowRun, result any) error {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		told := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if seen, err := a.workerSeen(ctx, c); err == nil && time.Since(seen) > workerAway {
				cancel(unavailable("no worker is there to go on with workflow %s; it is durable in Temporal and will run when a worker starts: `make worker`", run.GetID()))
				return
			}
			if trouble := heldUp(ctx, c, run); trouble != "" && trouble != told {
				told = trouble
				a.note("mneme: still trying: %s", oneLine(trouble))
			}
		}
	}()
	err = run.Get(ctx, result)
	var coded *codedError
	if err != nil && errors.As(context.Cause(ctx), &coded) {
		return coded
	}
	return err
}

// heldUp says which step of a run failed and is being tried again, if any. Messages of failures hold
// no content.
func heldUp(ctx context.Context, c client.Client, run client.WorkflowRun) string {
	described, err := c.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		return ""
	}
	for _, activity := range described.GetPendingActivities() {
		if failure := activity.GetLastFailure(); failure != nil {
			return activity.GetActivityType().GetName() + " failed: " + failure.GetMessage()
		}
	}
	return ""
}

// runURL is the address of a run in Temporal's UI; empty when the UI's address is not known.
// Without a run id it is that of the latest run.
func (a *app) runURL(workflowID, runID string) string {
	if a.cfg.TemporalUI == "" {
		return ""
	}
	link := strings.TrimSuffix(a.cfg.TemporalUI, "/") + "/namespaces/" + url.PathEscape(a.cfg.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		link += "/" + url.PathEscape(runID)
	}
	return link
}
