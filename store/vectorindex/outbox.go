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
)

// IndexAttributes are the fields of a memory that an index may filter by. They have no content.
type IndexAttributes struct {
	Agent       string
	Project     string
	Scope       string
	Visibility  schema.Visibility
	PolicyGroup string
	Type        schema.MemoryType
	Category    schema.Category
	Tags        []string
	Who         string // in lower case, as in Postgres
	Pinned      bool
	Importance  float64 // [0,1]
	Sensitivity schema.Sensitivity
	OccurredAt  time.Time
	ValidFrom   *time.Time
	ValidUntil  *time.Time
}

// OutboxEntry is the newest pending change of one memory, with the data for the index. Older pending changes of the
// memory are merged into it.
type OutboxEntry struct {
	MemoryID uuid.UUID
	Seq      int64 // sequence number of the newest merged change; 0 if none is pending
	Changes  int   // number of merged changes
	Attempts int   // failed attempts so far
	Delete   bool
	Version  int // 0 if the memory does not exist
	Tier     schema.Tier
	Typology schema.Typology
	IndexAttributes
	Content string    // set only if Vector is nil: the content must be embedded first
	Speaker string    // of the content
	Hash    []byte    // hash of the content
	Vector  []float32 // nil if the memory has no embedding of the model yet
}

// outboxDue is the SQL condition that a change is due.
const outboxDue = `parked_at IS NULL AND (retry_at IS NULL OR retry_at <= now())`

// Outbox reads up to limit pending changes of the tenant, oldest first, and merges them by memory. It returns failed
// changes again when they are due, but no parked changes. If only is not empty, it reads only the changes of the
// memories in only.
func (s *VectorIndex) Outbox(ctx context.Context, tenant string, model inference.EmbeddingModel, only []uuid.UUID,
	limit int) ([]OutboxEntry, error) {
	args := pg.Args{"tenant": tenant, "limit": limit}
	among := ""
	if len(only) > 0 {
		args["only"], among = only, ` AND memory_id = ANY(@only)`
	}
	out, err := s.indexEntries(ctx, tenant, model, `
			SELECT memory_id, max(seq) AS seq, count(*) AS changes, max(attempts) AS attempts
			FROM (
				SELECT memory_id, seq, attempts
				FROM index_outbox
				WHERE tenant = @tenant AND `+outboxDue+among+`
				ORDER BY seq
				LIMIT @limit
			) o
			GROUP BY memory_id`, args)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}

// IndexEntries reads the data of memories for the index, whether or not they have pending changes. A memory that does
// not exist or is not live becomes an entry to delete.
func (s *VectorIndex) IndexEntries(ctx context.Context, tenant string, model inference.EmbeddingModel,
	ids []uuid.UUID) ([]OutboxEntry, error) {
	out, err := s.indexEntries(ctx, tenant, model, `
			SELECT id AS memory_id, 0::bigint AS seq, 0::bigint AS changes, 0 AS attempts
			FROM unnest(@ids::uuid[]) id`, pg.Args{"tenant": tenant, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read index entries: %w", err)
	}
	return out, nil
}

// indexEntries joins the memories that the query source returns with their data. args has the tenant and the arguments
// of source.
func (s *VectorIndex) indexEntries(ctx context.Context, tenant string, model inference.EmbeddingModel, source string,
	args pg.Args) ([]OutboxEntry, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	args["model"], args["dims"] = model.Name, model.Dimensions
	query := `
		SELECT ` + entryColumns + `
		FROM (` + source + `
		) o
		LEFT JOIN ` + pg.ByKey("m", "@tenant", "o.memory_id") + ` ON true
		LEFT JOIN LATERAL (
			SELECT *
			FROM memory_embeddings x
			WHERE x.tenant = @tenant AND x.memory_id = o.memory_id AND x.model = @model
			OFFSET 0
		) e ON e.dims = @dims AND e.content_hash = m.content_hash
		ORDER BY o.seq, o.memory_id`
	var found []entryRow
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		found, err = pg.CollectByName[entryRow](ctx, tx, query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]OutboxEntry, len(found))
	for i, row := range found {
		if row.Embedding != nil {
			row.Vector = row.Embedding.Slice()
		}
		out[i] = row.OutboxEntry
	}
	return out, nil
}

// entryRow is an entry with its vector in Postgres's type.
type entryRow struct {
	OutboxEntry
	Embedding *pgvector.Vector
}

// entryColumns are the columns of entryRow. They come from the pending change o, its memory m and the memory's
// embedding e.
const entryColumns = `
			o.memory_id, o.seq, o.changes, o.attempts,
			m.id IS NULL OR NOT m.live AS delete,
			coalesce(m.version, 0) AS version,
			coalesce(m.tier, '') AS tier,
			coalesce(m.typology, '') AS typology,
			coalesce(m.agent_id, '') AS agent,
			coalesce(m.project, '') AS project,
			coalesce(m.scope, '') AS scope,
			coalesce(m.visibility, '') AS visibility,
			coalesce(m.policy_group, '') AS policy_group,
			coalesce(m.type, '') AS type,
			coalesce(m.category, '') AS category,
			m.tags,
			lower(coalesce(m.who, '')) AS who,
			coalesce(m.pinned, false) AS pinned,
			coalesce(m.importance, 0) AS importance,
			coalesce(m.sensitivity, '') AS sensitivity,
			coalesce(m.occurred_at, 'epoch') AS occurred_at,
			m.valid_from, m.valid_until,
			CASE WHEN e.embedding IS NULL AND m.live THEN m.content ELSE '' END AS content,
			coalesce(m.who, '') AS speaker,
			coalesce(m.content_hash, '') AS hash,
			e.embedding`

// SettleOutbox removes the changes that have been written to the index, up to each entry's Seq. Later changes remain.
// A memory is queued again if it changed after it was read and another writer has settled that change, because the
// writer with the older version may have finished last.
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
		c.Queue.Queue(`
			DELETE FROM index_outbox o
			WHERE o.tenant = @tenant AND o.memory_id = ANY(@ids::uuid[])
				AND o.seq <= (@seqs::bigint[])[array_position(@ids::uuid[], o.memory_id)]`,
			pg.Args{"tenant": tenant, "ids": ids, "seqs": seqs})
		c.Queue.Queue(`
			INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT m.tenant, m.id, m.version, CASE WHEN m.live THEN 'upsert' ELSE 'delete' END, @now
			FROM unnest(@ids::uuid[], @versions::int[], @live::boolean[]) x(id, version, live)
			CROSS JOIN `+pg.ByKey("m", "@tenant", "x.id")+`
			WHERE (m.live <> x.live OR x.version > 0 AND m.version <> x.version)
				AND m.id <> ALL(ARRAY(
					SELECT o.memory_id
					FROM index_outbox o
					WHERE o.tenant = @tenant AND o.memory_id = ANY(@ids) AND o.parked_at IS NULL))`,
			pg.Args{"tenant": tenant, "ids": ids, "versions": versions, "live": live, "now": c.Now})
		return nil
	})
}

// KeepEmbeddings stores new embeddings of memories whose content and speaker have not changed since they were embedded.
func (s *VectorIndex) KeepEmbeddings(ctx context.Context, tenant string, model inference.EmbeddingModel,
	entries []OutboxEntry, embedded map[uuid.UUID][]float32, now time.Time) error {
	if len(embedded) == 0 {
		return nil
	}
	err := pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
			keepEmbeddings(c, model, entries, embedded)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("keep embeddings: %w", err)
	}
	return nil
}

// keepEmbeddings stores the vectors of memories that still have the embedded content and speaker. It locks each memory,
// so that no vector is stored while an erasure removes the memory's texts.
func keepEmbeddings(c *commit.Change, model inference.EmbeddingModel, entries []OutboxEntry,
	embedded map[uuid.UUID][]float32) {
	for _, e := range entries {
		v, ok := embedded[e.MemoryID]
		if !ok {
			continue
		}
		c.Queue.Queue(`
			INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
				created_at)
			SELECT m.tenant, @id, m.id, @model, @dims, @embedding, m.tier, m.typology, m.content_hash, @now
			FROM memories m
			WHERE m.tenant = @tenant AND m.id = @memory_id AND m.live AND m.content_hash = @hash
				AND m.who = @speaker
			FOR SHARE OF m
			ON CONFLICT (tenant, memory_id, model) DO UPDATE
			SET embedding = excluded.embedding,
				dims = excluded.dims,
				content_hash = excluded.content_hash,
				created_at = excluded.created_at`,
			pg.Args{"tenant": c.Tenant, "memory_id": e.MemoryID, "id": pg.NewID(), "model": model.Name,
				"dims": len(v), "embedding": pgvector.NewVector(v), "hash": e.Hash, "speaker": e.Speaker,
				"now": c.Now})
	}
}

// OutboxFailure says why a memory could not be written to the index.
type OutboxFailure struct {
	OutboxEntry
	Reason string // never contains content
}

// Backoff of a change that fails while others succeed. The delay doubles from outboxBackoff to outboxBackoffMax. After
// outboxAttempts failures, which take about four hours, the change is parked. If the endpoint is repaired within four
// hours, no change is parked.
const (
	outboxAttempts   = 8
	outboxBackoff    = 2 * time.Minute
	outboxBackoffMax = 2 * time.Hour
)

// PostponeOutbox records that some memories could not be written to the index. Their changes are delayed,
// longer after each failure, and parked after the last attempt. Later changes are not delayed. PostponeOutbox returns
// how many memories were parked.
func (s *VectorIndex) PostponeOutbox(ctx context.Context, tenant string, failures []OutboxFailure,
	now time.Time) (parked int, err error) {
	ids, seqs, reasons := make([]uuid.UUID, len(failures)), make([]int64, len(failures)), make([]string, len(failures))
	for i, f := range failures {
		ids[i], seqs[i], reasons[i] = f.MemoryID, f.Seq, f.Reason
	}
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		return c.Tx.QueryRow(ctx, `
			WITH failed AS (
				UPDATE index_outbox o
				SET attempts = o.attempts + 1,
					last_error = (@reasons::text[])[array_position(@ids::uuid[], o.memory_id)],
					retry_at = now() + least(@backoff::interval * power(2, least(o.attempts, 20)),
						@backoff_max::interval),
					parked_at = CASE WHEN o.attempts + 1 >= @attempts THEN @now::timestamptz END
				WHERE o.tenant = @tenant AND o.memory_id = ANY(@ids::uuid[])
					AND o.seq <= (@seqs::bigint[])[array_position(@ids::uuid[], o.memory_id)]
					AND o.parked_at IS NULL
				RETURNING o.memory_id, o.parked_at
			)
			SELECT count(DISTINCT memory_id)
			FROM failed
			WHERE parked_at IS NOT NULL`,
			pg.Args{"tenant": tenant, "ids": ids, "seqs": seqs, "reasons": reasons, "backoff": outboxBackoff,
				"backoff_max": outboxBackoffMax, "attempts": outboxAttempts, "now": c.Now}).Scan(&parked)
	})
	if err != nil {
		return 0, fmt.Errorf("postpone outbox: %w", err)
	}
	return parked, nil
}

// EnqueueOutbox queues the current state of memories for the index. It skips memories with a pending or parked change.
// It returns how many memories were queued.
func (s *VectorIndex) EnqueueOutbox(ctx context.Context, tenant string, ids []uuid.UUID, now time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n := 0
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		tag, err := c.Tx.Exec(ctx, `
			INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT m.tenant, m.id, m.version, CASE WHEN m.live THEN 'upsert' ELSE 'delete' END, @now
			FROM memories m
			WHERE m.tenant = @tenant AND m.id = ANY(@ids)
				AND NOT EXISTS (SELECT FROM index_outbox o WHERE o.tenant = m.tenant AND o.memory_id = m.id)
			ORDER BY m.id`,
			pg.Args{"tenant": tenant, "ids": ids, "now": c.Now})
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("enqueue outbox: %w", err)
	}
	return n, nil
}

// ParkedChange is a memory that could not be written to the index after the last attempt.
type ParkedChange struct {
	MemoryID  uuid.UUID `json:"memory_id"`
	Attempts  int       `json:"attempts"`
	LastError string    `json:"last_error"` // never contains content
	ParkedAt  time.Time `json:"parked_at"`
}

// ParkedOutbox lists at most limit parked changes of the tenant, ordered by memory id, starting after the given id.
func (s *VectorIndex) ParkedOutbox(ctx context.Context, tenant string, after uuid.UUID,
	limit int) ([]ParkedChange, error) {
	var out []ParkedChange
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = pg.CollectByName[ParkedChange](ctx, tx, `
			SELECT DISTINCT ON (memory_id) memory_id, attempts, last_error, parked_at
			FROM index_outbox
			WHERE tenant = @tenant AND parked_at IS NOT NULL AND memory_id > @after
			ORDER BY memory_id, seq DESC
			LIMIT @limit`, pg.Args{"tenant": tenant, "after": after, "limit": limit})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list parked changes: %w", err)
	}
	return out, nil
}

// ReleaseOutbox makes the tenant's parked and delayed changes due now, as if they had never failed. It returns the
// number of memories with such changes.
func (s *VectorIndex) ReleaseOutbox(ctx context.Context, tenant string, now time.Time) (int, error) {
	n := 0
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		return c.Tx.QueryRow(ctx, `
			WITH released AS (
				UPDATE index_outbox
				SET attempts = 0, retry_at = NULL, parked_at = NULL
				WHERE tenant = $1 AND (parked_at IS NOT NULL OR retry_at IS NOT NULL)
				RETURNING memory_id
			)
			SELECT count(DISTINCT memory_id)
			FROM released`, tenant).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("release outbox: %w", err)
	}
	return n, nil
}

// OutboxLag returns the lag over all tenants.
func (s *VectorIndex) OutboxLag(ctx context.Context) (schema.IndexLag, error) {
	var lag schema.IndexLag
	if err := s.Pool.QueryRow(ctx, pg.OutboxLagSQL).
		Scan(&lag.Pending, &lag.Parked, &lag.Oldest); err != nil {
		return lag, fmt.Errorf("measure index lag: %w", err)
	}
	return lag, nil
}

// Backlog is what is still to be written to the index for a tenant. Parked changes do not count.
type Backlog struct {
	Pending int64 `json:"pending"` // memories with a change
	Next    int64 `json:"next"`    // the position of the first change, tried or not; 0: none
	Last    int64 `json:"last"`    // the position of the last change; 0: none
}

// Moved reports whether changes were written since an earlier backlog: there are fewer, or the first one is gone.
// Without an earlier one, it is true.
func (b Backlog) Moved(earlier *Backlog) bool {
	return earlier == nil || b.Pending < earlier.Pending || earlier.Next > 0 && b.Next > earlier.Next
}

// Backlog returns what is pending for a tenant.
func (s *VectorIndex) Backlog(ctx context.Context, tenant string) (Backlog, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var b Backlog
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT count(DISTINCT memory_id), coalesce(min(seq), 0), coalesce(max(seq), 0)
			FROM index_outbox
			WHERE tenant = $1 AND parked_at IS NULL`, tenant).Scan(&b.Pending, &b.Next, &b.Last)
	})
	if err != nil {
		return b, fmt.Errorf("count pending changes: %w", err)
	}
	return b, nil
}

// OutboxTenants lists the tenants with pending changes. Parked changes do not count.
func (s *VectorIndex) OutboxTenants(ctx context.Context) ([]string, error) {
	return s.TenantNames(ctx, `SELECT mneme_outbox_tenants()`, nil)
}

// BatchMemories returns the ids of the memories that a range of a batch wrote or changed. These are its sources, the
// facts extracted from them, and the targets of updates and deletes.
func (s *VectorIndex) BatchMemories(ctx context.Context, r schema.Range) ([]uuid.UUID, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []uuid.UUID
	err := s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH own AS MATERIALIZED (
				SELECT id, memory_id
				FROM memory_candidates
				WHERE tenant = @tenant AND batch_id = @batch AND ordinal >= @from AND ordinal < @to
					AND state = 'staged'
			), p AS MATERIALIZED (
				SELECT memory_id, target_id
				FROM proposals
				WHERE tenant = @tenant AND candidate_id = ANY(ARRAY(SELECT id FROM own)) AND state = 'applied'
			)
			SELECT memory_id FROM own
			UNION
			SELECT memory_id FROM p WHERE memory_id IS NOT NULL
			UNION
			SELECT target_id FROM p WHERE target_id IS NOT NULL`,
			pg.Args{"tenant": r.Tenant, "batch": r.BatchID, "from": r.From, "to": r.To})
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
