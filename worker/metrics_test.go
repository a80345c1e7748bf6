package main_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The worker exports its own metrics, Temporal's and those of Postgres at one address, and sends its last traces before
// it exits. Neither contains content of memories.
func TestWorkerExportsMetricsAndTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var traces strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		traces.WriteString(r.URL.Path + " ")
		traces.Write(body) // protobuf does not encode strings
	}))
	defer collector.Close()
	at := newPlace(t, testkit.DatabaseURL(t))
	p := harness.StartProcess(t, at.with(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL,
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_BSP_SCHEDULE_DELAY":     "3600000"})) // so only the shutdown flushes
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	started, err := mneme.StartIngest(ctx, at.client, at.queue,
		testkit.Request(testkit.Principal(), schema.SourceObservation, "The "+canary+" is in here."))
	require.NoError(t, err)
	harness.Wait(t, started.Run)

	// The SDK counts a run after the client has its result.
	var body string
	require.NoError(t, testkit.Eventually(ctx, func() error {
		var status int
		status, body = get(t, p, "/metrics")
		require.Equal(t, http.StatusOK, status)
		for _, wanted := range []string{`(?m)^mneme_phase_duration_seconds_count\{outcome="ok",phase="write"\} [1-9]`,
			`(?m)^temporal_workflow_completed_total\{.*workflow_type="Ingest"`, `(?m)^mneme_jobs_dead 0`} {
			if !regexp.MustCompile(wanted).MatchString(body) {
				return errors.New("not there yet: " + wanted)
			}
		}
		return nil
	}))
	require.NotContains(t, body, canary)
	// The metrics do not use the worker's connections.
	db := testkit.Owner(t, at.settings["DATABASE_URL"])
	for _, own := range []string{"mneme-metrics", "mneme-health"} {
		require.Equal(t, []string{own},
			testkit.Strings(t, db,
				`SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()
					AND application_name = $1`, own))
	}

	require.NoError(t, p.Terminate(t, 25*time.Second), p.Output())
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, traces.String(), "/v1/traces ")
	for _, span := range []string{"RunWorkflow:Ingest", "RunActivity:WriteProposals", "UPDATE jobs", "mneme-worker"} {
		require.Contains(t, traces.String(), span)
	}
	require.NotContains(t, traces.String(), canary)
}
