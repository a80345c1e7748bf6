package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

const (
	canary     = "xqcanaryxq"
	scheduleID = "sync-index/pgvector"
)

// place is a namespace, a schema and a task queue for worker processes.
type place struct {
	client   client.Client
	queue    string
	settings map[string]string
}

func newPlace(t *testing.T, databaseURL string) place {
	t.Helper()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	queue := "test-" + uuid.NewString()
	return place{queue: queue,
		client: harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace }),
		settings: map[string]string{"DATABASE_URL": databaseURL, "TEMPORAL_ADDRESS": address,
			"TEMPORAL_NAMESPACE": namespace,
			"MNEME_TASK_QUEUE":   queue}}
}

func (p place) with(more map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{p.settings, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func get(t *testing.T, p *harness.Process, path string) (status int, body string) {
	t.Helper()
	c := http.Client{Timeout: 5 * time.Second}
	res, err := c.Get("http://" + p.Health + path)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, strings.TrimSpace(string(data))
}

// The worker processes a request, logs it without the content, and on a signal finishes its work and exits with code 0.
func TestWorkerProcessesAndStops(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Extraction && strings.Contains(call.Data, "slow") {
			asked <- struct{}{}
			select {
			case <-answer:
			case <-ctx.Done():
			}
		}
		if strings.Contains(call.Data, "poison") {
			return testkit.ModelReply{Status: http.StatusBadRequest, Content: "I refuse: " + call.Data}
		}
		return testkit.FactsOf("It is known that " + call.Data)
	})
	at := newPlace(t, testkit.DatabaseURL(t))
	settings := at.with(map[string]string{
		"MNEME_BRAIN": "openai", "MNEME_OPENAI_BASE_URL": model.URL, "MNEME_OPENAI_CHAT_MODEL": "test-model",
		"MNEME_OPENAI_API_KEY": "key" + canary})
	p := harness.StartProcess(t, settings)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	principal := testkit.Principal()
	started, err := mneme.StartIngest(ctx, at.client, at.queue, testkit.Request(principal, schema.SourceObservation,
		"The "+canary+" is in here.", "A poison "+canary+"."))
	require.NoError(t, err)
	result := harness.Wait(t, started.Run)
	require.Equal(t, 1, result.Dead)
	require.Equal(t, 1, result.Written.Added)

	started, err = mneme.StartIngest(ctx, at.client, at.queue,
		testkit.Request(principal, schema.SourceObservation, "A slow "+canary+"."))
	require.NoError(t, err)
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- p.Terminate(t, 25*time.Second) }()
	require.NoError(t, testkit.Eventually(ctx, func() error { // the model has not answered
		if !strings.Contains(p.Output(), `"worker stopping"`) {
			return errors.New("the worker does not stop yet")
		}
		return nil
	}))
	close(answer)
	require.NoError(t, <-stopped, p.Output())

	for line := range strings.Lines(p.Output()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		require.NotEqual(t, "ERROR", entry["level"], line)
	}
	require.NotContains(t, p.Output(), canary)

	// Its work is complete: another worker need not ask the model again.
	harness.StartProcess(t, settings)
	require.Zero(t, harness.Wait(t, started.Run).Dead)
	require.Empty(t, asked)
}

// The process is live while it runs, and ready while Postgres and Temporal answer.
func TestHealth(t *testing.T) {
	t.Parallel()
	state, env := testkit.PrivateStack(t, "postgres")
	at := newPlace(t, testkit.NewSchema(t, env["DATABASE_URL"]))
	p := harness.StartProcess(t, at.settings)
	for _, path := range []string{"/livez", "/readyz"} {
		status, body := get(t, p, path)
		require.Equal(t, http.StatusOK, status, body)
	}
	out, err := testkit.Stack("kill", "--state", state, "--ephemeral", "postgres")
	require.NoError(t, err, out)
	require.Eventually(t, func() bool { // a result is cached for a few seconds
		status, body := get(t, p, "/readyz")
		return status == http.StatusServiceUnavailable && body == "postgres does not answer"
	}, 20*time.Second, 200*time.Millisecond)
	status, _ := get(t, p, "/livez")
	require.Equal(t, http.StatusOK, status)

	out, err = testkit.Stack("up", "--state", state, "--ephemeral", "postgres")
	require.NoError(t, err, out)
	require.Eventually(t, func() bool { status, _ := get(t, p, "/readyz"); return status == http.StatusOK },
		20*time.Second, 200*time.Millisecond)
	require.NoError(t, p.Terminate(t, 25*time.Second), p.Output())
}

// A worker that cannot start prints the reason, without passwords, and exits with code 1.
func TestWorkerRefusesToStart(t *testing.T) {
	t.Parallel()
	at := newPlace(t, testkit.DatabaseURL(t))
	for name, test := range map[string]struct {
		settings map[string]string
		says     string
	}{
		"not migrated": {map[string]string{"DATABASE_URL": strings.Replace(at.settings["DATABASE_URL"],
			"search_path=main", "search_path=none", 1)}, "mneme migrate up"},
		"no database": {map[string]string{"DATABASE_URL": "postgres://u:" + canary + "@127.0.0.1:1/x"},
			"open store"},
		"unreadable URL":  {map[string]string{"DATABASE_URL": "postgres://u:" + canary + "@:x:/"}, "database URL"},
		"bad setting":     {map[string]string{"MNEME_MODE": "yolo"}, "MNEME_MODE"},
		"bad payload key": {map[string]string{"MNEME_PAYLOAD_KEY": canary}, "MNEME_PAYLOAD_KEY"},
		"no chat model": {map[string]string{"MNEME_BRAIN": "openai",
			"MNEME_OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "MNEME_OPENAI_CHAT_MODEL"},
		"no such namespace": {map[string]string{"TEMPORAL_NAMESPACE": "nowhere-" + uuid.NewString()}, "amespace"},
		"port in use": {map[string]string{"MNEME_HEALTH_ADDR": at.settings["TEMPORAL_ADDRESS"]},
			"health endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.SpawnProcess(t, at.with(test.settings))
			err := p.Exit(t, 40*time.Second)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, p.Output())
			require.Equal(t, 1, exit.ExitCode())
			require.Contains(t, p.Output(), test.says)
			require.NotContains(t, p.Output(), canary)
		})
	}
}

// The schedule is created once. Changes of an operator are kept.
func TestChangedScheduleIsKept(t *testing.T) {
	t.Parallel()
	at := newPlace(t, testkit.DatabaseURL(t))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	require.NoError(t, harness.StartProcess(t, at.settings).Terminate(t, 25*time.Second))
	schedule := at.client.ScheduleClient().GetHandle(ctx, scheduleID)
	made, err := schedule.Describe(ctx)
	require.NoError(t, err)
	require.False(t, made.Schedule.State.Paused)
	require.Equal(t, time.Minute, made.Schedule.Spec.Intervals[0].Every)
	require.NoError(t, schedule.Update(ctx,
		client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			in.Description.Schedule.Spec.Intervals[0].Every = time.Hour
			in.Description.Schedule.State.Paused = true
			in.Description.Schedule.State.Note = "the operator's"
			return &client.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
		}}))
	require.NoError(t, harness.StartProcess(t, at.settings).Terminate(t, 25*time.Second))
	kept, err := schedule.Describe(ctx)
	require.NoError(t, err)
	require.True(t, kept.Schedule.State.Paused)
	require.Equal(t, "the operator's", kept.Schedule.State.Note)
	require.Equal(t, time.Hour, kept.Schedule.Spec.Intervals[0].Every)
}

// The schedule's runs drain the outbox.
func TestScheduleDrainsTheOutbox(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	at := newPlace(t, url)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	harness.StartProcess(t, at.settings)
	db := testkit.Owner(t, url)
	started, err := mneme.StartIngest(ctx, at.client, at.queue,
		testkit.Request(testkit.Principal(), schema.SourceMemory, "The outbox is to be drained."))
	require.NoError(t, err)
	harness.Wait(t, started.Run)
	_, err = db.Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT tenant, id, version, 'upsert', now() FROM memories`)
	require.NoError(t, err)
	require.NoError(t, at.client.ScheduleClient().GetHandle(ctx, scheduleID).Trigger(ctx,
		client.ScheduleTriggerOptions{}))
	require.Eventually(t, func() bool { return testkit.Rows(t, db, "index_outbox", "") == 0 }, 2*time.Minute,
		200*time.Millisecond)
}
