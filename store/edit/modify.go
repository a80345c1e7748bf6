package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// ModifyInput is a validated modify request.
type ModifyInput struct {
	Operation  schema.OperationRef
	Request    schema.ModifyRequest
	Policy     proposals.WritePolicy
	Rules      *policy.Policy  // classification rules; nil for none
	Embeddings []*pg.Embedding // of the patches' contents in storage form, by position; nil without an embedding
	Now        time.Time
}

// Modify applies each patch independently, in one transaction: a refused patch does not change its memory and does
// not prevent the others (document 002 "Modify"). Every patch of a memory that the principal may see leaves a
// history row, unless there was nothing to change.
//
// Patches are applied in order. A content that an earlier patch sets is a duplicate for a later one, and a content
// that it replaces no longer is.
func (s *Editing) Modify(ctx context.Context, in ModifyInput) (schema.ModifyResult, error) {
	return once(ctx, s, in.Operation, pipeline.KindModify, in.Now,
		func(c *commit.Change) (schema.ModifyResult, error) {
			m := modifying{Change: c, in: in}
			return m.run(ctx)
		})
}

// modifying is the state of one Modify.
type modifying struct {
	*commit.Change
	in   ModifyInput
	rows map[uuid.UUID]commit.MemoryRow
}

func (m *modifying) run(ctx context.Context) (schema.ModifyResult, error) {
	patches := m.in.Request.Patches
	out := schema.ModifyResult{Results: make([]schema.PatchResult, 0, len(patches))}
	if len(patches) == 0 {
		return out, fmt.Errorf("request of operation %s: %w", m.in.Operation.ID, pg.ErrNotFound)
	}
	ids := make([]uuid.UUID, len(patches))
	for i, p := range patches {
		id, err := uuid.Parse(p.ID)
		if err != nil {
			return out, pg.InvalidID(fmt.Sprintf("patches[%d].id", i))
		}
		ids[i] = id
	}
	principal := m.in.Request.Principal
	if err := m.LockScopesOf(ctx, principal, ids); err != nil {
		return out, err
	}
	var err error
	if m.rows, err = m.LockRows(ctx, principal, ids); err != nil {
		return out, err
	}
	for i, id := range ids {
		result, err := m.patch(ctx, id, i)
		if err != nil {
			return out, fmt.Errorf("patches[%d]: %w", i, err)
		}
		if result.Status == schema.PatchUpdated {
			out.Updated++
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// patch applies the patch at a position to its memory.
func (m *modifying) patch(ctx context.Context, id uuid.UUID, at int) (schema.PatchResult, error) {
	out := schema.PatchResult{ID: id.String(), Status: schema.PatchNotFound}
	row, ok := m.rows[id]
	if !ok {
		return out, nil
	}
	p := m.in.Request.Patches[at]
	p.Reason = cmp.Or(strings.TrimSpace(p.Reason), m.in.Request.Reason)
	out.CurrentVersion = row.Version
	if m.in.Policy.MutationsFrozen() {
		out.Status = schema.PatchFrozen
		m.refuse(id, p, out.Status)
		return out, nil
	}
	c, status := revision.EvaluatePatch(row.Snapshot(), p, m.Now)
	if status != schema.PatchUpdated {
		out.Status = status
		m.refuse(id, p, status)
		return out, nil
	}
	set := commit.ColumnsOf(c)
	content := row.Content
	metadata := map[string]any{"fields": c.Fields(), "workflow_id": m.in.Operation.WorkflowID}
	var follow func(context.Context) error
	if c.Content != nil {
		content, out.ContentChanged = c.Content.Storage, true
		other, then, err := m.newContent(ctx, row, p, *c.Content, m.embedding(at), set)
		if err != nil {
			return out, err
		}
		if other != uuid.Nil {
			out.Status, out.ContentChanged, out.DuplicateID = schema.PatchDuplicate, false, other.String()
			m.refuse(id, p, out.Status)
			return out, nil
		}
		out.Embedded, follow = m.embedding(at) != nil, then
		maps.Copy(metadata, m.classify(row, *c.Content, set))
	}
	version, err := m.ApplyStep(ctx, row, commit.Step{
		Set:      set,
		NowLive:  true,
		NewText:  c.Content != nil || c.Who != nil, // the column who is searched too
		Event:    schema.EventModified,
		Action:   schema.AuditModify,
		Old:      &row.Content,
		New:      &content,
		By:       m.in.Request.By(),
		Reason:   p.Reason,
		Metadata: metadata,
	})
	if err != nil {
		return out, err
	}
	if follow != nil {
		if err := follow(ctx); err != nil {
			return out, err
		}
	} else if c.Who != nil {
		m.forgetSpeaker(row.ID)
	}
	out.Status, out.NewVersion = schema.PatchUpdated, version
	return out, nil
}

// newContent adds to set the columns that a new content changes. It returns the live memory that already has the
// content, if any; otherwise the work to do after the update of the row, for the graph, embedding, claim and evidence.
func (m *modifying) newContent(ctx context.Context, row commit.MemoryRow, p schema.Patch, text normalize.Normalized,
	e *pg.Embedding, set map[string]any) (uuid.UUID, func(context.Context) error, error) {
	ref := revision.EditRef(m.in.Request.By(), p.Reason, m.Now)
	payload, keepsClaim, err := revision.EditedPayload(row.Type, row.Payload, text.Storage, ref)
	if err != nil {
		return uuid.Nil, nil, err
	}
	hash := memory.RecordHash(schema.MemoryRecord{Type: row.Type, Content: text.Storage, Payload: payload}, text)
	other, err := m.LiveByHash(ctx, placeOf(row, hash))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil, fmt.Errorf("find duplicate: %w", err)
	}
	if err == nil && other != row.ID {
		return other, nil, nil
	}
	set["content"], set["normalized_content"] = text.Storage, text.Normalized
	set["content_hash"], set["payload"] = hash, string(payload)
	set["safe_summary"] = "" // it described the previous content
	var claim memory.Claim
	switch {
	case row.Subject == "":
	case keepsClaim && row.Predicate == schema.PredicateStates:
		stated := memory.SemanticPayload(row.Subject, row.Predicate, text.Storage, row.Functional)
		claim, set["object"] = memory.RecordClaim(stated), string(stated.Object)
	default:
		set["subject"], set["predicate"], set["object"], set["functional"] = nil, nil, nil, false
	}
	return uuid.Nil, func(ctx context.Context) error {
		if err := forgetting.UnlinkUnnamed(ctx, m.Change, row.ID, text.Storage); err != nil {
			return err
		}
		ofMemory := pg.Args{"tenant": m.Tenant, "id": row.ID}
		// Vectors of all models are deleted, because they are of the old text. The outbox requests the missing
		// ones.
		m.Queue.Queue(`DELETE FROM memory_embeddings WHERE tenant = @tenant AND memory_id = @id`, ofMemory)
		if e != nil {
			m.Embed(row.ID, row.Tier, row.Typology, hash, e)
		}
		m.Queue.Queue(`DELETE FROM entity_claims WHERE tenant = @tenant AND memory_id = @id`, ofMemory)
		if !claim.IsZero() {
			m.Claim(row.ID, claim)
		}
		m.AddEvidence(row.ID, ref)
		return nil
	}, nil
}

// forgetSpeaker deletes the vectors that include the previous speaker. The outbox requests new ones.
func (m *modifying) forgetSpeaker(id uuid.UUID) {
	m.Queue.Queue(removeSpokenSQL, pg.Args{"tenant": m.Tenant, "id": id, "suffix": inference.SpokenSuffix})
}

// removeSpokenSQL deletes the vectors of a memory that include its speaker.
const removeSpokenSQL = `
	DELETE FROM memory_embeddings
	WHERE tenant = @tenant AND memory_id = @id AND right(model, length(@suffix)) = @suffix`

// placeOf returns the key under which a content is unique among the memories with the owner, visibility and type of
// m.
func placeOf(m commit.MemoryRow, hash []byte) commit.DedupKey {
	return commit.DedupKey{Owner: m.Owner, Visibility: m.Visibility, Type: m.Type, Hash: hash}
}

// classify adds to set the sensitivity that a new content gives the memory, and returns the metadata for history.
func (m *modifying) classify(row commit.MemoryRow, text normalize.Normalized, set map[string]any) map[string]any {
	cl := memory.Classification{
		Type:        row.Type,
		Tier:        row.Tier,
		Typology:    row.Typology,
		Category:    row.Category,
		Sensitivity: row.Sensitivity,
		Confidence:  row.Confidence,
		Importance:  row.Importance,
		Pinned:      row.Pinned,
		Tags:        row.Tags,
		Decay:       row.Decay,
	}
	record := schema.MemoryRecord{
		Type:        row.Type,
		Category:    row.Category,
		Visibility:  row.Visibility,
		Sensitivity: row.Sensitivity,
		Importance:  row.Importance,
		Tags:        row.Tags,
		Who:         row.Who,
		Scope:       row.Owner.Scope,
		Payload:     row.Payload,
	}
	input := policy.RecordInput(record, text.Storage, row.Owner)
	sensitivity, explained := revision.EditedSensitivity(m.in.Rules, cl, input)
	if sensitivity != row.Sensitivity {
		set["sensitivity"] = sensitivity
	}
	return explained.Metadata()
}

func (m *modifying) embedding(at int) *pg.Embedding {
	if at >= len(m.in.Embeddings) {
		return nil
	}
	return m.in.Embeddings[at]
}

// refuse records a refused patch in history, unless it had no changes.
func (m *modifying) refuse(id uuid.UUID, p schema.Patch, status schema.PatchStatus) {
	if status == schema.PatchNoChanges {
		return
	}
	m.History(commit.HistoryRow{
		MemoryID: id,
		Event:    schema.EventNone,
		By:       m.in.Request.By(),
		Reason:   fmt.Sprintf("modify refused (%s): %s", status, p.Reason),
		Metadata: map[string]any{"refused": status, "workflow_id": m.in.Operation.WorkflowID},
	})
}
