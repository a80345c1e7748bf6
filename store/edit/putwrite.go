package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// write carries out the decisions.
func (p *putting) write(ctx context.Context) error {
	for i := range p.items {
		p.noteKept(&p.items[i])
	}
	if err := p.insert(ctx); err != nil {
		return err
	}
	for i := range p.items {
		if it := &p.items[i]; it.Writes() {
			if err := p.writeItem(ctx, it); err != nil {
				return err
			}
		}
	}
	return p.distrust(ctx)
}

// writeItem writes everything that belongs to one record. If the record is new, its row has been inserted.
func (p *putting) writeItem(ctx context.Context, it *putItem) error {
	m := commit.MemoryRow{ID: it.key, Version: 1, Live: it.row.Status.Live(), Content: it.row.Text.Storage}
	if stored, ok := p.stored[it.key]; ok {
		m = stored.row
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
	if it.Status != schema.PutDiscarded {
		return nil
	}
	old := m.Content
	var err error
	it.Version, err = p.ApplyStep(ctx, m, commit.Step{
		Set:      map[string]any{"deleted_at": p.Now},
		Event:    schema.EventDeleted,
		Action:   schema.AuditDelete,
		Old:      &old,
		By:       p.in.Request.By(),
		Reason:   "task ended",
		Metadata: p.metadata(),
	})
	return err
}

// noteKept records in history a record that is not written only because of the mode.
func (p *putting) noteKept(it *putItem) {
	if it.WouldBe == "" {
		return
	}
	metadata := p.metadata()
	metadata["shadow"] = it.Status == schema.PutShadow
	metadata["proposed"] = "put"
	metadata["wouldBe"] = string(it.WouldBe)
	p.History(commit.HistoryRow{
		MemoryID: it.key,
		Event:    schema.EventNone,
		By:       p.in.Request.By(),
		Reason:   string(it.Status),
		Metadata: metadata,
	})
}

// relateBoth adds the record's edges and the reverse edges that follow from them: contradiction is mutual, and a
// successor names what it supersedes.
func (p *putting) relateBoth(it *putItem) {
	for _, edge := range it.row.Relations {
		p.RelateAs(it.key, edge)
		if edge.Predicate == revision.RelationContradicts {
			p.RelateAs(edge.Target, commit.Relation{
				Predicate: revision.RelationContradicts,
				Target:    it.key,
				Weight:    edge.Weight,
				Reason:    edge.Reason,
			})
		}
	}
	if by := it.row.SupersededBy; by != nil && it.New {
		p.Relate(*by, revision.RelationSupersedes, it.key)
	}
}

// insert inserts the new records without their relations. If a row exists already, it becomes the target of the
// record's relations instead.
func (p *putting) insert(ctx context.Context) error {
	var rows []commit.NewMemory
	var inserted []*putItem
	for i := range p.items {
		if it := &p.items[i]; it.Inserts() {
			row := *it.row
			row.Relations = nil
			rows, inserted = append(rows, row), append(inserted, it)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	ids, err := p.InsertMemories(ctx, rows)
	if err != nil {
		return err
	}
	instead := map[string]string{}
	for n, it := range inserted {
		if ids[n] != it.key { // staged in the meantime by an ingest, which does not lock the scope
			it.Yield(schema.PutDuplicate, ids[n].String())
			instead[it.key.String()] = it.ID
			continue
		}
		it.accessed(p.Change)
	}
	if len(instead) == 0 {
		return nil
	}
	for i := range p.items {
		it := &p.items[i]
		if !it.Writes() {
			continue
		}
		if it.row.Relations, err = edgesTo(revision.Redirect(it.Relations, instead, it.key.String())); err != nil {
			return err
		}
	}
	return nil
}

// Rows that belong to the previous content of a record are deleted with it.
const (
	// Supersessions remain, and a contradiction can only be removed on both sides.
	removeRelationsSQL = `
		DELETE FROM memory_links
		WHERE tenant = @tenant AND source_id = @id AND predicate <> ALL(@kept)`
	removeProvenanceSQL = `DELETE FROM memory_provenance WHERE tenant = @tenant AND memory_id = @id`
	removeArtifactsSQL  = `DELETE FROM memory_artifacts WHERE tenant = @tenant AND memory_id = @id`
	removeStaleSQL      = `
		DELETE FROM memory_embeddings
		WHERE tenant = @tenant AND memory_id = @id AND content_hash <> @hash`
)

// replace replaces the stored working record.
func (p *putting) replace(ctx context.Context, it *putItem, m commit.MemoryRow) (int, error) {
	row := it.row
	if err := schema.ValidatePayload(m.Type, mustRaw(row.Payload)); err != nil {
		return 0, err
	}
	set, err := p.replaceable(row)
	if err != nil {
		return 0, err
	}
	old, content := m.Content, row.Text.Storage
	version, err := p.ApplyStep(ctx, m, commit.Step{
		Set:      set,
		NowLive:  true,
		NewText:  true,
		Event:    schema.EventModified,
		Action:   schema.AuditModify,
		Old:      &old,
		New:      &content,
		By:       p.in.Request.By(),
		Reason:   cmp.Or(p.in.Request.Reason, "put again"),
		Metadata: p.metadata(),
	})
	if err != nil {
		return 0, err
	}
	ofMemory := pg.Args{"tenant": p.Tenant, "id": m.ID}
	p.Queue.Queue(removeRelationsSQL, pg.Args{
		"tenant": p.Tenant,
		"id":     m.ID,
		"kept":   []string{revision.RelationSupersedes, revision.RelationContradicts},
	})
	p.Queue.Queue(removeProvenanceSQL, ofMemory)
	p.Queue.Queue(removeArtifactsSQL, ofMemory)
	p.Queue.Queue(removeStaleSQL, pg.Args{"tenant": p.Tenant, "id": m.ID, "hash": row.Text.Hash})
	if m.Who != row.Who {
		p.Queue.Queue(removeSpokenSQL, pg.Args{"tenant": p.Tenant, "id": m.ID, "suffix": inference.SpokenSuffix})
	}
	p.evidence(m.ID, 0, row)
	if row.Embedding != nil {
		p.Embed(m.ID, row.Classification.Tier, row.Classification.Typology, row.Text.Hash, row.Embedding)
	}
	return version, nil
}

// extendEpisode adds new experience to a stored episode.
func (p *putting) extendEpisode(ctx context.Context, it *putItem, m commit.MemoryRow) (int, error) {
	payload, err := json.Marshal(it.row.Payload)
	if err != nil {
		return 0, fmt.Errorf("payload: %w", err)
	}
	if err := schema.ValidatePayload(m.Type, payload); err != nil {
		return 0, err
	}
	// The content of an episode does not change. But the added part may be derived from less trusted memories or
	// contain a secret.
	row := it.row
	row.Text.Storage, *row.SourceTrust = m.Content, memory.DerivedTrust(*row.SourceTrust, m.SourceTrust)
	row.Classification = row.Classification.DerivedFrom(m.Sensitivity)
	set := map[string]any{
		"payload":      string(payload),
		"source_trust": *row.SourceTrust,
		"sensitivity":  row.Classification.Sensitivity,
	}
	if row.SafeSummary != "" { // unset if the caller does not know of one
		set["safe_summary"] = row.SafeSummary
	}
	if row.KeyID != "" {
		set["key_id"] = row.KeyID
	}
	version, err := p.ApplyStep(ctx, m, commit.Step{
		Set:      set,
		NowLive:  m.Live,
		Event:    schema.EventModified,
		Action:   schema.AuditModify,
		By:       p.in.Request.By(),
		Reason:   cmp.Or(p.in.Request.Reason, "the episode went on"),
		Metadata: p.metadata(),
	})
	if err != nil {
		return 0, err
	}
	known := p.stored[m.ID].record.Provenance.Sources
	row.Refs = slices.DeleteFunc(slices.Clone(row.Refs), func(r schema.Ref) bool {
		return slices.ContainsFunc(known, func(k schema.Ref) bool { return revision.SameRef(r, k) })
	})
	p.evidence(m.ID, len(known), row)
	return version, nil
}

const (
	addProvenanceSQL = `
		INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
		VALUES (@tenant, @id, @position, @kind, @ref, @hash, @at, @now)`
	addArtifactSQL = `
		INSERT INTO memory_artifacts (tenant, memory_id, sha256)
		VALUES (@tenant, @id, @sha256)
		ON CONFLICT DO NOTHING`
)

// evidence writes the provenance from a position on, and the artifacts.
func (p *putting) evidence(id uuid.UUID, from int, row *commit.NewMemory) {
	for i, ref := range row.Refs {
		p.Queue.Queue(addProvenanceSQL, pg.Args{
			"tenant":   p.Tenant,
			"id":       id,
			"position": from + i,
			"kind":     ref.Kind,
			"ref":      ref.Ref,
			"hash":     ref.Hash,
			"at":       ref.Timestamp,
			"now":      p.Now,
		})
	}
	for _, sum := range row.Artifacts {
		p.Queue.Queue(addArtifactSQL, pg.Args{"tenant": p.Tenant, "id": id, "sha256": sum})
	}
}

// replaceable returns the columns that a second put of a record replaces, with their new values.
func (p *putting) replaceable(row *commit.NewMemory) (map[string]any, error) {
	payload, err := json.Marshal(row.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	cl := row.Classification
	salienceAt, createdAt := p.OrNow(row.SalienceAt), p.stored[row.ID].row.CreatedAt
	var dueAt, maxAge any
	if due, ok := cl.Decay.DueAt(*row.Salience, salienceAt, createdAt, cl.Pinned); ok {
		dueAt = due
	}
	if cl.Decay.MaxAge > 0 {
		maxAge = cl.Decay.MaxAge
	}
	return map[string]any{
		"content":              row.Text.Storage,
		"normalized_content":   row.Text.Normalized,
		"content_hash":         row.Text.Hash,
		"payload":              string(payload),
		"category":             cl.Category,
		"tier":                 cl.Tier,
		"typology":             cl.Typology,
		"tags":                 pg.TagList(cl.Tags),
		"who":                  row.Who,
		"language":             cmp.Or(row.Language, "en"),
		"confidence":           row.Confidence,
		"importance":           cl.Importance,
		"salience":             *row.Salience,
		"salience_at":          salienceAt,
		"decay_curve":          cl.Decay.Curve,
		"half_life":            cl.Decay.HalfLife,
		"min_salience":         cl.Decay.MinSalience,
		"max_age":              maxAge,
		"decay_floor":          cl.Decay.Floor,
		"decay_points":         commit.DecayPoints(cl.Decay),
		"reinforcement_gain":   cl.Decay.ReinforcementGain,
		"last_reinforced_at":   p.OrNow(row.ReinforcedAt),
		"pinned":               cl.Pinned,
		"deletion_policy":      cl.DeletionPolicy,
		"decay_due_at":         dueAt,
		"sensitivity":          cl.Sensitivity,
		"source_trust":         *row.SourceTrust,
		"occurred_at":          row.OccurredAt.UTC(),
		"agent_session_id":     commit.Nullable(row.Session),
		"agent_interaction_id": commit.Nullable(row.Interaction),
		"world_id":             commit.Nullable(row.WorldID),
		"world_version":        commit.Nullable(row.WorldVersion),
		"safe_summary":         row.SafeSummary,
		"key_id":               commit.Nullable(row.KeyID),
	}, nil
}

// note records a refused record in history: on the memory that prevents it, or else under the record's own id. No
// record is dropped silently.
func (p *putting) note(it *putItem) {
	reason := it.Note()
	if reason == "" {
		return
	}
	metadata := p.metadata()
	metadata["proposed"] = "put"
	p.History(commit.HistoryRow{
		MemoryID: uuid.MustParse(it.ID),
		Event:    schema.EventNone,
		By:       p.in.Request.By(),
		Reason:   reason,
		Metadata: metadata,
	})
}

const addAccessSQL = `
	INSERT INTO memory_access (tenant, memory_id, access_count, last_accessed_at)
	VALUES (@tenant, @id, @count, @last)
	ON CONFLICT DO NOTHING`

// accessed stores the access counts of a record.
func (it *putItem) accessed(c *commit.Change) {
	m := &it.record
	if m.AccessCount == 0 && m.LastAccessed == nil {
		return
	}
	last := c.OrNow(m.UpdatedAt)
	if m.LastAccessed != nil {
		last = m.LastAccessed.UTC()
	}
	c.Queue.Queue(addAccessSQL,
		pg.Args{"tenant": c.Tenant, "id": it.key, "count": m.AccessCount, "last": last})
}
