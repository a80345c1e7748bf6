package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// Exported for tests.
var (
	TracesWanted  = tracesWanted
	StatementName = statementName
)

// Register adds a collector to the registry.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Aged makes a Reading compute ages with another clock.
func (r Reading) Aged(wall func() time.Time) Reading {
	r.wall = wall
	return r
}

// RunForTest records a span that ends with an error, with the error's text also as an update's id.
func (t *Traces) RunForTest(ctx context.Context, name string, err error) {
	_, span := t.provider.Tracer("test").Start(ctx, name)
	if err != nil {
		span.RecordError(err)
		span.SetAttributes(attribute.String("temporalUpdateID", err.Error()))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
