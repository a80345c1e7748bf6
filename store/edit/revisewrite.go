package edit

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// carry writes what was planned.
func (r *revising) carry(ctx context.Context) error {
	// What stops being live goes first: it frees contents and claims.
	for _, stays := range []bool{false, true} {
		for i := range r.ids {
			if r.plan.Steps[i].Status.Live() == stays {
				if err := r.takeTarget(ctx, i); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case r.named != uuid.Nil:
		if err := r.takeNamed(ctx); err != nil {
			return err
		}
	case r.record != nil:
		if err := r.insertRecord(ctx); err != nil {
			return err
		}
	}
	if r.plan.Narrowed != nil {
		if err := r.insertNarrowed(ctx); err != nil {
			return err
		}
	}
	for _, e := range r.plan.Relations {
		source, err := uuid.Parse(e.Source)
		if err != nil {
			return err // unreachable: they are ids of this revision
		}
		target, err := uuid.Parse(e.Target)
		if err != nil {
			return err
		}
		r.RelateAs(source, commit.Relation{Predicate: e.Predicate, Target: target, Weight: 1,
			Reason: r.in.Request.Reason})
	}
	if m, ok := r.rows[r.named]; ok && r.plan.Record.SourceTrust < m.SourceTrust {
		lowered, err := distrustDerived(ctx, r.Change, r.named, r.plan.Record.SourceTrust, r.in.Request.Principal,
			r.metadata(nil))
		if err != nil {
			return err
		}
		for id, version := range lowered {
			if _, ours := r.versions[id]; ours {
				r.versions[id] = version
			}
		}
	}
	if r.in.Request.Winner != "" {
		return r.supportWinner(ctx)
	}
	return r.discardDone(ctx)
}

// discardDone discards a new record that says that its task is done, as a put of it does (document 004
// §6).
func (r *revising) discardDone(ctx context.Context) error {
	if r.record == nil || !workingDone(*r.in.Request.Record) {
		return nil
	}
	content := r.record.Text.Storage
	version, err := r.ApplyStep(ctx, commit.MemoryRow{ID: r.record.ID, Version: 1, Live: true, Content: content},
		commit.Step{Set: map[string]any{"deleted_at": r.Now},
			Event: schema.EventDeleted, Action: schema.AuditDelete, Old: &content, By: r.in.Request.By(),
			Reason: "task ended", Metadata: r.metadata(nil)})
	r.versions[r.record.ID] = version
	return err
}

// takeTarget carries out the step of the target at a position.
func (r *revising) takeTarget(ctx context.Context, i int) error {
	m, planned := r.rows[r.ids[i]], r.plan.Steps[i]
	s := r.step(planned.Status)
	if planned.Status != m.Status {
		s.Set["status"] = planned.Status
	}
	if planned.Successor != "" {
		s.Set["superseded_by"], s.Set["superseded_at"] = planned.Successor, r.Now
		s.Metadata["successor"] = planned.Successor
	} else if record := r.otherSide(); record != uuid.Nil {
		s.Metadata["beside"] = record.String()
	}
	if !s.NowLive {
		s.Old = &m.Content
	}
	version, err := r.ApplyStep(ctx, m, s)
	r.versions[m.ID] = version
	return err
}

// otherSide is the record that a target is contested with or forked from: that of a fork or a contest.
func (r *revising) otherSide() uuid.UUID {
	if r.record != nil {
		return r.record.ID
	}
	return r.named
}

// step is a step of this revision.
func (r *revising) step(status schema.Status) commit.Step {
	return commit.Step{Set: map[string]any{}, NowLive: status.Live(), Event: schema.EventModified, Action: r.plan.Audit,
		By: r.in.Request.By(), Reason: r.in.Request.Reason, Metadata: r.metadata(nil)}
}

// takeNamed brings a record that existed already into its place.
func (r *revising) takeNamed(ctx context.Context) error {
	m, p := r.rows[r.named], r.plan.Record
	s := r.step(p.Status)
	s.Set["status"], s.Set["sensitivity"] = p.Status, p.Sensitivity
	if p.SourceTrust < m.SourceTrust { // of what it is drawn from now, too
		s.Set["source_trust"] = p.SourceTrust
	}
	if p.Pinned && !m.Pinned {
		maps.Copy(s.Set, m.Pin(r.Now))
	}
	if p.Supersedes != "" && m.Supersedes == nil {
		s.Set["supersedes"] = p.Supersedes
	}
	version, err := r.ApplyStep(ctx, m, s)
	r.versions[m.ID] = version
	return err
}

// insertRecord inserts the new record as planned.
func (r *revising) insertRecord(ctx context.Context) error {
	m, p := r.record, r.plan.Record
	m.Status, m.Confidence, m.SourceTrust, m.Action = p.Status, p.Confidence, &p.SourceTrust, r.plan.Audit
	m.Classification.Sensitivity = p.Sensitivity
	if p.Pinned {
		m.Classification.Pinned, m.Classification.Importance = true, 1
	}
	if p.Supersedes != "" {
		id, err := uuid.Parse(p.Supersedes)
		if err != nil {
			return err // unreachable: it is the id of a target
		}
		m.Supersedes = &id
		m.Relations = append(m.Relations, commit.Relation{Predicate: revision.RelationSupersedes, Target: id, Weight: 1,
			Reason: r.in.Request.Reason})
	}
	ids, err := r.InsertMemories(ctx, []commit.NewMemory{*m})
	if err != nil {
		return err
	}
	if ids[0] != m.ID {
		return pg.ErrConflict // the content was stored since it was looked for
	}
	r.versions[m.ID] = 1
	return nil
}

// insertNarrowed inserts the copy of a fork's target that holds on narrower ground.
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
	hash := narrowedHash(m, v)
	by := r.in.Request.By()
	var due *time.Time // its age counts from now
	if at, ok := m.Decay.DueAt(m.Salience, m.SalienceAt, r.Now, m.Pinned); ok {
		due = &at
	}
	// The rest of the row is the target's, whatever columns there are.
	_, err = r.Tx.Exec(ctx, `INSERT INTO memories (`+copiedColumns+`, id, version, payload, content_hash, status,
		validity, conditions, valid_from, valid_until,
			conditions_hash, supersedes, created_at, updated_at, created_by, decay_due_at)
		SELECT `+copiedColumns+`, $3, 1, $4, $5, 'active', $6, $7, $8, $9, $10, id, $11, $11, $12, $13 FROM memories
			WHERE tenant = $1 AND id = $2`,
		r.Tenant, m.ID, r.narrowed, string(payload), hash, v.Mode, conditions, v.Start, v.End, memory.ConditionsHash(v),
		r.Now, by, due)
	if err != nil {
		return fmt.Errorf("insert narrowed copy: %w", err)
	}
	r.Queue.Queue(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology,
		content_hash, created_at)
		SELECT tenant, gen_random_uuid(), $3, model, dims, embedding, tier, typology, $4, $5 FROM memory_embeddings
		WHERE tenant = $1 AND memory_id = $2`,
		r.Tenant, m.ID, r.narrowed, hash, r.Now)
	for _, copied := range []string{
		`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
			SELECT tenant, $3, position, kind, ref, hash, at, $4 FROM memory_provenance WHERE tenant = $1
			AND memory_id = $2`,
		`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
			SELECT tenant, $3, subject, predicate, object, functional, $4 FROM entity_claims WHERE tenant = $1
			AND memory_id = $2`,
		`INSERT INTO memory_hints (tenant, memory_id, position, source, hint, created_at)
			SELECT tenant, $3, position, source, hint, $4 FROM memory_hints WHERE tenant = $1 AND memory_id = $2`,
	} {
		r.Queue.Queue(copied, r.Tenant, m.ID, r.narrowed, r.Now)
	}
	r.Queue.Queue(`INSERT INTO memory_artifacts (tenant, memory_id, sha256) SELECT tenant, $3, sha256
		FROM memory_artifacts WHERE tenant = $1 AND memory_id = $2`,
		r.Tenant, m.ID, r.narrowed)
	// What it says of entities, in the order in which Link locks them.
	for _, copied := range []string{
		`WITH said AS (
				INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
				SELECT tenant, $3, entity_id, $4 FROM memory_entity_mentions WHERE tenant = $1 AND memory_id = $2
				RETURNING entity_id
			), locked AS (SELECT e.id FROM entities e JOIN said ON said.entity_id = e.id WHERE e.tenant = $1
				ORDER BY e.canonical_name FOR UPDATE OF e)
			UPDATE entities e SET mentions = e.mentions + 1, updated_at = $4 FROM locked l WHERE e.tenant = $1
			AND e.id = l.id`,
		`WITH said AS (
				INSERT INTO memory_entity_relations (tenant, memory_id, source_id, relationship, target_id)
				SELECT tenant, $3, source_id, relationship, target_id FROM memory_entity_relations WHERE tenant = $1
				AND memory_id = $2
				RETURNING source_id, relationship, target_id
			), locked AS (
				SELECT e.source_id, e.relationship, e.target_id FROM entity_relations e
				JOIN said USING (source_id, relationship, target_id)
				WHERE e.tenant = $1 ORDER BY e.source_id, e.relationship, e.target_id FOR UPDATE OF e
			)
			UPDATE entity_relations e SET mentions = e.mentions + 1, updated_at = $4 FROM locked l
			WHERE e.tenant = $1 AND (e.source_id, e.relationship, e.target_id) = (l.source_id, l.relationship,
				l.target_id)`,
	} {
		r.Queue.Queue(copied, r.Tenant, m.ID, r.narrowed, r.Now)
	}
	content := m.Content
	r.History(commit.HistoryRow{MemoryID: r.narrowed, Event: schema.EventCreated, New: &content, By: by,
		Reason:   r.in.Request.Reason,
		Metadata: r.metadata(map[string]any{"narrowed": m.ID.String()}), Action: r.plan.Audit, Version: 1})
	r.Outbox(r.narrowed, 1, "upsert")
	r.Counted = append(r.Counted, r.narrowed)
	r.versions[r.narrowed] = 1
	return r.addEvidence(ctx, r.narrowed)
}

// copiedColumns are what a narrowed copy has in common with its target.
const copiedColumns = `tenant, agent_id, project, scope, visibility, policy_group, type, category, tier, typology,
	content, normalized_content, tags, language, who,
	subject, predicate, object, functional, confidence, importance, salience, salience_at, decay_curve, half_life,
	min_salience, max_age, reinforcement_gain,
	last_reinforced_at, pinned, deletion_policy, decay_floor, decay_points, revision_policy, sensitivity, key_id,
	source_trust, occurred_at,
	world_id, world_version, agent_session_id, agent_interaction_id, safe_summary`

// supportWinner adds the evidence to what the winner of a contest rests on.
func (r *revising) supportWinner(ctx context.Context) error {
	id, err := uuid.Parse(r.in.Request.Winner)
	if err != nil {
		return pg.InvalidID("winner")
	}
	return r.addEvidence(ctx, id)
}

// addEvidence adds the evidence to the end of a memory's provenance.
func (r *revising) addEvidence(ctx context.Context, id uuid.UUID) error {
	if err := r.Flush(ctx); err != nil { // positions follow what is there
		return err
	}
	for _, ref := range r.in.Request.Evidence {
		r.Queue.Queue(`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
			SELECT $1, $2, coalesce(max(position), -1) + 1, $3, $4, $5, $6, $7 FROM memory_provenance WHERE tenant = $1
			AND memory_id = $2
			HAVING NOT coalesce(bool_or(kind = $3 AND ref = $4), false)`,
			r.Tenant, id, ref.Kind, ref.Ref, ref.Hash, ref.Timestamp, r.Now)
	}
	return nil
}

// result is what the revision did.
func (r *revising) result() schema.ReviseResult {
	out := schema.ReviseResult{Status: schema.ReviseApplied, Action: r.plan.Action, Why: r.plan.Why}
	for i, id := range r.ids {
		out.Targets = append(out.Targets, schema.RevisedMemory{ID: id.String(), Version: r.versions[id],
			Status: r.plan.Steps[i].Status})
	}
	if r.record != nil {
		out.Created = append(out.Created, r.record.ID.String())
		out.Record = &schema.RevisedMemory{ID: r.record.ID.String(), Version: r.versions[r.record.ID],
			Status: r.record.Status}
	}
	if r.named != uuid.Nil {
		out.Record = &schema.RevisedMemory{ID: r.named.String(), Version: r.versions[r.named],
			Status: r.plan.Record.Status}
	}
	if r.plan.Narrowed != nil {
		out.Created = append(out.Created, r.narrowed.String())
	}
	return out
}
