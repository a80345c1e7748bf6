package search

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// SessionTurns returns, for each anchor, the turns of its session within radius of it, with the features of each. The
// turns pass the filter; so must an anchor, or its place in the session would show through. A fact has the position
// of the memory that it was drawn from.
func (s *Search) SessionTurns(ctx context.Context, f pg.Filter, anchors []rank.Anchor,
	radius int) ([]rank.Turn, error) {
	if len(anchors) == 0 {
		return nil, nil
	}
	ids, places := make([]uuid.UUID, len(anchors)), make([]uuid.UUID, len(anchors))
	for i, a := range anchors {
		ids[i], places[i] = a.ID, a.Place
	}
	var p pg.Params
	l := p.Add(radius)
	admitted := f.Where("m", &p)
	side := func(before, order, sign string) string {
		return `(SELECT ` + featureSources + `, ` + sign + `(row_number() OVER (ORDER BY m.occurred_at ` + order +
			`, m.id ` + order + `))::int AS distance FROM memories m
			WHERE m.agent_session_id = a.agent_session_id AND m.agent_id = a.agent_id AND m.typology = 'episodic'
				AND (m.occurred_at, m.id) ` + before + ` (a.occurred_at, a.id) AND ` + admitted + `
			ORDER BY m.occurred_at ` + order + `, m.id ` + order + ` LIMIT ` + l + `)`
	}
	query := `SELECT x.anchor, m.id, m.distance, a.content LIKE '%?', ` + featureColumns(f, &p) + `
		FROM unnest(` + p.Add(ids) + `::uuid[], ` + p.Add(places) + `::uuid[]) x(anchor, place)
		JOIN memories a ON a.tenant = ` + p.Add(f.Principal.Tenant) + ` AND a.id = x.place AND a.live AND ` +
		f.Visible("a", &p) + `
		CROSS JOIN LATERAL (` + side("<", "DESC", "-") + ` UNION ALL ` + side(">", "ASC", "") + `) m
		WHERE a.agent_session_id IS NOT NULL AND a.typology = 'episodic'
		ORDER BY x.anchor, m.distance`
	var out []rank.Turn
	var t rank.Turn
	var sheet featureRow
	err := s.EachRow(ctx, f, pg.PlanOnce, query, p, append([]any{&t.Anchor, &t.ID, &t.Distance, &t.AnchorAsks},
		sheet.fields()...), func() {
		turn := t
		turn.Features = sheet.features()
		out = append(out, turn)
	})
	if err != nil {
		return nil, fmt.Errorf("read session turns: %w", err)
	}
	return out, nil
}
