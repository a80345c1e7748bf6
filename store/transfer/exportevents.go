package transfer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// eventCursor is a place in the ledger, in the order in which events were recorded.
type eventCursor struct {
	at time.Time
	id uuid.UUID
}

// exportEvents reads a page of the ledger's events after a cursor: those of the selected memories, and of a whole
// tenant also those that are of no memory.
func exportEvents(
	ctx context.Context, tx pgx.Tx, x ExportSelection, after eventCursor,
) ([]ExportLine, eventCursor, error) {
	args := pg.Args{"tenant": x.Filter.Principal.Tenant, "after_time": after.at, "after_id": after.id,
		"limit": exportPage}
	selected := ""
	if !x.isWhole() {
		selected = `
			AND EXISTS (SELECT FROM memories m WHERE m.id = e.memory_id AND ` + x.where("m", args) + `)`
	}
	rows, err := tx.Query(ctx, `
		SELECT e.recorded_at, e.id, to_jsonb(e) - '{tenant,seq}'::text[]
		FROM events e
		WHERE e.tenant = @tenant AND (e.recorded_at, e.id) > (@after_time, @after_id)`+selected+`
		ORDER BY e.recorded_at, e.id
		LIMIT @limit`, args)
	if err != nil {
		return nil, after, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExportLine, error) {
		line := ExportLine{Kind: LineEvent}
		err := row.Scan(&after.at, &after.id, &line.Event)
		return line, err
	})
	return lines, after, err
}

// events writes events that are not there. One of a memory that is not there, or was erased, keeps neither its session
// nor what it refers to.
func (r *restoring) events(ctx context.Context, events []json.RawMessage) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]map[string]any, len(events))
	of := make([]uuid.UUID, len(events))
	for i, raw := range events {
		owned, err := r.owned(uuid.Nil, []json.RawMessage{raw})
		if err != nil {
			return err
		}
		var about struct {
			ID     *uuid.UUID `json:"id"`
			Memory *uuid.UUID `json:"memory_id"`
		}
		if err := json.Unmarshal(raw, &about); err != nil || about.ID == nil {
			problem := schema.FieldError{Field: "event", Problem: "must have an id, and ids must be UUIDs"}
			return &schema.ValidationError{Fields: []schema.FieldError{problem}}
		}
		if rows[i] = owned[0]; about.Memory != nil {
			of[i] = *about.Memory
		}
	}
	standing, err := r.IdSet(ctx, `
		SELECT id
		FROM memories
		WHERE tenant = $1 AND id = ANY($2) AND erased_at IS NULL`, r.Tenant, of)
	if err != nil {
		return err
	}
	for i, row := range rows {
		row["memory_id"] = of[i]
		if !standing[of[i]] {
			row["session"], row["candidate_id"], row["memory_id"] = "", nil, nil
		}
	}
	added, err := r.insert(ctx, "events", rows, "id")
	r.out.Events += len(added)
	return err
}
