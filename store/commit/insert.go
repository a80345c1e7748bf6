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
	"github.com/mneme/mneme/memory/language"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// NewMemory is a memory row to insert, with the rows that commit with it. Zero values mean active, global,
// replaceable, fully trusted, with full salience, created now.
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
	Object         json.RawMessage // the claim's object if it is not a text
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
	By             string // the actor in history; CreatedBy when empty
	Refs           []schema.Ref
	DerivedFrom    *uuid.UUID
	Supersedes     *uuid.UUID
	SupersededBy   *uuid.UUID
	Contests       []uuid.UUID // memories that are contested with it
	SupersededAt   *time.Time
	Audit          []schema.AuditEntry // steps in another system, oldest first: history rows before the created one
	Relations      []Relation
	Artifacts      [][]byte // SHA-256 of stored artifacts that the payload names
	Embedding      *pg.Embedding
	Hints          []memory.Hint      // if nil, rules write them
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

// memoryColumns are the columns that a new memory sets; memoryArgs has a value for each.
const memoryColumns = `
	tenant text, id uuid, external_id text, agent_id text, project text, scope text, visibility text,
	policy_group text, created_by text, type text, category text, tier text, typology text, content text,
	normalized_content text, content_hash bytea, safe_summary text, payload jsonb, tags text[], who text,
	language text, subject text, predicate text, object jsonb, functional boolean, confidence float8,
	importance float8, source_trust float8, sensitivity text, key_id text, salience float8,
	salience_at timestamptz, last_reinforced_at timestamptz, pinned boolean, deletion_policy text,
	decay_due_at timestamptz, decay_curve text, half_life interval, min_salience float8, max_age interval,
	decay_floor float8, reinforcement_gain float8, decay_points jsonb, status text, validity text,
	conditions jsonb, conditions_hash text, valid_from timestamptz, valid_until timestamptz,
	revision_policy text, supersedes uuid, superseded_by uuid, superseded_at timestamptz,
	occurred_at timestamptz, created_at timestamptz, updated_at timestamptz, recorded_at timestamptz,
	agent_session_id text, agent_interaction_id text, world_id text, world_version text`

// insertMemories skips rows whose content a live memory already has. It returns the ids of the others.
var insertMemories = BulkInsert("memories", memoryColumns, `
	ON CONFLICT (tenant, agent_id, project, scope, visibility, content_hash, type) WHERE live
	DO NOTHING
	RETURNING id`)

// InsertMemories inserts the rows and returns, by position, the id of the live memory of the row's type with that
// content: the row's own id, or that of a memory that already had the content.
//
// It inserts in order of the content hash, so that two transactions with the same contents do not deadlock.
func (c *Change) InsertMemories(ctx context.Context, rows []NewMemory) ([]uuid.UUID, error) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(rows[a].Text.Hash, rows[b].Text.Hash), cmp.Compare(rows[a].Classification.Type,
			rows[b].Classification.Type))
	})

	args := make([]pg.Args, len(order))
	for n, i := range order {
		var err error
		if args[n], err = c.memoryArgs(&rows[i]); err != nil {
			return nil, err
		}
	}
	added, err := insertNew[uuid.UUID](ctx, c.Tx, insertMemories, args)
	if err != nil {
		return nil, fmt.Errorf("insert memory: %w", err)
	}
	ids := make([]uuid.UUID, len(rows))
	var existing []int
	for _, i := range order {
		if added[rows[i].ID] {
			ids[i] = rows[i].ID
		} else {
			existing = append(existing, i)
		}
	}
	for _, i := range existing {
		id, err := c.existingOrInsert(ctx, &rows[i])
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

// existingOrInsert returns the live memory with a row's content that caused the insert to be skipped. If that memory
// has been forgotten or changed since, it inserts the row.
func (c *Change) existingOrInsert(ctx context.Context, r *NewMemory) (uuid.UUID, error) {
	for {
		id, err := c.HoldLiveByHash(ctx, DedupOf(r))
		if !errors.Is(err, pgx.ErrNoRows) {
			return id, err
		}
		args, err := c.memoryArgs(r)
		if err != nil {
			return uuid.Nil, err
		}
		added, err := insertNew[uuid.UUID](ctx, c.Tx, insertMemories, []pg.Args{args})
		if err != nil {
			return uuid.Nil, err
		}
		if added[r.ID] {
			return r.ID, nil
		}
	}
}

// memoryArgs returns the values of memoryColumns.
func (c *Change) memoryArgs(r *NewMemory) (pg.Args, error) {
	payload, err := json.Marshal(r.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	cl := r.Classification
	if err := schema.ValidatePayload(cl.Type, payload); err != nil {
		return nil, err
	}
	subject, predicate, object, err := r.claimColumns()
	if err != nil {
		return nil, err
	}
	salience, trust := memory.InitialSalience, 1.0
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
	return pg.Args{
		"tenant":       c.Tenant,
		"id":           r.ID,
		"external_id":  Nullable(r.ExternalID),
		"agent_id":     r.Owner.Agent,
		"project":      r.Owner.Project,
		"scope":        r.Owner.Scope,
		"visibility":   r.Visibility,
		"policy_group": r.Owner.PolicyGroup,
		"created_by":   r.CreatedBy,

		"type":     cl.Type,
		"category": cl.Category,
		"tier":     cl.Tier,
		"typology": cl.Typology,

		"content":            r.Text.Storage,
		"normalized_content": r.Text.Normalized,
		"content_hash":       r.Text.Hash,
		"safe_summary":       r.SafeSummary,
		"payload":            string(payload),
		"tags":               pg.TagList(cl.Tags),
		"who":                r.Who,
		"language":           cmp.Or(r.Language, language.Of(r.Text.Storage)),

		"subject":    subject,
		"predicate":  predicate,
		"object":     object,
		"functional": r.Claim.Functional,

		"confidence":   r.Confidence,
		"importance":   cl.Importance,
		"source_trust": trust,
		"sensitivity":  cl.Sensitivity,
		"key_id":       Nullable(r.KeyID),

		"salience":           salience,
		"salience_at":        salienceAt,
		"last_reinforced_at": c.OrNow(r.ReinforcedAt),
		"pinned":             cl.Pinned,
		"deletion_policy":    cl.DeletionPolicy,
		"decay_due_at":       dueAt,

		"decay_curve":        cl.Decay.Curve,
		"half_life":          cl.Decay.HalfLife,
		"min_salience":       cl.Decay.MinSalience,
		"max_age":            maxAge,
		"decay_floor":        cl.Decay.Floor,
		"reinforcement_gain": cl.Decay.ReinforcementGain,
		"decay_points":       DecayPoints(cl.Decay),

		"status":          cmp.Or(r.Status, schema.StatusActive),
		"validity":        cmp.Or(r.Validity.Mode, schema.ValidGlobal),
		"conditions":      conditions,
		"conditions_hash": memory.ConditionsHash(r.Validity),
		"valid_from":      r.Validity.Start,
		"valid_until":     r.Validity.End,
		"revision_policy": cmp.Or(r.RevisionPolicy, schema.PolicyReplace),

		"supersedes":    r.Supersedes,
		"superseded_by": r.SupersededBy,
		"superseded_at": r.SupersededAt,

		"occurred_at": r.OccurredAt.UTC(),
		"created_at":  createdAt,
		"updated_at":  c.OrNow(r.UpdatedAt),
		"recorded_at": c.Now,

		"agent_session_id":     Nullable(r.Session),
		"agent_interaction_id": Nullable(r.Interaction),
		"world_id":             Nullable(r.WorldID),
		"world_version":        Nullable(r.WorldVersion),
	}, nil
}

// claimColumns returns the columns of the row's claim, all NULL if it makes none.
func (r *NewMemory) claimColumns() (subject, predicate, object any, err error) {
	if r.Claim.IsZero() {
		return nil, nil, nil, nil
	}
	encoded := []byte(r.Object)
	if len(encoded) == 0 {
		if encoded, err = json.Marshal(r.Claim.Object); err != nil {
			return nil, nil, nil, fmt.Errorf("claim object: %w", err)
		}
	}
	return r.Claim.Subject, r.Claim.Predicate, string(encoded), nil
}

// OrNow returns at, or the time of the change if at is zero.
func (c *Change) OrNow(at time.Time) time.Time {
	if at.IsZero() {
		return c.Now
	}
	return at.UTC()
}

var (
	provenanceSQL = BulkInsert("memory_provenance", `tenant text, memory_id uuid, position smallint, kind text,
		ref text, hash text, at timestamptz, created_at timestamptz`, "")
	artifactSQL = Insert("memory_artifacts", "tenant, memory_id, sha256") + " ON CONFLICT DO NOTHING"
)

// queueDependents queues the rows that commit with an inserted memory.
func (c *Change) queueDependents(r *NewMemory) {
	for i, ref := range r.Refs {
		c.Add(provenanceSQL, pg.Args{
			"tenant":     c.Tenant,
			"memory_id":  r.ID,
			"position":   i,
			"kind":       ref.Kind,
			"ref":        ref.Ref,
			"hash":       ref.Hash,
			"at":         ref.Timestamp,
			"created_at": c.Now,
		})
	}
	for _, edge := range r.Relations {
		c.RelateAs(r.ID, edge)
	}
	for _, sum := range r.Artifacts {
		c.Queue.Queue(artifactSQL, pg.Args{"tenant": c.Tenant, "memory_id": r.ID, "sha256": sum})
	}
	if r.DerivedFrom != nil {
		c.Relate(r.ID, revision.RelationDerivedFrom, *r.DerivedFrom)
	}
	if r.Supersedes != nil {
		c.Relate(r.ID, revision.RelationSupersedes, *r.Supersedes)
	}
	for _, other := range r.Contests {
		c.Relate(other, revision.RelationContradicts, r.ID)
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
