package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// For tests.
var (
	TracesWanted  = tracesWanted
	StatementName = statementName
)

// Register adds a part to the registry.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Aged tells the age of numbers by another clock.
func (r Reading) Aged(wall func() time.Time) Reading {
	r.wall = wall
	return r
}

// RunForTest makes a span that ends with an error, and has its text as the id of an update.
func (t *Traces) RunForTest(ctx context.Context, name string, err error) {
	_, span := t.provider.Tracer("test").Start(ctx, name)
	if err != nil {
		span.RecordError(err)
		span.SetAttributes(attribute.String("temporalUpdateID", err.Error()))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
