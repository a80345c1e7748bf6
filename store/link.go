package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
)

// LinkCounts says what a range added to the graph.
type LinkCounts struct {
	Entities  int `json:"entities"`
	Relations int `json:"relations"`
	Mentions  int `json:"mentions"`
}

// Add returns the sum of two counts.
func (l LinkCounts) Add(m LinkCounts) LinkCounts {
	return LinkCounts{Entities: l.Entities + m.Entities, Relations: l.Relations + m.Relations, Mentions: l.Mentions + m.Mentions}
}

// linkable is an extracted candidate that has not been linked.
type linkable struct {
	candidateID uuid.UUID
	triples     []memory.Triple
	memories    []linkedMemory // the source, and the facts written from it
}

type linkedMemory struct {
	id      uuid.UUID
	content string
}

// Link writes the entities and relations of a range, in a transaction of its own: its failure never
// reverts a fact. A candidate is linked once; a mention counts once a memory and entity.
func (s *Store) Link(ctx context.Context, r Range, now time.Time) (LinkCounts, error) {
	var counts LinkCounts
	err := s.write(ctx, r.Tenant, now, func(c *change) error {
		batch, err := c.linkables(ctx, r)
		if err != nil || len(batch) == 0 {
			return err
		}
		ids, err := c.upsertEntities(ctx, batch, &counts)
		if err != nil {
			return err
		}
		if err := c.upsertMentions(ctx, batch, ids, &counts); err != nil {
			return err
		}
		c.upsertRelations(batch, ids, &counts)
		done := make([]uuid.UUID, len(batch))
		for i, l := range batch {
			done[i] = l.candidateID
		}
		c.queue.Queue(`UPDATE memory_candidates SET linked_at = $3 WHERE tenant = $1 AND id = ANY($2)`, c.tenant, done, c.now)
		return nil
	})
	if err != nil {
		return LinkCounts{}, fmt.Errorf("link: %w", err)
	}
	return counts, nil
}

func (c *change) linkables(ctx context.Context, r Range) ([]linkable, error) {
	rows, err := c.tx.Query(ctx, `
		SELECT c.id, c.memory_id, c.extraction->'triples' FROM memory_candidates c
		WHERE c.tenant = $1 AND c.batch_id = $2 AND c.ordinal >= $3 AND c.ordinal < $4 AND c.state = 'staged'
			AND c.linked_at IS NULL AND jsonb_array_length(coalesce(nullif(c.extraction->'triples', 'null'), '[]')) > 0
		ORDER BY c.ordinal FOR UPDATE OF c`, r.Tenant, r.BatchID, r.From, r.To)
	if err != nil {
		return nil, err
	}
	at := map[uuid.UUID]int{} // candidate to its place in the result
	var sources []uuid.UUID
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (linkable, error) {
		var l linkable
		var source uuid.UUID
		var triples json.RawMessage
		if err := row.Scan(&l.candidateID, &source, &triples); err != nil {
			return l, err
		}
		at[l.candidateID] = len(sources)
		sources = append(sources, source)
		return l, json.Unmarshal(triples, &l.triples)
	})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	candidates := make([]uuid.UUID, len(out))
	for i := range out {
		candidates[i] = out[i].candidateID
	}
	rows, err = c.tx.Query(ctx, `
		WITH named AS (
			SELECT u.candidate_id, u.memory_id FROM unnest($2::uuid[], $3::uuid[]) u(candidate_id, memory_id)
			UNION
			SELECT p.candidate_id, p.memory_id FROM proposals p
			WHERE p.tenant = $1 AND p.candidate_id = ANY($2) AND p.state = 'applied' AND p.memory_id IS NOT NULL
		)
		SELECT n.candidate_id, m.id, m.content FROM named n JOIN memories m ON m.tenant = $1 AND m.id = n.memory_id
		WHERE m.live ORDER BY m.id`, c.tenant, candidates, sources)
	if err != nil {
		return nil, err
	}
	var candidate uuid.UUID
	var m linkedMemory
	_, err = pgx.ForEachRow(rows, []any{&candidate, &m.id, &m.content}, func() error {
		l := &out[at[candidate]]
		l.memories = append(l.memories, m)
		return nil
	})
	return out, err
}

// upsertEntities returns the ids of all entities of the batch by canonical name. Rows go in by
// name, so that concurrent links of one tenant do not deadlock.
func (c *change) upsertEntities(ctx context.Context, batch []linkable, counts *LinkCounts) (map[string]uuid.UUID, error) {
	display := map[string]string{}
	for _, l := range batch {
		if len(l.memories) == 0 {
			continue // forgotten meanwhile
		}
		for _, t := range l.triples {
			for _, name := range []string{t.Source, t.Target} {
				canonical := memory.CanonicalEntity(name)
				if canonical != "" && display[canonical] == "" {
					display[canonical] = name
				}
			}
		}
	}
	names := make([]string, 0, len(display))
	for name := range display {
		names = append(names, name)
	}
	slices.Sort(names)
	ids := make([]uuid.UUID, len(names))
	shown := make([]string, len(names))
	for i, name := range names {
		ids[i], shown[i] = newID(), display[name]
	}
	tag, err := c.tx.Exec(ctx, `INSERT INTO entities (tenant, id, canonical_name, name, created_at, updated_at)
		SELECT $1, e.id, e.canonical, e.name, $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[]) e(id, canonical, name)
		ON CONFLICT (tenant, canonical_name) DO NOTHING`, c.tenant, ids, names, shown, c.now)
	if err != nil {
		return nil, err
	}
	counts.Entities += int(tag.RowsAffected())
	rows, err := c.tx.Query(ctx, `SELECT canonical_name, id FROM entities WHERE tenant = $1 AND canonical_name = ANY($2)`, c.tenant, names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]uuid.UUID, len(names))
	var name string
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error { out[name] = id; return nil })
	return out, err
}

// upsertMentions records which memory names which entity, and counts only the mentions that are new.
func (c *change) upsertMentions(ctx context.Context, batch []linkable, ids map[string]uuid.UUID, counts *LinkCounts) error {
	var memories, entities []uuid.UUID
	for _, l := range batch {
		named := map[string]bool{}
		for _, t := range l.triples {
			named[memory.CanonicalEntity(t.Source)] = true
			named[memory.CanonicalEntity(t.Target)] = true
		}
		for _, m := range l.memories {
			text := strings.ToLower(m.content)
			for name := range named {
				if id, ok := ids[name]; ok && (len(l.memories) == 1 || strings.Contains(text, name)) {
					memories = append(memories, m.id)
					entities = append(entities, id)
				}
			}
		}
	}
	if len(memories) == 0 {
		return nil
	}
	var added int64
	err := c.tx.QueryRow(ctx, `
		WITH fresh AS (
			INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
			SELECT DISTINCT $1, x.memory_id, x.entity_id, $4::timestamptz FROM unnest($2::uuid[], $3::uuid[]) x(memory_id, entity_id)
			ON CONFLICT DO NOTHING RETURNING entity_id
		), per AS (SELECT entity_id, count(*) AS n FROM fresh GROUP BY entity_id),
		locked AS (SELECT e.id, per.n FROM entities e JOIN per ON per.entity_id = e.id WHERE e.tenant = $1 ORDER BY e.canonical_name FOR UPDATE OF e),
		counted AS (UPDATE entities e SET mentions = e.mentions + l.n, updated_at = $4 FROM locked l WHERE e.tenant = $1 AND e.id = l.id)
		SELECT count(*) FROM fresh`, c.tenant, memories, entities, c.now).Scan(&added)
	counts.Mentions += int(added)
	return err
}

func (c *change) upsertRelations(batch []linkable, ids map[string]uuid.UUID, counts *LinkCounts) {
	type edge struct {
		source, target uuid.UUID
		relationship   string
	}
	confidence := map[edge]float64{}
	mentions := map[edge]int{}
	for _, l := range batch {
		if len(l.memories) == 0 {
			continue // forgotten meanwhile
		}
		for _, t := range l.triples {
			source, okSource := ids[memory.CanonicalEntity(t.Source)]
			target, okTarget := ids[memory.CanonicalEntity(t.Target)]
			if !okSource || !okTarget || source == target || t.Relationship == "" {
				continue
			}
			e := edge{source, target, t.Relationship}
			confidence[e] = max(confidence[e], t.Confidence)
			mentions[e]++
		}
	}
	edges := make([]edge, 0, len(confidence))
	for e := range confidence {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return strings.Compare(a.source.String()+a.relationship+a.target.String(), b.source.String()+b.relationship+b.target.String())
	})
	for _, e := range edges {
		c.queue.Queue(`INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
			ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
			SET mentions = r.mentions + excluded.mentions, confidence = greatest(r.confidence, excluded.confidence), updated_at = excluded.updated_at`,
			c.tenant, e.source, e.relationship, e.target, mentions[e], confidence[e], c.now)
	}
	counts.Relations += len(edges)
}
