package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
)

// Records reads the records of the ids that the filter admits, each with its audit log. What a record says of
// others, in relations, in its place among revisions and in reasons, is shown as far as the asker may see those
// and they are live or were superseded.
func (s *Store) Records(ctx context.Context, f Filter, ids []uuid.UUID) (map[uuid.UUID]schema.MemoryRecord, error) {
	var p params
	// The columns are those of Get, which judges others by who may look at single memories.
	others := strings.NewReplacer(readableAs("o"), "("+f.known("o", &p)+")",
		"m.supersedes, m.superseded_by", f.seen("m.supersedes", &p)+", "+f.seen("m.superseded_by", &p))
	columns := others.Replace(recordColumnsAsOf("", relatedTo) + `, ` + auditLog("", true))
	query := `SELECT ` + columns + recordTables + `WHERE m.id = ANY(` + p.add(ids) + `) AND ` + f.where("m", &p)
	out := map[uuid.UUID]schema.MemoryRecord{}
	err := s.ask(ctx, f.Principal.Tenant, planOnce, query, p, func(rows pgx.Rows) error {
		records, err := pgx.CollectRows(rows, scanAudited)
		for _, m := range records {
			out[uuid.MustParse(m.ID)] = m
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	return out, nil
}

// seen renders a column that names a memory, and NULL where the asker may not see that one.
func (f Filter) seen(column string, p *params) string {
	return `(SELECT s.id FROM memories s WHERE s.id = ` + column + ` AND ` + f.known("s", p) + `)`
}

// known renders that the asker may be told of a memory, whatever else the filter asks for.
func (f Filter) known(m string, p *params) string {
	f.Superseded = true
	return f.state(m) + " AND " + f.visible(m, p)
}

// Payloads reads the structured payloads of those of the ids that the filter admits, as they are stored:
// without their place among revisions.
func (s *Store) Payloads(ctx context.Context, f Filter, ids []uuid.UUID) (map[uuid.UUID]json.RawMessage, error) {
	out := make(map[uuid.UUID]json.RawMessage, len(ids))
	var p params
	query := `SELECT m.id, m.payload FROM memories m WHERE m.id = ANY(` + p.add(ids) + `) AND ` + f.where("m", &p)
	var id uuid.UUID
	var payload json.RawMessage
	err := s.eachRow(ctx, f, planOnce, query, p, []any{&id, &payload}, func() { out[id] = append(json.RawMessage{}, payload...) })
	if err != nil {
		return nil, fmt.Errorf("read payloads: %w", err)
	}
	return out, nil
}
