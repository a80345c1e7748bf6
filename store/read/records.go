package read

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Records reads the records of the ids that the filter admits, each with its audit log. Relations, predecessors,
// successors, sources and reasons that mention other memories are shown if the principal may see those and, except
// sources, they are live or superseded.
func (s *Reading) Records(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]schema.MemoryRecord,
	error) {
	var p pg.Params
	// The columns are those of Get, which checks the visibility of each memory.
	may := func(alias string) string { return "(" + known(f, alias, &p) + ")" }
	// A fact outlives the memory that it was extracted from.
	source := func(alias string) string { return "(" + f.Visible(alias, &p) + ")" }
	query := `
	SELECT ` + columnsSeen("", may, source) + `,
		` + auditLog("", reasonShown(may, source)) + commit.RecordTables + `
	WHERE m.id = ANY(` + p.Add(ids) + `) AND ` + f.Where("m", &p)
	out := map[uuid.UUID]schema.MemoryRecord{}
	err := s.QueryBatch(ctx, f.Principal.Tenant, pg.PlanOnce, query, p, func(rows pgx.Rows) error {
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

// known renders the condition that the principal may know of a memory, without the filter's other conditions.
func known(f pg.Filter, m string, p *pg.Params) string {
	f.Superseded = true
	return f.State(m) + " AND " + f.Visible(m, p)
}

// Payloads reads the stored structured payloads of the ids that the filter admits. They lack the revision state,
// which has its own columns.
func (s *Reading) Payloads(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]json.RawMessage, error) {
	out := make(map[uuid.UUID]json.RawMessage, len(ids))
	var p pg.Params
	query := `
	SELECT m.id, m.payload
	FROM memories m
	WHERE m.id = ANY(` + p.Add(ids) + `) AND ` + f.Where("m", &p)
	err := s.QueryBatch(ctx, f.Principal.Tenant, pg.PlanOnce, query, p, func(rows pgx.Rows) error {
		payloads, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
			ID      uuid.UUID
			Payload json.RawMessage
		}])
		for _, m := range payloads {
			out[m.ID] = m.Payload
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read payloads: %w", err)
	}
	return out, nil
}
