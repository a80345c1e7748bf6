package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

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
	memories    []memory.Text // live: the source, and the facts written from it
}

// Link writes the entities and relations of a range in a separate transaction: its failure never reverts a fact. A
// candidate is linked once. A mention counts once for each memory and entity.
func (s *Pipeline) Link(ctx context.Context, r schema.Range, now time.Time) (schema.LinkCounts, error) {
	var counts schema.LinkCounts
	// It may deadlock with a forget, which locks the edges first.
	err := pg.RetryChange(ctx, func() error {
		counts = schema.LinkCounts{}
		return commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error { return link(ctx, c, r, &counts) })
	})
	if err != nil {
		return schema.LinkCounts{}, fmt.Errorf("link: %w", err)
	}
	return counts, nil
}

func link(ctx context.Context, c *commit.Change, r schema.Range, counts *schema.LinkCounts) error {
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
	c.Queue.Queue(`
		UPDATE memory_candidates
		SET linked_at = @now
		WHERE tenant = @tenant AND id = ANY(@ids)`,
		pg.Args{"tenant": c.Tenant, "ids": done, "now": c.Now})
	return nil
}

// linkables reads the candidates of a range that have triples and are not linked, with the memories that were
// written from them. It locks both until commit: a memory forgotten at the same time must not return to the graph.
func linkables(ctx context.Context, c *commit.Change, r schema.Range) ([]linkable, error) {
	candidates, err := commit.Rows[struct {
		ID       uuid.UUID
		MemoryID uuid.UUID
		Triples  []memory.Triple
	}](ctx, c.Tx, `
		SELECT c.id, c.memory_id, c.extraction->'triples' AS triples
		FROM memory_candidates c
		WHERE c.tenant = @tenant
			AND c.batch_id = @batch_id
			AND c.ordinal >= @from
			AND c.ordinal < @to
			AND c.state = 'staged'
			AND c.linked_at IS NULL
			AND jsonb_array_length(coalesce(nullif(c.extraction->'triples', 'null'), '[]')) > 0
		ORDER BY c.ordinal
		FOR UPDATE OF c`, rangeArgs(r, nil))
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	out := make([]linkable, len(candidates))
	ids := make([]uuid.UUID, len(candidates))
	at := map[uuid.UUID]int{}      // candidate to its place in the result
	named := map[uuid.UUID][]int{} // memory to the places of the candidates that name it
	for i, found := range candidates {
		out[i] = linkable{candidateID: found.ID, source: found.MemoryID, triples: found.Triples}
		ids[i], at[found.ID] = found.ID, i
		named[found.MemoryID] = append(named[found.MemoryID], i)
	}
	written, err := commit.Rows[struct{ CandidateID, MemoryID uuid.UUID }](ctx, c.Tx, `
		SELECT DISTINCT candidate_id, memory_id
		FROM proposals
		WHERE tenant = @tenant AND candidate_id = ANY(@candidates) AND state = 'applied' AND memory_id IS NOT NULL`,
		pg.Args{"tenant": c.Tenant, "candidates": ids})
	if err != nil {
		return nil, err
	}
	for _, w := range written {
		if i := at[w.CandidateID]; !slices.Contains(named[w.MemoryID], i) {
			named[w.MemoryID] = append(named[w.MemoryID], i)
		}
	}
	live, err := commit.Rows[memory.Text](ctx, c.Tx, `
		SELECT m.id, m.content
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.live
		ORDER BY m.id
		FOR SHARE OF m`,
		pg.Args{"tenant": c.Tenant, "ids": slices.Collect(maps.Keys(named))})
	for _, m := range live {
		for _, i := range named[m.ID] {
			out[i].memories = append(out[i].memories, m)
		}
	}
	return out, err
}

// upsertEntities locks all entities of the batch and returns their ids by canonical name. It inserts them in order
// of name, so that concurrent links of one tenant do not deadlock.
func upsertEntities(ctx context.Context, c *commit.Change, batch []linkable,
	counts *schema.LinkCounts) (map[string]uuid.UUID, error) {
	display := map[string]string{}
	for _, l := range batch {
		if len(l.memories) == 0 {
			continue // forgotten in the meantime
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
	for len(out) < len(names) { // an entity without mentions may be deleted between the two statements
		if err := insertEntities(ctx, c, names, display, counts); err != nil {
			return nil, err
		}
		locked, err := commit.Rows[struct {
			CanonicalName string
			ID            uuid.UUID
		}](ctx, c.Tx, `SELECT canonical_name, id FROM entities
			WHERE tenant = @tenant AND canonical_name = ANY(@names)
			ORDER BY canonical_name
			FOR NO KEY UPDATE`, pg.Args{"tenant": c.Tenant, "names": names})
		if err != nil {
			return nil, err
		}
		for _, e := range locked {
			out[e.CanonicalName] = e.ID
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
	tag, err := c.Tx.Exec(ctx, `
		INSERT INTO entities (tenant, id, canonical_name, name, created_at, updated_at)
		SELECT @tenant, e.id, e.canonical, e.name, @now, @now
		FROM unnest(@ids::uuid[], @canonical::text[], @shown::text[]) e(id, canonical, name)
		ON CONFLICT (tenant, canonical_name) DO NOTHING`,
		pg.Args{"tenant": c.Tenant, "ids": ids, "canonical": names, "shown": shown, "now": c.Now})
	counts.Entities += int(tag.RowsAffected())
	return err
}

// upsertMentions records which memory mentions which entity, and counts only new mentions.
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
			for _, m := range memory.Naming(l.memories, l.source, name) {
				memories = append(memories, m)
				entities = append(entities, id)
			}
		}
	}
	if len(memories) == 0 {
		return nil
	}
	var added int64
	// The entities are locked in order of name, as every writer does.
	err := c.Tx.QueryRow(ctx, `
		WITH fresh AS (
			INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
			SELECT DISTINCT @tenant, x.memory_id, x.entity_id, @now::timestamptz
			FROM unnest(@memories::uuid[], @entities::uuid[]) x(memory_id, entity_id)
			ON CONFLICT DO NOTHING
			RETURNING entity_id
		), per AS (
			SELECT entity_id, count(*) AS n
			FROM fresh
			GROUP BY entity_id
		), locked AS MATERIALIZED (
			SELECT e.id
			FROM entities e
			WHERE e.tenant = @tenant AND e.id = ANY(ARRAY(SELECT entity_id FROM per))
			ORDER BY e.canonical_name
			FOR UPDATE OF e
		), counted AS (
			UPDATE entities e
			SET mentions = e.mentions + (SELECT per.n FROM per WHERE per.entity_id = e.id),
				updated_at = @now
			WHERE e.tenant = @tenant AND e.id = ANY(ARRAY(SELECT id FROM locked))
		)
		SELECT count(*) FROM fresh`,
		pg.Args{"tenant": c.Tenant, "memories": memories, "entities": entities, "now": c.Now}).Scan(&added)
	counts.Mentions += int(added)
	return err
}

// upsertRelations writes the edges and the memories that state each edge. A memory counts once for an edge, so that
// forgetting it can subtract exactly its count.
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
			continue // forgotten in the meantime
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
			said[e] = append(said[e], memory.Naming(l.memories, l.source, from, to)...)
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
	// The edges come first and are locked in the order in which forgetting and restoring lock them. Concurrent
	// changes therefore count one after the other.
	_, err := c.Tx.Exec(ctx, `
		INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence,
			created_at, updated_at)
		SELECT @tenant, e.source, e.relationship, e.target, 0, e.confidence, @now, @now
		FROM unnest(@sources::uuid[], @relationships::text[], @targets::uuid[], @confidences::float8[])
			e(source, relationship, target, confidence)
		ORDER BY e.source, e.relationship, e.target
		ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
		SET confidence = greatest(r.confidence, excluded.confidence),
			updated_at = excluded.updated_at`,
		pg.Args{
			"tenant":        c.Tenant,
			"sources":       sources,
			"relationships": relationships,
			"targets":       targets,
			"confidences":   confidences,
			"now":           c.Now,
		})
	if err != nil {
		return err
	}
	// The edges exist by now: this statement finds each by its key and only counts.
	_, err = c.Tx.Exec(ctx, `
		WITH fresh AS (
			INSERT INTO entity_relation_sources (tenant, memory_id, source_id, relationship, target_id)
			SELECT DISTINCT @tenant, x.memory_id, x.source, x.relationship, x.target
			FROM unnest(@memories::uuid[], @sources::uuid[], @relationships::text[], @targets::uuid[])
				x(memory_id, source, relationship, target)
			ON CONFLICT DO NOTHING
			RETURNING source_id, relationship, target_id
		)
		INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence,
			created_at, updated_at)
		SELECT @tenant, source_id, relationship, target_id, count(*), 0, @now, @now
		FROM fresh
		GROUP BY 2, 3, 4
		ORDER BY 2, 3, 4
		ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
		SET mentions = r.mentions + excluded.mentions`,
		pg.Args{
			"tenant":        c.Tenant,
			"memories":      memories,
			"sources":       bySource,
			"relationships": byRelationship,
			"targets":       byTarget,
			"now":           c.Now,
		})
	counts.Relations += n
	return err
}
