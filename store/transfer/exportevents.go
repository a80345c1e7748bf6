package transfer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// eventCursor is a position in the ledger, in recording order.
type eventCursor struct {
	at     time.Time
	stream string
	seq    int64
}

// exportEvents reads a page of the ledger's events after a cursor: the events of the selected memories and, in an
// export of a whole tenant, also the events that belong to no memory.
func exportEvents(
	ctx context.Context, tx pgx.Tx, x ExportSelection, after eventCursor,
) ([]ExportLine, eventCursor, error) {
	args := pg.Args{"tenant": x.Filter.Principal.Tenant, "after_time": after.at, "after_stream": after.stream,
		"after_seq": after.seq, "limit": exportPage}
	selected := ""
	if !x.isWhole() {
		selected = `
			AND EXISTS (SELECT FROM memories m WHERE m.id = e.memory_id AND ` + x.where("m", args) + `)`
	}
	rows, err := tx.Query(ctx, `
		SELECT e.recorded_at, e.stream, e.seq, to_jsonb(e) - '{tenant,seq}'::text[]
		FROM events e
		WHERE e.tenant = @tenant AND (e.recorded_at, e.stream, e.seq) > (@after_time, @after_stream, @after_seq)`+
		selected+`
		ORDER BY e.recorded_at, e.stream, e.seq
		LIMIT @limit`, args)
	if err != nil {
		return nil, after, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExportLine, error) {
		line := ExportLine{Kind: LineEvent}
		err := row.Scan(&after.at, &after.stream, &after.seq, &line.Event)
		return line, err
	})
	return lines, after, err
}

// events appends the missing events in order, so that the numbers of each stream are the same as before. An event
// loses its session and its references if its memory was erased or is missing here.
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
			ID     string     `json:"id"`
			Agent  string     `json:"agent_id"`
			Memory *uuid.UUID `json:"memory_id"`
		}
		if err := json.Unmarshal(raw, &about); err != nil || about.ID == "" || about.Agent == "" {
			problem := schema.FieldError{Field: "event",
				Problem: "must have an id and an agent, and memory_id must be a UUID"}
			return &schema.ValidationError{Fields: []schema.FieldError{problem}}
		}
		defaults := map[string]any{"stream": ledger.StreamConversation.Stream(about.Agent),
			"visibility": schema.VisibilityPrivate, "sensitivity": schema.SensitivityLow}
		for name, value := range defaults { // an export from before streams existed lacks these fields
			if _, said := owned[0][name]; !said {
				owned[0][name] = value
			}
		}
		if rows[i] = owned[0]; about.Memory != nil {
			of[i] = *about.Memory
		}
	}
	existing, err := r.IdSet(ctx, `
		SELECT id
		FROM memories
		WHERE tenant = $1 AND id = ANY($2) AND erased_at IS NULL`, r.Tenant, of)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if existing[of[i]] {
			row["memory_id"] = of[i]
			continue
		}
		row["session"], row["candidate_id"], row["memory_id"] = "", nil, nil
		if of[i] != uuid.Nil {
			row["payload"] = nil
		}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "event", Problem: "is not valid JSON"}}}
	}
	added := 0
	err = r.Tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE added) FROM mneme_append_events($1)`,
		string(encoded)).Scan(&added)
	r.out.Events += added
	return err
}
