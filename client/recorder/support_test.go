package recorder_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
)

// desk provides a ledger that accepts events, and workers for an agent.
type desk struct {
	t        *testing.T
	store    *store.Store
	temporal client.Client
	p        schema.Principal
	ledger   string // task queue of the ledger
	agent    string // task queue of the agent

	mu    sync.Mutex
	fail  func(delivery int) error // before a delivery
	count int
	asked []api.AdviseRequest
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: testkit.Store(t), temporal: harness.Temporal(t), p: testkit.Principal(),
		ledger: "ledger-" + uuid.NewString(), agent: "agent-" + uuid.NewString()}
	w := worker.New(d.temporal, d.ledger, worker.Options{})
	w.RegisterWorkflowWithOptions(d.advise, workflow.RegisterOptions{Name: api.WorkflowAdvise})
	w.RegisterActivityWithOptions(d.append, activity.RegisterOptions{Name: api.ActivityAppendEvents})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return d
}

// append adds events to the ledger without a session workflow, which has its own tests.
func (d *desk) append(ctx context.Context, req api.AppendRequest) (api.AppendResult, error) {
	d.mu.Lock()
	d.count++
	fail, n := d.fail, d.count
	d.mu.Unlock()
	if fail != nil {
		if err := fail(n); err != nil {
			return api.AppendResult{}, err
		}
	}
	out, err := d.store.Append(ctx, events.AppendInput{Tenant: req.Principal.Tenant, Events: req.Events,
		Now: time.Now()})
	if invalid := new(schema.ValidationError); errors.As(err, &invalid) {
		return api.AppendResult{}, temporal.NewNonRetryableApplicationError(err.Error(), "invalid_request", nil)
	}
	return api.AppendResult{Appended: out}, err
}

// advise keeps the request, and knows nothing.
func (d *desk) advise(_ workflow.Context, req api.AdviseRequest) (api.AdviseResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, req)
	return api.AdviseResponse{}, nil
}

func (d *desk) failing(fail func(delivery int) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

func (d *desk) options(change func(*recorder.Options)) recorder.Options {
	o := recorder.Options{Principal: d.p, TaskQueue: d.ledger}
	if change != nil {
		change(&o)
	}
	return o
}

// work starts a worker of the agent and returns a function that stops it.
func (d *desk) work(agent any, interceptors ...interceptor.WorkerInterceptor) (stop func()) {
	d.t.Helper()
	w := worker.New(d.temporal, d.agent, worker.Options{Interceptors: interceptors, WorkerStopTimeout: time.Second})
	w.RegisterWorkflowWithOptions(agent, workflow.RegisterOptions{Name: "agent"})
	w.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: "child"})
	w.RegisterActivityWithOptions(shell, activity.RegisterOptions{Name: "shell"})
	w.RegisterActivityWithOptions(secret, activity.RegisterOptions{Name: "secret"})
	require.NoError(d.t, w.Start())
	var once sync.Once
	stop = func() { once.Do(w.Stop) }
	d.t.Cleanup(stop)
	return stop
}

func (d *desk) start(name string) client.WorkflowRun {
	d.t.Helper()
	run, err := d.temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: name + "-" + uuid.NewString(), TaskQueue: d.agent}, "agent")
	require.NoError(d.t, err)
	return run
}

// run runs an agent to its end.
func (d *desk) run(name string) (client.WorkflowRun, error) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run := d.start(name)
	return run, run.Get(ctx, nil)
}

// events returns the events of a session in the order of the ledger.
func (d *desk) events(session string) []ledger.Event {
	d.t.Helper()
	out, err := d.store.Page(context.Background(), d.p.Tenant, ledger.StreamRun.Stream(session), 0, events.MaxPage)
	require.NoError(d.t, err)
	return out
}

func kinds(events []ledger.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

type command struct {
	Line string `json:"line"`
	Fail bool   `json:"fail,omitempty"`
}

type output struct {
	Text string `json:"text"`
}

func shell(_ context.Context, c command) (output, error) {
	if c.Fail {
		return output{}, temporal.NewNonRetryableApplicationError("exit 1: "+c.Line, "exit", nil)
	}
	return output{Text: "did " + c.Line}, nil
}

func secret(_ context.Context, name string, n int) (string, error) { return name, nil }

func child(_ workflow.Context, name string) (string, error) { return "hello " + name, nil }

// doing retries a task that a worker took while it was stopping. Errors of the task itself are not retryable.
func doing(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3}})
}
