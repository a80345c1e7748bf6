package edit

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// once carries out an operation in one transaction and retries it on conflict. A repeated operation returns the
// first result and changes nothing.
func once[R any](ctx context.Context, s *Editing, op schema.OperationRef, kind string, now time.Time,
	change func(*commit.Change) (R, error)) (R, error) {
	result, err := pg.RetryOnConflict(ctx, func() (R, error) {
		return pipeline.RunOnce(ctx, s.DB, op, kind, now, change)
	})
	if err != nil {
		return result, fmt.Errorf("%s: %w", kind, err)
	}
	return result, nil
}
