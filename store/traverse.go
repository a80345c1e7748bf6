package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
)

// edgeStrength is how well an edge is attested: the first memory that says it makes it half, each
// further one halves what is missing less and less.
const edgeStrength = `r.confidence * r.mentions / (r.mentions + 1.0)`

// SearchGraph walks the graph from the entities that a question names and returns the live memories, of
// those that the filter admits, which name what is reached, best first. It takes one statement, whatever it
// meets: an entity's edges and memories are read up to a bound. No content is read.
//
// An entity begins with the share of the question's weight that its name makes up: the name of one whom
// every memory is about says little.
func (s *Store) SearchGraph(ctx context.Context, f Filter, q Question, limit int) ([]Hit, error) {
	plan := memory.PlanText(q.named(), q.corpus, memory.BroadSearch)
	if plan.IsEmpty() || len(q.names) == 0 {
		return nil, nil
	}
	lexemes, weights := make([]string, len(plan.Terms)), make([]float64, len(plan.Terms))
	for i, t := range plan.Terms {
		lexemes[i], weights[i] = t.Lexeme, t.Weight
	}
	var p params
	tenant := p.add(f.Principal.Tenant)
	edges := func(here, there string) string {
		return `(SELECT r.` + there + ` AS node, ` + edgeStrength + ` AS strength FROM entity_relations r
			WHERE r.tenant = ` + tenant + ` AND r.` + here + ` = w.node AND r.confidence >= ` + p.add(memory.MinEdgeConfidence) + `::float8
			ORDER BY r.confidence DESC LIMIT ` + p.add(memory.MaxGraphEdges) + `)`
	}
	query := `WITH RECURSIVE focal AS (
			SELECT e.id AS node, sum(t.weight) AS score
			FROM (SELECT id, canonical_name FROM entities WHERE tenant = ` + tenant + ` AND canonical_name = ANY(` + p.add(q.names) + `)
				ORDER BY length(canonical_name) DESC, mentions, id LIMIT ` + p.add(memory.MaxFocalEntities) + `) e
			CROSS JOIN LATERAL unnest(to_tsvector(mneme_text_config('en'), e.canonical_name)) l
			JOIN unnest(` + p.add(lexemes) + `::text[], ` + p.add(weights) + `::float8[]) t(lexeme, weight) ON t.lexeme = l.lexeme
			GROUP BY e.id
		), walk AS (
			SELECT f.node, f.score, 0 AS depth FROM focal f WHERE f.score > 0
			UNION ALL
			SELECT n.node, w.score * n.strength, w.depth + 1 FROM walk w CROSS JOIN LATERAL (
				SELECT e.node, max(e.strength) AS strength FROM (` + edges("source_id", "target_id") + ` UNION ALL ` + edges("target_id", "source_id") + `) e
				WHERE e.strength >= ` + p.add(memory.MinEdgeStrength) + `::float8 GROUP BY e.node ORDER BY strength DESC, e.node LIMIT ` + p.add(memory.MaxGraphBranches) + `) n
			WHERE w.depth < ` + p.add(memory.MaxGraphDepth) + `
		), nodes AS (
			SELECT node, max(score) AS score FROM walk GROUP BY node ORDER BY score DESC, node LIMIT ` + p.add(memory.MaxGraphNodes) + `
		), found AS (
			SELECT x.memory_id, sum(n.score) AS score FROM nodes n CROSS JOIN LATERAL (
				SELECT e.memory_id FROM memory_entity_mentions e WHERE e.tenant = ` + tenant + ` AND e.entity_id = n.node
				ORDER BY e.memory_id DESC LIMIT ` + p.add(memory.MaxGraphMentions) + `) x
			GROUP BY x.memory_id
		)
		SELECT m.id, x.score, m.importance FROM found x JOIN memory_search m ON m.id = x.memory_id AND ` + f.where("m", &p) + `
		ORDER BY least(1, x.score) * (0.7 + 0.3 * m.importance) DESC, m.id LIMIT ` + p.add(limit)
	var out []Hit
	var id uuid.UUID
	var score, importance float64
	err := s.eachRow(ctx, f, planOnce, query, p, []any{&id, &score, &importance}, func() {
		out = append(out, Hit{ID: id, Score: memory.GraphScore(score, importance)})
	})
	if err != nil {
		return nil, fmt.Errorf("walk the graph: %w", err)
	}
	return out, nil
}
