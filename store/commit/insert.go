package commit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// NewMemory is a memory row to insert, with the rows that commit with it. Zero values mean: active, global,
// replaceable, wholly trusted, with full salience, made now.
type NewMemory struct {
	ID             uuid.UUID
	ExternalID     string
	Owner          schema.Principal
	Visibility     schema.Visibility
	Classification memory.Classification
	Text           normalize.Normalized
	Payload        any
	Who            string
	Session        string
	Interaction    string
	WorldID        string
	WorldVersion   string
	Language       string
	SafeSummary    string
	KeyID          string
	Claim          memory.Claim
	Object         json.RawMessage // the claim's object where it is not a text
	Status         schema.Status
	Validity       schema.Validity
	RevisionPolicy schema.RevisionPolicy
	SourceTrust    *float64
	Confidence     float64
	Salience       *float64
	SalienceAt     time.Time
	ReinforcedAt   time.Time
	OccurredAt     time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	CreatedBy      string
	By             string // the actor that history names; CreatedBy when empty
	Refs           []schema.Ref
	DerivedFrom    *uuid.UUID
	Supersedes     *uuid.UUID
	SupersededBy   *uuid.UUID
	Contests       *uuid.UUID // a memory that is contested with it
	SupersededAt   *time.Time
	Audit          []schema.AuditEntry // steps taken elsewhere, oldest first: history rows ahead of the created one
	Relations      []Relation
	Artifacts      [][]byte // SHA-256 of stored artifacts that the payload names
	Embedding      *pg.Embedding
	Hints          []memory.Hint      // nil: what rules write for it
	Action         schema.AuditAction // of the created history row; create when empty
	Reason         string             // of the created history row
	Metadata       map[string]any     // of the created history row
}

// Relation is an edge to another memory.
type Relation struct {
	Predicate string
	Target    uuid.UUID
	Weight    float64 // [0,1]
	Reason    string
}

const insertMemorySQL = `
INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, policy_group, type, category, tier,
    typology, content, normalized_content, content_hash, payload, tags, who, subject, predicate, object, functional,
    confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, max_age,
    reinforcement_gain, last_reinforced_at, pinned, deletion_policy, decay_due_at, sensitivity, occurred_at,
    created_at, updated_at, created_by, agent_session_id, supersedes, external_id, decay_floor, status, validity,
    conditions, valid_from, valid_until, conditions_hash, revision_policy, source_trust, language,
    agent_interaction_id, world_id, world_version, superseded_by, superseded_at, recorded_at, safe_summary,
    decay_points, key_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
    $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45,
    $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, $59, $60, $61)
ON CONFLICT (tenant, agent_id, project, scope, visibility, content_hash, type) WHERE live DO NOTHING`

// initialSalience is what a memory starts with; reinforcement and decay move it (document 004 §11).
const initialSalience = 1.0

// InsertMemories inserts the rows that are new and returns, by position, the id of the live memory of the row's type
// with that content: the row's own, or that of the one that is already stored.
//
// Rows go in by content hash, so that two transactions with overlapping content wait for each
// other instead of deadlocking.
func (c *Change) InsertMemories(ctx context.Context, rows []NewMemory) ([]uuid.UUID, error) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(rows[a].Text.Hash, rows[b].Text.Hash), cmp.Compare(rows[a].Classification.Type,
			rows[b].Classification.Type))
	})

	var batch pgx.Batch
	for _, i := range order {
		args, err := c.memoryArgs(&rows[i])
		if err != nil {
			return nil, err
		}
		batch.Queue(insertMemorySQL, args...)
	}
	ids := make([]uuid.UUID, len(rows))
	var existing []int
	results := c.Tx.SendBatch(ctx, &batch)
	for _, i := range order {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close()
			return nil, fmt.Errorf("insert memory: %w", err)
		}
		if tag.RowsAffected() == 1 {
			ids[i] = rows[i].ID
		} else {
			existing = append(existing, i)
		}
	}
	if err := results.Close(); err != nil {
		return nil, fmt.Errorf("insert memory: %w", err)
	}
	for _, i := range existing {
		id, err := c.standing(ctx, &rows[i])
		if err != nil {
			return nil, fmt.Errorf("find duplicate: %w", err)
		}
		ids[i] = id
	}
	for i := range rows {
		if ids[i] == rows[i].ID {
			c.queueDependents(&rows[i])
		}
	}
	return ids, nil
}

// standing returns the live memory that has a row's content, which an insert has found to be there.
// One that was forgotten or changed since is there no more: then the row goes in after all.
func (c *Change) standing(ctx context.Context, r *NewMemory) (uuid.UUID, error) {
	for {
		id, err := c.HoldLiveByHash(ctx, DedupOf(r))
		if !errors.Is(err, pgx.ErrNoRows) {
			return id, err
		}
		args, err := c.memoryArgs(r)
		if err != nil {
			return uuid.Nil, err
		}
		tag, err := c.Tx.Exec(ctx, insertMemorySQL, args...)
		if err != nil {
			return uuid.Nil, err
		}
		if tag.RowsAffected() == 1 {
			return r.ID, nil
		}
	}
}

func (c *Change) memoryArgs(r *NewMemory) ([]any, error) {
	payload, err := json.Marshal(r.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	cl := r.Classification
	if err := schema.ValidatePayload(cl.Type, payload); err != nil {
		return nil, err
	}
	var subject, predicate, object any
	if !r.Claim.IsZero() {
		encoded, err := json.Marshal(r.Claim.Object)
		if err != nil {
			return nil, fmt.Errorf("claim object: %w", err)
		}
		subject, predicate, object = r.Claim.Subject, r.Claim.Predicate, string(encoded)
	}
	if !r.Claim.IsZero() && len(r.Object) > 0 {
		object = string(r.Object)
	}
	salience, trust := initialSalience, 1.0
	if r.Salience != nil {
		salience = *r.Salience
	}
	if r.SourceTrust != nil {
		trust = *r.SourceTrust
	}
	salienceAt, createdAt := c.OrNow(r.SalienceAt), c.OrNow(r.CreatedAt)
	var dueAt, maxAge, conditions any
	if due, ok := cl.Decay.DueAt(salience, salienceAt, createdAt, cl.Pinned); ok {
		dueAt = due
	}
	if cl.Decay.MaxAge > 0 {
		maxAge = cl.Decay.MaxAge
	}
	if len(r.Validity.Conditions) > 0 {
		conditions = string(r.Validity.Conditions)
	}
	return []any{
		c.Tenant, r.ID, r.Owner.Agent, r.Owner.Project, r.Owner.Scope, r.Visibility, r.Owner.PolicyGroup,
		cl.Type, cl.Category, cl.Tier, cl.Typology,
		r.Text.Storage, r.Text.Normalized, r.Text.Hash, string(payload), pg.TagList(cl.Tags), r.Who,
		subject, predicate, object, r.Claim.Functional,
		r.Confidence, cl.Importance, salience, salienceAt,
		cl.Decay.Curve, cl.Decay.HalfLife, cl.Decay.MinSalience, maxAge, cl.Decay.ReinforcementGain,
		c.OrNow(r.ReinforcedAt), cl.Pinned, cl.DeletionPolicy, dueAt, cl.Sensitivity, r.OccurredAt.UTC(), createdAt,
		c.OrNow(r.UpdatedAt),
		r.CreatedBy, Nullable(r.Session), r.Supersedes, Nullable(r.ExternalID), cl.Decay.Floor,
		cmp.Or(r.Status, schema.StatusActive), cmp.Or(r.Validity.Mode, schema.ValidGlobal), conditions,
		r.Validity.Start, r.Validity.End,
		memory.ConditionsHash(r.Validity), cmp.Or(r.RevisionPolicy, schema.PolicyReplace), trust,
		cmp.Or(r.Language, "en"),
		Nullable(r.Interaction), Nullable(r.WorldID), Nullable(r.WorldVersion), r.SupersededBy, r.SupersededAt, c.Now,
		r.SafeSummary, DecayPoints(cl.Decay), Nullable(r.KeyID),
	}, nil
}

// OrNow returns at, or the time of the change when at is not set.
func (c *Change) OrNow(at time.Time) time.Time {
	if at.IsZero() {
		return c.Now
	}
	return at.UTC()
}

// queueDependents queues what commits with an inserted memory.
func (c *Change) queueDependents(r *NewMemory) {
	for i, ref := range r.Refs {
		c.Queue.Queue(`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.Tenant, r.ID, i, ref.Kind, ref.Ref, ref.Hash, ref.Timestamp, c.Now)
	}
	for _, edge := range r.Relations {
		c.RelateAs(r.ID, edge)
	}
	for _, sum := range r.Artifacts {
		c.Queue.Queue(`INSERT INTO memory_artifacts (tenant, memory_id, sha256) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, c.Tenant, r.ID, sum)
	}
	if r.DerivedFrom != nil {
		c.Relate(r.ID, revision.RelationDerivedFrom, *r.DerivedFrom)
	}
	if r.Supersedes != nil {
		c.Relate(r.ID, revision.RelationSupersedes, *r.Supersedes)
	}
	if r.Contests != nil {
		c.Relate(*r.Contests, revision.RelationContradicts, r.ID)
	}
	if !r.Claim.IsZero() {
		c.Claim(r.ID, r.Claim)
	}
	c.Hint(r.ID, hintsOf(r))
	if r.Embedding != nil {
		c.Embed(r.ID, r.Classification.Tier, r.Classification.Typology, r.Text.Hash, r.Embedding)
	}
	for _, entry := range r.Audit {
		c.History(HistoryRow{MemoryID: r.ID, Event: eventOf(entry.Action), By: entry.Actor, Reason: entry.Rationale,
			Action: entry.Action, At: entry.Timestamp,
			Metadata: map[string]any{"elsewhere": true}})
	}
	content := r.Text.Storage
	c.History(HistoryRow{MemoryID: r.ID, Event: schema.EventCreated, New: &content, By: cmp.Or(r.By, r.CreatedBy),
		Reason: r.Reason, Metadata: r.Metadata,
		Action: cmp.Or(r.Action, schema.AuditCreate), Version: 1})
	if r.Status.Live() {
		c.Outbox(r.ID, 1, "upsert")
		c.Counted = append(c.Counted, r.ID)
	}
}
