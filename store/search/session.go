package search

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// SessionTurns returns, for each anchor, the turns of its session within radius of it, with the features of each. The
// turns pass the filter. So does an anchor, or a result would reveal its place in the session. A fact has the position
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
	args := pg.Args{"tenant": f.Principal.Tenant, "anchors": ids, "places": places, "radius": radius}
	admitted := f.Where("m", args)
	side := func(before, order, sign string) string {
		return fmt.Sprintf(`
			(SELECT `+featureSources+`,
				%[3]s(row_number() OVER (ORDER BY m.occurred_at %[2]s, m.id %[2]s))::int AS distance
			FROM memories m
			WHERE m.agent_session_id = a.agent_session_id
				AND m.agent_id = a.agent_id
				AND m.typology = 'episodic'
				AND (m.occurred_at, m.id) %[1]s (a.occurred_at, a.id)
				AND %[4]s
			ORDER BY m.occurred_at %[2]s, m.id %[2]s
			LIMIT @radius)`, before, order, sign, admitted)
	}
	query := `
		SELECT x.anchor, m.id, m.distance, a.content LIKE '%?' AS anchor_asks, ` + featureColumns(f, args) + `
		FROM unnest(@anchors::uuid[], @places::uuid[]) x(anchor, place)
		JOIN memories a ON a.tenant = @tenant AND a.id = x.place AND a.live AND ` + f.Visible("a", args) + `
		CROSS JOIN LATERAL (` + side("<", "DESC", "-") + ` UNION ALL ` + side(">", "ASC", "") + `) m
		WHERE a.agent_session_id IS NOT NULL AND a.typology = 'episodic'
		ORDER BY x.anchor, m.distance`
	type turnRow struct {
		Anchor, ID uuid.UUID
		Distance   int
		AnchorAsks bool
		featureRow
	}
	out := make([]rank.Turn, 0, 2*radius*len(anchors))
	err := pg.QueryEachRow(ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args, func(t *turnRow) {
		out = append(out, rank.Turn{Anchor: t.Anchor, ID: t.ID, Distance: t.Distance, AnchorAsks: t.AnchorAsks,
			Features: t.features()})
	})
	if err != nil {
		return nil, fmt.Errorf("read session turns: %w", err)
	}
	return out, nil
}
