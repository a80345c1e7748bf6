package vectorindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// IndexAttributes is what an index may filter by, as the memory has it: no content.
type IndexAttributes struct {
	Agent       string
	Project     string
	Scope       string
	Visibility  schema.Visibility
	PolicyGroup string
	Type        schema.MemoryType
	Category    schema.Category
	Tags        []string
	Who         string // in lower case, as Postgres has it
	Pinned      bool
	Importance  float64 // [0,1]
	Sensitivity schema.Sensitivity
	OccurredAt  time.Time
	ValidFrom   *time.Time
	ValidUntil  *time.Time
}

// OutboxEntry is the newest pending change of one memory, with what the index needs to know. Older
// pending changes of the same memory are folded into it.
type OutboxEntry struct {
	MemoryID uuid.UUID
	Seq      int64 // of the newest change folded in; 0 where none is pending
	Changes  int   // how many were folded
	Attempts int   // how often this has failed so far
	Delete   bool
	Version  int // 0 when the memory is gone
	Tier     schema.Tier
	Typology schema.Typology
	IndexAttributes
	Content string    // only when Vector is nil: it has to be embedded first
	Hash    []byte    // of the content
	Vector  []float32 // nil when the memory has no embedding of the model yet
}

// outboxDue is the condition that a change is to be told now.
const outboxDue = `parked_at IS NULL AND (retry_at IS NULL OR retry_at <= now())`

// Outbox reads up to limit pending changes of the tenant, oldest first, folded by memory. Those that have
// failed come again when their time has come, and those that are parked do not. When only is not empty,
// it looks at those memories alone.
func (s *VectorIndex) Outbox(ctx context.Context, tenant string, model inference.EmbeddingModel, only []uuid.UUID,
	limit int) ([]OutboxEntry, error) {
	var p pg.Params
	t := p.Add(tenant)
	pending := `SELECT memory_id, max(seq) AS seq, count(*) AS changes, max(attempts) AS attempts
		FROM (SELECT memory_id, seq, attempts FROM index_outbox WHERE tenant = ` + t + ` AND ` + outboxDue
	if len(only) > 0 {
		pending += ` AND memory_id = ANY(` + p.Add(only) + `)`
	}
	pending += ` ORDER BY seq LIMIT ` + p.Add(limit) + `) o GROUP BY memory_id`
	out, err := s.indexEntries(ctx, tenant, model, pending, &p)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}

// IndexEntries reads what an index needs to know of memories, whatever is pending. A memory that is gone
// or not live is an entry to delete.
func (s *VectorIndex) IndexEntries(ctx context.Context, tenant string, model inference.EmbeddingModel,
	ids []uuid.UUID) ([]OutboxEntry, error) {
	var p pg.Params
	p.Add(tenant)
	out, err := s.indexEntries(ctx, tenant, model, `SELECT id AS memory_id, 0::bigint AS seq, 0::bigint AS changes,
		0 AS attempts FROM unnest(`+p.Add(ids)+`::uuid[]) id`, &p)
	if err != nil {
		return nil, fmt.Errorf("read index entries: %w", err)
	}
	return out, nil
}

// indexEntries joins the memories that source names to what is known of them. The tenant is $1.
func (s *VectorIndex) indexEntries(ctx context.Context, tenant string, model inference.EmbeddingModel, source string,
	p *pg.Params) ([]OutboxEntry, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	query := `SELECT o.memory_id, o.seq, o.changes, o.attempts, m.id IS NULL OR NOT m.live, coalesce(m.version, 0),
		coalesce(m.tier, ''), coalesce(m.typology, ''),
			coalesce(m.agent_id, ''), coalesce(m.project, ''), coalesce(m.scope, ''), coalesce(m.visibility, ''),
			coalesce(m.policy_group, ''),
			coalesce(m.type, ''), coalesce(m.category, ''), m.tags, lower(coalesce(m.who, '')),
			coalesce(m.pinned, false), coalesce(m.importance, 0),
			coalesce(m.sensitivity, ''), coalesce(m.occurred_at, 'epoch'), m.valid_from, m.valid_until,
			CASE WHEN e.embedding IS NULL AND m.live THEN m.content ELSE '' END, coalesce(m.content_hash, ''),
			e.embedding
		FROM (` + source + `) o
		LEFT JOIN ` + pg.ByKey("m", "$1", "o.memory_id") + ` ON true
		LEFT JOIN LATERAL (SELECT * FROM memory_embeddings x WHERE x.tenant = $1 AND x.memory_id = o.memory_id
			AND x.model = ` + p.Add(model.Name) + ` OFFSET 0) e
			ON e.dims = ` + p.Add(model.Dimensions) + ` AND e.content_hash = m.content_hash
		ORDER BY o.seq, o.memory_id`
	var out []OutboxEntry
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, *p...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (OutboxEntry, error) {
			var e OutboxEntry
			var v *pgvector.Vector
			err := row.Scan(&e.MemoryID, &e.Seq, &e.Changes, &e.Attempts, &e.Delete, &e.Version, &e.Tier, &e.Typology,
				&e.Agent, &e.Project, &e.Scope, &e.Visibility, &e.PolicyGroup, &e.Type, &e.Category, &e.Tags, &e.Who,
				&e.Pinned, &e.Importance,
				&e.Sensitivity, &e.OccurredAt, &e.ValidFrom, &e.ValidUntil, &e.Content, &e.Hash, &v)
			if v != nil {
				e.Vector = v.Slice()
			}
			return e, err
		})
		return err
	})
	return out, err
}

// SettleOutbox removes the changes that the index now knows: those up to each entry's Seq. A change that came later
// stays. A memory that has become another since it was read, while another writer told the index of that, is asked for
// again: of two writers at the same time, the one with the older version may come last.
func (s *VectorIndex) SettleOutbox(ctx context.Context, tenant string, entries []OutboxEntry, now time.Time) error {
	err := pg.RetryChange(ctx, func() error { return s.settleOutbox(ctx, tenant, entries, now) })
	if err != nil {
		return fmt.Errorf("settle outbox: %w", err)
	}
	return nil
}

func (s *VectorIndex) settleOutbox(ctx context.Context, tenant string, entries []OutboxEntry, now time.Time) error {
	return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		ids, seqs := make([]uuid.UUID, len(entries)), make([]int64, len(entries))
		versions, live := make([]int, len(entries)), make([]bool, len(entries))
		for i, e := range entries {
			ids[i], seqs[i], versions[i], live[i] = e.MemoryID, e.Seq, e.Version, !e.Delete
		}
		c.Queue.Queue(`DELETE FROM index_outbox o WHERE o.tenant = $1 AND o.memory_id = ANY($2::uuid[])
				AND o.seq <= ($3::bigint[])[array_position($2::uuid[], o.memory_id)]`, tenant, ids, seqs)
		c.Queue.Queue(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT m.tenant, m.id, m.version, CASE WHEN m.live THEN 'upsert' ELSE 'delete' END, $5
			FROM unnest($2::uuid[], $3::int[], $4::boolean[]) x(id, version, live) CROSS JOIN `+pg.ByKey("m", "$1",
			"x.id")+`
			WHERE (m.live <> x.live OR x.version > 0 AND m.version <> x.version)
				AND m.id <> ALL(ARRAY(SELECT o.memory_id FROM index_outbox o WHERE o.tenant = $1
					AND o.memory_id = ANY($2) AND o.parked_at IS NULL))`,
			tenant, ids, versions, live, c.Now)
		return nil
	})
}

// KeepEmbeddings stores embeddings that were made for memories, where their content is still the same.
func (s *VectorIndex) KeepEmbeddings(ctx context.Context, tenant string, model inference.EmbeddingModel,
	entries []OutboxEntry, embedded map[uuid.UUID][]float32, now time.Time) error {
	if len(embedded) == 0 {
		return nil
	}
	err := pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			keepEmbeddings(c, model, entries,
				embedded)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("keep embeddings: %w", err)
	}
	return nil
}

// keepEmbeddings stores vectors only while the content is still what was embedded: locked, or a memory
// that is being erased would get its vector back.
func keepEmbeddings(c *commit.Change, model inference.EmbeddingModel, entries []OutboxEntry,
	embedded map[uuid.UUID][]float32) {
	for _, e := range entries {
		v, ok := embedded[e.MemoryID]
		if !ok {
			continue
		}
		c.Queue.Queue(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology,
			content_hash, created_at)
			SELECT m.tenant, $3, m.id, $4, $5, $6, m.tier, m.typology, m.content_hash, $8 FROM memories m
			WHERE m.tenant = $1 AND m.id = $2 AND m.live AND m.content_hash = $7 FOR SHARE OF m
			ON CONFLICT (tenant, memory_id, model) DO UPDATE
			SET embedding = excluded.embedding, dims = excluded.dims, content_hash = excluded.content_hash,
			created_at = excluded.created_at`,
			c.Tenant, e.MemoryID, pg.NewID(), model.Name, len(v), pgvector.NewVector(v), e.Hash, c.Now)
	}
}

// OutboxFailure says why the index could not be told of a memory.
type OutboxFailure struct {
	OutboxEntry
	Reason string // never content
}

// Backoff of a change that fails by itself: doubling from outboxBackoff to outboxBackoffMax, and parked when it has
// failed outboxAttempts times. That is about four hours: an endpoint that is repaired within half a working day finds
// everything still waiting.
const (
	outboxAttempts   = 8
	outboxBackoff    = 2 * time.Minute
	outboxBackoffMax = 2 * time.Hour
)

// PostponeOutbox notes that the index could not be told of some memories, whatever was tried with others:
// their changes wait, longer each time, and are parked in the end. It returns how many were parked. A
// change that came later does not wait.
func (s *VectorIndex) PostponeOutbox(ctx context.Context, tenant string, failures []OutboxFailure,
	now time.Time) (parked int, err error) {
	ids, seqs, reasons := make([]uuid.UUID, len(failures)), make([]int64, len(failures)), make([]string, len(failures))
	for i, f := range failures {
		ids[i], seqs[i], reasons[i] = f.MemoryID, f.Seq, f.Reason
	}
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		return c.Tx.QueryRow(ctx, `
			WITH failed AS (
				UPDATE index_outbox o SET attempts = o.attempts + 1,
				last_error = ($4::text[])[array_position($2::uuid[], o.memory_id)],
					retry_at = now() + least($5::interval * power(2, least(o.attempts, 20)), $6::interval),
					parked_at = CASE WHEN o.attempts + 1 >= $7 THEN $8::timestamptz END
				WHERE o.tenant = $1 AND o.memory_id = ANY($2::uuid[])
				AND o.seq <= ($3::bigint[])[array_position($2::uuid[], o.memory_id)] AND o.parked_at IS NULL
				RETURNING o.memory_id, o.parked_at)
			SELECT count(DISTINCT memory_id) FROM failed WHERE parked_at IS NOT NULL`,
			tenant, ids, seqs, reasons, outboxBackoff, outboxBackoffMax, outboxAttempts, c.Now).Scan(&parked)
	})
	if err != nil {
		return 0, fmt.Errorf("postpone outbox: %w", err)
	}
	return parked, nil
}

// EnqueueOutbox queues the current state of memories for the index. Those that something is pending are left to that;
// those that are parked stay so. It returns how many were asked for.
func (s *VectorIndex) EnqueueOutbox(ctx context.Context, tenant string, ids []uuid.UUID, now time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n := 0
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		tag, err := c.Tx.Exec(ctx, `INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT m.tenant, m.id, m.version, CASE WHEN m.live THEN 'upsert' ELSE 'delete' END, $3 FROM memories m
			WHERE m.tenant = $1 AND m.id = ANY($2) AND NOT EXISTS (SELECT FROM index_outbox o WHERE o.tenant = m.tenant
				AND o.memory_id = m.id)
			ORDER BY m.id`, tenant, ids, c.Now)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("enqueue outbox: %w", err)
	}
	return n, nil
}

// ParkedChange is a memory that the index could not be told of, though it was tried often enough.
type ParkedChange struct {
	MemoryID  uuid.UUID `json:"memory_id"`
	Attempts  int       `json:"attempts"`
	LastError string    `json:"last_error"` // never content
	ParkedAt  time.Time `json:"parked_at"`
}

// ParkedOutbox lists the tenant's parked changes by memory, at most limit of them, after the given one.
func (s *VectorIndex) ParkedOutbox(ctx context.Context, tenant string, after uuid.UUID,
	limit int) ([]ParkedChange, error) {
	var out []ParkedChange
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var err error
		out, err = pg.Collect[ParkedChange](ctx, tx, `SELECT DISTINCT ON (memory_id) memory_id, attempts, last_error,
			parked_at FROM index_outbox
			WHERE tenant = $1 AND parked_at IS NOT NULL AND memory_id > $2 ORDER BY memory_id, seq DESC LIMIT $3`,
			tenant, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list parked changes: %w", err)
	}
	return out, nil
}

// ReleaseOutbox has the tenant's parked and waiting changes tried again at once, as if they had never
// failed. It returns of how many memories.
func (s *VectorIndex) ReleaseOutbox(ctx context.Context, tenant string, now time.Time) (int, error) {
	n := 0
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		return c.Tx.QueryRow(ctx, `WITH released AS (
				UPDATE index_outbox SET attempts = 0, retry_at = NULL, parked_at = NULL WHERE tenant = $1
				AND (parked_at IS NOT NULL OR retry_at IS NOT NULL)
				RETURNING memory_id)
			SELECT count(DISTINCT memory_id) FROM released`, tenant).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("release outbox: %w", err)
	}
	return n, nil
}

// OutboxLag returns the lag over all tenants.
func (s *VectorIndex) OutboxLag(ctx context.Context) (schema.IndexLag, error) {
	var lag schema.IndexLag
	if err := s.Pool.QueryRow(ctx, `SELECT * FROM mneme_outbox_lag()`).Scan(&lag.Pending, &lag.Parked,
		&lag.Oldest); err != nil {
		return lag, fmt.Errorf("measure index lag: %w", err)
	}
	return lag, nil
}

// OutboxTenants lists the tenants with changes pending; parked ones do not count.
func (s *VectorIndex) OutboxTenants(ctx context.Context) ([]string, error) {
	rows, err := s.Pool.Query(ctx, `SELECT mneme_outbox_tenants()`)
	if err != nil {
		return nil, fmt.Errorf("list tenants of the outbox: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list tenants of the outbox: %w", err)
	}
	return out, nil
}

// BatchMemories returns the ids of the memories that a range wrote or changed: its sources, the
// facts added from them, and the targets of updates and deletes.
func (s *VectorIndex) BatchMemories(ctx context.Context, r pipeline.Range) ([]uuid.UUID, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []uuid.UUID
	err := s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH `+pipeline.InRange+`, own AS MATERIALIZED (SELECT id, memory_id FROM c WHERE state = 'staged'),
			p AS MATERIALIZED (
				SELECT memory_id, target_id FROM proposals WHERE tenant = $1
				AND candidate_id = ANY(ARRAY(SELECT id FROM own)) AND state = 'applied')
			SELECT memory_id FROM own
			UNION SELECT memory_id FROM p WHERE memory_id IS NOT NULL
			UNION SELECT target_id FROM p WHERE target_id IS NOT NULL`,
			r.Tenant, r.BatchID, r.From, r.To)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories of a batch: %w", err)
	}
	return out, nil
}
