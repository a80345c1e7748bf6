package transfer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// The format of Export: one JSON object a line.
const (
	ExportFormat  = "mneme-export"
	ExportVersion = 1
)

// Kinds of lines of an export, in their order.
const (
	LineHeader   = "header"
	LineArtifact = "artifact"
	LineMemory   = "memory"
	LineHistory  = "history" // of a memory that was deleted, or that shadow mode only evaluated
	LineEvent    = "event"   // of the ledger
	LineTopic    = "topic"   // a standing question, without its answers
	LineEnd      = "end"     // without it, the file is incomplete
)

// ExportCounts counts the content of an export.
type ExportCounts struct {
	Memories  int `json:"memories"`
	Artifacts int `json:"artifacts"`
	Events    int `json:"events"`
	Topics    int `json:"topics,omitempty"`
}

// ExportSelection selects the principal's own memories that match the filter's further conditions, in any state
// except deleted. Without a project or scope it covers all of them.
type ExportSelection struct {
	Filter         pg.Filter // its read policy and AsOf are ignored; an empty MaxSensitivity admits all
	AllAgents      bool      // the whole tenant
	IncludeDeleted bool      // also forgotten or erased memories
}

// where renders the selection as conditions on the alias. The names of the arguments begin with x_ or f_.
func (x ExportSelection) where(m string, args pg.Args) string {
	pr := x.Filter.Principal
	args["x_tenant"] = pr.Tenant
	q := m + ".tenant = @x_tenant"
	if !x.AllAgents {
		args["x_agent"] = pr.Agent
		q += " AND " + m + ".agent_id = @x_agent"
	}
	if !x.IncludeDeleted {
		q += " AND " + m + ".deleted_at IS NULL"
	}
	if pr.Project != "" {
		args["x_project"] = pr.Project
		q += " AND " + m + ".project = @x_project"
	}
	if scope := pr.EffectiveScope(); scope != "" {
		args["x_scope"] = scope
		q += " AND " + m + ".scope = @x_scope"
	}
	if x.Filter.MaxSensitivity != "" {
		args["x_sensitivities"] = x.Filter.MaxSensitivity.AtMost()
		q += " AND " + m + ".sensitivity = ANY(@x_sensitivities)"
	}
	return q + x.Filter.Narrowed(m, args)
}

// isWhole reports whether the selection is the whole tenant. Then data without a memory is exported too.
func (x ExportSelection) isWhole() bool {
	f := x.Filter
	return x.AllAgents && x.IncludeDeleted && f.Principal.Project == "" && f.Principal.EffectiveScope() == "" &&
		f.MaxSensitivity == "" && f.Narrowed("m", pg.Args{}) == ""
}

// isLimited reports whether the selection is limited to some memories of its agents or of its user.
func (x ExportSelection) isLimited() bool {
	f := x.Filter
	return f.Principal.Project != "" || f.Principal.EffectiveScope() != pg.UserScope(f.Principal) ||
		f.MaxSensitivity != "" || f.Narrowed("m", pg.Args{}) != ""
}

// exportPage is the number of memories that an export reads at a time.
const exportPage = 200

// Export passes the selection to emit, line by line: a header, the artifacts, the memories by id, the events in
// order, the open topics, the end. It reads one snapshot of the database and has one page in memory at a time. An
// error of emit ends it and is returned unchanged.
func (s *Transfer) Export(ctx context.Context, x ExportSelection, now time.Time,
	emit func(ExportLine) error) (ExportCounts, error) {
	var counts ExportCounts
	tenant := x.Filter.Principal.Tenant
	var stopped error // the error of emit
	send := func(line ExportLine) error {
		stopped = emit(line)
		return stopped
	}
	err := pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if err := pg.Bind(ctx, tx, tenant, true, s.Limits(pg.ClassLong)); err != nil {
				return err
			}
			if err := plainTimes(ctx, tx); err != nil {
				return err
			}
			at := now.UTC()
			if err := send(ExportLine{Kind: LineHeader, Format: ExportFormat, Version: ExportVersion, Tenant: tenant,
				ExportedAt: &at}); err != nil {
				return err
			}
			for after := []byte(nil); ; {
				a, err := nextArtifact(ctx, tx, x, after)
				if err != nil {
					return err
				}
				if a == nil {
					break
				}
				after, counts.Artifacts = a.Sum, counts.Artifacts+1
				if err := send(ExportLine{Kind: LineArtifact, Artifact: &a.ExportArtifact}); err != nil {
					return err
				}
			}
			for after := uuid.Nil; ; {
				args := pg.Args{"after": after, "limit": exportPage}
				where := x.where("m", args) + ` AND m.id > @after`
				ids, err := exportLines(ctx, tx, x.shown(), where+` ORDER BY m.id LIMIT @limit`, args, send)
				if err != nil {
					return err
				}
				counts.Memories += len(ids)
				if len(ids) < exportPage {
					break
				}
				after = ids[len(ids)-1]
			}
			for after := uuid.Nil; x.isWhole(); {
				ids, err := orphanHistory(ctx, tx, tenant, after, send)
				if err != nil {
					return err
				}
				if len(ids) < exportPage {
					break
				}
				after = ids[len(ids)-1]
			}
			for after := (eventCursor{}); ; {
				lines, next, err := exportEvents(ctx, tx, x, after)
				if err != nil {
					return err
				}
				for _, line := range lines {
					if err := send(line); err != nil {
						return err
					}
				}
				counts.Events += len(lines)
				if after = next; len(lines) < exportPage {
					break
				}
			}
			for after := uuid.Nil; ; {
				lines, next, err := exportTopics(ctx, tx, x, after)
				if err != nil {
					return err
				}
				for _, line := range lines {
					if err := send(line); err != nil {
						return err
					}
				}
				counts.Topics += len(lines)
				if after = next; len(lines) < exportPage {
					break
				}
			}
			return send(ExportLine{Kind: LineEnd, Counts: &counts})
		})
	if stopped != nil {
		return counts, stopped
	}
	if err != nil {
		return counts, fmt.Errorf("export: %w", err)
	}
	return counts, nil
}

// plainTimes makes Postgres render times in UTC, so that the same row is always the same text.
func plainTimes(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT set_config('TimeZone', 'UTC', true)`)
	return err
}

// derivedColumns are the columns of memories that are computed from other columns or from the tenant.
const derivedColumns = `'{tenant,tsv,claim_space,subject_key,claim_key,live}'::text[]`

// condition renders a condition on the memory with an alias.
type condition func(alias string) string

// shown is the condition that the selection's limit on sensitivity admits a memory; nil without a limit. Its argument
// is that of where.
func (x ExportSelection) shown() condition {
	if x.Filter.MaxSensitivity == "" {
		return nil
	}
	return func(alias string) string { return "(" + alias + ".sensitivity = ANY(@x_sensitivities))" }
}

// exportLines passes the lines of the memories m that meet the conditions to emit, and returns their ids. The
// conditions must end with an order by id. If shown is set, the lines are without words of memories that it does not
// admit: reasons, evidence of decisions, and versions.
func exportLines(ctx context.Context, tx pgx.Tx, shown condition, where string, args pg.Args,
	emit func(ExportLine) error) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, exportSQL(shown)+where, args)
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExportLine, error) {
		line := ExportLine{Kind: LineMemory, Record: &schema.MemoryRecord{}}
		m := line.Record
		err := commit.ScanRecordAnd(row, m, &line.Columns, &line.Provenance, &line.Relations, &line.Claims,
			&line.Hints, &line.Entities, &line.Edges, &line.Artifacts, &line.SourceKind)
		if err != nil {
			return line, err
		}
		for name := range recordRow(*m) {
			delete(line.Columns, name) // the record has it
		}
		return line, nil
	})
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(lines))
	for i, line := range lines {
		ids[i] = uuid.MustParse(line.Record.ID)
	}
	past := pg.Args{"tenant": lines[0].Record.Tenant, "ids": ids}
	if shown != nil {
		past["x_sensitivities"] = args["x_sensitivities"]
	}
	return ids, withPast(ctx, tx, pastSQL(shown), past, ids, lines, emit)
}

// exportSQL selects a record, followed by the other fields of a memory's line in the order in which exportLines
// scans them. The caller appends conditions.
func exportSQL(shown condition) string {
	reason := ""
	if shown != nil {
		reason = ` || CASE WHEN EXISTS (
			SELECT FROM memories o
			WHERE o.tenant = r.tenant AND o.id = r.target_id AND NOT ` + shown("o") + `)
			THEN '{"reason": ""}'::jsonb ELSE '{}' END`
	}
	record := strings.Replace(commit.RecordColumns, commit.PlaceOfReason, reason, 1) // its relations have reasons too
	return strings.NewReplacer("/*record*/", record, "/*reason*/", reason).Replace(exportTemplate)
}

const exportTemplate = `
	SELECT /*record*/,
		to_jsonb(m) - ` + derivedColumns + ` AS columns,
		coalesce((
			SELECT jsonb_agg(to_jsonb(v) - '{tenant,memory_id}'::text[] ORDER BY v.position)
			FROM memory_provenance v
			WHERE v.tenant = m.tenant AND v.memory_id = m.id), '[]') AS provenance,
		coalesce((
			SELECT jsonb_agg(to_jsonb(r) - '{tenant,source_id}'::text[]/*reason*/ ORDER BY r.predicate, r.target_id)
			FROM memory_links r
			WHERE r.tenant = m.tenant AND r.source_id = m.id), '[]') AS relations,
		coalesce((
			SELECT jsonb_agg(to_jsonb(c) - '{tenant,memory_id,subject_key}'::text[] ORDER BY c.subject, c.predicate)
			FROM entity_claims c
			WHERE c.tenant = m.tenant AND c.memory_id = m.id), '[]') AS claims,
		coalesce((
			SELECT jsonb_agg(to_jsonb(h) - '{tenant,memory_id,tsv}'::text[] ORDER BY h.position)
			FROM memory_hints h
			WHERE h.tenant = m.tenant AND h.memory_id = m.id), '[]') AS hints,
		coalesce((
			SELECT jsonb_agg(jsonb_build_object('id', e.id, 'canonical_name', e.canonical_name, 'name', e.name,
				'created_at', e.created_at, 'updated_at', e.updated_at, 'mentioned_at', x.created_at)
				ORDER BY e.canonical_name)
			FROM entities e
			LEFT JOIN memory_entity_mentions x ON x.tenant = e.tenant AND x.memory_id = m.id AND x.entity_id = e.id
			WHERE e.tenant = m.tenant AND e.id IN (
				SELECT n.entity_id
				FROM memory_entity_mentions n
				WHERE n.tenant = m.tenant AND n.memory_id = m.id
				UNION
				SELECT unnest(ARRAY[g.source_id, g.target_id])
				FROM entity_relation_sources g
				WHERE g.tenant = m.tenant AND g.memory_id = m.id)), '[]') AS entities,
		coalesce((
			SELECT jsonb_agg(jsonb_build_object('source', f.canonical_name, 'relationship', g.relationship,
				'target', t.canonical_name, 'confidence', r.confidence, 'created_at', r.created_at,
				'updated_at', r.updated_at)
				ORDER BY f.canonical_name, g.relationship, t.canonical_name)
			FROM entity_relation_sources g
			JOIN entity_relations r ON r.tenant = g.tenant AND r.source_id = g.source_id
				AND r.relationship = g.relationship AND r.target_id = g.target_id
			JOIN entities f ON f.tenant = g.tenant AND f.id = g.source_id
			JOIN entities t ON t.tenant = g.tenant AND t.id = g.target_id
			WHERE g.tenant = m.tenant AND g.memory_id = m.id), '[]') AS edges,
		coalesce((
			SELECT jsonb_agg('sha256:' || encode(x.sha256, 'hex') ORDER BY x.sha256)
			FROM memory_artifacts x
			WHERE x.tenant = m.tenant AND x.memory_id = m.id), '[]') AS artifacts,
		CASE WHEN m.erased_at IS NULL THEN coalesce(
			(SELECT k.source_kind FROM memory_source_kinds k WHERE k.tenant = m.tenant AND k.memory_id = m.id),
			(SELECT k.source_kind FROM memory_candidates k WHERE k.tenant = m.tenant AND k.id = m.id),
			'') ELSE '' END AS source_kind
	` + commit.RecordTables + `
	WHERE `

// recordRow returns the columns that a record has values for.
func recordRow(m schema.MemoryRecord) map[string]any {
	text := func(s string) any { // NULL when empty
		if s == "" {
			return nil
		}
		return s
	}
	seconds := func(n int64) any {
		if n == 0 {
			return nil
		}
		return fmt.Sprintf("%d seconds", n)
	}
	d := m.Lifecycle.Decay
	var points any
	if len(d.Points) > 0 {
		points = d.Points
	}
	return map[string]any{
		"id": m.ID, "external_id": text(m.ExternalID), "agent_id": m.Agent, "project": m.Project, "scope": m.Scope,
		"visibility":   m.Visibility,
		"policy_group": m.PolicyGroup, "version": m.Version, "type": m.Type, "category": m.Category, "tier": m.Tier,
		"typology": m.Typology,
		"content":  m.Content, "payload": m.Payload, "tags": pg.TagList(m.Tags), "language": m.Language, "who": m.Who,
		"safe_summary": m.SafeSummary,
		"confidence":   m.Confidence, "importance": m.Importance, "salience": m.Salience, "salience_at": m.SalienceAt,
		"decay_curve": d.Curve, "half_life": seconds(d.HalfLifeSeconds), "min_salience": d.MinSalience,
		"max_age":     seconds(d.MaxAgeSeconds),
		"decay_floor": d.Floor, "decay_points": points, "reinforcement_gain": d.ReinforcementGain,
		"last_reinforced_at": m.Lifecycle.LastReinforcedAt,
		"pinned":             m.Lifecycle.Pinned, "deletion_policy": m.Lifecycle.DeletionPolicy,
		"decay_due_at": m.Lifecycle.DecayDueAt,
		"status":       m.Status, "supersedes": text(m.Supersedes), "superseded_by": text(m.SupersededBy),
		"sensitivity": m.Sensitivity, "key_id": text(m.KeyID), "source_trust": m.SourceTrust,
		"occurred_at": m.OccurredAt, "created_at": m.CreatedAt, "updated_at": m.UpdatedAt,
		"created_by": m.Provenance.CreatedBy,
		"deleted_at": m.DeletedAt, "archived_at": m.ArchivedAt, "superseded_at": m.SupersededAt,
		"erased_at": m.ErasedAt,
		"world_id":  text(m.WorldID), "world_version": text(m.WorldVersion), "agent_session_id": text(m.Session),
		"agent_interaction_id": text(m.Interaction),
	}
}

// storedArtifact is an artifact with its key.
type storedArtifact struct {
	ExportArtifact
	Sum []byte
}

// nextArtifact reads the next artifact after a key: one that a selected memory refers to or, unless the selection is
// limited to some memories, an unreferenced one of a selected agent or user. It reads one at a time, because artifacts
// may be large.
func nextArtifact(ctx context.Context, tx pgx.Tx, x ExportSelection, after []byte) (*storedArtifact, error) {
	if after == nil {
		after = []byte{}
	}
	pr := x.Filter.Principal
	args := pg.Args{"tenant": pr.Tenant, "agent": pr.Agent, "all_agents": x.AllAgents, "user": pg.UserScope(pr),
		"limited": x.isLimited(), "after": after}
	const held = "(@all_agents OR h.agent_id = @agent) AND (@user::text = '' OR h.scope = @user::text)"
	found, err := pg.CollectByName[storedArtifact](ctx, tx, `
		SELECT a.sha256 AS sum,
			encode(a.sha256, 'hex') AS sha256,
			a.media_type,
			a.agent_id AS agent,
			a.created_at, a.content,
			ARRAY(
				SELECT h.agent_id
				FROM artifact_holders h
				WHERE h.tenant = a.tenant AND h.sha256 = a.sha256 AND h.scope = '' AND `+held+`
				ORDER BY 1) AS holders,
			coalesce((
				SELECT jsonb_agg(jsonb_build_object('agent', h.agent_id, 'scope', h.scope) ORDER BY h.agent_id, h.scope)
				FROM artifact_holders h
				WHERE h.tenant = a.tenant AND h.sha256 = a.sha256 AND h.scope <> '' AND `+held+`), '[]') AS user_holders
		FROM artifacts a
		WHERE a.tenant = @tenant AND a.sha256 > @after
			AND (EXISTS (
					SELECT
					FROM memory_artifacts x
					JOIN memories m ON m.tenant = x.tenant AND m.id = x.memory_id
					WHERE x.tenant = a.tenant AND x.sha256 = a.sha256 AND `+x.where("m", args)+`)
				OR NOT @limited
					AND NOT EXISTS (SELECT FROM memory_artifacts x WHERE x.tenant = a.tenant AND x.sha256 = a.sha256)
					AND (@all_agents AND @user::text = '' OR EXISTS (
						SELECT
						FROM artifact_holders h
						WHERE h.tenant = a.tenant AND h.sha256 = a.sha256 AND `+held+`)))
		ORDER BY a.sha256
		LIMIT 1`, args)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
