package transfer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
)

// tableColumns are the columns of a table.
type tableColumns struct {
	All     []string
	Written []string // without those that Postgres generates
}

// partOf names the part of a line that has the rows of a table.
var partOf = map[string]string{
	"memories":          "columns",
	"memory_history":    "history",
	"memory_versions":   "versions",
	"memory_provenance": "provenance",
	"entity_claims":     "claims",
	"memory_hints":      "hints",
}

// insert writes rows, given by column, and returns the values of one column of the new rows. A missing column gets
// its default, because older files lack newer columns. An unknown one is refused. Rows are inserted in the order of the
// file, because history is ordered by insertion.
func (r *restoring) insert(ctx context.Context, table string, rows []map[string]any,
	returning string) ([]uuid.UUID, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	known, err := r.columnsOf(ctx, table)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for _, name := range slices.Sorted(maps.Keys(row)) {
			if !slices.Contains(known.All, name) {
				return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: partOf[table] + "." + name,
					Problem: "is not known: the file is from a newer version, or the name is wrong"}}}
			}
		}
	}
	said := func(row map[string]any) string {
		var names []string
		for _, name := range known.Written {
			if _, ok := row[name]; ok {
				names = append(names, pgx.Identifier{name}.Sanitize())
			}
		}
		return strings.Join(names, ", ")
	}
	var out []uuid.UUID
	for from := 0; from < len(rows); {
		columns, to := said(rows[from]), from+1
		for to < len(rows) && said(rows[to]) == columns {
			to++
		}
		found, err := r.insertColumns(ctx, table, columns, rows[from:to], returning)
		if err != nil {
			return nil, err
		}
		out, from = append(out, found...), to
	}
	return out, nil
}

// insertBytes is how much JSON one statement inserts. A JSON value in Postgres has at most 256 MB.
const insertBytes = 32 << 20

// insertColumns writes rows that have the same columns.
func (r *restoring) insertColumns(ctx context.Context, table, columns string, rows []map[string]any,
	returning string) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for len(rows) > 0 {
		encoded, n := []byte{'['}, 0
		for ; n < len(rows) && (n == 0 || len(encoded) < insertBytes); n++ {
			row, err := json.Marshal(rows[n])
			if err != nil {
				return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: table,
					Problem: "is not valid JSON"}}}
			}
			if n > 0 {
				encoded = append(encoded, ',')
			}
			encoded = append(encoded, row...)
		}
		rows = rows[n:]
		found, err := r.Tx.Query(ctx, `
			INSERT INTO `+table+` (`+columns+`)
			SELECT `+columns+`
			FROM jsonb_populate_recordset(NULL::`+table+`, $1) WITH ORDINALITY
			ORDER BY ordinality
			ON CONFLICT DO NOTHING
			RETURNING `+returning, string(append(encoded, ']')))
		if err != nil {
			return nil, err
		}
		ids, err := pgx.CollectRows(found, pgx.RowTo[uuid.UUID])
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	return out, nil
}

// columnsOf returns the columns of a table.
func (r *restoring) columnsOf(ctx context.Context, table string) (tableColumns, error) {
	if columns, ok := r.columns[table]; ok {
		return columns, nil
	}
	var columns tableColumns
	err := r.Tx.QueryRow(ctx, `
		SELECT array_agg(attname::text),
			array_agg(attname::text ORDER BY attnum) FILTER (WHERE attgenerated = '' AND attidentity = '')
		FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`,
		table).Scan(&columns.All, &columns.Written)
	if r.columns == nil {
		r.columns = map[string]tableColumns{}
	}
	r.columns[table] = columns
	return columns, err
}
