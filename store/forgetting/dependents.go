package forgetting

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// removeDependents removes the rows that belong to a memory.
func (f *Forgetting) removeDependents(ctx context.Context) error {
	relations := `
		UPDATE memory_links
		SET reason = ''
		WHERE tenant = @tenant
			AND (source_id = ANY(@memories) OR target_id = ANY(@memories))
			AND reason <> ''`
	if lifecycle.DeletesRows(f.Run.Mode) {
		relations = `
			DELETE FROM memory_links
			WHERE tenant = @tenant AND (source_id = ANY(@memories) OR target_id = ANY(@memories))`
	}
	const ofMemories = ` WHERE tenant = @tenant AND memory_id = ANY(@memories)`
	for _, place := range []struct{ key, remove string }{ // the key of the receipt
		{"memory_embeddings", `DELETE FROM memory_embeddings` + ofMemories},
		{"memory_hints", `DELETE FROM memory_hints` + ofMemories},
		{"memory_relations", relations},
		{"memory_provenance", `DELETE FROM memory_provenance` + ofMemories},
		{"memory_versions", `DELETE FROM memory_versions` + ofMemories},
	} {
		if err := f.exec(ctx, place.key, place.remove, nil); err != nil {
			return err
		}
	}
	rows, err := f.Tx.Query(ctx, `DELETE FROM memory_artifacts`+ofMemories+` RETURNING sha256`,
		pg.Args{"tenant": f.Tenant, "memories": f.Gone})
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(sums) == 0 {
		return err
	}
	f.Run.Receipt.Remove("memory_artifacts", len(sums))
	n, err := DropArtifacts(ctx, f.Change, sums)
	f.Run.Receipt.Remove("artifacts", n)
	return err
}

// DropArtifacts deletes the given artifacts that no memory refers to any more.
func DropArtifacts(ctx context.Context, c *commit.Change, sums [][]byte) (int, error) {
	tag, err := c.Tx.Exec(ctx, `
		DELETE FROM artifacts a
		WHERE a.tenant = @tenant AND a.sha256 = ANY(@sums)
			AND NOT EXISTS (
				SELECT FROM memory_artifacts x
				WHERE x.tenant = @tenant AND x.sha256 = a.sha256)`,
		pg.Args{"tenant": c.Tenant, "sums": sums})
	if err != nil {
		return 0, fmt.Errorf("artifacts: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// RemovePart removes at most limit dependent rows of memories and returns how many it removed: fewer than the limit
// if nothing is left. A memory may have thousands of versions and a hundred thousand derived memories.
func RemovePart(ctx context.Context, c *commit.Change, memories []uuid.UUID, limit int) (int, error) {
	removed := 0
	left := func() pg.Args {
		return pg.Args{"tenant": c.Tenant, "memories": memories, "limit": limit - removed}
	}
	for _, remove := range []string{removeVersions, removeRelationsFrom, removeRelationsTo, removeProvenance,
		removeHints} {
		tag, err := c.Tx.Exec(ctx, remove, left())
		if err != nil {
			return removed, fmt.Errorf("dependent rows of memories: %w", err)
		}
		if removed += int(tag.RowsAffected()); removed >= limit {
			return removed, nil
		}
	}
	rows, err := c.Tx.Query(ctx, removeArtifacts, left())
	if err != nil {
		return removed, fmt.Errorf("artifacts: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(sums) == 0 {
		return removed, err
	}
	_, err = DropArtifacts(ctx, c, sums)
	return removed + len(sums), err
}

// Statements of RemovePart: each deletes at most @limit rows of the memories @memories from one table.
var (
	removeVersions = removeSome("memory_versions", "memory_id", "memory_id, version", "version") +
		` AND d.memory_id = c.memory_id AND d.version = c.version`
	removeRelationsFrom = removeSome("memory_links", "source_id", "source_id, predicate, target_id",
		"predicate, target_id") + sameRelation
	removeRelationsTo = removeSome("memory_links", "target_id", "source_id, predicate, target_id",
		"predicate") + sameRelation
	removeProvenance = removeSome("memory_provenance", "memory_id", "memory_id, position", "position") + samePosition
	removeHints      = removeSome("memory_hints", "memory_id", "memory_id, position", "position") + samePosition
	removeArtifacts  = removeSome("memory_artifacts", "memory_id", "memory_id, sha256", "sha256") +
		` AND d.memory_id = c.memory_id AND d.sha256 = c.sha256 RETURNING d.sha256`
)

const (
	sameRelation = ` AND d.source_id = c.source_id AND d.predicate = c.predicate AND d.target_id = c.target_id`
	samePosition = ` AND d.memory_id = c.memory_id AND d.position = c.position`
)

// removeSome renders the beginning of a deletion from a table d of the chosen rows c. of is the column with the
// memory's id, and key has the columns of the primary key.
//
// Each memory's rows are looked up separately, so that the cost depends on the rows removed. They are requested in
// the order of an index; otherwise Postgres would scan the table if one memory has most of its rows.
func removeSome(table, of, key, order string) string {
	return `
		WITH chosen AS (
			SELECT x.*
			FROM unnest(@memories::uuid[]) m(id)
			CROSS JOIN LATERAL (
				SELECT ` + key + `
				FROM ` + table + `
				WHERE tenant = @tenant AND ` + of + ` = m.id
				ORDER BY ` + order + `
				LIMIT @limit) x
			LIMIT @limit
		)
		DELETE FROM ` + table + ` d
		USING chosen c
		WHERE d.tenant = @tenant`
}
