package main_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The log has one JSON object a line, also for what libraries report, such as spans that no one receives.
func TestTheLogIsJSON(t *testing.T) {
	t.Parallel()
	at := newPlace(t, testkit.DatabaseURL(t))
	p := harness.StartProcess(t, at.with(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
		"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_TIMEOUT": "300"}))
	started, err := mneme.StartIngest(t.Context(), at.client, at.queue, testkit.Request(testkit.Principal(),
		schema.SourceObservation, "It rains."))
	require.NoError(t, err)
	harness.Wait(t, started.Run)
	require.Eventually(t, func() bool { return strings.Contains(p.Output(), "127.0.0.1:1/") }, 20*time.Second,
		100*time.Millisecond, "the spans are refused, which is reported")
	require.NoError(t, p.Terminate(t, 30*time.Second))
	for line := range strings.Lines(p.Output()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
	}
}
