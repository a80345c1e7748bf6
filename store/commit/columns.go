package commit

import (
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
)

// RecordColumns are what ScanRecord reads, as it is now, with all relations.
var RecordColumns = RecordColumnsAsOf("", "")

// RecordTables are the tables that RecordColumns names.
const RecordTables = ` FROM memories m LEFT JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id `

// ScanRecord scans RecordColumns.
func ScanRecord(row pgx.CollectableRow) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := ScanRecordAnd(row, &m)
	return m, err
}

// RecordColumnsAsOf are the same with what belongs to the record as it stood at a time, given as a
// placeholder or empty for now, and with those relations that a condition admits.
func RecordColumnsAsOf(at, related string) string {
	then := func(alias string) string {
		if at == "" {
			return ""
		}
		return " AND " + alias + ".created_at <= " + at
	}
	return strings.NewReplacer("/*v*/", then("v"), "/*r*/", then("r")).Replace(strings.Replace(recordTemplate,
		"/*related*/", related, 1))
}

// ScanRecordAnd reads the record's columns, and what follows them into more.
func ScanRecordAnd(row pgx.CollectableRow, m *schema.MemoryRecord, more ...any) error {
	var id uuid.UUID
	var supersedes, supersededBy *uuid.UUID
	d := &m.Lifecycle.Decay
	err := row.Scan(append([]any{&id, &m.Type, &m.Sensitivity, &m.Confidence, &m.Salience, &m.Scope, &m.Tags,
		&m.CreatedAt, &m.UpdatedAt,
		&d.Curve, &d.HalfLifeSeconds, &d.MinSalience, &d.MaxAgeSeconds, &d.Floor, &d.ReinforcementGain, &d.Points,
		&m.Lifecycle.LastReinforcedAt, &m.Lifecycle.Pinned, &m.Lifecycle.DeletionPolicy, &m.Lifecycle.DecayDueAt,
		&m.Provenance.CreatedBy, &m.Payload,
		&m.Tenant, &m.Agent, &m.Project, &m.Visibility, &m.PolicyGroup, &m.Version, &m.Category, &m.Tier, &m.Typology,
		&m.Content, &m.Who,
		&m.Importance, &m.SalienceAt, &m.Status, &m.OccurredAt, &m.Session, &m.AccessCount, &m.LastAccessed,
		&m.DeletedAt, &m.ArchivedAt,
		&m.SupersededAt, &m.ErasedAt, &supersedes, &supersededBy, &m.ExternalID, &m.SourceTrust, &m.Language, &m.KeyID,
		&m.WorldID, &m.WorldVersion,
		&m.Interaction, &m.SafeSummary, &m.Provenance.Sources, &m.Relations}, more...)...)
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
	return err
}

const recordTemplate = `m.id, m.type, m.sensitivity, m.confidence, m.salience, m.scope, m.tags, m.created_at,
	m.updated_at,
	m.decay_curve, extract(epoch FROM m.half_life)::bigint, m.min_salience,
	coalesce(extract(epoch FROM m.max_age)::bigint, 0), m.decay_floor, m.reinforcement_gain, m.decay_points,
	m.last_reinforced_at, m.pinned, m.deletion_policy, m.decay_due_at, m.created_by, m.payload, m.tenant, m.agent_id,
	m.project, m.visibility,
	m.policy_group, m.version, m.category, m.tier, m.typology, m.content, m.who, m.importance, m.salience_at, m.status,
	m.occurred_at,
	coalesce(m.agent_session_id, ''), coalesce(a.access_count, 0), a.last_accessed_at, m.deleted_at, m.archived_at,
	m.superseded_at, m.erased_at,
	m.supersedes, m.superseded_by, coalesce(m.external_id, ''), m.source_trust, m.language, coalesce(m.key_id, ''),
	coalesce(m.world_id, ''),
	coalesce(m.world_version, ''), coalesce(m.agent_interaction_id, ''), m.safe_summary,
	coalesce((SELECT jsonb_agg(jsonb_build_object('kind', v.kind, 'ref', v.ref, 'hash', v.hash, 'timestamp', v.at)
		ORDER BY v.position)
		FROM memory_provenance v WHERE v.tenant = m.tenant AND v.memory_id = m.id/*v*/), '[]'),
	coalesce((SELECT jsonb_agg(jsonb_build_object('predicate', r.predicate, 'target_id', r.target_id, 'weight',
		r.weight, 'reason', r.reason) ORDER BY r.predicate, r.target_id)
		FROM memory_relations r WHERE r.tenant = m.tenant AND r.source_id = m.id/*r*//*related*/), '[]')`
