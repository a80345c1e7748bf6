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
	// edgeWitnesses is the number of memories stating an edge that count for its strength. The first gives a
	// strength of one half, and each further one adds less.
	edgeWitnesses = 16
	// mentionsRead is how many times more memories of an entity are read than are used, because the principal may
	// not see all of them.
	mentionsRead = 4
)

// graphWorth weighs a memory as rank.GraphScore does.
var graphWorth = fmt.Sprintf("(%v + %v * x.importance_now)", rank.WorthBase, rank.WorthImportance)

// SearchGraph walks the graph from the entities that a question names. It returns the live memories that the filter
// admits and that name an entity on the way, best first. It is one statement for any graph, and it reads a bounded
// number of edges and memories of each entity. No content is read.
//
// An edge counts if memories that the principal may see state it, and more such memories make it stronger. Hidden
// or forgotten memories connect nothing. The confidence of an edge comes from all memories that stated it.
//
// The weight of a focal entity is its name's share of the question's weight. The name of a person who is in every
// memory has little weight.
func (s *Search) SearchGraph(ctx context.Context, f pg.Filter, q Question, limit int) ([]Hit, error) {
	query, args := graphSQL(f, q, limit)
	if query == "" {
		return nil, nil
	}
	found, err := pg.QueryBatchRows[graphRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("walk the graph: %w", err)
	}
	return graphHits(found), nil
}

// graphSQL returns the statement of SearchGraph; it is empty if there is nothing to search for.
func graphSQL(f pg.Filter, q Question, limit int) (string, pg.Args) {
	plan := rank.PlanText(named(q.query), q.corpus, rank.ShortSearch)
	if plan.IsEmpty() || len(q.names) == 0 {
		return "", nil
	}
	lexemes, weights := make([]string, len(plan.Terms)), make([]float64, len(plan.Terms))
	for i, t := range plan.Terms {
		lexemes[i], weights[i] = t.Lexeme, t.Weight
	}
	args := pg.Args{"tenant": f.Principal.Tenant, "names": q.names, "lexemes": lexemes, "weights": weights,
		"limit": limit}
	attested := `
		SELECT
		FROM entity_relation_sources x
		JOIN memory_search m ON m.id = x.memory_id AND m.live AND ` + f.Visible("m", args) + `
		WHERE x.tenant = @tenant
			AND x.source_id = r.source_id
			AND x.relationship = r.relationship
			AND x.target_id = r.target_id`
	edges := func(here, there string) string {
		return fmt.Sprintf(`
			(SELECT r.%[1]s AS node, r.confidence * v.n / (v.n + 1.0) AS strength
				FROM (
					SELECT *
					FROM entity_relations r
					WHERE r.tenant = @tenant AND r.%[2]s = w.node AND r.confidence >= %[3]g
					ORDER BY r.confidence DESC
					LIMIT %[4]d
				) r
				CROSS JOIN LATERAL (SELECT count(*) AS n FROM (%[5]s LIMIT %[6]d) y) v)`,
			there, here, rank.MinEdgeConfidence, rank.MaxGraphEdges, attested, edgeWitnesses)
	}
	// Bounds are literals, so that Postgres plans for them.
	return `
		WITH RECURSIVE focal AS (
			SELECT e.id AS node, sum(t.weight) AS score
			FROM (
				SELECT id, canonical_name
				FROM entities
				WHERE tenant = @tenant AND canonical_name = ANY(@names)
				ORDER BY length(canonical_name) DESC, mentions, id
				LIMIT ` + strconv.Itoa(rank.MaxFocalEntities) + `
			) e
			CROSS JOIN LATERAL unnest(to_tsvector(mneme_text_config('en'), e.canonical_name)) l
			JOIN unnest(@lexemes::text[], @weights::float8[]) t(lexeme, weight) ON t.lexeme = l.lexeme
			GROUP BY e.id
		), walk AS (
			SELECT f.node, f.score, 0 AS depth
			FROM focal f
			WHERE f.score > 0
			UNION ALL
			SELECT n.node, w.score * n.strength, w.depth + 1
			FROM walk w
			CROSS JOIN LATERAL (
				SELECT e.node, max(e.strength) AS strength
				FROM (` + edges("source_id", "target_id") + ` UNION ALL ` + edges("target_id", "source_id") + `) e
				WHERE e.strength >= ` + fmt.Sprint(rank.MinEdgeStrength) + `
				GROUP BY e.node
				ORDER BY strength DESC, e.node
				LIMIT ` + strconv.Itoa(rank.MaxGraphBranches) + `
			) n
			WHERE w.depth < ` + strconv.Itoa(rank.MaxGraphDepth) + `
		), nodes AS (
			SELECT node, max(score) AS score
			FROM walk
			GROUP BY node
			ORDER BY score DESC, node
			LIMIT ` + strconv.Itoa(rank.MaxGraphNodes) + `
		), found AS (
			SELECT x.id, x.importance, x.pinned, x.created_at, sum(n.score) AS score
			FROM nodes n
			CROSS JOIN LATERAL (
				SELECT m.id, m.importance, m.pinned, m.created_at
				FROM (
					SELECT e.memory_id
					FROM memory_entity_mentions e
					WHERE e.tenant = @tenant AND e.entity_id = n.node
					ORDER BY e.memory_id DESC
					LIMIT ` + strconv.Itoa(mentionsRead*rank.MaxGraphMentions) + `
				) e
				JOIN memory_search m ON m.id = e.memory_id AND ` + f.Where("m", args) + `
				ORDER BY m.id DESC
				LIMIT ` + strconv.Itoa(rank.MaxGraphMentions) + `
			) x
			GROUP BY x.id, x.importance, x.pinned, x.created_at
		)
		SELECT x.id, x.score, x.importance_now
		FROM (SELECT x.*, ` + f.ImportanceNow("x", args) + ` AS importance_now FROM found x) x
		ORDER BY least(1, x.score) * ` + graphWorth + ` DESC, x.id
		LIMIT @limit`, args
}

type graphRow struct {
	ID                   uuid.UUID
	Score, ImportanceNow float64
}

func graphHits(found []graphRow) []Hit {
	var out []Hit
	for _, m := range found {
		out = append(out, Hit{ID: m.ID, Score: rank.GraphScore(m.Score, m.ImportanceNow)})
	}
	return out
}
