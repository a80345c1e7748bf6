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

// relatedTo is the condition that a relation leads to a memory that the asker may look at: what links
// to another may tell of it, as in a lineage. Its parameters are those of mayRead.
var relatedTo = ` AND EXISTS (SELECT FROM memories o WHERE o.tenant = r.tenant AND o.id = r.target_id AND ` +
	readableAs("o") + `)`

// scanAudited reads the record's columns and its audit log.
func scanAudited(row pgx.CollectableRow) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := commit.ScanRecordAnd(row, &m, &m.AuditLog)
	return m, err
}

// readableAs is pg.MayReadAs for a caller that is shown the content: as far as it is not too sensitive for it ($6).
// Trust is the reader's (document 004 §13): what changes memories goes by MayRead alone.
func readableAs(alias string) string {
	return "(" + pg.MayReadAs(alias) + " AND " + alias + ".sensitivity = ANY($6))"
}

// tablesAsOf joins to every memory c what was believed of it at a time, given as a placeholder, as m:
// the row itself if it is that old, else the version that stood then. A version lacks what follows
// from its other columns, live among them; columns that are younger than it are the row's, but for the
// points of a curve that it may not have had.
func tablesAsOf(at string) string {
	return strings.ReplaceAll(` FROM memories c CROSS JOIN LATERAL (
			SELECT c.* WHERE coalesce(c.recorded_at, c.created_at) <= $at AND c.updated_at <= $at
			UNION ALL
			SELECT r.* FROM memory_versions v CROSS JOIN LATERAL jsonb_populate_record(c, '{"decay_points": null}'
				|| v.record) r
			WHERE v.tenant = c.tenant AND v.memory_id = c.id AND v.since <= $at AND v.until > $at AND c.updated_at > $at
		) m LEFT JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id AND a.last_accessed_at <= $at `,
		"$at", at)
}

// AuditLog is the audit log of the memory m (document 004 §15A.1), oldest first, up to a time given as a placeholder;
// an empty one means all of it. For a caller, named by the parameters of readableAs, it gives no reason of a step
// that made or took a memory which the asker may not look at.
func AuditLog(at string, asked bool) string {
	reason := "h.reason"
	if asked {
		reason = reasonAsked
	}
	until := ""
	if at != "" {
		until = " AND h.created_at <= " + at
	}
	return `coalesce((SELECT jsonb_agg(jsonb_build_object('action', h.action, 'actor', h.changed_by, 'timestamp',
		h.created_at, 'rationale', ` + reason + `) ORDER BY h.seq)
		FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id
		AND h.action IS NOT NULL` + until + `), '[]')`
}

// namesHidden is the condition that a history row h is of a revision together with a memory that the
// asker may not look at: its reason was given for that one, too. What has gone for good hides nothing.
var namesHidden = `(h.metadata ?| '{successor,beside}' AND EXISTS (SELECT FROM memories o WHERE o.tenant = h.tenant
	AND o.id = CASE WHEN coalesce(h.metadata->>'successor',
		h.metadata->>'beside') ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
		THEN coalesce(h.metadata->>'successor', h.metadata->>'beside')::uuid END AND NOT ` + readableAs("o") + `))`

// reasonAsked is the reason of the history row h as an asker may see it.
var reasonAsked = `CASE WHEN ` + namesHidden + ` THEN '[withheld]' ELSE h.reason END`

// Get reads one memory that is the principal's own or shared with it, whatever its life state, with its
// audit log: an operator may look at what was superseded. It returns ErrNotFound otherwise, and for what is
// more sensitive than the clearance lets it see.
func (s *Reading) Get(ctx context.Context, p schema.Principal, id uuid.UUID,
	clearance ...policy.Clearance) (schema.MemoryRecord, error) {
	return s.get(ctx, p, id, `SELECT `+commit.RecordColumnsAsOf("", relatedTo)+`, `+AuditLog("",
		true)+commit.RecordTables+`WHERE m.tenant = $1 AND m.id = $2 AND `+readableAs("m"),
		p.Tenant, id, p.Agent, p.Project, pg.ReadGrants(p), pg.ClearedSensitivities(clearance))
}

// GetAsOf reads a memory as it was believed at a time (record time), whatever its life state then. The current
// visibility decides who may read; the current and the former sensitivity decide what. It returns ErrNotFound for
// what was not known then, and for what has been erased since.
func (s *Reading) GetAsOf(ctx context.Context, p schema.Principal, id uuid.UUID, at time.Time,
	clearance ...policy.Clearance) (schema.MemoryRecord, error) {
	return s.get(ctx, p, id, `SELECT `+commit.RecordColumnsAsOf("$7", relatedTo)+`, `+AuditLog("$7",
		true)+tablesAsOf("$7")+
		`WHERE c.tenant = $1 AND c.id = $2 AND m.sensitivity = ANY($6) AND `+readableAs("c"),
		p.Tenant, id, p.Agent, p.Project, pg.ReadGrants(p), pg.ClearedSensitivities(clearance), at.UTC())
}

func (s *Reading) get(ctx context.Context, p schema.Principal, id uuid.UUID, query string,
	args ...any) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
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

// List returns the memories that the filter admits, newest first: ids are ordered by time. With AsOf
// it judges memories by what was believed then; what the asker may see, it must be allowed to see now
// as well as then.
func (s *Reading) List(ctx context.Context, f pg.Filter, page pg.Page) ([]schema.MemoryRecord, error) {
	page.Limit = pg.PageLimit(page.Limit)
	var p pg.Params
	var query, id string
	pr := f.Principal
	related := strings.NewReplacer("$3", p.Add(pr.Agent), "$4", p.Add(pr.Project), "$5", p.Add(pg.ReadGrants(pr)), "$6",
		p.Add(pg.SensitivitiesUpTo(f.MaxSensitivity))).Replace(relatedTo)
	if f.AsOf == nil {
		query, id = `SELECT `+commit.RecordColumnsAsOf("", related)+commit.RecordTables+`WHERE `+f.Where("m", &p),
			"m.id"
	} else {
		at := p.Add(f.AsOf.UTC())
		query, id = `SELECT `+commit.RecordColumnsAsOf(at, related)+tablesAsOf(at)+`WHERE `+pg.WasLive+`
			AND `+f.Visible("c", &p)+` AND `+f.Visible("m", &p)+f.Narrowed("m", &p), "c.id"
	}
	if page.Before != "" {
		before, err := uuid.Parse(page.Before)
		if err != nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "before",
				Problem: "must be a memory id"}}}
		}
		query += ` AND ` + id + ` < ` + p.Add(before)
	}
	query += ` ORDER BY ` + id + ` DESC LIMIT ` + p.Add(page.Limit)
	out := []schema.MemoryRecord{}
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, p...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, commit.ScanRecord)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return out, nil
}

// HistoryPage selects a part of a memory's history, oldest first. The zero HistoryPage is all of it.
type HistoryPage struct {
	After string // id of the last entry of the page before
	Limit int    // 0 means all
}

// HistoryAt returns a page of the steps of a memory that the principal may see, and that is not more sensitive than
// the clearance lets it see, oldest first; none of any other. What shadow mode evaluated, and what was really
// deleted, has history and no memory: it is its agent's to see. That of what was really deleted does not say whose it
// was, and is shown to no user. It returns a *schema.ValidationError when the memory has no entry of the id to
// continue after.
func (s *Reading) HistoryAt(ctx context.Context, p schema.Principal, id uuid.UUID, page HistoryPage,
	clearance ...policy.Clearance) ([]schema.HistoryEntry, error) {
	badCursor := &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
		Problem: "must be the id of an entry of this history"}}}
	var limit any // NULL: no limit
	if page.Limit > 0 {
		limit = page.Limit
	}
	out := []schema.HistoryEntry{}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		afterSeq := int64(0)
		if page.After != "" {
			after, err := uuid.Parse(page.After)
			if err != nil {
				return badCursor
			}
			err = tx.QueryRow(ctx, `SELECT seq FROM memory_history WHERE tenant = $1 AND id = $2 AND memory_id = $3`,
				p.Tenant, after, id).Scan(&afterSeq)
			if errors.Is(err, pgx.ErrNoRows) {
				return badCursor
			}
			if err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `SELECT `+historyColumnsAsked+`
			FROM memory_history h WHERE h.tenant = $1 AND h.memory_id = $2 AND h.seq > $7
				AND (EXISTS (SELECT FROM memories m WHERE m.tenant = $1 AND m.id = $2 AND `+readableAs("m")+`)
					OR NOT EXISTS (SELECT FROM memories m WHERE m.tenant = $1 AND m.id = $2)
						AND (EXISTS (SELECT FROM memory_candidates c JOIN ingest_batches b ON b.tenant = c.tenant
							AND b.id = c.batch_id
								WHERE c.tenant = $1 AND c.id = $2 AND b.agent_id = $3 AND c.sensitivity = ANY($6)
								AND `+pg.OfUser("b.scope", "$5")+`)
							OR EXISTS (SELECT FROM memory_history d WHERE d.tenant = $1 AND d.memory_id = $2
								AND d.event = 'deleted' AND d.metadata->>'agent' = $3
								AND cardinality($5::text[]) = 1)))
			ORDER BY h.seq LIMIT $8`, p.Tenant, id, p.Agent, p.Project, pg.ReadGrants(p),
			pg.ClearedSensitivities(clearance), afterSeq, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanHistory)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return out, nil
}

// historyColumnsAsked are historyColumns as a caller may see them that the parameters of readableAs name.
var historyColumnsAsked = strings.NewReplacer("h.reason", reasonAsked,
	"h.metadata", `CASE WHEN `+namesHidden+` THEN h.metadata - '{successor,beside,evidence}'::text[]
	ELSE h.metadata END`).Replace(historyColumns)

const historyColumns = `h.id, h.memory_id, h.event, h.old_content, h.new_content, h.changed_by, h.reason, h.metadata,
	h.created_at,
	coalesce(h.action, ''), coalesce(h.version, 0), h.erased_at`

func scanHistory(row pgx.CollectableRow) (schema.HistoryEntry, error) {
	var h schema.HistoryEntry
	var entry, mem uuid.UUID
	err := row.Scan(&entry, &mem, &h.Event, &h.OldContent, &h.NewContent, &h.ChangedBy, &h.Reason, &h.Metadata,
		&h.CreatedAt, &h.Action, &h.Version, &h.ErasedAt)
	h.ID, h.MemoryID = entry.String(), mem.String()
	return h, err
}

// Stats is what a tenant holds.
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
