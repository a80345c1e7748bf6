package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nexus-rpc/sdk-go/nexus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows"
)

const canary = "xqcanaryxq"

var ctx = context.Background()

func newMetrics(t testing.TB) *telemetry.Metrics {
	t.Helper()
	m, err := telemetry.NewMetrics("test")
	require.NoError(t, err)
	return m
}

// scrape returns the response of a scrape.
func scrape(t testing.TB, m *telemetry.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler(nil).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body.String())
	return answer.Body.String()
}

// value is the sum over the series of a name that have the labels, given as name, value, …; false if there are none.
// For a histogram it is the number of observations.
func value(t testing.TB, m *telemetry.Metrics, name string, labels ...string) (float64, bool) {
	t.Helper()
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	sum, found := 0.0, false
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, series := range family.GetMetric() {
			if has(series, labels) {
				found = true
				sum += series.GetGauge().GetValue() + series.GetCounter().GetValue() +
					float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum, found
}

func has(series *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		found := false
		for _, pair := range series.GetLabel() {
			found = found || pair.GetName() == labels[i] && pair.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

func is(t testing.TB, m *telemetry.Metrics, want float64, name string, labels ...string) {
	t.Helper()
	got, found := value(t, m, name, labels...)
	require.True(t, found, "%s %v", name, labels)
	require.InDelta(t, want, got, 1e-9, "%s %v", name, labels)
}

// model simulates an endpoint that is billed by token and refuses poisoned texts.
type model struct {
	inference.Extractor
	inference.Decider
}

func (m model) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	usage := inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 11, CompletionTokens: 7}
	if strings.Contains(src.Content, "poison") {
		usage.Calls = 3 // two of them were answered
		return memory.Extraction{}, usage, &inference.PermanentError{Reason: "refused"}
	}
	out, _, err := m.Extractor.Extract(ctx, src)
	return out, usage, err
}

// observed is a harness whose worker exports metrics and traces like the real one.
func observed(t *testing.T, m *telemetry.Metrics, traces *telemetry.Traces) *harness.Harness {
	t.Helper()
	url := testkit.DatabaseURL(t)
	c := harness.TemporalWith(t, func(o *client.Options) {
		require.NoError(t, m.Client(o))
		require.NoError(t, traces.Client(o))
	})
	h := harness.NewIdle(t, url, c, func(d *workflows.Dependencies) {
		if traces != nil {
			st, err := store.Open(ctx, pg.Config{URL: url, Configure: traces.Pool})
			require.NoError(t, err)
			t.Cleanup(st.Close)
			d.Store = st
		}
		d.Brain.Extractor = model{Extractor: d.Brain.Extractor}
		d.Brain, d.Observe = m.Count(d.Brain), m.ObserveRecall
	})
	stop, err := m.Open(ctx, pg.Config{URL: url}, telemetry.Reading{Tenants: 10, Every: time.Nanosecond})
	require.NoError(t, err)
	t.Cleanup(stop)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{m.Interceptor()}})
	return h
}

func TestMetricsOfARealRun(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	h := observed(t, m, nil)
	p := testkit.Principal()
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation, "The "+canary+" listens on port 4711.",
		"A poison "+canary+"."))
	require.Equal(t, 1, result.Dead)

	// One recall through Temporal, one without vectors, one that is refused, and one that fails.
	r := h.Recaller()
	r.Observe = m.ObserveRecall
	req := schema.RecallRequest{Principal: p, Query: "which port does the " + canary + " listen on"}
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue}, workflows.Recall,
		req)
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	r.Embedder = testkit.BrokenEmbedder{Embedder: r.Embedder}
	found, err := r.Recall(ctx, req)
	require.NoError(t, err)
	require.NotEmpty(t, found.Results)
	_, err = r.Recall(ctx, schema.RecallRequest{Principal: p})
	require.Error(t, err)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = r.Recall(canceled, req)
	require.Error(t, err)
	gone := testkit.OpenStore(t, h.DatabaseURL)
	gone.Close()
	_, err = (&recall.Recaller{Store: gone, Index: h.Deps.Index, Embedder: h.Deps.Brain.Embedder,
		Observe: m.ObserveRecall}).Recall(ctx, req)
	require.Error(t, err)

	for _, phase := range []string{api.PhaseStage, api.PhaseExtract, api.PhaseDecide, api.PhaseWrite, api.PhaseLink,
		api.PhaseIndex, api.PhaseRecall} {
		n, _ := value(t, m, "mneme_phase_duration_seconds", "phase", phase, "outcome", "ok")
		require.Positive(t, n, phase)
	}
	is(t, m, 0, "mneme_phase_duration_seconds", "phase", telemetry.PhaseOther)
	for outcome, n := range map[string]float64{"ok": 1, "degraded": 1, "invalid": 1, "cancelled": 1, "failed": 1} {
		is(t, m, n, "mneme_recall_duration_seconds", "outcome", outcome)
	}
	is(t, m, 1, "mneme_recall_degraded_total", "stage", rank.ChannelVector)
	n, _ := value(t, m, "mneme_recall_stage_duration_seconds", "stage", "hydrate")
	require.EqualValues(t, 2, n)
	is(t, m, 22, "mneme_model_tokens_total", "use", "extract", "model", "chat-1", "direction", "prompt")
	is(t, m, 1, "mneme_model_calls_total", "use", "extract", "outcome", "failed")
	is(t, m, 3, "mneme_model_calls_total", "use", "extract", "outcome", "ok")
	is(t, m, 1, "mneme_jobs_dead")
	is(t, m, 0, "mneme_jobs_waiting")
	is(t, m, 0, "mneme_jobs_oldest_waiting_seconds")

	stats, err := h.Store.Stats(ctx, p.Tenant)
	require.NoError(t, err)
	live := 0.0
	for _, n := range stats.Memories {
		live += float64(n)
	}
	require.Positive(t, live)
	require.NoError(t, testkit.Eventually(within(t), func() error { // values are cached briefly
		if got, _ := value(t, m, "mneme_retrievals", "tenant", p.Tenant, "window", "1d"); got != 2 {
			return errors.New("not read again yet")
		}
		return nil
	}))
	is(t, m, live, "mneme_memories", "tenant", p.Tenant)
	is(t, m, live, "mneme_salience_memories", "tenant", p.Tenant, "le", "+Inf")
	is(t, m, live, "mneme_memory_changes", "tenant", p.Tenant, "action", "create", "window", "1d")
	is(t, m, 1, "mneme_retrievals_degraded", "tenant", p.Tenant)
	is(t, m, 1, "mneme_tenant_jobs_dead", "tenant", p.Tenant)

	text := scrape(t, m)
	require.NotContains(t, text, canary)
	require.NotContains(t, text, found.RetrievalID)
	for _, row := range found.Results {
		require.NotContains(t, text, row.ID)
	}
	require.NotContains(t, text, "ingest/", "ids of workflows are no labels")
	for _, name := range []string{"temporal_request_total{", "temporal_activity_execution_latency_seconds_bucket{",
		"go_goroutines "} {
		require.Contains(t, text, "\n"+name)
	}
}

func within(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return c
}

// registrations collects the names of the workflows that a worker registers.
type registrations struct {
	worker.Registry
	names []string
}

func (r *registrations) RegisterWorkflow(fn any) {
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	r.names = append(r.names, name[strings.LastIndex(name, ".")+1:])
}
func (*registrations) RegisterActivity(any)                {}
func (*registrations) RegisterNexusService(*nexus.Service) {}

func TestEveryWorkflowHasAPhase(t *testing.T) {
	t.Parallel()
	var all registrations
	workflows.Register(&all, workflows.Dependencies{})
	require.Contains(t, all.names, "Ingest")
	for _, name := range all.names {
		require.NotEqual(t, telemetry.PhaseOther, telemetry.PhaseOf(name, "SomeActivity"), name)
		require.Contains(t, telemetry.Phases(), telemetry.PhaseOf(name, "SomeActivity"))
	}
	require.Equal(t, api.PhaseExtract, telemetry.PhaseOf("ResumeIngest", "ExtractFacts"))
	require.Equal(t, telemetry.PhaseAppend, telemetry.PhaseOf("Session", "AppendSessionEvents"))
	require.Equal(t, telemetry.PhaseAppend, telemetry.PhaseOf("AnAgentOfAnotherProgram", "AppendEvents"))
	require.Equal(t, telemetry.PhaseOther, telemetry.PhaseOf("ingest/"+canary, canary),
		"external names do not become labels")
}

func TestTwoCollectorsInOneProcess(t *testing.T) {
	t.Parallel()
	one, other := newMetrics(t), newMetrics(t)
	one.ObserveRecall(schema.RecallMeta{Degraded: []string{"vector"}}, time.Millisecond, nil)
	is(t, one, 1, "mneme_recall_duration_seconds", "outcome", "degraded")
	is(t, other, 0, "mneme_recall_duration_seconds", "outcome", "degraded")
	_, found := value(t, other, "mneme_recall_degraded_total")
	require.False(t, found)

	st := testkit.Store(t)
	for _, m := range []*telemetry.Metrics{one, other} {
		stop, err := m.Read(st, telemetry.Reading{Tenants: 5})
		require.NoError(t, err)
		_, err = m.Read(st, telemetry.Reading{Tenants: 5})
		require.Error(t, err, "one collector per registry")
		is(t, m, 0, "mneme_jobs_dead")
		stop()
		_, found := value(t, m, "mneme_jobs_dead")
		require.False(t, found)
	}
}
