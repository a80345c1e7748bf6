package edit

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// copiedColumns are the columns that a narrowed copy takes from its target.
const copiedColumns = `tenant, agent_id, project, scope, visibility, policy_group, type, category, tier, typology,
		content, normalized_content, tags, language, who, subject, predicate, object, functional, confidence,
		importance, salience, salience_at, decay_curve, half_life, min_salience, max_age, reinforcement_gain,
		last_reinforced_at, pinned, deletion_policy, decay_floor, decay_points, revision_policy, sensitivity, key_id,
		source_trust, occurred_at, world_id, world_version, agent_session_id, agent_interaction_id, safe_summary`

// insertNarrowedSQL inserts an active copy of a memory under narrower conditions. All other columns are the
// target's.
const insertNarrowedSQL = `
	INSERT INTO memories (` + copiedColumns + `,
		id, version, payload, content_hash, status, validity, conditions, valid_from, valid_until, conditions_hash,
		supersedes, created_at, updated_at, created_by, decay_due_at)
	SELECT ` + copiedColumns + `,
		@copy, 1, @payload, @hash, 'active', @validity, @conditions, @valid_from, @valid_until, @conditions_hash,
		id, @now, @now, @by, @due
	FROM memories
	WHERE tenant = @tenant AND id = @target`

// The rows that belong to the memory are copied with it.
const (
	copyEmbeddingsSQL = `
		INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
			created_at)
		SELECT tenant, gen_random_uuid(), @copy, model, dims, embedding, tier, typology, @hash, @now
		FROM memory_embeddings
		WHERE tenant = @tenant AND memory_id = @target`
	copyProvenanceSQL = `
		INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
		SELECT tenant, @copy, position, kind, ref, hash, at, @now
		FROM memory_provenance
		WHERE tenant = @tenant AND memory_id = @target`
	copyClaimsSQL = `
		INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
		SELECT tenant, @copy, subject, predicate, object, functional, @now
		FROM entity_claims
		WHERE tenant = @tenant AND memory_id = @target`
	copyHintsSQL = `
		INSERT INTO memory_hints (tenant, memory_id, position, source, hint, created_at)
		SELECT tenant, @copy, position, source, hint, @now
		FROM memory_hints
		WHERE tenant = @tenant AND memory_id = @target`
	copyArtifactsSQL = `
		INSERT INTO memory_artifacts (tenant, memory_id, sha256)
		SELECT tenant, @copy, sha256
		FROM memory_artifacts
		WHERE tenant = @tenant AND memory_id = @target`
	// The entities are locked in the order in which Link locks them.
	copyMentionsSQL = `
		WITH said AS (
			INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
			SELECT tenant, @copy, entity_id, @now
			FROM memory_entity_mentions
			WHERE tenant = @tenant AND memory_id = @target
			RETURNING entity_id
		), locked AS (
			SELECT e.id
			FROM entities e
			JOIN said ON said.entity_id = e.id
			WHERE e.tenant = @tenant
			ORDER BY e.canonical_name
			FOR UPDATE OF e
		)
		UPDATE entities e
		SET mentions = e.mentions + 1, updated_at = @now
		FROM locked l
		WHERE e.tenant = @tenant AND e.id = l.id`
	copyEntityRelationsSQL = `
		WITH said AS (
			INSERT INTO entity_relation_sources (tenant, memory_id, source_id, relationship, target_id)
			SELECT tenant, @copy, source_id, relationship, target_id
			FROM entity_relation_sources
			WHERE tenant = @tenant AND memory_id = @target
			RETURNING source_id, relationship, target_id
		), locked AS (
			SELECT e.source_id, e.relationship, e.target_id
			FROM entity_relations e
			JOIN said USING (source_id, relationship, target_id)
			WHERE e.tenant = @tenant
			ORDER BY e.source_id, e.relationship, e.target_id
			FOR UPDATE OF e
		)
		UPDATE entity_relations e
		SET mentions = e.mentions + 1, updated_at = @now
		FROM locked l
		WHERE e.tenant = @tenant
			AND (e.source_id, e.relationship, e.target_id) = (l.source_id, l.relationship, l.target_id)`
)

// insertNarrowed inserts a copy of a fork's target under narrower conditions.
func (r *revising) insertNarrowed(ctx context.Context) error {
	m, v := r.rows[r.ids[0]], *r.plan.Narrowed
	payload, err := withValidity(m.Payload, v)
	if err != nil {
		return err
	}
	var conditions any
	if len(v.Conditions) > 0 {
		conditions = string(v.Conditions)
	}
	var due *time.Time // its age counts from now
	if at, ok := m.Decay.DueAt(m.Salience, m.SalienceAt, r.Now, m.Pinned); ok {
		due = &at
	}
	hash, by := narrowedHash(m, v), r.in.Request.By()
	_, err = r.Tx.Exec(ctx, insertNarrowedSQL, pg.Args{
		"tenant":          r.Tenant,
		"target":          m.ID,
		"copy":            r.narrowed,
		"payload":         string(payload),
		"hash":            hash,
		"validity":        v.Mode,
		"conditions":      conditions,
		"valid_from":      v.Start,
		"valid_until":     v.End,
		"conditions_hash": memory.ConditionsHash(v),
		"now":             r.Now,
		"by":              by,
		"due":             due,
	})
	if err != nil {
		return fmt.Errorf("insert narrowed copy: %w", err)
	}
	r.copyBelongings(hash)
	content := m.Content
	r.History(commit.HistoryRow{
		MemoryID: r.narrowed,
		Event:    schema.EventCreated,
		New:      &content,
		By:       by,
		Reason:   r.in.Request.Reason,
		Metadata: r.metadata(map[string]any{"narrowed": m.ID.String()}),
		Action:   r.plan.Audit,
		Version:  1,
	})
	r.Outbox(r.narrowed, 1, "upsert")
	r.Counted = append(r.Counted, r.narrowed)
	r.versions[r.narrowed] = 1
	return r.addEvidence(ctx, r.narrowed)
}

// copyBelongings copies the target's dependent rows to its narrowed copy, which has another content hash.
func (r *revising) copyBelongings(hash []byte) {
	target := r.ids[0]
	r.Queue.Queue(copyEmbeddingsSQL, pg.Args{
		"tenant": r.Tenant,
		"target": target,
		"copy":   r.narrowed,
		"hash":   hash,
		"now":    r.Now,
	})
	dated := pg.Args{"tenant": r.Tenant, "target": target, "copy": r.narrowed, "now": r.Now}
	r.Queue.Queue(copyProvenanceSQL, dated)
	r.Queue.Queue(copyClaimsSQL, dated)
	r.Queue.Queue(copyHintsSQL, dated)
	r.Queue.Queue(copyArtifactsSQL, pg.Args{"tenant": r.Tenant, "target": target, "copy": r.narrowed})
	r.Queue.Queue(copyMentionsSQL, dated)
	r.Queue.Queue(copyEntityRelationsSQL, dated)
}
