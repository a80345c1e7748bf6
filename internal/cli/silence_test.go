package cli

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// A stopped worker stays in Temporal's list of pollers for minutes; status queries the worker instead of trusting the
// list.
func TestStatusDetectsAStoppedWorker(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	c.remember("Never deploy on Fridays.")
	require.Eventually(t, func() bool { // wait until Temporal lists the run
		var s operate.SystemStatus
		c.run("status", "--json").is(app.ExitOK).json(&s)
		return s.Worker.Answers
	}, 30*time.Second, 200*time.Millisecond)
	require.Regexp(t, `worker +answers on task queue`, c.run("status").is(app.ExitOK).out)
	h.StopWorker()
	c.probe = time.Second
	o := c.run("status").is(app.ExitUnavailable)
	require.Regexp(t, `worker +none on task queue .*: the last one polled \d+s ago, and does not answer`, o.out)
	require.Contains(t, o.err, "no worker is running")
}

// If Postgres is down, it is named at once, instead of reporting the worker after the full wait.
func TestRememberNamesPostgres(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.cfg.TaskQueue = "nobody-" + uuid.NewString()
	c.cfg.DatabaseURL = "postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=2"
	began := time.Now()
	o := c.run("remember", "The kettle is red.", "--json").is(app.ExitUnavailable)
	require.Less(t, time.Since(began), 15*time.Second)
	message := o.problem().Message
	require.Contains(t, message, "Postgres does not answer")
	require.Contains(t, message,
		"the request is durable in Temporal and continues when Postgres accepts it (workflow ingest/")
	require.NotContains(t, message, "worker")
}

// An import waits for a restarting worker, and reports that it waits.
func TestImportWaitsForAWorker(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	c := newCLI(t, h)
	path := writeFile(t, `{"content":"Machine 1 stands in hall 1."}`+"\n"+`{"content":"Machine 2 stands in hall 2."}`)
	done := make(chan outcome)
	go func() { done <- c.run("import", "--wait", path, "--timeout", "40s") }()
	time.Sleep(12 * time.Second) // longer than one attempt
	h.StartWorker(t)
	o := (<-done).is(app.ExitOK)
	require.Contains(t, o.out, "2 read: 2 added")
	require.Contains(t, o.err, "mneme: waiting up to 40s: no worker has picked the request up")
	require.Contains(t, c.run("import", "--help").is(app.ExitOK).out, "The command waits a minute")
}
