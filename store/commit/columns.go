package commit

import (
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/schema"
)

// RecordColumns are the columns that ScanRecord reads: the current record with all relations.
var RecordColumns = RecordColumnsAsOf("", "", "")

// RecordTables are the tables that RecordColumns reads from.
const RecordTables = ` FROM memories m LEFT JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id `

// RecordRow has the columns of RecordColumns, by name. The columns of a part of the record have the names of the
// part's fields. A reader that selects more columns embeds RecordRow and scans with pgx.RowToStructByNameLax.
type RecordRow struct {
	schema.MemoryRecord
	schema.Lifecycle
	schema.DecayProfile
	schema.Provenance
}

// Record builds the record from its columns.
func (r RecordRow) Record() (schema.MemoryRecord, error) {
	m := r.MemoryRecord
	m.Lifecycle = r.Lifecycle
	m.Lifecycle.Decay = r.DecayProfile
	m.Provenance = r.Provenance
	err := m.ShowRevision()
	return m, err
}

// ScanRecord scans RecordColumns.
func ScanRecord(row pgx.CollectableRow) (schema.MemoryRecord, error) {
	var m schema.MemoryRecord
	err := ScanRecordAnd(row, &m)
	return m, err
}

// ScanRecordAnd scans the record's columns by name, and the columns after them into more.
func ScanRecordAnd(row pgx.CollectableRow, m *schema.MemoryRecord, more ...any) error {
	r, err := pgx.RowToStructByNameLax[RecordRow](leading{row, more})
	if err != nil {
		return err
	}
	log, omitted := m.AuditLog, m.AuditOmitted // more may have set them
	*m, err = r.Record()
	m.AuditLog, m.AuditOmitted = log, omitted
	return err
}

// leading is the first columns of a row; the others are scanned into rest.
type leading struct {
	pgx.CollectableRow
	rest []any
}

// FieldDescriptions describes the first columns.
func (l leading) FieldDescriptions() []pgconn.FieldDescription {
	all := l.CollectableRow.FieldDescriptions()
	return all[:len(all)-len(l.rest)]
}

// Scan scans all columns.
func (l leading) Scan(dest ...any) error { return l.CollectableRow.Scan(append(dest, l.rest...)...) }

// RecordColumnsAsOf are RecordColumns as of a time, given as a placeholder, or empty for now. They include the
// relations r for which the condition related holds, and the sources v for which the condition sourced holds. Both are
// empty or begin with AND.
func RecordColumnsAsOf(at, related, sourced string) string {
	then := func(alias string) string {
		if at == "" {
			return ""
		}
		return " AND " + alias + ".created_at <= " + at
	}
	return strings.NewReplacer("/*provenance*/", then("v")+sourced, "/*relations*/", then("r")+related).
		Replace(recordTemplate)
}

// PlaceOfReason is where RecordColumns ends the object of a relation r. An expression that begins with || may replace
// it.
const PlaceOfReason = "/*reason*/"

// recordTemplate names each column as the field of RecordRow that it fills.
const recordTemplate = `
	m.id, coalesce(m.external_id, '') AS external_id,
	m.tenant, m.agent_id AS agent, m.project, m.scope, m.visibility, m.policy_group, m.version,
	m.type, m.category, m.tier, m.typology,
	m.content, m.safe_summary, m.payload, m.tags, m.who, m.language,
	m.confidence, m.importance, m.source_trust, m.sensitivity, coalesce(m.key_id, '') AS key_id,
	m.salience, m.salience_at, m.last_reinforced_at, m.pinned, m.deletion_policy, m.decay_due_at,
	m.decay_curve AS curve,
	extract(epoch FROM m.half_life)::bigint AS half_life_seconds,
	m.min_salience,
	coalesce(extract(epoch FROM m.max_age)::bigint, 0) AS max_age_seconds,
	m.decay_floor AS floor, m.reinforcement_gain, m.decay_points AS points,
	m.status,
	coalesce(m.supersedes::text, '') AS supersedes,
	coalesce(m.superseded_by::text, '') AS superseded_by,
	m.superseded_at, m.deleted_at, m.archived_at, m.erased_at,
	m.created_at, m.updated_at, m.created_by, m.occurred_at,
	coalesce(m.agent_session_id, '') AS session, coalesce(m.agent_interaction_id, '') AS interaction,
	coalesce(m.world_id, '') AS world_id, coalesce(m.world_version, '') AS world_version,
	coalesce(a.access_count, 0) AS access_count, a.last_accessed_at AS last_accessed,
	coalesce((
		SELECT jsonb_agg(
			jsonb_build_object('kind', v.kind, 'ref', v.ref, 'hash', v.hash, 'timestamp', v.at) ORDER BY v.position)
		FROM memory_provenance v
		WHERE v.tenant = m.tenant AND v.memory_id = m.id/*provenance*/), '[]') AS sources,
	coalesce((
		SELECT jsonb_agg(
			jsonb_build_object('predicate', r.predicate, 'target_id', r.target_id, 'weight', r.weight,
				'reason', r.reason)/*reason*/
			ORDER BY r.predicate, r.target_id)
		FROM memory_links r
		WHERE r.tenant = m.tenant AND r.source_id = m.id/*relations*/), '[]') AS relations`
