package commit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Change holds the writes of one transaction. Statements without a result are queued and sent together. finish
// sends the rest and updates the text statistics.
type Change struct {
	Tx     pgx.Tx
	Tenant string
	Now    time.Time
	Queue  pgx.Batch
	Last   pgx.Batch // sent last: statements that lock rows that many writers share

	bulks []bulkRows // rows to write between the statements of Queue

	Counted, Uncounted []uuid.UUID // memories that began or ceased to be live in this change
	lost               []string    // lexemes of the replaced and removed texts, once for each text
	lostDocs           int         // the number of those texts

	sides map[uuid.UUID]uuid.UUID // contested memories that lose a side of their contest, with the memory that is gone
	ended int                     // how many of Uncounted EndContests has handled
}

// Relate adds an edge of weight 1 between two memories.
func (c *Change) Relate(source uuid.UUID, predicate string, target uuid.UUID) {
	c.RelateAs(source, Relation{Predicate: predicate, Target: target, Weight: 1})
}

// RelateAs adds an edge; an existing one keeps its weight and reason.
func (c *Change) RelateAs(source uuid.UUID, r Relation) {
	c.Add(relateSQL, pg.Args{
		"tenant":     c.Tenant,
		"source_id":  source,
		"predicate":  r.Predicate,
		"target_id":  r.Target,
		"weight":     r.Weight,
		"reason":     r.Reason,
		"created_at": c.Now,
	})
}

var relateSQL = BulkInsert("memory_links", `tenant text, source_id uuid, predicate text, target_id uuid,
	weight float8, reason text, created_at timestamptz`, "ON CONFLICT DO NOTHING")

// Claim records the claim of a memory, so that later statements about the same subject find it.
func (c *Change) Claim(id uuid.UUID, cl memory.Claim) {
	c.Add(claimSQL, pg.Args{
		"tenant":     c.Tenant,
		"memory_id":  id,
		"subject":    cl.Subject,
		"predicate":  cl.Predicate,
		"object":     cl.Object,
		"functional": cl.Functional,
		"created_at": c.Now,
	})
}

var claimSQL = BulkInsert("entity_claims", `tenant text, memory_id uuid, subject text, predicate text, object text,
	functional boolean, created_at timestamptz`, "ON CONFLICT DO NOTHING")

// Embed stores a vector of a memory. It replaces an earlier vector of the same model for another content.
func (c *Change) Embed(id uuid.UUID, tier schema.Tier, typology schema.Typology, hash []byte, e *pg.Embedding) {
	c.Add(embedSQL, pg.Args{
		"tenant":       c.Tenant,
		"id":           pg.NewID(),
		"memory_id":    id,
		"model":        e.Model.Name,
		"dims":         len(e.Vector),
		"embedding":    pgvector.NewVector(e.Vector),
		"tier":         tier,
		"typology":     typology,
		"content_hash": hash,
		"created_at":   c.Now,
	})
}

var embedSQL = BulkInsert("memory_embeddings", `tenant text, id uuid, memory_id uuid, model text, dims integer,
	embedding vector, tier text, typology text, content_hash bytea, created_at timestamptz`, `
	ON CONFLICT (tenant, memory_id, model) DO UPDATE
	SET embedding = excluded.embedding,
		dims = excluded.dims,
		content_hash = excluded.content_hash,
		created_at = excluded.created_at
	WHERE memory_embeddings.content_hash <> excluded.content_hash`, "memory_id", "model")

// Outbox queues a change of the vector index: upsert or delete.
func (c *Change) Outbox(id uuid.UUID, version int, op string) {
	c.Add(outboxSQL, pg.Args{
		"tenant":     c.Tenant,
		"memory_id":  id,
		"version":    version,
		"op":         op,
		"created_at": c.Now,
	})
}

var outboxSQL = BulkInsert("index_outbox", `tenant text, memory_id uuid, version integer, op text,
	created_at timestamptz`, "")

// HistoryRow is one row of the append-only history.
type HistoryRow struct {
	MemoryID   uuid.UUID
	Event      schema.HistoryEvent
	Old, New   *string
	By, Reason string
	Metadata   map[string]any
	Action     schema.AuditAction // empty if nothing changed
	Version    int                // of the memory after the step; 0 if nothing changed
	At         time.Time          // of a step in another system; zero means now
}

// History queues a history row.
func (c *Change) History(h HistoryRow) {
	metadata := "{}"
	if len(h.Metadata) > 0 {
		// Metadata consists of strings, numbers and booleans: it always encodes.
		encoded, err := json.Marshal(h.Metadata)
		if err == nil {
			metadata = string(encoded)
		}
	}
	var version any
	if h.Version > 0 {
		version = h.Version
	}
	c.Add(historySQL, pg.Args{
		"tenant":      c.Tenant,
		"id":          pg.NewID(),
		"memory_id":   h.MemoryID,
		"event":       h.Event,
		"old_content": h.Old,
		"new_content": h.New,
		"changed_by":  h.By,
		"reason":      h.Reason,
		"metadata":    metadata,
		"created_at":  c.OrNow(h.At),
		"action":      Nullable(string(h.Action)),
		"version":     version,
	})
}

var historySQL = BulkInsert("memory_history", `tenant text, id uuid, memory_id uuid, event text, old_content text,
	new_content text, changed_by text, reason text, metadata jsonb, created_at timestamptz, action text,
	version integer`, "")

// IdSet returns the ids that a query selects.
func (c *Change) IdSet(ctx context.Context, query string, args ...any) (map[uuid.UUID]bool, error) {
	rows, err := c.Tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	ids := map[uuid.UUID]bool{}
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { ids[id] = true; return nil })
	return ids, err
}

// ForgottenIDs returns the ids of memories that were deleted for good, by a forget with force or by a purge: they have
// a deletion in history, and no row.
func (c *Change) ForgottenIDs(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	return Values[uuid.UUID](ctx, c.Tx, `SELECT id FROM unnest(@ids::uuid[]) x(id) WHERE `+Forgotten,
		pg.Args{"tenant": c.Tenant, "ids": ids})
}

// Forgotten is the condition of ForgottenIDs for the id x.id of the tenant @tenant.
const Forgotten = `
	NOT EXISTS (SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = x.id)
	AND EXISTS (
		SELECT FROM memory_history h
		WHERE h.tenant = @tenant AND h.memory_id = x.id AND h.event = 'deleted' AND h.version IS NOT NULL)`

// DedupKey is unique among live memories. It has the type, because an episode fades and is pruned, and a fact in
// the same words must be kept.
type DedupKey struct {
	Owner      schema.Principal // agent, project and scope
	Visibility schema.Visibility
	Type       schema.MemoryType
	Hash       []byte // of the content
}

// DedupOf returns the key under which the content of a new memory is unique.
func DedupOf(r *NewMemory) DedupKey {
	return DedupKey{Owner: r.Owner, Visibility: r.Visibility, Type: r.Classification.Type, Hash: r.Text.Hash}
}

// Same reports whether both keys have the same owner, visibility, type and content.
func (k DedupKey) Same(o DedupKey) bool {
	return k.Owner.Agent == o.Owner.Agent && k.Owner.Project == o.Owner.Project && k.Owner.Scope == o.Owner.Scope &&
		k.Visibility == o.Visibility && k.Type == o.Type && memory.SameContent(k.Hash, o.Hash)
}

// LiveByHash returns the live memory with a key.
func (c *Change) LiveByHash(ctx context.Context, k DedupKey) (uuid.UUID, error) {
	return c.findByHash(ctx, k, "")
}

// HoldLiveByHash is LiveByHash for a caller that stores a reference to the memory. It locks the memory until
// commit, so that an erasure finds the reference.
func (c *Change) HoldLiveByHash(ctx context.Context, k DedupKey) (uuid.UUID, error) {
	return c.findByHash(ctx, k, " FOR SHARE")
}

func (c *Change) findByHash(ctx context.Context, k DedupKey, lock string) (uuid.UUID, error) {
	var id uuid.UUID
	err := c.Tx.QueryRow(ctx, `SELECT id FROM memories
		WHERE tenant = @tenant
			AND agent_id = @agent
			AND project = @project
			AND scope = @scope
			AND visibility = @visibility
			AND content_hash = @hash
			AND type = @type
			AND live`+lock,
		pg.Args{
			"tenant":     c.Tenant,
			"agent":      k.Owner.Agent,
			"project":    k.Owner.Project,
			"scope":      k.Owner.Scope,
			"visibility": k.Visibility,
			"hash":       k.Hash,
			"type":       k.Type,
		}).Scan(&id)
	return id, err
}

// Flush sends the queued statements.
func (c *Change) Flush(ctx context.Context) error {
	if c.Queue.Len() == 0 && len(c.bulks) == 0 {
		return nil
	}
	err := c.Tx.SendBatch(ctx, c.queued()).Close()
	c.Queue, c.bulks = pgx.Batch{}, nil
	return err
}

// finish sends the queued statements, ends contests, and then updates the text statistics. These come last, because
// other writers wait for their locks until commit.
func (c *Change) finish(ctx context.Context) error {
	if err := c.Flush(ctx); err != nil {
		return err
	}
	if err := c.EndContests(ctx); err != nil {
		return err
	}
	if len(c.Counted) == 0 && len(c.Uncounted) == 0 && c.lostDocs == 0 {
		c.Queue = c.Last
		return c.Flush(ctx)
	}
	if err := c.countWords(ctx); err != nil {
		return err
	}
	c.countTexts()
	c.Queue.QueuedQueries = append(c.Queue.QueuedQueries, c.Last.QueuedQueries...)
	return c.Flush(ctx)
}

// DecayPoints returns the points of a curve as they are stored, or nil for NULL.
func DecayPoints(d memory.Decay) any {
	points := d.Profile().Points
	if len(points) == 0 {
		return nil
	}
	return points
}

// Nullable returns nil for an empty string, so that the column becomes NULL.
func Nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// AddEvidence appends a reference to the references of a memory, unless the memory has it already or has
// schema.MaxRecordRefs of them.
func (c *Change) AddEvidence(id uuid.UUID, ref schema.Ref) {
	c.Queue.Queue(`
		INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, hash, at, created_at)
		SELECT @tenant, @memory_id,
			(SELECT coalesce(max(position) + 1, 0) FROM memory_provenance
				WHERE tenant = @tenant AND memory_id = @memory_id),
			@kind, @ref, @hash, @at, @now
		WHERE NOT EXISTS (
				SELECT FROM memory_provenance
				WHERE tenant = @tenant AND memory_id = @memory_id AND kind = @kind AND ref = @ref)
			AND (SELECT count(*) FROM memory_provenance WHERE tenant = @tenant AND memory_id = @memory_id) < @most`,
		pg.Args{
			"tenant":    c.Tenant,
			"memory_id": id,
			"kind":      ref.Kind,
			"ref":       ref.Ref,
			"hash":      ref.Hash,
			"at":        ref.Timestamp,
			"now":       c.Now,
			"most":      schema.MaxRecordRefs,
		})
}
