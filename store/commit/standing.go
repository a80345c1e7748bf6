package commit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// CountSources counts the distinct sources of memories: the references of their provenance, except to the memory's
// own ingestion, and the memories that they are derived from, supported by or restated by. A memory that is both a
// reference and a relation counts once.
func (c *Change) CountSources(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	rows, err := Rows[struct {
		ID uuid.UUID
		N  int
	}](ctx, c.Tx, `
		SELECT id,
			(SELECT count(*) FROM (
				SELECT DISTINCT kind, ref
				FROM memory_provenance v
				WHERE v.tenant = @tenant
					AND v.memory_id = id
					AND v.ref <> '`+proposals.CandidateRefPrefix+`' || id
					AND v.ref NOT LIKE '`+proposals.EventRefPrefix+`%') x)
			+ (SELECT count(*)
				FROM memory_links e
				WHERE e.tenant = @tenant
					AND e.source_id = id
					AND e.predicate = 'derived_from'
					AND NOT EXISTS (
						SELECT FROM memory_provenance v
						WHERE v.tenant = @tenant
							AND v.memory_id = id
							AND v.ref = '`+proposals.SourceRefPrefix+`' || e.target_id))
			+ (SELECT count(*)
				FROM memory_links e
				WHERE e.tenant = @tenant
					AND e.target_id = id
					AND e.predicate IN ('supports', 'restates')) AS n
		FROM unnest(@ids::uuid[]) id`,
		pg.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]int, len(rows))
	for _, row := range rows {
		out[row.ID] = row.N
	}
	return out, nil
}

// Standing returns the row as the input of package revision.
func (m *MemoryRow) Standing() revision.Standing {
	s := revision.Standing{ID: m.ID.String(), Found: true, Version: m.Version, Type: m.Type, Status: m.Status,
		Live: m.Live, Pinned: m.Pinned,
		Sensitivity: m.Sensitivity, SourceTrust: m.SourceTrust, Confidence: m.Confidence, Content: m.Content,
		Validity: m.Validity, Policy: m.RevisionPolicy}
	if m.Type == schema.TypeSemantic {
		var p schema.SemanticPayload
		if json.Unmarshal(m.Payload, &p) == nil {
			s.Claim = memory.RecordClaim(p)
			s.Claim.Functional = m.Functional
		}
	}
	if c, ok := m.FunctionalClaim(); ok {
		s.ClaimKey = c.Key()
	}
	return s
}

// Standing returns the row to insert as the input of package revision.
func (m *NewMemory) Standing() revision.Standing {
	cl := m.Classification
	s := revision.Standing{ID: m.ID.String(), Found: true, Type: cl.Type, Status: schema.StatusActive, Live: true,
		Pinned:      cl.Pinned,
		Sensitivity: cl.Sensitivity, SourceTrust: *m.SourceTrust, Confidence: m.Confidence, Content: m.Text.Storage,
		Claim: m.Claim, Validity: m.Validity, Policy: m.RevisionPolicy, Sources: len(m.Refs)}
	if cl.Type == schema.TypeSemantic {
		var p schema.SemanticPayload
		if raw, ok := m.Payload.(json.RawMessage); ok && json.Unmarshal(raw, &p) == nil {
			s.Claim = memory.RecordClaim(p)
		}
		if m.Claim.Functional {
			s.ClaimKey = ClaimOf{m.Owner, m.Visibility, m.Claim.Subject, m.Claim.Predicate}.Key()
		}
	}
	return s
}

// Rated returns the row as the input of the rules of feedback.
func (m MemoryRow) Rated() lifecycle.Rated {
	return lifecycle.Rated{Type: m.Type, Payload: m.Payload, Confidence: m.Confidence, Pinned: m.Pinned,
		CreatedAt: m.CreatedAt, Decay: m.Decay, Salience: m.Salience, SalienceAt: m.SalienceAt}
}

// Pin returns the columns that pinning sets, as a patch would.
func (m MemoryRow) Pin(now time.Time) map[string]any {
	pin, found := true, m.Snapshot()
	found.Live, found.DeletedAt = true, nil // the caller has checked this
	c, _ := revision.EvaluatePatch(found, schema.Patch{Pinned: &pin}, now)
	return ColumnsOf(c)
}

// Snapshot returns the row as the input of the rules of a patch.
func (m MemoryRow) Snapshot() revision.Snapshot {
	return revision.Snapshot{Version: m.Version, Type: m.Type, Category: m.Category, Content: m.Content, Tags: m.Tags,
		Who: m.Who, Importance: m.Importance,
		Pinned: m.Pinned, Live: m.Live, DeletedAt: m.DeletedAt, ArchivedAt: m.ArchivedAt, ErasedAt: m.ErasedAt,
		Over: m.Over, CreatedAt: m.CreatedAt, Decay: m.Decay, Salience: m.Salience, SalienceAt: m.SalienceAt}
}

// ColumnsOf returns the columns that a change sets, except those computed from a new content.
func ColumnsOf(c revision.PatchChange) map[string]any {
	set := map[string]any{}
	if c.Category != nil {
		set["category"] = *c.Category
	}
	if c.Importance != nil {
		set["importance"] = *c.Importance
	}
	if c.Tags != nil {
		set["tags"] = pg.TagList(*c.Tags)
	}
	if c.Who != nil {
		set["who"] = *c.Who
	}
	if c.Pinned != nil {
		set["pinned"] = *c.Pinned
	}
	if f := c.Fading; f != nil {
		set["salience"], set["salience_at"], set["decay_due_at"] = f.Salience, f.SalienceAt, f.DueAt
	}
	return set
}
