package read

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// looks renders the condition that the caller may read the memory with an alias.
type looks func(alias string) string

// mayLook is looks for a caller who is shown the content: pg.SharedWith, within the given sensitivities. The
// placeholders give agent, project, grants (pg.ReadGrants) and sensitivities. Trust applies to readers (document 004
// §13); changes use pg.SharedWith alone.
func mayLook(agent, project, grants, cleared string) looks {
	return func(alias string) string {
		return "(" + pg.SharedWith(alias, agent, project, grants) + " AND " + alias + ".sensitivity = ANY(" +
			cleared + "))"
	}
}

// askerLooks is mayLook for the caller that askerArgs names.
var askerLooks = mayLook("@agent", "@project", "@grants", "@cleared")

// askerArgs are the arguments of a statement that uses askerLooks.
func askerArgs(p schema.Principal, cleared []schema.Sensitivity) pg.Args {
	return pg.Args{
		"tenant":  p.Tenant,
		"agent":   p.Agent,
		"project": p.Project,
		"grants":  pg.ReadGrants(p),
		"cleared": cleared,
	}
}

// toSeen is the condition that a relation r leads to a memory that the caller may read, because a link to another
// memory may reveal something about it.
func toSeen(may looks) string {
	return `
			AND EXISTS (
				SELECT FROM memories o
				WHERE o.tenant = r.tenant AND o.id = r.target_id AND ` + may("o") + `)`
}

// columnsSeen are the columns of a record as of a time, given as a placeholder, or empty for now, without what names a
// memory that the caller may not read: relations, the predecessor, the successor and sources. may is the condition for
// the others, and source that for sources.
func columnsSeen(at string, may, source looks) string {
	named := func(column string) string {
		return `(SELECT o.id FROM memories o WHERE o.tenant = m.tenant AND o.id = ` + column + ` AND ` + may("o") + `)`
	}
	return strings.NewReplacer(
		"m.supersedes", named("m.supersedes"),
		"m.superseded_by", named("m.superseded_by"),
	).Replace(commit.RecordColumnsAsOf(at, toSeen(may), " AND "+pg.SourceShown("v", source)))
}

// scanAudited reads the record's columns and its audit log.
func scanAudited(row pgx.CollectableRow) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := commit.ScanRecordAnd(row, &m, &m.AuditLog, &m.AuditOmitted)
	return m, err
}

// tablesAsOf joins to every memory c its state m at a time, given as a placeholder: the row itself if it is old
// enough, otherwise the version that was current then. Versions lack generated columns such as live. Columns newer
// than the version are taken from the row, except the points of a curve, which the version may not have had.
func tablesAsOf(at string) string {
	return strings.ReplaceAll(`
	FROM memories c
	CROSS JOIN LATERAL (
		SELECT c.*
		WHERE coalesce(c.recorded_at, c.created_at) <= $at AND c.updated_at <= $at
		UNION ALL
		SELECT r.*
		FROM memory_versions v
		CROSS JOIN LATERAL jsonb_populate_record(c, '{"decay_points": null}' || v.record) r
		WHERE v.tenant = c.tenant AND v.memory_id = c.id
			AND v.since <= $at AND v.until > $at
			AND c.updated_at > $at
	) m
	LEFT JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id AND a.last_accessed_at <= $at
	`, "$at", at)
}

// getSQL reads one memory with its audit log.
var getSQL = `
	SELECT ` + columnsSeen("", askerLooks, askerLooks) + `,
		` + auditLog("", reasonShown(askerLooks, askerLooks)) + commit.RecordTables + `
	WHERE m.tenant = @tenant AND m.id = @id AND ` + askerLooks("m")

// Get reads one memory that is the principal's own or shared with it, in any life state, with its audit log: an
// operator may read superseded memories. For any other memory, and for one above the clearance, it returns
// ErrNotFound.
func (s *Reading) Get(ctx context.Context, p schema.Principal, id uuid.UUID,
	clearance ...policy.Clearance) (schema.MemoryRecord, error) {
	args := askerArgs(p, pg.ClearedSensitivities(clearance))
	args["id"] = id
	return s.get(ctx, p.Tenant, id, getSQL, args)
}

// getAsOfSQL reads one memory with its audit log as of a time.
var getAsOfSQL = `
	SELECT ` + columnsSeen("@at", askerLooks, askerLooks) + `,
		` + auditLog("@at", reasonShown(askerLooks, askerLooks)) + tablesAsOf("@at") + `
	WHERE c.tenant = @tenant AND c.id = @id AND m.sensitivity = ANY(@cleared) AND ` + askerLooks("c")

// GetAsOf reads a memory as it was at a time (record time), in any life state. The current visibility decides who
// may read it, and both the current and the former sensitivity must be within the clearance. For a memory that was
// not known then, or has been erased since, it returns ErrNotFound.
func (s *Reading) GetAsOf(ctx context.Context, p schema.Principal, id uuid.UUID, at time.Time,
	clearance ...policy.Clearance) (schema.MemoryRecord, error) {
	args := askerArgs(p, pg.ClearedSensitivities(clearance))
	args["id"], args["at"] = id, at.UTC()
	return s.get(ctx, p.Tenant, id, getAsOfSQL, args)
}

func (s *Reading) get(ctx context.Context, tenant string, id uuid.UUID, query string,
	args pg.Args) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var err error
		rows, _ := tx.Query(ctx, query, args)
		m, err = pgx.CollectExactlyOneRow(rows, scanAudited)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fmt.Errorf("memory %s: %w", id, pg.ErrNotFound)
	}
	if err != nil {
		return m, fmt.Errorf("read memory: %w", err)
	}
	return m, nil
}

// List returns the memories that the filter admits, newest first, because ids are ordered by time. With AsOf it
// uses the state of memories at that time; the principal must be allowed to see them both then and now.
func (s *Reading) List(ctx context.Context, f pg.Filter, page pg.Page) ([]schema.MemoryRecord, error) {
	query, args, err := listQuery(f, page)
	if err != nil {
		return nil, err
	}
	out := []schema.MemoryRecord{}
	err = s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		var err error
		rows, _ := tx.Query(ctx, query, args...)
		out, err = pgx.CollectRows(rows, commit.ScanRecord)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return out, nil
}

// listQuery builds the query of a list from the filter.
func listQuery(f pg.Filter, page pg.Page) (string, pg.Params, error) {
	var p pg.Params
	var query, id string
	pr := f.Principal
	may := mayLook(p.Add(pr.Agent), p.Add(pr.Project), p.Add(pg.ReadGrants(pr)),
		p.Add(pg.SensitivitiesUpTo(f.MaxSensitivity)))
	if f.AsOf == nil {
		id = "m.id"
		query = `
	SELECT ` + columnsSeen("", may, may) + commit.RecordTables + `
	WHERE ` + f.Where("m", &p)
	} else {
		id = "c.id"
		at := p.Add(f.AsOf.UTC())
		query = `
	SELECT ` + columnsSeen(at, may, may) + tablesAsOf(at) + `
	WHERE ` + pg.WasLive + `
		AND ` + f.Visible("c", &p) + `
		AND ` + f.Visible("m", &p) + f.Narrowed("m", &p)
	}
	if page.Before != "" {
		before, err := uuid.Parse(page.Before)
		if err != nil {
			return "", nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "before",
				Problem: "must be a memory id"}}}
		}
		query += `
		AND ` + id + ` < ` + p.Add(before)
	}
	query += `
	ORDER BY ` + id + ` DESC
	LIMIT ` + p.Add(pg.PageLimit(page.Limit))
	return query, p, nil
}

// Stats counts the data of a tenant.
type Stats struct {
	Memories     map[schema.MemoryType]int64 `json:"memories"` // live, by type
	Entities     int64                       `json:"entities"`
	Relations    int64                       `json:"entity_relations"`
	History      int64                       `json:"history"`
	Jobs         map[schema.JobState]int64   `json:"jobs"`
	ToReview     int64                       `json:"proposals_to_review"` // held back by a rule, not by the mode
	IndexPending int64                       `json:"index_pending"`
	OldestJob    *time.Time                  `json:"oldest_open_job,omitempty"`
}
