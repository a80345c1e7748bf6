package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/store/pg"
)

// timeMatches is the number of memories of one window that are compared: the latest that occurred in it, and any
// that are valid for a limited time in it.
const timeMatches = 500

// SearchTime returns the live memories that the filter admits and that occurred in one of the windows, or are valid
// for a limited time in it, the most important first. No content is read.
func (s *Search) SearchTime(ctx context.Context, f pg.Filter, windows []timeexpr.TimeWindow, limit int) ([]Hit, error) {
	if len(windows) == 0 {
		return nil, nil
	}
	args := pg.Args{"most": timeMatches, "limit": limit}
	admitted := f.Where("m", args)
	var parts []string
	for i, w := range windows {
		start, end := fmt.Sprint("start_", i), fmt.Sprint("end_", i)
		args[start], args[end] = w.Start.UTC(), w.End.UTC()
		parts = append(parts, fmt.Sprintf(inWindow, admitted, start, end))
	}
	query := `
		SELECT x.id, ` + f.ImportanceNow("x", args) + ` AS importance
		FROM (` + strings.Join(parts, " UNION ") + `) x
		ORDER BY importance DESC, x.id DESC
		LIMIT @limit`
	type timeRow struct {
		ID         uuid.UUID
		Importance float64
	}
	found, err := pg.QueryBatchRows[timeRow](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, args)
	if err != nil {
		return nil, fmt.Errorf("search time: %w", err)
	}
	var out []Hit
	for _, m := range found {
		out = append(out, Hit{ID: m.ID, Score: timeexpr.TimeScore(m.Importance)})
	}
	return out, nil
}

// inWindow selects the memories that occurred in a window or are valid in it for a limited time. Its format
// arguments are the filter's conditions and the names of the window's start and end.
const inWindow = `
	(SELECT m.id, m.importance, m.pinned, m.created_at
		FROM memories m
		WHERE %[1]s AND m.occurred_at >= @%[2]s AND m.occurred_at < @%[3]s
		ORDER BY m.occurred_at DESC
		LIMIT @most)
	UNION
	(SELECT m.id, m.importance, m.pinned, m.created_at
		FROM memories m
		WHERE %[1]s AND m.validity = 'timeboxed'
			AND (m.valid_from IS NULL OR m.valid_from < @%[3]s)
			AND (m.valid_until IS NULL OR m.valid_until > @%[2]s)
		LIMIT @most)`
