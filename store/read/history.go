package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// memory.MayReadHistory decides who may read a history, and memory.ShowHistory which parts of it. All reads of
// history for a caller use the conditions below, which are the same rules in SQL; a test checks that they agree.

// mayReadHistory is memory.MayReadHistory for the memory @id and the caller that askerArgs names.
var mayReadHistory = `(
			EXISTS (
				SELECT FROM memories m
				WHERE m.tenant = @tenant AND m.id = @id AND ` + askerLooks("m") + `)
			OR NOT EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = @id)
			AND NOT EXISTS (
				SELECT FROM memory_history d
				WHERE d.tenant = @tenant AND d.memory_id = @id AND d.event = 'deleted' AND d.metadata ? 'agent'
					AND ` + goneSensitivity + ` <> ALL(@cleared))
			AND (
				EXISTS (
					SELECT FROM memory_candidates c
					JOIN ingest_batches b ON b.tenant = c.tenant AND b.id = c.batch_id
					WHERE c.tenant = @tenant AND c.id = @id AND b.agent_id = @agent
						AND c.sensitivity = ANY(@cleared)
						AND ` + pg.OfUser("b.scope", "@grants") + `)
				OR EXISTS (
					SELECT FROM memory_history d
					WHERE d.tenant = @tenant AND d.memory_id = @id AND d.event = 'deleted'
						AND d.metadata->>'agent' = @agent
						AND cardinality(@grants::text[]) = 1)))`

// goneSensitivity is the sensitivity of a memory without a row, from the row of history d that ended it. Of a memory
// that was purged before this was recorded it is not known, so only a reader of everything reads its texts. The history
// of a memory that was forgotten by force has no texts.
const goneSensitivity = `coalesce(d.metadata->>'sensitivity',
						CASE d.action WHEN 'purge' THEN 'hyper' ELSE 'public' END)`

// withheld is the condition under which memory.ShowHistory withholds the reason and the evidence of the history row
// h: it names several memories, and the caller may not read one of them. source is the condition for the memory that a
// fact was extracted from.
func withheld(may, source looks) string {
	hidden := func(may looks, names ...string) string {
		ids := make([]string, len(names))
		for i, name := range names {
			id := `h.metadata->>'` + name + `'`
			ids[i] = `CASE WHEN ` + id + ` ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (` + id + `)::uuid END`
		}
		return `EXISTS (
			SELECT FROM memories o
			WHERE o.tenant = h.tenant AND o.id = ANY(ARRAY[` + strings.Join(ids, ", ") + `]) AND NOT ` + may("o") + `)`
	}
	others := slices.DeleteFunc(slices.Clone(memory.HistoryNames), func(name string) bool {
		return name == memory.HistorySource
	})
	return `(
		h.metadata ?| '{` + strings.Join(memory.HistoryNames, ",") + `}'
		AND (` + hidden(may, others...) + ` OR ` + hidden(source, memory.HistorySource) + `))`
}

// reasonShown is the reason of the history row h as the caller may see it.
func reasonShown(may, source looks) string {
	return `CASE WHEN ` + withheld(may, source) + ` THEN ` + pg.QuoteLiteral(memory.WithheldReason) +
		` ELSE h.reason END`
}

// metadataShown is the metadata of the history row h as the caller may see it.
func metadataShown(may looks) string {
	members := pg.QuoteLiteral("{" + strings.Join(memory.WithheldMetadata, ",") + "}")
	return `CASE WHEN ` + withheld(may, may) + ` THEN h.metadata - ` + members + `::text[] ELSE h.metadata END`
}

// ReasonFor and MetadataFor render the reason and the metadata of the history row h for a reader that may read the
// memories for which a condition holds. They withhold what may be about others.
func ReasonFor(may func(alias string) string) string { return reasonShown(may, may) }

// MetadataFor is described at ReasonFor.
func MetadataFor(may func(alias string) string) string { return metadataShown(may) }

// auditLog renders two columns of the memory m: its audit log (document 004 §15A.1) with the latest entries, oldest
// first, and the number of entries before those. Both are as of a time, given as a placeholder; an empty one means now.
// The reason of the history row h is an expression.
func auditLog(at, reason string) string {
	steps := `
		FROM memory_history h
		WHERE h.tenant = m.tenant AND h.memory_id = m.id AND h.action IS NOT NULL`
	if at != "" {
		steps += " AND h.created_at <= " + at
	}
	latest := strconv.Itoa(schema.MaxAuditEntries)
	return `coalesce((
		SELECT jsonb_agg(` + auditEntry(reason) + ` ORDER BY h.seq)
		FROM (SELECT h.*` + steps + `
			ORDER BY h.seq DESC
			LIMIT ` + latest + `) h), '[]') AS audit_log,
		(SELECT greatest(count(*) - ` + latest + `, 0)` + steps + `) AS audit_omitted`
}

// auditEntry is the history row h as an entry of an audit log.
func auditEntry(reason string) string {
	return `jsonb_build_object('action', h.action, 'actor', h.changed_by, 'timestamp', h.created_at,
			'rationale', ` + reason + `)`
}

// HistoryPage selects a part of a memory's history, oldest first. The zero HistoryPage is all of it.
type HistoryPage struct {
	After string // id of the last entry of the previous page
	Limit int    // 0 means all
}

// historySQL reads a page of a history, by the fields of schema.HistoryEntry.
var historySQL = `
	SELECT h.id, h.memory_id, h.event, h.old_content, h.new_content, h.changed_by,
		` + reasonShown(askerLooks, askerLooks) + ` AS reason,
		` + metadataShown(askerLooks) + ` AS metadata,
		h.created_at, coalesce(h.action, '') AS action, coalesce(h.version, 0) AS version, h.erased_at
	FROM memory_history h
	WHERE h.tenant = @tenant AND h.memory_id = @id AND h.seq > @after
		AND ` + mayReadHistory + `
	ORDER BY h.seq
	LIMIT @limit`

// HistoryAt returns a page of a memory's history, oldest first. It is empty unless the principal may read the
// history within the clearance (memory.MayReadHistory). If the memory has no entry with the id to continue after,
// it returns a *schema.ValidationError.
func (s *Reading) HistoryAt(ctx context.Context, p schema.Principal, id uuid.UUID, page HistoryPage,
	clearance ...policy.Clearance) ([]schema.HistoryEntry, error) {
	args := askerArgs(p, pg.ClearedSensitivities(clearance))
	args["id"], args["limit"] = id, nil // NULL: no limit
	if page.Limit > 0 {
		args["limit"] = page.Limit
	}
	out := []schema.HistoryEntry{}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		after, err := entryBefore(ctx, tx, p.Tenant, id, page.After)
		if err != nil {
			return err
		}
		args["after"] = after
		rows, _ := tx.Query(ctx, historySQL, args)
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[schema.HistoryEntry])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return out, nil
}

// entryBefore returns the position of the entry after which a page begins; 0 for the first page.
func entryBefore(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, entry string) (int64, error) {
	if entry == "" {
		return 0, nil
	}
	badCursor := &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
		Problem: "must be the id of an entry of this history"}}}
	parsed, err := uuid.Parse(entry)
	if err != nil {
		return 0, badCursor
	}
	rows, _ := tx.Query(ctx, `
		SELECT seq
		FROM memory_history
		WHERE tenant = @tenant AND id = @entry AND memory_id = @memory`,
		pg.Args{"tenant": tenant, "entry": parsed, "memory": id})
	seq, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, badCursor
	}
	return seq, err
}
