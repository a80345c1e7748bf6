package transfer

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Reasons why a memory of an export was not restored. No stored memory is overwritten.
const (
	ConflictDifferent = "different"              // another memory has its id, or it has changed since
	ConflictDuplicate = "duplicate_content_hash" // a live memory has its content
	ConflictFact      = "active_fact_exists"     // an active fact makes its claim
	ConflictExternal  = "external_id_taken"
	ConflictForgotten = "forgotten" // it was deleted for good: by force, or by a purge
)

// RestoreConflict is a memory that was not restored.
type RestoreConflict struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// RestoreResult gives the outcome of a batch of lines.
type RestoreResult struct {
	Restored  int // memories
	Unchanged int // memories that are already stored exactly as in the file
	Artifacts int // added
	Relations int // added
	Events    int // added
	Conflicts []RestoreConflict
	// Pending are relations to memories that do not exist yet: pass them to RestoreRelations after all lines.
	Pending []PendingRelation
}

// PendingRelation is a relation whose target may be restored later.
type PendingRelation struct {
	Source uuid.UUID
	ExportRelation
}

// Restore writes lines of an export into a tenant, in one transaction, with the same ids, versions, times and
// history. It does not change stored memories and reports those that differ, so a second restore changes nothing.
// Text search works at once; the vector index gets the memories through the outbox.
//
// The tenant in the lines is ignored. Check supersession with SupersessionCheck first.
func (s *Transfer) Restore(ctx context.Context, tenant string, lines []ExportLine,
	now time.Time) (RestoreResult, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var out RestoreResult
	err := pg.RetryChange(ctx, func() error {
		out = RestoreResult{}
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			return restore(ctx, c, lines, &out)
		})
	})
	if err != nil {
		return RestoreResult{}, fmt.Errorf("restore: %w", unquoted(err))
	}
	return out, nil
}

func restore(ctx context.Context, c *commit.Change, lines []ExportLine, out *RestoreResult) error {
	if err := plainTimes(ctx, c.Tx); err != nil {
		return err
	}
	r := restoring{Change: c, out: out}
	var memories, histories []ExportLine
	var events, topics []json.RawMessage
	for _, line := range lines {
		switch {
		case line.Kind == LineArtifact && line.Artifact != nil:
			if err := r.artifact(ctx, line.Artifact); err != nil {
				return err
			}
		case line.Kind == LineMemory && line.Record != nil:
			memories = append(memories, line)
		case line.Kind == LineEvent:
			events = append(events, line.Event)
		case line.Kind == LineTopic:
			topics = append(topics, line.Topic)
		case line.Kind == LineHistory && line.MemoryID != nil:
			histories = append(histories, line)
		}
	}
	for len(memories) > 0 {
		var part []ExportLine
		part, memories = distinct(memories)
		if err := r.memories(ctx, part); err != nil {
			return err
		}
	}
	if err := r.histories(ctx, histories); err != nil {
		return err
	}
	if err := r.events(ctx, events); err != nil {
		return err
	}
	return r.topics(ctx, topics)
}

// RestoreRelations adds the relations whose ends both exist. It returns how many it added, and how many lack an
// end.
func (s *Transfer) RestoreRelations(ctx context.Context, tenant string, relations []PendingRelation,
	now time.Time) (added, missing int, err error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	err = pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			var out RestoreResult
			r := restoring{Change: c, out: &out}
			err := r.relations(ctx, relations)
			added, missing = out.Relations, len(out.Pending)
			return err
		})
	})
	if err != nil {
		return 0, 0, fmt.Errorf("restore relations: %w", unquoted(err))
	}
	return added, missing, nil
}

// unquoted returns Postgres's message without quoted values, which may be content.
func unquoted(err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || !strings.HasPrefix(pgErr.Code, "22") && !strings.HasPrefix(pgErr.Code, "23") {
		return err
	}
	if pgErr.ConstraintName != "" {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: pgErr.TableName, Problem: "does not meet " +
			pgErr.ConstraintName}}}
	}
	if pgErr.ColumnName != "" {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: pgErr.TableName + "." + pgErr.ColumnName,
			Problem: "must have a value"}}}
	}
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: "(line)",
		Problem: "has a value of the wrong form (" + pgErr.Code + ")"}}}
}

// restoring is the state of one Restore.
type restoring struct {
	*commit.Change
	out     *RestoreResult
	columns map[string]tableColumns // by table
}

func (r *restoring) artifact(ctx context.Context, a *ExportArtifact) error {
	sum, err := hex.DecodeString(a.SHA256)
	if err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "artifact.sha256",
			Problem: "must be hexadecimal"}}}
	}
	if err := r.LockStoredArtifacts(ctx); err != nil {
		return err
	}
	// The table checks that the address is that of the bytes.
	tag, err := r.Tx.Exec(ctx, `
		INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
		VALUES (@tenant, @sum, @media_type, @size, @content, @agent, @created_at)
		ON CONFLICT DO NOTHING`,
		pg.Args{"tenant": r.Tenant, "sum": sum, "media_type": a.MediaType, "size": len(a.Content),
			"content": a.Content, "agent": a.Agent, "created_at": a.CreatedAt})
	if err != nil {
		return err
	}
	r.out.Artifacts += int(tag.RowsAffected())
	_, err = r.Tx.Exec(ctx, `
		INSERT INTO artifact_holders (tenant, sha256, agent_id)
		SELECT @tenant, @sum, h
		FROM unnest(@agents::text[]) h
		ON CONFLICT DO NOTHING`,
		pg.Args{"tenant": r.Tenant, "sum": sum, "agents": a.Holders})
	for _, h := range a.UserHolders {
		if err == nil {
			_, err = r.Tx.Exec(ctx, `
				INSERT INTO artifact_holders (tenant, sha256, agent_id, scope)
				VALUES (@tenant, @sum, @agent, @scope)
				ON CONFLICT DO NOTHING`,
				pg.Args{"tenant": r.Tenant, "sum": sum, "agent": h.Agent, "scope": h.Scope})
		}
	}
	return err
}

// memories inserts the new memories with all that they own, and compares the others.
func (r *restoring) memories(ctx context.Context, lines []ExportLine) error {
	lines, err := r.withoutForgotten(ctx, lines)
	if err != nil {
		return err
	}
	lines, err = r.withoutRivals(ctx, lines)
	if err != nil || len(lines) == 0 {
		return err
	}
	byID := make(map[uuid.UUID]*ExportLine, len(lines))
	rows := make([]map[string]any, len(lines))
	for i := range lines {
		id, row, err := restoredRow(lines[i], r.Tenant)
		if err != nil {
			return err
		}
		byID[id], rows[i] = &lines[i], row
	}
	fresh, err := r.insert(ctx, "memories", rows, "id")
	if err != nil {
		return err
	}
	isFresh := make(map[uuid.UUID]bool, len(fresh))
	for _, id := range fresh {
		isFresh[id] = true
	}
	var stood []uuid.UUID
	for id := range byID {
		if !isFresh[id] {
			stood = append(stood, id)
		}
	}
	same, err := r.settleStanding(ctx, byID, stood)
	if err != nil {
		return err
	}
	if err := r.insertDependents(ctx, byID, fresh); err != nil {
		return err
	}
	r.out.Restored += len(fresh)
	for _, equal := range same {
		if equal {
			r.out.Unchanged++
		}
	}
	var relations []PendingRelation
	for i := range lines { // in the order of the file
		id := uuid.MustParse(lines[i].Record.ID)
		if !isFresh[id] && !same[id] {
			continue
		}
		for _, edge := range lines[i].Relations {
			relations = append(relations, PendingRelation{Source: id, ExportRelation: edge})
		}
	}
	return r.relations(ctx, relations)
}

// withoutForgotten returns the lines without those of memories that were deleted for good, and reports these as
// conflicts. A put refuses their ids, too. Erased memories have a row, which differs from the line.
func (r *restoring) withoutForgotten(ctx context.Context, lines []ExportLine) ([]ExportLine, error) {
	ids := make([]uuid.UUID, 0, len(lines))
	for _, line := range lines {
		if id, err := uuid.Parse(line.Record.ID); err == nil { // restoredRow refuses the others
			ids = append(ids, id)
		}
	}
	gone, err := r.ForgottenIDs(ctx, ids)
	if err != nil || len(gone) == 0 {
		return lines, err
	}
	forgotten := make(map[uuid.UUID]bool, len(gone))
	for _, id := range gone {
		forgotten[id] = true
	}
	return slices.DeleteFunc(lines, func(line ExportLine) bool {
		id, err := uuid.Parse(line.Record.ID)
		if err != nil || !forgotten[id] {
			return false
		}
		r.out.Conflicts = append(r.out.Conflicts, RestoreConflict{ID: id.String(), Reason: ConflictForgotten})
		return true
	}), nil
}

// restoredRow returns the row of memories in a line, for the target tenant.
func restoredRow(line ExportLine, tenant string) (uuid.UUID, map[string]any, error) {
	m := *line.Record
	id, err := uuid.Parse(m.ID)
	if err != nil {
		return id, nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "record.id",
			Problem: "must be a UUID"}}}
	}
	if m.Type == schema.TypeSemantic && m.ErasedAt == nil {
		// The columns have the status and the succession; the payload only shows them.
		var payload map[string]json.RawMessage
		if err := json.Unmarshal(m.Payload, &payload); err != nil || payload == nil {
			return id, nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "record.payload",
				Problem: "must be an object"}}}
		}
		delete(payload, "revision")
		if m.Payload, err = json.Marshal(payload); err != nil {
			return id, nil, err
		}
	}
	row := recordRow(m)
	for name, value := range line.Columns {
		if _, said := row[name]; !said {
			row[name] = value
		}
	}
	row["tenant"] = tenant
	return id, row, nil
}

// settleStanding returns for each stored memory whether it equals the file, and reports those that do not.
func (r *restoring) settleStanding(ctx context.Context, byID map[uuid.UUID]*ExportLine,
	ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	same := map[uuid.UUID]bool{}
	_, err := exportLines(ctx, r.Tx, nil, `m.tenant = @tenant AND m.id = ANY(@ids) ORDER BY m.id`,
		pg.Args{"tenant": r.Tenant, "ids": ids}, func(line ExportLine) error {
			id := uuid.MustParse(line.Record.ID)
			equal, err := sameMemory(line, *byID[id])
			if err != nil {
				return err
			}
			if same[id] = equal; !equal {
				r.out.Conflicts = append(r.out.Conflicts, RestoreConflict{ID: id.String(), Reason: ConflictDifferent})
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		if _, found := same[id]; found {
			continue
		}
		reason, err := r.obstacle(ctx, *byID[id])
		if err != nil {
			return nil, err
		}
		r.out.Conflicts = append(r.out.Conflicts, RestoreConflict{ID: id.String(), Reason: reason})
	}
	return same, nil
}

// obstacle returns which unique key excluded a memory whose id is free.
func (r *restoring) obstacle(ctx context.Context, line ExportLine) (string, error) {
	_, row, err := restoredRow(line, r.Tenant)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(row)
	if err != nil {
		return "", err
	}
	var external, duplicate bool
	err = r.Tx.QueryRow(ctx, `
		SELECT
			EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.external_id = x.external_id),
			EXISTS (
				SELECT
				FROM memories m
				WHERE m.tenant = @tenant AND m.content_hash = x.content_hash AND m.agent_id = x.agent_id
					AND m.project = x.project AND m.scope = x.scope AND m.visibility = x.visibility
					AND m.type = x.type AND m.live)
		FROM jsonb_populate_record(NULL::memories, @row) x`,
		pg.Args{"tenant": r.Tenant, "row": string(encoded)}).Scan(&external, &duplicate)
	switch {
	case err != nil:
		return "", err
	case external:
		return ConflictExternal, nil
	case duplicate:
		return ConflictDuplicate, nil
	}
	return ConflictFact, nil
}

// sameMemory compares only the memories themselves. Access counts do not matter, and relations, artifacts and the
// entity graph only grow.
func sameMemory(a, b ExportLine) (bool, error) {
	plain := func(line ExportLine) (any, error) {
		record := *line.Record
		record.Tenant, record.AccessCount, record.LastAccessed, record.Relations, record.AuditLog = "", 0, nil, nil, nil
		record.AuditOmitted = 0
		encoded, err := json.Marshal(ExportLine{Record: &record, Columns: line.Columns, History: line.History,
			Versions: line.Versions, Provenance: line.Provenance})
		if err != nil {
			return nil, err
		}
		var out any
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber()
		err = decoder.Decode(&out)
		return inUTC(out), err
	}
	left, err := plain(a)
	if err != nil {
		return false, err
	}
	right, err := plain(b)
	return reflect.DeepEqual(left, right), err
}

// inUTC renders the times in a JSON value in UTC, so that the same instant is the same text.
func inUTC(value any) any {
	switch v := value.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case []any:
		for i := range v {
			v[i] = inUTC(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = inUTC(v[key])
		}
	}
	return value
}
