package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// SessionTurns returns, for each anchor, the turns of its session within its radius, with the features of each.
// The turns pass the filter. The anchors pass it too, because a result reveals the anchor's place in the session.
// The anchor of a fact is the memory that the fact was extracted from.
func (s *Search) SessionTurns(ctx context.Context, f pg.Filter, anchors []rank.Anchor) ([]rank.Turn, error) {
	if len(anchors) == 0 {
		return nil, nil
	}
	anchors = slices.Clone(anchors)
	slices.SortStableFunc(anchors, func(a, b rank.Anchor) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	places, radii, most := make([]uuid.UUID, len(anchors)), make([]int, len(anchors)), 0
	for i, a := range anchors {
		places[i], radii[i] = a.Place, a.Radius
		most += 2 * a.Radius
	}
	query, args := sessionTurnsSQL(f, places, radii)
	found := make([]rank.Turn, 0, most)
	at := make([]int, 0, most) // the anchor of each turn
	row := newFeatureRow()
	var anchor int
	var turn rank.Turn
	var after bool
	into := append([]any{&anchor, &turn.AnchorAsks, &after, &turn.ID}, row.columns()...)
	err := s.QueryBatch(ctx, f.Principal.Tenant, pg.PlanOnce, query, []any{args}, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, into, func() error {
			turn.Anchor, turn.Features, turn.Distance = anchors[anchor-1].ID, row.features(nil), -1
			if after {
				turn.Distance = 1
			}
			found, at = append(found, turn), append(at, anchor)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session turns: %w", err)
	}
	out := inOrder(found, at)
	return out, s.addSources(ctx, f, out)
}

// sessionTurnsSQL returns a statement that selects the turns of each side but does not sort them: inOrder does.
func sessionTurnsSQL(f pg.Filter, places []uuid.UUID, radii []int) (string, pg.Args) {
	args := pg.Args{"tenant": f.Principal.Tenant, "places": places, "radii": radii}
	admitted := f.Where("m", args)
	side := func(after, before, order string) string {
		return fmt.Sprintf(`
			(SELECT %[1]s AS after, m.id, `+ownFeatures+`
			FROM memories m
			WHERE m.agent_session_id = a.agent_session_id
				AND m.agent_id = a.agent_id
				AND m.typology = 'episodic'
				AND (m.occurred_at, m.id) %[2]s (a.occurred_at, a.id)
				AND %[4]s
			ORDER BY m.occurred_at %[3]s, m.id %[3]s
			LIMIT a.radius)`, after, before, order, admitted)
	}
	// OFFSET 0: the content of each anchor is read once.
	return `
		SELECT a.n, a.asks, m.*
		FROM (
			SELECT x.n::int AS n, x.radius, a.id, a.agent_id, a.agent_session_id, a.occurred_at,
				a.content LIKE '%?' AS asks
			FROM unnest(@places::uuid[], @radii::int[]) WITH ORDINALITY x(place, radius, n)
			JOIN memories a ON a.tenant = @tenant AND a.id = x.place AND a.live AND ` + f.Visible("a", args) + `
			WHERE a.agent_session_id IS NOT NULL AND a.typology = 'episodic'
			OFFSET 0
		) a
		CROSS JOIN LATERAL (` + side("false", "<", "DESC") + ` UNION ALL ` + side("true", ">", "ASC") + `) m`, args
}

// inOrder sorts turns by anchor, time and id, and sets each distance. On entry the distance has only the sign of
// the side.
func inOrder(turns []rank.Turn, anchors []int) []rank.Turn {
	order := make([]int, len(turns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &turns[i], &turns[j]
		return cmp.Or(
			cmp.Compare(anchors[i], anchors[j]),
			cmp.Compare(a.Distance, b.Distance),
			a.OccurredAt.Compare(b.OccurredAt),
			bytes.Compare(a.ID[:], b.ID[:]),
		)
	})
	out := make([]rank.Turn, len(turns))
	for i, at := range order {
		out[i] = turns[at]
	}
	for begin, end := 0, 0; begin < len(out); begin = end {
		for end = begin; end < len(out) && anchors[order[end]] == anchors[order[begin]] &&
			out[end].Distance == out[begin].Distance; {
			end++
		}
		count(out[begin:end])
	}
	return out
}

// count numbers the turns of one side of an anchor, which are sorted by time.
func count(side []rank.Turn) {
	before := side[0].Distance < 0
	for i := range side {
		side[i].Distance = i + 1
		if before {
			side[i].Distance = i - len(side)
		}
	}
}

// addSources sets the sources of turns that are facts. Few turns are facts.
func (s *Search) addSources(ctx context.Context, f pg.Filter, turns []rank.Turn) error {
	var facts []uuid.UUID
	for i := range turns {
		if turns[i].Type == schema.TypeSemantic {
			facts = append(facts, turns[i].ID)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	known, err := s.Authorize(ctx, f, facts)
	if err != nil {
		return err
	}
	for i := range turns {
		if of, ok := known[turns[i].ID]; ok {
			turns[i].Source, turns[i].Others = of.Source, of.Others
		}
	}
	return nil
}
