package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/store/pg"
)

// timeMatches is how many memories of one window are compared by their worth: the latest that occurred in
// it, and any that hold in it for a time.
const timeMatches = 500

// SearchTime returns live memories, of those that the filter admits, that occurred in one of the windows or
// hold in it for a time, the most important first. No content is read.
func (s *Search) SearchTime(ctx context.Context, f pg.Filter, windows []timeexpr.TimeWindow, limit int) ([]Hit, error) {
	if len(windows) == 0 {
		return nil, nil
	}
	var p pg.Params
	var parts []string
	const columns = "m.id, m.importance, m.pinned, m.created_at"
	admitted, most := f.Where("m", &p), p.Add(timeMatches)
	for _, w := range windows {
		from, to := p.Add(w.Start.UTC()), p.Add(w.End.UTC())
		parts = append(parts,
			`(SELECT `+columns+` FROM memories m WHERE `+admitted+` AND m.occurred_at >= `+from+`
			AND m.occurred_at < `+to+` ORDER BY m.occurred_at DESC LIMIT `+most+`)`,
			`(SELECT `+columns+` FROM memories m WHERE `+admitted+` AND m.validity = 'timeboxed'
				AND (m.valid_from IS NULL OR m.valid_from < `+to+`)
				AND (m.valid_until IS NULL OR m.valid_until > `+from+`) LIMIT `+most+`)`)
	}
	query := `SELECT x.id, ` + f.ImportanceNow("x", &p) + ` AS importance FROM (` + strings.Join(parts, " UNION ") +
		`) x
		ORDER BY importance DESC, x.id DESC LIMIT ` + p.Add(limit)
	var out []Hit
	var id uuid.UUID
	var importance float64
	err := s.EachRow(ctx, f, pg.PlanForValues, query, p, []any{&id, &importance}, func() {
		out = append(out, Hit{ID: id, Score: timeexpr.TimeScore(importance)})
	})
	if err != nil {
		return nil, fmt.Errorf("search time: %w", err)
	}
	return out, nil
}
