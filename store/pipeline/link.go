package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// linkable is an extracted candidate that has not been linked.
type linkable struct {
	candidateID uuid.UUID
	source      uuid.UUID // the memory that holds the candidate's own text
	triples     []memory.Triple
	memories    []linkedMemory // live: the source, and the facts written from it
}

type linkedMemory struct {
	id      uuid.UUID
	content string
}

// naming returns those of the memories whose text has all the names. The source is where the names were found: it
// answers for what no text has word for word, or, when it is gone, the first fact does. So every entity and every
// edge has a memory that it comes from, and is removed with it.
func (l linkable) naming(names ...string) []uuid.UUID {
	var out []uuid.UUID
	for _, m := range l.memories {
		text, all := strings.ToLower(m.content), true
		for _, name := range names {
			all = all && strings.Contains(text, name)
		}
		if all || len(l.memories) == 1 {
			out = append(out, m.id)
		}
	}
	if len(out) > 0 || len(l.memories) == 0 {
		return out
	}
	for _, m := range l.memories {
		if m.id == l.source {
			return []uuid.UUID{m.id}
		}
	}
	return []uuid.UUID{l.memories[0].id}
}

// Link writes the entities and relations of a range, in a transaction of its own: its failure never
// reverts a fact. A candidate is linked once; a mention counts once a memory and entity.
func (s *Pipeline) Link(ctx context.Context, r Range, now time.Time) (schema.LinkCounts, error) {
	var counts schema.LinkCounts
	// A forget locks edges ahead of entities.
	err := pg.RetryChange(ctx, func() error {
		counts = schema.LinkCounts{}
		return commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error { return link(ctx, c, r, &counts) })
	})
	if err != nil {
		return schema.LinkCounts{}, fmt.Errorf("link: %w", err)
	}
	return counts, nil
}

func link(ctx context.Context, c *commit.Change, r Range, counts *schema.LinkCounts) error {
	batch, err := linkables(ctx, c, r)
	if err != nil || len(batch) == 0 {
		return err
	}
	ids, err := upsertEntities(ctx, c, batch, counts)
	if err != nil {
		return err
	}
	if err := upsertMentions(ctx, c, batch, ids, counts); err != nil {
		return err
	}
	if err := upsertRelations(ctx, c, batch, ids, counts); err != nil {
		return err
	}
	done := make([]uuid.UUID, len(batch))
	for i, l := range batch {
		done[i] = l.candidateID
	}
	c.Queue.Queue(`UPDATE memory_candidates SET linked_at = $3 WHERE tenant = $1 AND id = ANY($2)`, c.Tenant, done,
		c.Now)
	return nil
}

func linkables(ctx context.Context, c *commit.Change, r Range) ([]linkable, error) {
	rows, err := c.Tx.Query(ctx, `
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
		var triples json.RawMessage
		if err := row.Scan(&l.candidateID, &l.source, &triples); err != nil {
			return l, err
		}
		at[l.candidateID] = len(sources)
		sources = append(sources, l.source)
		return l, json.Unmarshal(triples, &l.triples)
	})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	candidates := make([]uuid.UUID, len(out))
	for i := range out {
		candidates[i] = out[i].candidateID
	}
	// Locked: what is forgotten meanwhile must not get its place in the graph back.
	named := map[uuid.UUID][]int{} // memory to the places of the candidates that name it
	for i, source := range sources {
		named[source] = append(named[source], i)
	}
	rows, err = c.Tx.Query(ctx, `SELECT DISTINCT candidate_id, memory_id FROM proposals
		WHERE tenant = $1 AND candidate_id = ANY($2) AND state = 'applied' AND memory_id IS NOT NULL`, c.Tenant,
		candidates)
	if err != nil {
		return nil, err
	}
	var candidate, id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&candidate, &id}, func() error {
		if i := at[candidate]; !slices.Contains(named[id], i) {
			named[id] = append(named[id], i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = c.Tx.Query(ctx, `SELECT m.id, m.content FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)
		AND m.live ORDER BY m.id FOR SHARE OF m`,
		c.Tenant, slices.Collect(maps.Keys(named)))
	if err != nil {
		return nil, err
	}
	var m linkedMemory
	_, err = pgx.ForEachRow(rows, []any{&m.id, &m.content}, func() error {
		for _, i := range named[m.id] {
			out[i].memories = append(out[i].memories, m)
		}
		return nil
	})
	return out, err
}

// upsertEntities returns the ids of all entities of the batch by canonical name, locked. Rows go in by
// name, so that concurrent links of one tenant do not deadlock.
func upsertEntities(ctx context.Context, c *commit.Change, batch []linkable,
	counts *schema.LinkCounts) (map[string]uuid.UUID, error) {
	display := map[string]string{}
	for _, l := range batch {
		if len(l.memories) == 0 {
			continue // forgotten meanwhile
		}
		for _, t := range l.triples {
			for _, name := range []string{t.Source, t.Target} {
				canonical := normalize.CanonicalEntity(name)
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
	out := make(map[string]uuid.UUID, len(names))
	for len(out) < len(names) { // one that nothing mentioned any more may go between the two statements
		if err := insertEntities(ctx, c, names, display, counts); err != nil {
			return nil, err
		}
		rows, err := c.Tx.Query(ctx, `SELECT canonical_name, id FROM entities WHERE tenant = $1
			AND canonical_name = ANY($2)
			ORDER BY canonical_name FOR NO KEY UPDATE`, c.Tenant, names)
		if err != nil {
			return nil, err
		}
		var name string
		var id uuid.UUID
		if _, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error { out[name] = id; return nil }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func insertEntities(ctx context.Context, c *commit.Change, names []string, display map[string]string,
	counts *schema.LinkCounts) error {
	ids := make([]uuid.UUID, len(names))
	shown := make([]string, len(names))
	for i, name := range names {
		ids[i], shown[i] = pg.NewID(), display[name]
	}
	tag, err := c.Tx.Exec(ctx, `INSERT INTO entities (tenant, id, canonical_name, name, created_at, updated_at)
		SELECT $1, e.id, e.canonical, e.name, $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[]) e(id, canonical,
			name)
		ON CONFLICT (tenant, canonical_name) DO NOTHING`, c.Tenant, ids, names, shown, c.Now)
	counts.Entities += int(tag.RowsAffected())
	return err
}

// upsertMentions records which memory names which entity, and counts only the mentions that are new.
func upsertMentions(ctx context.Context, c *commit.Change, batch []linkable, ids map[string]uuid.UUID,
	counts *schema.LinkCounts) error {
	var memories, entities []uuid.UUID
	for _, l := range batch {
		named := map[string]bool{}
		for _, t := range l.triples {
			named[normalize.CanonicalEntity(t.Source)] = true
			named[normalize.CanonicalEntity(t.Target)] = true
		}
		for name := range named {
			id, ok := ids[name]
			if !ok {
				continue
			}
			for _, m := range l.naming(name) {
				memories = append(memories, m)
				entities = append(entities, id)
			}
		}
	}
	if len(memories) == 0 {
		return nil
	}
	var added int64
	err := c.Tx.QueryRow(ctx, `
		WITH fresh AS (
			INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
			SELECT DISTINCT $1, x.memory_id, x.entity_id, $4::timestamptz
			FROM unnest($2::uuid[], $3::uuid[]) x(memory_id, entity_id)
			ON CONFLICT DO NOTHING RETURNING entity_id
		), per AS (SELECT entity_id, count(*) AS n FROM fresh GROUP BY entity_id),
		locked AS MATERIALIZED (SELECT e.id FROM entities e WHERE e.tenant = $1
			AND e.id = ANY(ARRAY(SELECT entity_id FROM per))
			ORDER BY e.canonical_name FOR UPDATE OF e),
		counted AS (UPDATE entities e SET mentions = e.mentions + (SELECT per.n FROM per WHERE per.entity_id = e.id),
			updated_at = $4
			WHERE e.tenant = $1 AND e.id = ANY(ARRAY(SELECT id FROM locked)))
		SELECT count(*) FROM fresh`, c.Tenant, memories, entities, c.Now).Scan(&added)
	counts.Mentions += int(added)
	return err
}

// upsertRelations writes the edges and which memory says each. An edge is mentioned once for each
// memory that says it, however often, so that forgetting can take exactly that back.
func upsertRelations(ctx context.Context, c *commit.Change, batch []linkable, ids map[string]uuid.UUID,
	counts *schema.LinkCounts) error {
	type edge struct {
		source, target uuid.UUID
		relationship   string
	}
	confidence := map[edge]float64{}
	said := map[edge][]uuid.UUID{}
	for _, l := range batch {
		if len(l.memories) == 0 {
			continue // forgotten meanwhile
		}
		for _, t := range l.triples {
			from, to := normalize.CanonicalEntity(t.Source), normalize.CanonicalEntity(t.Target)
			source, okSource := ids[from]
			target, okTarget := ids[to]
			if !okSource || !okTarget || source == target || t.Relationship == "" {
				continue
			}
			e := edge{source, target, t.Relationship}
			confidence[e] = max(confidence[e], t.Confidence)
			said[e] = append(said[e], l.naming(from, to)...)
		}
	}
	if len(confidence) == 0 {
		return nil
	}
	edges := make([]edge, 0, len(confidence))
	for e := range confidence {
		edges = append(edges, e)
	}
	n := len(edges)
	sources, targets, relationships, confidences := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]string, n),
		make([]float64, n)
	var memories, bySource, byTarget []uuid.UUID
	var byRelationship []string
	for i, e := range edges {
		sources[i], targets[i], relationships[i], confidences[i] = e.source, e.target, e.relationship, confidence[e]
		for _, m := range said[e] {
			memories = append(memories, m)
			bySource, byTarget, byRelationship = append(bySource, e.source), append(byTarget, e.target),
				append(byRelationship, e.relationship)
		}
	}
	// The edges first, which locks them, in the order in which forgetting and restoring do: two at once
	// count one after the other.
	_, err := c.Tx.Exec(ctx, `
		INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence, created_at,
			updated_at)
		SELECT $1, e.source, e.relationship, e.target, 0, e.confidence, $6, $6
		FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::float8[]) e(source, relationship, target, confidence)
		ORDER BY e.source, e.relationship, e.target
		ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
		SET confidence = greatest(r.confidence, excluded.confidence), updated_at = excluded.updated_at`,
		c.Tenant, sources, relationships, targets, confidences, c.Now)
	if err != nil {
		return err
	}
	// The edges are there by now: this finds each by its key.
	_, err = c.Tx.Exec(ctx, `
		WITH fresh AS (
			INSERT INTO memory_entity_relations (tenant, memory_id, source_id, relationship, target_id)
			SELECT DISTINCT $1, x.memory_id, x.source, x.relationship, x.target
			FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) x(memory_id, source, relationship, target)
			ON CONFLICT DO NOTHING RETURNING source_id, relationship, target_id
		)
		INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence, created_at,
			updated_at)
		SELECT $1, source_id, relationship, target_id, count(*), 0, $6, $6 FROM fresh GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
		ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
		SET mentions = r.mentions + excluded.mentions`,
		c.Tenant, memories, bySource, byRelationship, byTarget, c.Now)
	counts.Relations += n
	return err
}
