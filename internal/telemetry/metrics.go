package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/mneme/mneme/activities/reflecting"
	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/store/pg"
)

// Buckets in seconds. Steps of a recall take milliseconds, phases of the pipeline up to the minutes that a
// model may take.
var (
	phaseBuckets  = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	recallBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	stageBuckets  = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}
)

// Metrics are the metrics of one process. They have a separate registry, so that several Metrics in a process are
// independent.
type Metrics struct {
	registry *prometheus.Registry
	sdk      client.MetricsHandler

	phases   *prometheus.HistogramVec
	recalls  *prometheus.HistogramVec
	stages   *prometheus.HistogramVec
	degraded *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	calls    *prometheus.CounterVec
	timeouts *prometheus.CounterVec
	beliefs  *prometheus.CounterVec
	held     *prometheus.CounterVec
	advice   *prometheus.HistogramVec
	learned  *prometheus.CounterVec
	arrivals *prometheus.CounterVec
}

// NewMetrics returns the metrics of a process; version is that of the program.
func NewMetrics(version string) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mneme_phase_duration_seconds",
			Buckets: phaseBuckets,
			Help:    "Time that one attempt at an activity took, by phase (api/names.go) and outcome (ok, failed)."},
			[]string{"phase", "outcome"}),
		recalls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mneme_recall_duration_seconds",
			Buckets: recallBuckets,
			Help:    "Time that a recall in this process took, by outcome (ok, degraded, invalid, cancelled, failed)."},
			[]string{"outcome"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mneme_recall_stage_duration_seconds",
			Buckets: stageBuckets,
			Help:    "Time that a channel or stage of a recall in this process took."}, []string{"stage"}),
		degraded: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_recall_degraded_total",
			Help: "Recalls in this process that omitted a channel or stage, by which."}, []string{"stage"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_model_tokens_total",
			Help: "Tokens that models charged to this process, by use (extract, decide, " +
				"embed, rerank, summary, reflect), model and direction (prompt, completion)."},
			[]string{"use", "model", "direction"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_model_calls_total",
			Help: "Calls of models from this process, by use, model and outcome (ok, failed, throttled)."},
			[]string{"use", "model", "outcome"}),
	}
	m.timeouts = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_statement_timeouts_total",
		Help: "Statements of this process that Postgres ended at their limit, by class (interactive, " +
			"pipeline, long) and what was exceeded (statement, lock)."},
		[]string{"class", "limit"})
	m.beliefs = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_reflections_total",
		Help: "Reflections of agents in this process, by outcome (made, refused): a belief that is refused is " +
			"not appended."},
		[]string{"outcome"})
	m.held = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_token_budget_held_total",
		Help: "Calls of models from this process that exceeded a tenant's token budget of the day, by use."},
		[]string{"use"})
	m.held.WithLabelValues(useTopic)
	m.advice = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mneme_advice_duration_seconds",
		Buckets: stageBuckets,
		Help: "Time that advice and reports took in this process, by operation (advise, report) and " +
			"outcome (advised, " +
			"tentative, unsure, unknown, reported, held, failed)."}, []string{"operation", "outcome"})
	m.learned = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_learned_total",
		Help: "Changes that runs of learning in this process decided on, by step (the workflow) and verdict " +
			"(added, updated, " +
			"superseded, merged, contested, dropped, or why it was refused)."}, []string{"step", "verdict"})
	for _, name := range []string{api.WorkflowExtractCompetence, api.WorkflowExtractPlans,
		api.WorkflowResolveDuplicates,
		api.WorkflowCompressEpisodes, api.WorkflowUpdateFacts} {
		m.learned.WithLabelValues(name, "added")
		m.learned.WithLabelValues(name, "dropped")
	}
	m.arrivals = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mneme_consolidation_triggers_total",
		Help: "Times that a scope had enough new evidence to be consolidated automatically, by outcome: the run that " +
			"waits for a quiet period was signalled, or failed to start and the schedule consolidates."},
		[]string{"outcome"})
	for _, outcome := range []string{step.ArrivalTold, step.ArrivalFailed} {
		m.arrivals.WithLabelValues(outcome)
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "mneme_build_info",
		Help:        "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	for _, c := range []prometheus.Collector{m.phases, m.recalls, m.stages, m.degraded, m.tokens,
		m.calls, m.timeouts, m.beliefs, m.held, m.advice, m.learned, m.arrivals, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	// Series start at 0, so that an alert on an increase sees the first event.
	for _, phase := range Phases() {
		m.phases.WithLabelValues(phase, outcomeOK)
		m.phases.WithLabelValues(phase, outcomeFailed)
	}
	for _, outcome := range []string{outcomeOK, outcomeDegraded, outcomeInvalid, outcomeCancelled, outcomeFailed} {
		m.recalls.WithLabelValues(outcome)
	}
	for _, outcome := range []string{reflecting.OutcomeMade, reflecting.OutcomeRefused} {
		m.beliefs.WithLabelValues(outcome)
	}
	for class := range pg.ClassLimits {
		m.timeouts.WithLabelValues(string(class), limitStatement)
		m.timeouts.WithLabelValues(string(class), limitLock)
	}
	return m, m.openSDK()
}

// Limits that a statement may exceed, as labels.
const (
	limitStatement = "statement"
	limitLock      = "lock"
)

// ObserveAdvice counts an answer or a report, for the Observe field of advising.Adviser.
func (m *Metrics) ObserveAdvice(operation, outcome string, took time.Duration) {
	m.advice.WithLabelValues(operation, outcome).Observe(took.Seconds())
}

// ObserveLearned counts the verdicts on changes. It is meant for workflows.Dependencies.ObserveLearned.
func (m *Metrics) ObserveLearned(step, verdict string, n int) {
	m.learned.WithLabelValues(step, verdict).Add(float64(n))
}

// ObserveArrival counts evidence that is enough for a run. It is meant for workflows.Dependencies.ObserveArrival.
func (m *Metrics) ObserveArrival(outcome string) { m.arrivals.WithLabelValues(outcome).Inc() }

// StatementTimedOut counts a statement that Postgres ended at its limit. It is meant for pg.Config.TimedOut.
func (m *Metrics) StatementTimedOut(c pg.Class, lock bool) {
	limit := limitStatement
	if lock {
		limit = limitLock
	}
	m.timeouts.WithLabelValues(string(c), limit).Inc()
}

// ObserveReflection counts a reflection, for the Observe field of reflecting.Reflecting.
func (m *Metrics) ObserveReflection(outcome string) { m.beliefs.WithLabelValues(outcome).Inc() }

// BudgetHeld counts a call that did not fit into a token budget. It is meant for workflows.Dependencies.BudgetHeld.
func (m *Metrics) BudgetHeld(use string) { m.held.WithLabelValues(use).Inc() }

// openSDK returns the handler through which Temporal's SDK counts into the same registry. Its other handler, for
// tally, would need a second metrics library with its own reporter; this one uses OpenTelemetry, which the traces
// need anyway.
func (m *Metrics) openSDK() error {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(m.registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo())
	if err != nil {
		return fmt.Errorf("metrics of the SDK: %w", err)
	}
	// OpenTelemetry's default buckets are in milliseconds, and the SDK counts in seconds.
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: phaseBuckets}})))
	m.sdk = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("temporal-sdk-go"), UseMonotonicCounters: true,
		OnError: func(error) {}, // continues if a number cannot be counted
	})
	return nil
}

// Client makes a Temporal client, and the workers made from it, count their calls here.
func (m *Metrics) Client(options *client.Options) error {
	options.MetricsHandler = m.sdk
	return nil
}

// Handler answers scrapes. If a part cannot be collected, the answer has the rest. The error goes only to log, which
// may be nil.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	options := promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Registry: m.registry,
		MaxRequestsInFlight: 8}
	if log != nil {
		options.ErrorLog = scrapeLog{log}
	}
	return promhttp.HandlerFor(m.registry, options)
}

// scrapeLog writes promhttp's report of a scrape as one log entry, although the report may have several lines.
type scrapeLog struct{ *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(said ...any) {
	l.Warn("metrics not gathered", "error", strings.TrimSpace(fmt.Sprintln(said...)))
}

// Gatherer returns the registry, for tests and for other ways to serve it.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Outcomes as labels.
const (
	outcomeOK        = "ok"
	outcomeFailed    = "failed"
	outcomeDegraded  = "degraded"
	outcomeInvalid   = "invalid"
	outcomeCancelled = "cancelled"
	outcomeThrottled = "throttled"
)

func since(start time.Time) float64 { return time.Since(start).Seconds() }
