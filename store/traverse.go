package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
)

// edgeStrength is how well an edge is attested: the first memory that says it makes it half, each
// further one halves what is missing less and less.
const edgeStrength = `r.confidence * r.mentions / (r.mentions + 1.0)`

// SearchGraph walks the graph from the entities that a query names and returns the live memories, of those
// that the filter admits, which name what is reached, best first. It takes three statements, whatever it
// meets: an entity's edges and memories are read up to a bound. No content is read.
func (s *Store) SearchGraph(ctx context.Context, f Filter, query string, limit int) ([]Hit, error) {
	names := memory.FocalNames(query)
	if len(names) == 0 {
		return nil, nil
	}
	var out []Hit
	err := s.read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		focal, weights, err := focalEntities(ctx, tx, f.Principal.Tenant, query, names)
		if err != nil || len(focal) == 0 {
			return err
		}
		var p params
		tenant := p.add(f.Principal.Tenant)
		edges := func(here, there string) string {
			return `(SELECT r.` + there + ` AS node, ` + edgeStrength + ` AS strength FROM entity_relations r
				WHERE r.tenant = ` + tenant + ` AND r.` + here + ` = w.node AND r.confidence >= ` + p.add(memory.MinEdgeConfidence) + `::float8
				ORDER BY r.confidence DESC LIMIT ` + p.add(memory.MaxGraphEdges) + `)`
		}
		walk := `WITH RECURSIVE walk AS (
				SELECT f.node, f.score, 0 AS depth FROM unnest(` + p.add(focal) + `::uuid[], ` + p.add(weights) + `::float8[]) f(node, score)
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
		rows, err := tx.Query(ctx, walk, p...)
		if err != nil {
			return err
		}
		var id uuid.UUID
		var score, importance float64
		_, err = pgx.ForEachRow(rows, []any{&id, &score, &importance}, func() error {
			out = append(out, Hit{ID: id, Score: memory.GraphScore(score, importance)})
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("walk the graph: %w", err)
	}
	return out, nil
}

// focalEntities returns the entities that the query names and the share of the query's weight that each
// name makes up: the name of one whom every memory is about says little.
func focalEntities(ctx context.Context, tx pgx.Tx, tenant, query string, names []string) ([]uuid.UUID, []float64, error) {
	rows, err := tx.Query(ctx, `SELECT id, canonical_name FROM entities WHERE tenant = $1 AND canonical_name = ANY($2)
		ORDER BY length(canonical_name) DESC, mentions, id LIMIT $3`, tenant, names, memory.MaxFocalEntities)
	if err != nil {
		return nil, nil, err
	}
	var ids []uuid.UUID
	texts := []string{query}
	var id uuid.UUID
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		ids, texts = append(ids, id), append(texts, name)
		return nil
	}); err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	lexemes, corpus, err := textLexemes(ctx, tx, tenant, texts)
	if err != nil {
		return nil, nil, err
	}
	for i := range lexemes[0] {
		lexemes[0][i].Docs = max(1, lexemes[0][i].Docs) // a name need not stand in any text as it stands in the graph
	}
	weight := map[string]float64{}
	for _, t := range memory.PlanText(lexemes[0], corpus, memory.BroadSearch).Terms {
		weight[t.Lexeme] = t.Weight
	}
	var focal []uuid.UUID
	var weights []float64
	for i, id := range ids {
		sum := 0.0
		for _, l := range lexemes[i+1] {
			sum += weight[l.Text]
		}
		if sum > 0 {
			focal, weights = append(focal, id), append(weights, sum)
		}
	}
	return focal, weights, nil
}
