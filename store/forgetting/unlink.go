package forgetting

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// removeFromGraph removes what the memories state about entities.
func (f *Forgetting) removeFromGraph(ctx context.Context) error {
	u, err := Unlink(ctx, f.Change, f.Gone, 0)
	if err != nil {
		return err
	}
	r := &f.Run.Receipt
	r.Remove("memory_entity_relations", u.Said)
	r.Remove("entity_relations", u.Edges)
	r.Remove("memory_entity_mentions", u.Mentions)
	r.Remove("entities", u.Entities)
	r.Remove("entity_claims", u.Claims)
	return nil
}

// unlinked counts the removed rows.
type unlinked struct {
	Said     int // statements of edges by the memories
	Edges    int // edges that no memory states any more
	Mentions int
	Entities int // entities that no memory mentions any more
	Claims   int
}

// Rows returns how many rows of the memories themselves were removed.
func (u unlinked) Rows() int { return u.Said + u.Mentions + u.Claims }

// Statements of Unlink for the memories @memories and at most @limit of their rows (NULL: all). With @text they choose
// only the rows with an entity that the text does not name. Shared rows are locked in the order of other writers.
const (
	unlinkEdges = `
		WITH chosen AS (
			SELECT memory_id, source_id, relationship, target_id
			FROM entity_relation_sources x
			WHERE tenant = @tenant AND memory_id = ANY(@memories)
				AND (@text::text IS NULL OR EXISTS (
					SELECT FROM entities e
					WHERE e.tenant = @tenant AND e.id IN (x.source_id, x.target_id)
						AND position(e.canonical_name IN @text::text) = 0))
			ORDER BY memory_id, source_id, relationship, target_id
			LIMIT @limit
		), gone AS (
			DELETE FROM entity_relation_sources d
			USING chosen c
			WHERE d.tenant = @tenant
				AND (d.memory_id, d.source_id, d.relationship, d.target_id)
					= (c.memory_id, c.source_id, c.relationship, c.target_id)
			RETURNING d.source_id, d.relationship, d.target_id
		), per AS (
			SELECT source_id, relationship, target_id, count(*) AS n
			FROM gone
			GROUP BY 1, 2, 3
		), locked AS (
			SELECT r.source_id, r.relationship, r.target_id, r.mentions, per.n
			FROM entity_relations r
			JOIN per USING (source_id, relationship, target_id)
			WHERE r.tenant = @tenant
			ORDER BY r.source_id, r.relationship, r.target_id
			FOR UPDATE OF r
		), dropped AS (
			DELETE FROM entity_relations r
			USING locked l
			WHERE r.tenant = @tenant
				AND (r.source_id, r.relationship, r.target_id) = (l.source_id, l.relationship, l.target_id)
				AND l.mentions <= l.n
			RETURNING 1
		), kept AS (
			UPDATE entity_relations r
			SET mentions = r.mentions - l.n, updated_at = @now
			FROM locked l
			WHERE r.tenant = @tenant
				AND (r.source_id, r.relationship, r.target_id) = (l.source_id, l.relationship, l.target_id)
				AND l.mentions > l.n
		)
		SELECT (SELECT count(*) FROM gone),
			(SELECT count(*) FROM dropped),
			(SELECT coalesce(array_agg(DISTINCT e), '{}') FROM gone, unnest(ARRAY[source_id, target_id]) e)`
	unlinkMentions = `
		WITH chosen AS (
			SELECT memory_id, entity_id
			FROM memory_entity_mentions x
			WHERE tenant = @tenant AND memory_id = ANY(@memories)
				AND (@text::text IS NULL OR EXISTS (
					SELECT FROM entities e
					WHERE e.tenant = @tenant AND e.id = x.entity_id
						AND position(e.canonical_name IN @text::text) = 0))
			ORDER BY memory_id, entity_id
			LIMIT @limit
		), gone AS (
			DELETE FROM memory_entity_mentions d
			USING chosen c
			WHERE d.tenant = @tenant AND d.memory_id = c.memory_id AND d.entity_id = c.entity_id
			RETURNING d.entity_id
		), per AS (
			SELECT entity_id, count(*) AS n
			FROM gone
			GROUP BY 1
		), locked AS (
			SELECT e.id, per.n
			FROM entities e
			JOIN per ON per.entity_id = e.id
			WHERE e.tenant = @tenant
			ORDER BY e.canonical_name
			FOR UPDATE OF e
		), counted AS (
			UPDATE entities e
			SET mentions = e.mentions - l.n, updated_at = @now
			FROM locked l
			WHERE e.tenant = @tenant AND e.id = l.id
		)
		SELECT (SELECT count(*) FROM gone), (SELECT coalesce(array_agg(entity_id), '{}') FROM per)`
	// An edge of another memory needs both entities, mentioned or not.
	dropEntities = `
		DELETE FROM entities e
		WHERE e.tenant = @tenant AND e.id = ANY(@entities) AND e.mentions = 0
			AND NOT EXISTS (
				SELECT FROM entity_relation_sources r
				WHERE r.tenant = @tenant AND r.source_id = e.id)
			AND NOT EXISTS (
				SELECT FROM entity_relation_sources r
				WHERE r.tenant = @tenant AND r.target_id = e.id)`
	unlinkClaims = `
		WITH chosen AS (
			SELECT memory_id, subject, predicate
			FROM entity_claims
			WHERE tenant = @tenant AND memory_id = ANY(@memories)
			ORDER BY memory_id, subject, predicate
			LIMIT @limit
		)
		DELETE FROM entity_claims d
		USING chosen c
		WHERE d.tenant = @tenant
			AND (d.memory_id, d.subject, d.predicate) = (c.memory_id, c.subject, c.predicate)`
)

// Unlink removes the memories' edges, mentions and claims about entities, and the entities that no memory mentions
// any more. Counts fall by exactly what these memories had added. With a limit it removes at most that many rows,
// edges first because they reference the entities.
func Unlink(ctx context.Context, c *commit.Change, memories []uuid.UUID, limit int) (unlinked, error) {
	u, err := unlinkFromEntities(ctx, c, memories, limit, nil)
	if err != nil {
		return u, err
	}
	tag, err := c.Tx.Exec(ctx, unlinkClaims, pg.Args{"tenant": c.Tenant, "memories": memories, "limit": u.left(limit)})
	if err != nil {
		return u, fmt.Errorf("entity claims: %w", err)
	}
	u.Claims = int(tag.RowsAffected())
	return u, nil
}

// UnlinkUnnamed removes a memory's edges and mentions with an entity that its new text does not name, as memory.Naming
// compares them.
func UnlinkUnnamed(ctx context.Context, c *commit.Change, id uuid.UUID, text string) error {
	_, err := unlinkFromEntities(ctx, c, []uuid.UUID{id}, 0, strings.ToLower(text))
	return err
}

// left returns the argument of LIMIT for the next statement. At the limit it is 0, which is not the same as none.
func (u unlinked) left(limit int) any {
	if limit <= 0 {
		return nil
	}
	return limit - u.Rows()
}

// unlinkFromEntities removes edges and mentions, and entities without any. The text is nil for all of them.
func unlinkFromEntities(ctx context.Context, c *commit.Change, memories []uuid.UUID, limit int,
	text any) (unlinked, error) {
	var u unlinked
	var ends, mentioned []uuid.UUID
	err := c.Tx.QueryRow(ctx, unlinkEdges,
		pg.Args{"tenant": c.Tenant, "memories": memories, "now": c.Now, "limit": u.left(limit), "text": text}).
		Scan(&u.Said, &u.Edges, &ends)
	if err != nil {
		return u, fmt.Errorf("entity relations: %w", err)
	}
	err = c.Tx.QueryRow(ctx, unlinkMentions,
		pg.Args{"tenant": c.Tenant, "memories": memories, "now": c.Now, "limit": u.left(limit), "text": text}).
		Scan(&u.Mentions, &mentioned)
	if err != nil {
		return u, fmt.Errorf("entity mentions: %w", err)
	}
	tag, err := c.Tx.Exec(ctx, dropEntities,
		pg.Args{"tenant": c.Tenant, "entities": append(ends, mentioned...)})
	if err != nil {
		return u, fmt.Errorf("entities: %w", err)
	}
	u.Entities = int(tag.RowsAffected())
	return u, nil
}
