package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/mneme/mneme/schema"
)

// ObserveRecall counts a recall, for the Observe field of a recall.Recaller: its duration and that of its stages, and
// the degraded parts.
func (m *Metrics) ObserveRecall(meta schema.RecallMeta, took time.Duration, err error) {
	var invalid *schema.ValidationError
	outcome := outcomeOK
	switch {
	case errors.As(err, &invalid):
		outcome = outcomeInvalid
	case errors.Is(err, context.Canceled): // the caller has stopped waiting
		outcome = outcomeCancelled
	case err != nil:
		outcome = outcomeFailed
	case len(meta.Degraded) > 0:
		outcome = outcomeDegraded
	}
	m.recalls.WithLabelValues(outcome).Observe(took.Seconds())
	for _, stage := range meta.Degraded {
		m.degraded.WithLabelValues(stage).Inc()
	}
	for stage, ms := range meta.TimingsMS {
		if stage != "total" {
			m.stages.WithLabelValues(stage).Observe(ms / 1000)
		}
	}
}
