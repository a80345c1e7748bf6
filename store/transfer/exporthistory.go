package transfer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// pastSQL selects the rows of history and the earlier versions of memories, one by one, because a JSON value in
// Postgres has at most 256 MB.
func pastSQL(shown condition) string {
	history, versions := "", ""
	if shown != nil {
		history = ` || jsonb_build_object('reason', ` + read.ReasonFor(shown) + `,
			'metadata', ` + read.MetadataFor(shown) + `)`
		versions = ` AND v.record->>'sensitivity' = ANY(@x_sensitivities)`
	}
	return `
	SELECT h.memory_id, false AS version, h.seq AS place,
		(to_jsonb(h) - '{tenant,memory_id,seq}'::text[]` + history + `)::text AS row
	FROM memory_history h
	WHERE h.tenant = @tenant AND h.memory_id = ANY(@ids)
	UNION ALL
	SELECT v.memory_id, true, v.version,
		(to_jsonb(v) - '{tenant,memory_id}'::text[] || jsonb_build_object('record', v.record - 'tenant'))::text
	FROM memory_versions v
	WHERE v.tenant = @tenant AND v.memory_id = ANY(@ids)` + versions + `
	ORDER BY memory_id, version, place`
}

// withPast passes the lines to emit, each with its history, its audit log and its versions, which a query selects in
// the order of the ids. It has those of one memory at a time.
func withPast(ctx context.Context, tx pgx.Tx, query string, args pg.Args, ids []uuid.UUID, lines []ExportLine,
	emit func(ExportLine) error) error {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	next := 0
	pass := func() error {
		line := lines[next]
		lines[next], next = ExportLine{}, next+1
		return emit(line)
	}
	for rows.Next() {
		var id uuid.UUID
		var version bool
		var place int64
		var row string
		if err := rows.Scan(&id, &version, &place, &row); err != nil {
			return err
		}
		for ids[next] != id {
			if err := pass(); err != nil {
				return err
			}
		}
		line := &lines[next]
		if version {
			line.Versions = append(line.Versions, json.RawMessage(row))
			continue
		}
		line.History = append(line.History, json.RawMessage(row))
		if line.Record != nil {
			if err := logStep(line.Record, row); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for next < len(lines) {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// logStep adds a row of history to the audit log of a record, as package read does.
func logStep(m *schema.MemoryRecord, row string) error {
	var h struct {
		Action    schema.AuditAction `json:"action"`
		ChangedBy string             `json:"changed_by"`
		CreatedAt time.Time          `json:"created_at"`
		Reason    string             `json:"reason"`
	}
	if err := json.Unmarshal([]byte(row), &h); err != nil || h.Action == "" {
		return err
	}
	m.AuditLog = append(m.AuditLog,
		schema.AuditEntry{Action: h.Action, Actor: h.ChangedBy, Timestamp: h.CreatedAt.UTC(), Rationale: h.Reason})
	return nil
}

// orphanHistory passes the history of the next memories without a row to emit, and returns their ids.
func orphanHistory(ctx context.Context, tx pgx.Tx, tenant string, after uuid.UUID,
	emit func(ExportLine) error) ([]uuid.UUID, error) {
	ids, err := commit.Values[uuid.UUID](ctx, tx, `
		SELECT DISTINCT h.memory_id
		FROM memory_history h
		WHERE h.tenant = @tenant AND h.memory_id > @after
			AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = h.memory_id)
		ORDER BY h.memory_id
		LIMIT @limit`, pg.Args{"tenant": tenant, "after": after, "limit": exportPage})
	if err != nil {
		return nil, err
	}
	lines := make([]ExportLine, len(ids))
	for i := range lines {
		lines[i] = ExportLine{Kind: LineHistory, MemoryID: &ids[i]}
	}
	return ids, withPast(ctx, tx, pastSQL(nil), pg.Args{"tenant": tenant, "ids": ids}, ids, lines, emit)
}
