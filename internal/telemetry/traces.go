package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	meternoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// flushDeadline is how long a process waits at its end until its last spans are accepted.
const flushDeadline = 3 * time.Second

// Traces follows a request from the start of its workflow through workflow and activities to the statements that they
// run. A nil Traces traces nothing: all methods may be called on it.
//
// Spans carry names of workflows, activities, statements and tables, and Temporal's ids of runs. They never carry
// memory content: statements are recorded without text and arguments, and errors without messages, because Postgres
// quotes values in its messages. Ids of workflows and of updates are omitted too: they contain tenant, agent and the
// caller's idempotency key.
type Traces struct {
	provider *trace.TracerProvider
}

// OpenTraces sends spans to the endpoint in OpenTelemetry's own variables, as service unless OTEL_SERVICE_NAME is
// set. It returns nil, and nothing is traced, unless OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, or OTEL_TRACES_EXPORTER is otlp; also with OTEL_SDK_DISABLED or
// OTEL_TRACES_EXPORTER none. The protocol is grpc or http/protobuf, which is the default. If the endpoint is
// unavailable, only spans are lost.
func OpenTraces(ctx context.Context, service, version string) (*Traces, error) {
	wanted, err := tracesWanted(os.Getenv)
	if err != nil || !wanted {
		return nil, err
	}
	var exporter trace.SpanExporter
	switch protocol := firstSet(os.Getenv, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
		exporter, err = otlptracehttp.New(ctx)
	case "grpc":
		exporter, err = otlptracegrpc.New(ctx)
	default:
		return nil, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL must be grpc or http/protobuf")
	}
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	from, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return NewTraces(exporter, trace.WithResource(from)), nil
}

// tracesWanted reads OpenTelemetry's variables.
func tracesWanted(get func(string) string) (bool, error) {
	switch exporter := get("OTEL_TRACES_EXPORTER"); {
	case strings.EqualFold(get("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return false, nil
	case exporter == "otlp":
		return true, nil
	case exporter != "":
		return false, errors.New("OTEL_TRACES_EXPORTER must be otlp or none")
	}
	return firstSet(get, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != "", nil
}

func firstSet(get func(string) string, names ...string) string {
	for _, name := range names {
		if v := get(name); v != "" {
			return v
		}
	}
	return ""
}

// NewTraces sends spans to an exporter, in batches (OTEL_BSP_…) and as many as OTEL_TRACES_SAMPLER says.
func NewTraces(exporter trace.SpanExporter, options ...trace.TracerProviderOption) *Traces {
	return &Traces{provider: trace.NewTracerProvider(append(options, trace.WithBatcher(quietExporter{exporter}))...)}
}

// Client makes a Temporal client, and the workers made from it, pass the trace on.
func (t *Traces) Client(options *client.Options) error {
	if t == nil {
		return nil
	}
	// A header that another program's tracing left there must not fail a workflow task.
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: t.provider.Tracer("temporal-sdk-go"), AllowInvalidParentSpans: true})
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	options.Interceptors = append(options.Interceptors, tracing)
	return nil
}

// Pool traces the statements of a store, for its Configure. Statements become child spans of the current span; without
// one, they are not traced.
func (t *Traces) Pool(pc *pgxpool.Config) {
	if t == nil {
		return
	}
	pc.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider),
		otelpgx.WithMeterProvider(meternoop.NewMeterProvider()),
		otelpgx.WithDisableSQLStatementInAttributes(), otelpgx.WithDisableConnectionDetailsInAttributes(),
		otelpgx.WithDisableAcquireTracer(),
		otelpgx.WithSpanNameFunc(statementName))
}

// Flush sends the remaining spans.
func (t *Traces) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Close sends the remaining spans, if the receiver accepts them in time, and ends the tracing.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushDeadline)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // there is no one to report an error to
}

var (
	statementVerb  = regexp.MustCompile(`(?i)^\s*([a-z]+)`)
	statementTable = regexp.MustCompile(`(?i)\b(?:from|into|update)\s+([a-z_][a-z0-9_]*)`)
	withChange     = regexp.MustCompile(`(?i)\b(update|insert\s+into|delete\s+from)\s+([a-z_][a-z0-9_]*)`)
)

// statementName is the name of a statement in a trace: its verb and the first table that it names. A statement that
// begins with WITH is named after the first change in it.
func statementName(sql string) string {
	verb := statementVerb.FindStringSubmatch(sql)
	if verb == nil {
		return "statement"
	}
	name := strings.ToUpper(verb[1])
	if name == "WITH" {
		if change := withChange.FindStringSubmatch(sql); change != nil {
			return strings.ToUpper(strings.Fields(change[1])[0]) + " " + strings.ToLower(change[2])
		}
	}
	if table := statementTable.FindStringSubmatch(sql); table != nil {
		name += " " + strings.ToLower(table[1])
	}
	return name
}

// callersIDs are the attributes of the SDK's spans that contain words of a caller. The run id, which Temporal makes, is
// enough to find a run.
var callersIDs = map[attribute.Key]bool{"temporalWorkflowID": true, "temporalUpdateID": true}

// quietExporter removes the texts of errors, and ids that callers choose, from spans. Spans still show that and where
// something failed.
type quietExporter struct{ trace.SpanExporter }

// ExportSpans implements trace.SpanExporter.
func (e quietExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	quiet := make([]trace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		quiet[i] = quietSpan{s}
	}
	return e.SpanExporter.ExportSpans(ctx, quiet)
}

type quietSpan struct{ trace.ReadOnlySpan }

// Attributes implements trace.ReadOnlySpan.
func (s quietSpan) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return callersIDs[a.Key]
	})
}

// Status implements trace.ReadOnlySpan.
func (s quietSpan) Status() trace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = ""
	return status
}

// Events implements trace.ReadOnlySpan.
func (s quietSpan) Events() []trace.Event {
	events := s.ReadOnlySpan.Events()
	quiet := make([]trace.Event, len(events))
	for i, e := range events {
		quiet[i] = e
		quiet[i].Attributes = nil
		for _, a := range e.Attributes {
			if a.Key == semconv.ExceptionTypeKey {
				quiet[i].Attributes = []attribute.KeyValue{a}
			}
		}
	}
	return quiet
}
