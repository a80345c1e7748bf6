package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// storedRecord is the record of an episode as it is stored.
type storedRecord struct {
	Live        bool
	Deleted     bool
	Version     int
	Payload     json.RawMessage
	ContentHash []byte
	Sensitivity schema.Sensitivity
	Sources     []string
}

// readStored reads and locks a record; it returns nil if there is none. If the record must not be changed or
// created, it returns the reason.
func readStored(ctx context.Context, c *commit.Change, id uuid.UUID) (*storedRecord, string, error) {
	found, err := commit.Row[storedRecord](ctx, c.Tx, `
		SELECT m.live, m.deleted_at IS NOT NULL AS deleted, m.version, m.payload, m.content_hash, m.sensitivity,
			array(SELECT p.ref FROM memory_provenance p
				WHERE p.tenant = @tenant AND p.memory_id = m.id AND p.kind = 'event' ORDER BY p.position) AS sources
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = @id
		FOR UPDATE OF m`,
		pg.Args{"tenant": c.Tenant, "id": id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		forgotten, err := c.ForgottenIDs(ctx, []uuid.UUID{id})
		if len(forgotten) > 0 {
			return nil, ledger.KeptForgotten, err
		}
		return nil, "", err
	case err != nil:
		return nil, "", err
	case found.Deleted:
		return &found, ledger.KeptForgotten, nil
	case !found.Live || found.Version > 1:
		return &found, ledger.KeptChanged, nil
	}
	return &found, "", nil
}

// compare lists the fields in which a record differs from its rebuilt episode. It first removes from the episode
// the artifacts that the agent may not see or that do not exist.
func (w writing) compare(ctx context.Context, c *commit.Change, stored *storedRecord, e *session.Episode,
	closed Closed) (out []string, err error) {
	if closed.Events != e.Events {
		out = append(out, "events")
	}
	if closed.Outcome != e.Payload.Outcome {
		out = append(out, "outcome")
	}
	if stored == nil {
		return append(out, "record"), keepArtifacts(ctx, c, w.Principal, &e.Payload)
	}
	var was schema.EpisodicPayload
	if err := json.Unmarshal(stored.Payload, &was); err != nil {
		return append(out, "payload"), keepArtifacts(ctx, c, w.Principal, &e.Payload)
	}
	sameArtifacts(was, &e.Payload)
	record, err := w.record(*e, closed)
	if err != nil {
		return nil, err
	}
	defaults := commit.RecordDefaults{Owner: w.Principal, By: w.actor(), Rules: w.rules}
	row, err := c.FromRecord(ctx, record, defaults)
	var reference *commit.ReferenceError
	if errors.As(err, &reference) { // an artifact has been deleted
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	made, err := json.Marshal(row.Payload)
	if err != nil {
		return nil, err
	}
	for _, field := range diff(stored.Payload, made) {
		out = append(out, "payload."+field)
	}
	if string(stored.ContentHash) != string(row.Text.Hash) {
		out = append(out, "content")
	}
	if sensitive.Rank(stored.Sensitivity) < sensitive.Rank(e.Sensitivity) { // rules may have raised it
		out = append(out, "sensitivity")
	}
	sources := []string{}
	for _, ref := range record.Provenance.Sources {
		sources = append(sources, ref.Ref)
	}
	if !slices.Equal(stored.Sources, sources) {
		out = append(out, "provenance")
	}
	return out, nil
}

// sameArtifacts removes from an episode the stored artifacts that its record does not name.
func sameArtifacts(was schema.EpisodicPayload, now *schema.EpisodicPayload) {
	now.Artifacts = slices.DeleteFunc(now.Artifacts, func(ref string) bool {
		_, stored := commit.ParseAddress(ref)
		return stored && !slices.Contains(was.Artifacts, ref)
	})
	for i, node := range now.ToolGraph {
		if _, stored := commit.ParseAddress(node.ResultRef); stored && i < len(was.ToolGraph) &&
			was.ToolGraph[i].ResultRef == "" {
			now.ToolGraph[i].ResultRef = ""
		}
	}
}

// removeStored removes a record that is created again in the same transaction. If other memories or the entity
// graph refer to the record, it returns false and removes nothing: these references would be lost, because the
// ledger does not have them.
func removeStored(ctx context.Context, c *commit.Change, id uuid.UUID) (bool, error) {
	args := pg.Args{"tenant": c.Tenant, "id": id}
	var referred bool
	err := c.Tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM memory_links l WHERE l.tenant = @tenant AND (l.target_id = @id OR l.source_id = @id))
			OR EXISTS (SELECT FROM memory_entity_mentions x
				WHERE x.tenant = @tenant AND x.memory_id = @id)
			OR EXISTS (SELECT FROM entity_relation_sources x WHERE x.tenant = @tenant AND x.memory_id = @id)`, args).
		Scan(&referred)
	if err != nil || referred {
		return false, err
	}
	_, err = c.Tx.Exec(ctx, `DELETE FROM memory_embeddings WHERE tenant = @tenant AND memory_id = @id`, args)
	if err != nil {
		return false, err
	}
	_, err = c.Tx.Exec(ctx, `DELETE FROM memories WHERE tenant = @tenant AND id = @id`, args)
	return err == nil, err
}
