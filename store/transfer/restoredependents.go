package transfer

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// distinct returns the first line of each memory, and the other lines. Two lines of one memory are not written
// together, because the second is compared with what the first has restored.
func distinct(lines []ExportLine) (first, rest []ExportLine) {
	seen := map[string]bool{}
	for _, line := range lines {
		id := strings.ToLower(line.Record.ID)
		if seen[id] {
			rest = append(rest, line)
			continue
		}
		seen[id] = true
		first = append(first, line)
	}
	return first, rest
}

// histories inserts the history of memories without a row. A stored memory has its own: the line would say of it that
// it was deleted.
func (r *restoring) histories(ctx context.Context, lines []ExportLine) error {
	ids := make([]uuid.UUID, len(lines))
	for i, line := range lines {
		ids[i] = *line.MemoryID
	}
	stored, err := r.stored(ctx, ids)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if stored[*line.MemoryID] {
			continue
		}
		rows, err := r.owned(*line.MemoryID, line.History)
		if err != nil {
			return err
		}
		if _, err := r.insert(ctx, "memory_history", rows, "memory_id"); err != nil {
			return err
		}
	}
	return nil
}

// stored returns which of the memories have a row.
func (r *restoring) stored(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return r.IdSet(ctx, `SELECT id FROM memories WHERE tenant = $1 AND id = ANY($2)`, r.Tenant, ids)
}

// insertDependents inserts the rows that belong to the new memories.
func (r *restoring) insertDependents(ctx context.Context, byID map[uuid.UUID]*ExportLine, fresh []uuid.UUID) error {
	slices.SortFunc(fresh, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var history, versions, provenance, claims, hints []map[string]any
	for _, id := range fresh {
		line := byID[id]
		m := line.Record
		for _, part := range []struct {
			rows []json.RawMessage
			out  *[]map[string]any
		}{{line.History, &history}, {line.Versions, &versions}, {line.Provenance, &provenance}, {line.Claims, &claims},
			{line.Hints, &hints}} {
			rows, err := r.owned(id, part.rows)
			if err != nil {
				return err
			}
			*part.out = append(*part.out, rows...)
		}
		if m.AccessCount > 0 && m.LastAccessed != nil {
			r.Queue.Queue(`
				INSERT INTO memory_access (tenant, memory_id, access_count, last_accessed_at)
				VALUES (@tenant, @id, @count, @last)
				ON CONFLICT DO NOTHING`,
				pg.Args{"tenant": r.Tenant, "id": id, "count": m.AccessCount, "last": m.LastAccessed})
		}
		if line.SourceKind != "" {
			r.Queue.Queue(`
				INSERT INTO memory_source_kinds (tenant, memory_id, source_kind)
				VALUES (@tenant, @id, @kind)
				ON CONFLICT DO NOTHING`,
				pg.Args{"tenant": r.Tenant, "id": id, "kind": line.SourceKind})
		}
		for _, name := range line.Artifacts {
			sum, err := hex.DecodeString(strings.TrimPrefix(name, "sha256:"))
			if err != nil {
				return &schema.ValidationError{Fields: []schema.FieldError{{Field: "artifacts",
					Problem: "must be sha256:<hex>"}}}
			}
			r.Queue.Queue(`
				INSERT INTO memory_artifacts (tenant, memory_id, sha256)
				VALUES (@tenant, @id, @sum)
				ON CONFLICT DO NOTHING`, pg.Args{"tenant": r.Tenant, "id": id, "sum": sum})
		}
		live := m.DeletedAt == nil && m.ArchivedAt == nil && m.Status.Live()
		if live {
			r.Counted = append(r.Counted, id)
			r.Outbox(id, m.Version, "upsert")
		}
	}
	for _, row := range versions { // the record of a version names its tenant
		record, ok := row["record"].(map[string]any)
		if !ok {
			return &schema.ValidationError{Fields: []schema.FieldError{{Field: "versions.record",
				Problem: "must be an object"}}}
		}
		record["tenant"] = r.Tenant
	}
	for _, t := range []struct {
		table string
		rows  []map[string]any
	}{{"memory_history", history}, {"memory_versions", versions}, {"memory_provenance", provenance},
		{"entity_claims", claims}, {"memory_hints", hints}} {
		if _, err := r.insert(ctx, t.table, t.rows, "memory_id"); err != nil {
			return err
		}
	}
	return r.graph(ctx, byID, fresh)
}

// owned decodes rows that belong to a memory, by column, and sets their tenant and memory.
func (r *restoring) owned(id uuid.UUID, rows []json.RawMessage) ([]map[string]any, error) {
	out := make([]map[string]any, len(rows))
	for i, raw := range rows {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&out[i]); err != nil || out[i] == nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "(line)",
				Problem: "has a row that is not an object"}}}
		}
		out[i]["tenant"], out[i]["memory_id"] = r.Tenant, id
	}
	return out, nil
}

// graph inserts the entities, mentions and relations of the new memories. An entity of the tenant with the same name is
// reused.
func (r *restoring) graph(ctx context.Context, byID map[uuid.UUID]*ExportLine, fresh []uuid.UUID) error {
	type mention struct {
		Memory uuid.UUID `json:"memory"`
		ExportEntity
	}
	type said struct {
		Memory uuid.UUID `json:"memory"`
		ExportEdge
	}
	mentions, edges := []mention{}, []said{}
	for _, id := range fresh {
		for _, e := range byID[id].Entities {
			mentions = append(mentions, mention{id, e})
		}
		for _, e := range byID[id].Edges {
			edges = append(edges, said{id, e})
		}
	}
	if len(mentions) == 0 {
		return nil
	}
	m, err := json.Marshal(mentions)
	if err != nil {
		return err
	}
	e, err := json.Marshal(edges)
	if err != nil {
		return err
	}
	// Entities are locked by name and edges by their ends, in the order of Link, so that the two do not deadlock.
	for _, query := range []string{restoreEntities, restoreMentions} {
		if _, err := r.Tx.Exec(ctx, query, pg.Args{"tenant": r.Tenant, "mentions": string(m)}); err != nil {
			return err
		}
	}
	if len(edges) == 0 {
		return nil
	}
	for _, query := range []string{restoreEntityRelations, restoreStatedRelations} {
		if _, err := r.Tx.Exec(ctx, query, pg.Args{"tenant": r.Tenant, "edges": string(e)}); err != nil {
			return err
		}
	}
	return nil
}

const (
	restoreEntities = `
		INSERT INTO entities AS e (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT @tenant, x.id, x.canonical_name, x.name, 0, x.created_at, x.updated_at
		FROM (
			SELECT DISTINCT ON (canonical_name) *
			FROM jsonb_to_recordset(@mentions) x(id uuid, canonical_name text, name text, created_at timestamptz,
				updated_at timestamptz)
			ORDER BY canonical_name
		) x
		ORDER BY x.canonical_name
		ON CONFLICT DO NOTHING`

	restoreMentions = `
		WITH fresh AS (
			INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
			SELECT @tenant, x.memory, e.id, x.mentioned_at
			FROM jsonb_to_recordset(@mentions) x(memory uuid, canonical_name text, mentioned_at timestamptz)
			JOIN entities e ON e.tenant = @tenant AND e.canonical_name = x.canonical_name
			WHERE x.mentioned_at IS NOT NULL
			ON CONFLICT DO NOTHING
			RETURNING entity_id
		), per AS (
			SELECT entity_id, count(*) AS n
			FROM fresh
			GROUP BY entity_id
		), locked AS (
			SELECT e.id, per.n
			FROM entities e
			JOIN per ON per.entity_id = e.id
			WHERE e.tenant = @tenant
			ORDER BY e.canonical_name
			FOR UPDATE OF e
		)
		UPDATE entities e
		SET mentions = e.mentions + l.n
		FROM locked l
		WHERE e.tenant = @tenant AND e.id = l.id`

	// edgeRows are the edges x with their entities f and t.
	edgeRows = `
		FROM jsonb_to_recordset(@edges) x(memory uuid, source text, relationship text, target text, confidence float8,
			created_at timestamptz, updated_at timestamptz)
		JOIN entities f ON f.tenant = @tenant AND f.canonical_name = x.source
		JOIN entities t ON t.tenant = @tenant AND t.canonical_name = x.target`

	restoreEntityRelations = `
		INSERT INTO entity_relations AS r (tenant, source_id, relationship, target_id, mentions, confidence, created_at,
			updated_at)
		SELECT @tenant, f.id, x.relationship, t.id, 0, max(x.confidence), min(x.created_at), max(x.updated_at)` +
		edgeRows + `
		GROUP BY f.id, x.relationship, t.id
		ORDER BY f.id, x.relationship, t.id
		ON CONFLICT (tenant, source_id, relationship, target_id) DO UPDATE
		SET confidence = greatest(r.confidence, excluded.confidence),
			updated_at = greatest(r.updated_at, excluded.updated_at)`

	restoreStatedRelations = `
		WITH fresh AS (
			INSERT INTO entity_relation_sources (tenant, memory_id, source_id, relationship, target_id)
			SELECT @tenant, x.memory, f.id, x.relationship, t.id` +
		edgeRows + `
			ON CONFLICT DO NOTHING
			RETURNING source_id, relationship, target_id
		), per AS (
			SELECT source_id, relationship, target_id, count(*) AS n
			FROM fresh
			GROUP BY 1, 2, 3
		)
		UPDATE entity_relations r
		SET mentions = r.mentions + per.n
		FROM per
		WHERE r.tenant = @tenant
			AND (r.source_id, r.relationship, r.target_id) = (per.source_id, per.relationship, per.target_id)`
)

// relations adds the relations whose ends both exist; the others become pending.
func (r *restoring) relations(ctx context.Context, relations []PendingRelation) error {
	if len(relations) == 0 {
		return nil
	}
	n := len(relations)
	sources, targets := make([]uuid.UUID, n), make([]uuid.UUID, n)
	predicates, reasons := make([]string, n), make([]string, n)
	weights, times := make([]float64, n), make([]time.Time, n)
	for i, x := range relations {
		sources[i], predicates[i], targets[i] = x.Source, x.Predicate, x.TargetID
		weights[i], reasons[i], times[i] = x.Weight, x.Reason, x.CreatedAt
	}
	rows, err := r.Tx.Query(ctx, `
		SELECT x.n - 1
		FROM unnest(@sources::uuid[], @targets::uuid[]) WITH ORDINALITY x(source, target, n)
		WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = x.target)
			OR NOT EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = x.source)
		ORDER BY x.n`,
		pg.Args{"tenant": r.Tenant, "sources": sources, "targets": targets})
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return err
	}
	for _, i := range missing {
		r.out.Pending = append(r.out.Pending, relations[i])
	}
	tag, err := r.Tx.Exec(ctx, `
		INSERT INTO memory_links (tenant, source_id, predicate, target_id, weight, reason, created_at)
		SELECT @tenant, x.source, x.predicate, x.target, x.weight, x.reason, x.at
		FROM unnest(@sources::uuid[], @predicates::text[], @targets::uuid[], @weights::float8[], @reasons::text[],
			@times::timestamptz[]) x(source, predicate, target, weight, reason, at)
		WHERE EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = x.target)
			AND EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = x.source)
		ORDER BY x.source, x.predicate, x.target
		ON CONFLICT DO NOTHING`,
		pg.Args{"tenant": r.Tenant, "sources": sources, "predicates": predicates, "targets": targets,
			"weights": weights, "reasons": reasons, "times": times})
	if err != nil {
		return err
	}
	r.out.Relations += int(tag.RowsAffected())
	return nil
}
