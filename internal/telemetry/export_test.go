package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
)

// For tests.
var (
	TracesWanted  = tracesWanted
	StatementName = statementName
)

// RunForTest makes a span that ends with an error.
func (t *Traces) RunForTest(ctx context.Context, name string, err error) {
	_, span := t.provider.Tracer("test").Start(ctx, name)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
