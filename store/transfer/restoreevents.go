package transfer

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// events appends the missing events in order, so that the numbers of each stream are the same as before. An event
// keeps the user of its stream, and loses its session and its references if its memory was erased or is missing here.
func (r *restoring) events(ctx context.Context, events []json.RawMessage) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]map[string]any, len(events))
	var streams, scopes []string // those of users
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
			Stream string     `json:"stream"`
			Scope  string     `json:"stream_scope"`
		}
		if err := json.Unmarshal(raw, &about); err != nil || about.ID == "" || about.Agent == "" {
			problem := schema.FieldError{Field: "event",
				Problem: "must have an id and an agent, and memory_id must be a UUID"}
			return &schema.ValidationError{Fields: []schema.FieldError{problem}}
		}
		if about.Scope != "" && about.Stream != "" {
			streams, scopes = append(streams, about.Stream), append(scopes, about.Scope)
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
	if err := r.streamsOfUsers(ctx, streams, scopes); err != nil {
		return err
	}
	added := 0
	err = r.Tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE added) FROM mneme_append_events($1)`,
		string(encoded)).Scan(&added)
	r.out.Events += added
	return err
}

// streamsOfUsers makes the streams of users that do not exist yet. An existing stream keeps its user.
func (r *restoring) streamsOfUsers(ctx context.Context, streams, scopes []string) error {
	if len(streams) == 0 {
		return nil
	}
	_, err := r.Tx.Exec(ctx, `
		INSERT INTO event_streams (tenant, stream, last_seq, created_at, updated_at, scope)
		SELECT @tenant, x.stream, 0, now(), now(), min(x.scope)
		FROM unnest(@streams::text[], @scopes::text[]) x(stream, scope)
		GROUP BY x.stream
		ORDER BY x.stream
		ON CONFLICT DO NOTHING`, pg.Args{"tenant": r.Tenant, "streams": streams, "scopes": scopes})
	return err
}
