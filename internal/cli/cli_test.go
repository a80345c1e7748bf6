package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// cli runs commands in process against a test's own schema and task queue.
type cli struct {
	t     *testing.T
	cfg   config.Config
	probe time.Duration
}

func newCLI(t *testing.T, h *harness.Harness) *cli {
	t.Helper()
	// The worker of these tests is running, but on a busy machine it may answer late.
	return &cli{t: t, probe: 30 * time.Second, cfg: config.Config{
		TemporalEnv: temporalAt(testkit.TemporalAddress(t), harness.Namespace),
		DatabaseURL: h.DatabaseURL, MaxConns: 4, TaskQueue: h.TaskQueue, Namespace: harness.Namespace,
		TemporalUI: "http://ui.test",
		Principal:  testkit.Principal(), Brain: "rules", Embedder: "hash",
	}}
}

// environment is the environment of one test, because a test that changes the process's environment cannot run in
// parallel.
type environment map[string]string

func (e environment) Environ() []string {
	out := make([]string, 0, len(e))
	for name, value := range e {
		out = append(out, name+"="+value)
	}
	return out
}

func (e environment) LookupEnv(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

// temporalAt is the environment of a program that uses this Temporal server.
func temporalAt(address, namespace string) environment {
	return environment{"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace}
}

// noTemporal is the environment of a program whose Temporal server is unreachable.
func noTemporal() environment { return temporalAt("127.0.0.1:1", harness.Namespace) }

// outcome is the result of a command line.
type outcome struct {
	t        *testing.T
	code     int
	out, err string
}

func (c *cli) run(args ...string) outcome { return c.runWith(context.Background(), "", args...) }

func (c *cli) runWith(ctx context.Context, stdin string, args ...string) outcome {
	c.t.Helper()
	var out, errOut bytes.Buffer
	a := &app.App{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut, Cfg: c.cfg, Probe: c.probe,
		TimeoutFactor: harness.RecallTimeoutFactor}
	code := run(ctx, a, args)
	return outcome{t: c.t, code: code, out: out.String(), err: errOut.String()}
}

// is requires an exit code.
func (o outcome) is(code int) outcome {
	o.t.Helper()
	require.Equal(o.t, code, o.code, "stdout: %s\nstderr: %s", o.out, o.err)
	return o
}

// json decodes standard output, which must be exactly one JSON value.
func (o outcome) json(into any) {
	o.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(o.t, decoder.Decode(into), "stdout: %s\nstderr: %s", o.out, o.err)
	require.False(o.t, decoder.More(), o.out)
}

// problem decodes the error that --json writes to standard error.
func (o outcome) problem() app.ErrorBody {
	o.t.Helper()
	var body map[string]app.ErrorBody
	require.NoError(o.t, json.Unmarshal([]byte(o.err), &body), o.err)
	require.Empty(o.t, o.out)
	return body["error"]
}

func (c *cli) remember(args ...string) exchange.Remembered {
	c.t.Helper()
	var r exchange.Remembered
	c.run(append([]string{"remember", "--json", "--wait"}, args...)...).is(app.ExitOK).json(&r)
	return r
}

func (c *cli) recall(args ...string) schema.RecallResponse {
	c.t.Helper()
	var r schema.RecallResponse
	c.run(append([]string{"recall", "--json"}, args...)...).is(app.ExitOK).json(&r)
	return r
}

func (c *cli) list(args ...string) app.Page[schema.MemoryRecord] {
	c.t.Helper()
	var p app.Page[schema.MemoryRecord]
	c.run(append([]string{"list", "--json"}, args...)...).is(app.ExitOK).json(&p)
	return p
}

func contents(p app.Page[schema.MemoryRecord]) []string {
	out := []string{}
	for _, m := range p.Items {
		out = append(out, m.Content)
	}
	return out
}
