package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
)

const recordColumns = `m.id, m.type, m.sensitivity, m.confidence, m.salience, m.scope, m.tags, m.created_at, m.updated_at,
	m.decay_curve, extract(epoch FROM m.half_life)::bigint, m.min_salience, coalesce(extract(epoch FROM m.max_age)::bigint, 0), m.decay_floor, m.reinforcement_gain,
	m.last_reinforced_at, m.pinned, m.deletion_policy, m.decay_due_at, m.created_by, m.payload, m.tenant, m.agent_id, m.project, m.visibility,
	m.policy_group, m.version, m.category, m.tier, m.typology, m.content, m.who, m.importance, m.salience_at, m.status, m.occurred_at,
	coalesce(m.agent_session_id, ''), coalesce(a.access_count, 0), a.last_accessed_at, m.deleted_at, m.archived_at, m.superseded_at, m.erased_at,
	m.supersedes, m.superseded_by, coalesce(m.external_id, ''), m.source_trust, m.language, coalesce(m.key_id, ''), coalesce(m.world_id, ''),
	coalesce(m.world_version, ''), coalesce(m.agent_interaction_id, ''),
	coalesce((SELECT jsonb_agg(jsonb_build_object('kind', v.kind, 'ref', v.ref, 'hash', v.hash, 'timestamp', v.at) ORDER BY v.position)
		FROM memory_provenance v WHERE v.tenant = m.tenant AND v.memory_id = m.id), '[]'),
	coalesce((SELECT jsonb_agg(jsonb_build_object('predicate', r.predicate, 'target_id', r.target_id, 'weight', r.weight, 'reason', r.reason) ORDER BY r.predicate, r.target_id)
		FROM memory_relations r WHERE r.tenant = m.tenant AND r.source_id = m.id), '[]')`

const recordTables = ` FROM memories m LEFT JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id `

func scanRecord(row pgx.CollectableRow) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	var id uuid.UUID
	var supersedes, supersededBy *uuid.UUID
	d := &m.Lifecycle.Decay
	err := row.Scan(&id, &m.Type, &m.Sensitivity, &m.Confidence, &m.Salience, &m.Scope, &m.Tags, &m.CreatedAt, &m.UpdatedAt,
		&d.Curve, &d.HalfLifeSeconds, &d.MinSalience, &d.MaxAgeSeconds, &d.Floor, &d.ReinforcementGain,
		&m.Lifecycle.LastReinforcedAt, &m.Lifecycle.Pinned, &m.Lifecycle.DeletionPolicy, &m.Lifecycle.DecayDueAt, &m.Provenance.CreatedBy, &m.Payload,
		&m.Tenant, &m.Agent, &m.Project, &m.Visibility, &m.PolicyGroup, &m.Version, &m.Category, &m.Tier, &m.Typology, &m.Content, &m.Who,
		&m.Importance, &m.SalienceAt, &m.Status, &m.OccurredAt, &m.Session, &m.AccessCount, &m.LastAccessed, &m.DeletedAt, &m.ArchivedAt,
		&m.SupersededAt, &m.ErasedAt, &supersedes, &supersededBy, &m.ExternalID, &m.SourceTrust, &m.Language, &m.KeyID, &m.WorldID, &m.WorldVersion,
		&m.Interaction, &m.Provenance.Sources, &m.Relations)
	m.ID = id.String()
	if supersedes != nil {
		m.Supersedes = supersedes.String()
	}
	if supersededBy != nil {
		m.SupersededBy = supersededBy.String()
	}
	if err == nil {
		err = m.ShowRevision()
	}
	return m, err
}

// mayLookAt is the visibility of the shared filter (Filter, read policy shared) for a single memory,
// whatever its state: an owner may look at what was superseded. $3 is the agent, $4 the project, $5
// the policy group.
const mayLookAt = `(m.agent_id = $3 OR m.visibility = 'global' OR (m.visibility = 'shared' AND m.project = $4)
	OR (m.visibility = 'group' AND m.policy_group <> '' AND m.policy_group = $5))`

// Get reads one memory that is the principal's own or shared with it, whatever its life state: an
// operator may look at what was superseded. It returns ErrNotFound otherwise.
func (s *Store) Get(ctx context.Context, p schema.Principal, id uuid.UUID) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := s.read(ctx, p.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+recordColumns+recordTables+`WHERE m.tenant = $1 AND m.id = $2
			AND `+mayLookAt, p.Tenant, id, p.Agent, p.Project, p.PolicyGroup)
		if err != nil {
			return err
		}
		m, err = pgx.CollectExactlyOneRow(rows, scanRecord)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fmt.Errorf("memory %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return m, fmt.Errorf("read memory: %w", err)
	}
	return m, nil
}

// Page selects one page of a listing, newest first.
type Page struct {
	Before string // id of the last memory of the page before
	Limit  int    // at most 500; 0 means 50
}

// List returns the memories that the filter admits, newest first: ids are ordered by time.
func (s *Store) List(ctx context.Context, f Filter, page Page) ([]schema.MemoryRecord, error) {
	if page.Limit <= 0 || page.Limit > 500 {
		page.Limit = 50
	}
	var p params
	query := `SELECT ` + recordColumns + recordTables + `WHERE ` + f.where("m", &p)
	if page.Before != "" {
		before, err := uuid.Parse(page.Before)
		if err != nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "before", Problem: "must be a memory id"}}}
		}
		query += ` AND m.id < ` + p.add(before)
	}
	query += ` ORDER BY m.id DESC LIMIT ` + p.add(page.Limit)
	out := []schema.MemoryRecord{}
	err := s.read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, p...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return out, nil
}

// History returns every step of a memory that the principal may see, oldest first; none for any
// other. What shadow mode evaluated has history and no memory: it is its agent's to see.
func (s *Store) History(ctx context.Context, p schema.Principal, id uuid.UUID) ([]schema.HistoryEntry, error) {
	out := []schema.HistoryEntry{}
	err := s.read(ctx, p.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT id, memory_id, event, old_content, new_content, changed_by, reason, metadata, created_at,
				coalesce(action, ''), coalesce(version, 0), erased_at
			FROM memory_history h WHERE h.tenant = $1 AND h.memory_id = $2
				AND (EXISTS (SELECT FROM memories m WHERE m.tenant = $1 AND m.id = $2 AND `+mayLookAt+`)
					OR NOT EXISTS (SELECT FROM memories m WHERE m.tenant = $1 AND m.id = $2)
						AND EXISTS (SELECT FROM memory_candidates c JOIN ingest_batches b ON b.tenant = c.tenant AND b.id = c.batch_id
							WHERE c.tenant = $1 AND c.id = $2 AND b.agent_id = $3))
			ORDER BY h.seq`, p.Tenant, id, p.Agent, p.Project, p.PolicyGroup)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (schema.HistoryEntry, error) {
			var h schema.HistoryEntry
			var entry, mem uuid.UUID
			err := row.Scan(&entry, &mem, &h.Event, &h.OldContent, &h.NewContent, &h.ChangedBy, &h.Reason, &h.Metadata, &h.CreatedAt, &h.Action, &h.Version, &h.ErasedAt)
			h.ID, h.MemoryID = entry.String(), mem.String()
			return h, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return out, nil
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

// Stats counts what the tenant holds.
func (s *Store) Stats(ctx context.Context, tenant string) (Stats, error) {
	out := Stats{Memories: map[schema.MemoryType]int64{}}
	err := s.read(ctx, tenant, func(tx pgx.Tx) error {
		var byType json.RawMessage
		err := tx.QueryRow(ctx, `SELECT
			(SELECT coalesce(jsonb_object_agg(type, n), '{}') FROM (SELECT type, count(*) n FROM memories WHERE tenant = $1 AND live GROUP BY type) t),
			(SELECT count(*) FROM entities WHERE tenant = $1), (SELECT count(*) FROM entity_relations WHERE tenant = $1),
			(SELECT count(*) FROM memory_history WHERE tenant = $1), (SELECT count(*) FROM proposals WHERE tenant = $1 AND state = 'blocked' AND outcome NOT IN ('shadow_mode', 'mutations_frozen')),
			(SELECT count(*) FROM index_outbox WHERE tenant = $1),
			(SELECT min(created_at) FROM jobs WHERE tenant = $1 AND state IN ('pending', 'leased', 'failed'))`, tenant).
			Scan(&byType, &out.Entities, &out.Relations, &out.History, &out.ToReview, &out.IndexPending, &out.OldestJob)
		if err != nil {
			return err
		}
		return json.Unmarshal(byType, &out.Memories)
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count memories: %w", err)
	}
	if out.Jobs, err = s.JobCounts(ctx, tenant); err != nil {
		return Stats{}, err
	}
	return out, nil
}
