package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// refuseAll refuses everything that would be written: the mode does not allow it.
func (p *putting) refuseAll() {
	status := schema.PutShadow
	if p.in.Policy.Mode == schema.ModeFrozen {
		status = schema.PutFrozen
	}
	for i := range p.items {
		it := &p.items[i]
		if !it.writes() {
			continue
		}
		metadata := p.metadata()
		metadata["shadow"] = status == schema.PutShadow
		metadata["proposed"] = "put"
		metadata["wouldBe"] = string(it.Status)
		p.History(commit.HistoryRow{MemoryID: it.key, Event: schema.EventNone, By: p.in.Request.By(),
			Reason: string(status), Metadata: metadata})
		it.Status, it.Version = status, 0
	}
}

// write carries out what was decided.
func (p *putting) write(ctx context.Context) error {
	if err := p.insert(ctx); err != nil {
		return err
	}
	for i := range p.items {
		it := &p.items[i]
		if !it.writes() {
			continue
		}
		m, stored := p.rows[it.key]
		if !stored {
			m = commit.MemoryRow{ID: it.key, Version: 1, Live: it.row.Status.Live(), Content: it.row.Text.Storage}
		} else {
			next := p.replace
			if m.Type == schema.TypeEpisodic {
				next = p.extendEpisode
			}
			version, err := next(ctx, it, m)
			if err != nil {
				return err
			}
			m.Version, m.Content, it.Version = version, it.row.Text.Storage, version
		}
		p.relateBoth(it)
		if it.Status == schema.PutDiscarded {
			old := m.Content
			version, err := p.ApplyStep(ctx, m, commit.Step{Set: map[string]any{"deleted_at": p.Now},
				Event: schema.EventDeleted, Action: schema.AuditDelete,
				Old: &old, By: p.in.Request.By(), Reason: "task ended", Metadata: p.metadata()})
			if err != nil {
				return err
			}
			it.Version = version
		}
	}
	return p.distrust(ctx)
}

// relateBoth adds the record's edges, and those that follow from them at their other ends: contradiction
// is mutual, and a successor says what it supersedes.
func (p *putting) relateBoth(it *putItem) {
	for _, edge := range it.row.Relations {
		p.RelateAs(it.key, edge)
		if edge.Predicate == revision.RelationContradicts {
			p.RelateAs(edge.Target, commit.Relation{Predicate: revision.RelationContradicts, Target: it.key,
				Weight: edge.Weight, Reason: edge.Reason})
		}
	}
	if by := it.row.SupersededBy; by != nil && it.fresh {
		p.Relate(*by, revision.RelationSupersedes, it.key)
	}
}

// insert inserts the new records, their relations left out: a row that turns out to exist already is the target
// instead.
func (p *putting) insert(ctx context.Context) error {
	var rows []commit.NewMemory
	var at []int
	for i := range p.items {
		if it := &p.items[i]; it.inserts() {
			row := it.row
			row.Relations = nil
			rows, at = append(rows, row), append(at, i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	ids, err := p.InsertMemories(ctx, rows)
	if err != nil {
		return err
	}
	instead := map[uuid.UUID]uuid.UUID{}
	for n, i := range at {
		it := &p.items[i]
		if ids[n] != it.key { // staged meanwhile, by an ingest that does not wait for the scope
			it.keepStored(schema.PutDuplicate, ids[n])
			instead[it.key] = ids[n]
			continue
		}
		it.accessed(p.Change)
	}
	for i := range p.items {
		row := &p.items[i].row
		row.Relations = redirected(row.Relations, instead, row.ID)
	}
	return nil
}

// replace replaces the stored working record.
func (p *putting) replace(ctx context.Context, it *putItem, m commit.MemoryRow) (int, error) {
	row := &it.row
	if err := schema.ValidatePayload(m.Type, mustRaw(row.Payload)); err != nil {
		return 0, err
	}
	set, err := p.replaceable(row)
	if err != nil {
		return 0, err
	}
	old, content := m.Content, row.Text.Storage
	version, err := p.ApplyStep(ctx, m, commit.Step{Set: set, NowLive: true, NewText: true, Event: schema.EventModified,
		Action: schema.AuditModify,
		Old:    &old, New: &content, By: p.in.Request.By(), Reason: cmp.Or(p.in.Request.Reason, "put again"),
		Metadata: p.metadata()})
	if err != nil {
		return 0, err
	}
	// What it replaced stays replaced, and a contradiction is not one side's to take back.
	p.Queue.Queue(`DELETE FROM memory_relations WHERE tenant = $1 AND source_id = $2 AND predicate <> ALL($3)`,
		p.Tenant, m.ID,
		[]string{revision.RelationSupersedes, revision.RelationContradicts})
	p.Queue.Queue(`DELETE FROM memory_provenance WHERE tenant = $1 AND memory_id = $2`, p.Tenant, m.ID)
	p.Queue.Queue(`DELETE FROM memory_artifacts WHERE tenant = $1 AND memory_id = $2`, p.Tenant, m.ID)
	p.Queue.Queue(`DELETE FROM memory_embeddings WHERE tenant = $1 AND memory_id = $2 AND content_hash <> $3`, p.Tenant,
		m.ID, row.Text.Hash)
	p.evidence(m.ID, 0, row)
	if row.Embedding != nil {
		p.Embed(m.ID, row.Classification.Tier, row.Classification.Typology, row.Text.Hash, row.Embedding)
	}
	return version, nil
}

// extendEpisode lets an episode take in what was added to it.
func (p *putting) extendEpisode(ctx context.Context, it *putItem, m commit.MemoryRow) (int, error) {
	payload, err := json.Marshal(it.row.Payload)
	if err != nil {
		return 0, fmt.Errorf("payload: %w", err)
	}
	if err := schema.ValidatePayload(m.Type, payload); err != nil {
		return 0, err
	}
	// Of an episode, the content stays as it is. What was added may be derived from what is trusted
	// less, or hold a secret.
	row := &it.row
	row.Text.Storage, *row.SourceTrust = m.Content, memory.DerivedTrust(*row.SourceTrust, m.SourceTrust)
	row.Classification = row.Classification.DerivedFrom(m.Sensitivity)
	set := map[string]any{"payload": string(payload), "source_trust": *row.SourceTrust,
		"sensitivity": row.Classification.Sensitivity}
	if row.SafeSummary != "" { // the caller need not know that the episode has one
		set["safe_summary"] = row.SafeSummary
	}
	if row.KeyID != "" {
		set["key_id"] = row.KeyID
	}
	version, err := p.ApplyStep(ctx, m, commit.Step{Set: set, NowLive: m.Live, Event: schema.EventModified,
		Action: schema.AuditModify, By: p.in.Request.By(), Reason: cmp.Or(p.in.Request.Reason, "the episode went on"),
		Metadata: p.metadata()})
	if err != nil {
		return 0, err
	}
	known := p.standing[m.ID].Provenance.Sources
	it.row.Refs = slices.DeleteFunc(slices.Clone(it.row.Refs), func(r schema.Ref) bool {
		return slices.ContainsFunc(known, func(k schema.Ref) bool { return sameRef(r, k) })
	})
	p.evidence(m.ID, len(known), &it.row)
	return version, nil
}

// evidence writes provenance from a position on, and the artifacts.
func (p *putting) evidence(id uuid.UUID, from int, row *commit.NewMemory) {
	for i, ref := range row.Refs {
		p.Queue.Queue(`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			p.Tenant, id, from+i, ref.Kind, ref.Ref, ref.Hash, ref.Timestamp, p.Now)
	}
	for _, sum := range row.Artifacts {
		p.Queue.Queue(`INSERT INTO memory_artifacts (tenant, memory_id, sha256) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, p.Tenant, id, sum)
	}
}

// replaceable are the columns of a record that may be put again in place, with their new values.
func (p *putting) replaceable(row *commit.NewMemory) (map[string]any, error) {
	payload, err := json.Marshal(row.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	cl := row.Classification
	salienceAt, createdAt := p.OrNow(row.SalienceAt), p.rows[row.ID].CreatedAt
	var dueAt, maxAge any
	if due, ok := cl.Decay.DueAt(*row.Salience, salienceAt, createdAt, cl.Pinned); ok {
		dueAt = due
	}
	if cl.Decay.MaxAge > 0 {
		maxAge = cl.Decay.MaxAge
	}
	return map[string]any{
		"content": row.Text.Storage, "normalized_content": row.Text.Normalized, "content_hash": row.Text.Hash,
		"payload":  string(payload),
		"category": cl.Category, "tier": cl.Tier, "typology": cl.Typology, "tags": pg.TagList(cl.Tags), "who": row.Who,
		"language":   cmp.Or(row.Language, "en"),
		"confidence": row.Confidence, "importance": cl.Importance, "salience": *row.Salience, "salience_at": salienceAt,
		"decay_curve": cl.Decay.Curve, "half_life": cl.Decay.HalfLife, "min_salience": cl.Decay.MinSalience,
		"max_age": maxAge, "decay_floor": cl.Decay.Floor,
		"decay_points": commit.DecayPoints(cl.Decay), "reinforcement_gain": cl.Decay.ReinforcementGain,
		"last_reinforced_at": p.OrNow(row.ReinforcedAt), "pinned": cl.Pinned,
		"deletion_policy": cl.DeletionPolicy, "decay_due_at": dueAt, "sensitivity": cl.Sensitivity,
		"source_trust": *row.SourceTrust,
		"occurred_at":  row.OccurredAt.UTC(), "agent_session_id": commit.Nullable(row.Session),
		"agent_interaction_id": commit.Nullable(row.Interaction),
		"world_id":             commit.Nullable(row.WorldID), "world_version": commit.Nullable(row.WorldVersion),
		"safe_summary": row.SafeSummary, "key_id": commit.Nullable(row.KeyID),
	}, nil
}

// noteRefusal leaves a history row on the memory that prevents a record, or else under the record's own id, so that
// nothing happens silently.
func (p *putting) noteRefusal(it *putItem) {
	var reason string
	switch it.Status {
	case schema.PutDuplicate:
		reason = "duplicate of a live memory: not written again"
	case schema.PutUnchanged:
		reason = "put again as it stands: not written again"
	case schema.PutConflict, schema.PutAppendOnly, schema.PutVersion, schema.PutBadRef, schema.PutCycle,
		schema.PutNoEvidence:
		reason = string(it.Status)
	case schema.PutExists:
		if it.silent {
			return // another agent's memory says nothing of those who may not see it
		}
		reason = string(it.Status)
	default:
		return
	}
	metadata := p.metadata()
	metadata["proposed"] = "put"
	p.History(commit.HistoryRow{MemoryID: uuid.MustParse(it.ID), Event: schema.EventNone, By: p.in.Request.By(),
		Reason: reason, Metadata: metadata})
}

// metadata names the run in history.
func (p *putting) metadata() map[string]any {
	return map[string]any{"operationId": p.in.Operation.ID, "workflowId": p.in.Operation.WorkflowID}
}

// accessed keeps what a record says of how often it was read.
func (it *putItem) accessed(c *commit.Change) {
	m := &it.record
	if m.AccessCount == 0 && m.LastAccessed == nil {
		return
	}
	at := c.OrNow(m.UpdatedAt)
	if m.LastAccessed != nil {
		at = m.LastAccessed.UTC()
	}
	c.Queue.Queue(`INSERT INTO memory_access (tenant, memory_id, access_count, last_accessed_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`,
		c.Tenant, it.key, m.AccessCount, at)
}
