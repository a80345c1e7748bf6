package telemetry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
)

// One trace leads from the start of a run through its workflow and activities to their statements, and contains no
// content of memories.
func TestTraceLeadsToStatements(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	traces := telemetry.NewTraces(exporter)
	h := observed(t, newMetrics(t), traces)
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceObservation, "The "+canary+" listens on port persimmon.",
		"A poison "+canary+".")
	req.IdempotencyKey = canary + "-once"
	h.Ingest(t, req)

	var spans tracetest.SpanStubs
	require.NoError(t, testkit.Eventually(within(t), func() error { // the last workflow task may still be pending
		if err := traces.Flush(ctx); err != nil {
			return err
		}
		spans = exporter.GetSpans()
		for _, s := range spans {
			if strings.HasPrefix(s.Name, "RunActivity:CompleteJobs") {
				return nil
			}
		}
		return errors.New("not all there yet")
	}))
	byID := map[string]tracetest.SpanStub{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID().String()] = s
	}
	// lineage returns the first parts of the span names from a span up to the root.
	lineage := func(s tracetest.SpanStub) (names []string) {
		for {
			name, _, _ := strings.Cut(s.Name, ":")
			names = append(names, name)
			parent, ok := byID[s.Parent.SpanID().String()]
			if !ok {
				return names
			}
			require.Equal(t, parent.SpanContext.TraceID(), s.SpanContext.TraceID())
			s = parent
		}
	}
	var ways []string
	for _, s := range spans {
		ways = append(ways, strings.Join(lineage(s), " < "))
	}
	require.Contains(t, ways, "UPDATE jobs < RunActivity < StartActivity < RunWorkflow < UpdateWithStartWorkflow", ways)

	runs := 0
	for _, s := range spans {
		for _, a := range s.Attributes {
			if a.Key == "temporalRunID" {
				runs++
			}
		}
		said := fmt.Sprint(s.Name, s.Status, s.Attributes, s.Events, s.Links, s.Resource)
		require.NotContains(t, said, canary)
		require.NotContains(t, said, "persimmon")
		for _, a := range s.Attributes {
			require.NotContains(t, []string{"db.query.text", "pgx.query.parameters"}, string(a.Key))
		}
		require.NotContains(t, said, p.Tenant)
	}
	require.Positive(t, runs, "a run is found by its own id")
}

// Postgres quotes values in its errors. A span records that a statement failed, without the error text.
func TestTracesOmitErrorTexts(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	traces := telemetry.NewTraces(exporter)
	failed := errors.New("invalid input syntax: " + canary)
	traces.RunForTest(ctx, "statement", failed)
	require.NoError(t, traces.Flush(ctx))
	spans := exporter.GetSpans()
	require.Len(t, spans, 1)
	require.Equal(t, codes.Error, spans[0].Status.Code)
	require.Len(t, spans[0].Events, 1)
	require.NotContains(t, fmt.Sprint(spans[0]), canary)
	require.Contains(t, fmt.Sprint(spans[0].Events[0].Attributes), "errorString")
}

func TestTracesAreOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   map[string]string
		want  bool
		wrong bool
	}{
		{env: nil},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, want: true},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, want: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, want: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}},
		{env: map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: true},
	} {
		got, err := telemetry.TracesWanted(func(name string) string { return c.env[name] })
		require.Equal(t, c.want, got, c.env)
		require.Equal(t, c.wrong, err != nil, c.env)
	}
	var off *telemetry.Traces
	require.NoError(t, off.Client(nil))
	off.Pool(nil)
	require.NoError(t, off.Flush(ctx))
	off.Close()
}

func TestStatementsAreNamedByVerbAndTable(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT a FROM memories m WHERE content = 'x'":                    "SELECT memories",
		"\n\t\tUPDATE jobs j SET state = 'done' FROM memory_candidates c": "UPDATE jobs",
		"insert into memory_history (a) VALUES ($1)":                      "INSERT memory_history",
		"WITH c AS (SELECT id FROM memory_candidates) SELECT * FROM c":    "WITH memory_candidates",
		"WITH c AS (SELECT 1 FROM a) UPDATE jobs SET state = 'x'":         "UPDATE jobs",
		"SELECT mneme_tenants($1, $2)":                                    "SELECT",
		"begin":                                                           "BEGIN",
		"":                                                                "statement",
		"-- a comment":                                                    "statement",
	} {
		require.Equal(t, want, telemetry.StatementName(sql), sql)
	}
}

// With an unreachable endpoint, Close takes no longer than its timeout.
func TestAnUnavailableEndpointBlocksNoCaller(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
	traces, err := telemetry.OpenTraces(ctx, "test", "1")
	require.NoError(t, err)
	require.NotNil(t, traces)
	traces.RunForTest(ctx, "span", nil)
	m := newMetrics(t)
	r := recall.Recaller{Observe: m.ObserveRecall}
	_, err = r.Recall(ctx, schema.RecallRequest{})
	require.Error(t, err)
	done := make(chan struct{})
	go func() { defer close(done); traces.Close() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("closing hangs")
	}
}
