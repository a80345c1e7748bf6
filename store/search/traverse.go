package search

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

const (
	// edgeWitnesses is how many of the memories that say an edge count for its strength: the first makes it
	// half, each further one halves what is missing less and less.
	edgeWitnesses = 16
	// mentionsRead is how many times as many memories of an entity are read as are taken: what the asker may
	// not see is to leave room for what it may, within a bound.
	mentionsRead = 4
)

// graphWorth weighs a memory as rank.GraphScore does.
var graphWorth = fmt.Sprintf("(%v + %v * x.now)", rank.WorthBase, rank.WorthImportance)

// SearchGraph walks the graph from the entities that a question names and returns the live memories, of
// those that the filter admits, which name what is reached, best first. It takes one statement, whatever it
// meets: an entity's edges and memories are read up to a bound. No content is read.
//
// An edge is walked when memories that the asker may see say it, and is as strong as they are many: what
// only others know, or was forgotten, connects nothing. Its confidence is that of all who said it.
//
// An entity begins with the share of the question's weight that its name makes up: the name of a person whom every
// memory is about says little.
func (s *Search) SearchGraph(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	plan := rank.PlanText(named(q.query), q.corpus, rank.ShortSearch)
	if plan.IsEmpty() || len(q.names) == 0 {
		return nil, nil
	}
	lexemes, weights := make([]string, len(plan.Terms)), make([]float64, len(plan.Terms))
	for i, t := range plan.Terms {
		lexemes[i], weights[i] = t.Lexeme, t.Weight
	}
	var p pg.Params
	tenant := p.Add(f.Principal.Tenant)
	attested := `SELECT FROM memory_entity_relations x JOIN memory_search m ON m.id = x.memory_id AND m.live AND ` +
		f.Visible("m", &p) + `
		WHERE x.tenant = ` + tenant + ` AND x.source_id = r.source_id AND x.relationship = r.relationship
		AND x.target_id = r.target_id`
	edges := func(here, there string) string {
		return fmt.Sprintf(`(SELECT r.%[1]s AS node, r.confidence * v.n / (v.n + 1.0) AS strength
			FROM (SELECT * FROM entity_relations r WHERE r.tenant = %[2]s AND r.%[3]s = w.node AND r.confidence >= %[4]g
				ORDER BY r.confidence DESC LIMIT %[5]d) r
			CROSS JOIN LATERAL (SELECT count(*) AS n FROM (%[6]s LIMIT %[7]d) y) v)`,
			there, tenant, here, rank.MinEdgeConfidence, rank.MaxGraphEdges, attested, edgeWitnesses)
	}
	// Bounds are written out: a plan is made for them.
	query := `WITH RECURSIVE focal AS (
			SELECT e.id AS node, sum(t.weight) AS score
			FROM (SELECT id, canonical_name FROM entities WHERE tenant = ` + tenant + ` AND canonical_name = ANY(` +
		p.Add(q.names) + `)
				ORDER BY length(canonical_name) DESC, mentions, id LIMIT ` + strconv.Itoa(rank.MaxFocalEntities) + `) e
			CROSS JOIN LATERAL unnest(to_tsvector(mneme_text_config('en'), e.canonical_name)) l
			JOIN unnest(` + p.Add(lexemes) + `::text[], ` + p.Add(weights) + `::float8[]) t(lexeme,
				weight) ON t.lexeme = l.lexeme
			GROUP BY e.id
		), walk AS (
			SELECT f.node, f.score, 0 AS depth FROM focal f WHERE f.score > 0
			UNION ALL
			SELECT n.node, w.score * n.strength, w.depth + 1 FROM walk w CROSS JOIN LATERAL (
				SELECT e.node, max(e.strength) AS strength FROM (` + edges("source_id", "target_id") + ` UNION ALL ` +
		edges("target_id", "source_id") + `) e
				WHERE e.strength >= ` + fmt.Sprint(rank.MinEdgeStrength) + ` GROUP BY e.node ORDER BY strength DESC,
					e.node LIMIT ` + strconv.Itoa(rank.MaxGraphBranches) + `) n
			WHERE w.depth < ` + strconv.Itoa(rank.MaxGraphDepth) + `
		), nodes AS (
			SELECT node, max(score) AS score FROM walk GROUP BY node ORDER BY score DESC, node LIMIT ` +
		strconv.Itoa(rank.MaxGraphNodes) + `
		), found AS (
			SELECT x.id, x.importance, x.pinned, x.created_at, sum(n.score) AS score FROM nodes n CROSS JOIN LATERAL (
				SELECT m.id, m.importance, m.pinned, m.created_at FROM (SELECT e.memory_id FROM memory_entity_mentions e
					WHERE e.tenant = ` + tenant + ` AND e.entity_id = n.node
					ORDER BY e.memory_id DESC LIMIT ` + strconv.Itoa(mentionsRead*rank.MaxGraphMentions) + `) e
				JOIN memory_search m ON m.id = e.memory_id AND ` + f.Where("m", &p) + ` ORDER BY m.id DESC LIMIT ` +
		strconv.Itoa(rank.MaxGraphMentions) + `) x
			GROUP BY x.id, x.importance, x.pinned, x.created_at
		)
		SELECT x.id, x.score, x.now FROM (SELECT x.*, ` + f.ImportanceNow("x", &p) + ` AS now FROM found x) x
		ORDER BY least(1, x.score) * ` + graphWorth + ` DESC, x.id LIMIT ` + p.Add(limit)
	var out []Hit
	var id uuid.UUID
	var score, importance float64
	err := s.EachRow(ctx, f, pg.PlanOnce, query, p, []any{&id, &score, &importance}, func() {
		out = append(out, Hit{ID: id, Score: rank.GraphScore(score, importance)})
	})
	if err != nil {
		return nil, fmt.Errorf("walk the graph: %w", err)
	}
	return out, nil
}
