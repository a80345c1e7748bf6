package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// The lag of the index is exported once, even by a worker that has synced the index: with two metrics of one name, a
// scrape could return either.
func TestIndexLagIsExportedOnce(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	h := observed(t, m, nil)
	h.Ingest(t, testkit.Request(testkit.Principal(), schema.SourceMemory, "The gateway listens on port 4711."))
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue},
		workflows.SyncIndex, api.SyncIndexInput{})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	n, _ := value(t, m, "mneme_phase_duration_seconds", "phase", "sync_index", "outcome", "ok")
	require.Positive(t, n, "the outbox was drained")

	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	series := 0
	for _, family := range families {
		if family.GetName() == "mneme_index_lag_seconds" {
			series += len(family.GetMetric())
			require.Empty(t, family.GetMetric()[0].GetLabel())
		}
	}
	require.Equal(t, 1, series)
}

// A metric that cannot be collected is missing from the scrape, and the failure is logged.
func TestFailedCollectorIsLogged(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	require.NoError(t, m.Register(broken{}))
	var log bytes.Buffer
	answer := httptest.NewRecorder()
	m.Handler(slog.New(slog.NewJSONHandler(&log, nil))).ServeHTTP(answer,
		httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, answer.Body.String(), "mneme_build_info")
	require.Contains(t, log.String(), "it is out of order")
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), "one line: %s", log.String())
}

// broken is a collector that fails.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}
func (broken) Collect(ch chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("broken", "broken", nil, nil)
	ch <- prometheus.NewInvalidMetric(desc, errors.New("it is out of order"))
	ch <- prometheus.NewInvalidMetric(desc, errors.New("and so is this"))
}
