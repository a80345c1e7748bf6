package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
)

// OutboxEntry is the newest pending change of one memory, with what the index needs to know. Older
// pending changes of the same memory are folded into it.
type OutboxEntry struct {
	MemoryID uuid.UUID
	Seq      int64 // of the newest change folded in
	Changes  int   // how many were folded
	Delete   bool
	Version  int
	Tier     schema.Tier
	Typology schema.Typology
	Content  string    // only when Vector is nil: it has to be embedded first
	Hash     []byte    // of the content
	Vector   []float32 // nil when the memory has no embedding of the model yet
}

// Outbox reads up to limit pending changes of the tenant, oldest first, folded by memory. When only is
// not empty, it looks at those memories alone.
func (s *Store) Outbox(ctx context.Context, tenant string, model inference.EmbeddingModel, only []uuid.UUID, limit int) ([]OutboxEntry, error) {
	var p params
	t, name := p.add(tenant), p.add(model.Name)
	pending := `SELECT memory_id, max(seq) AS seq, count(*) AS changes FROM (SELECT memory_id, seq FROM index_outbox WHERE tenant = ` + t
	if len(only) > 0 {
		pending += ` AND memory_id = ANY(` + p.add(only) + `)`
	}
	pending += ` ORDER BY seq LIMIT ` + p.add(limit) + `) o GROUP BY memory_id`
	query := `SELECT o.memory_id, o.seq, o.changes, m.id IS NULL OR NOT m.live, coalesce(m.version, 0), coalesce(m.tier, ''), coalesce(m.typology, ''),
			CASE WHEN e.embedding IS NULL AND m.live THEN m.content ELSE '' END, coalesce(m.content_hash, ''), e.embedding
		FROM (` + pending + `) o
		LEFT JOIN memories m ON m.tenant = ` + t + ` AND m.id = o.memory_id
		LEFT JOIN memory_embeddings e ON e.tenant = ` + t + ` AND e.memory_id = o.memory_id AND e.model = ` + name + ` AND e.content_hash = m.content_hash
		ORDER BY o.seq`
	var out []OutboxEntry
	err := s.read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, p...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (OutboxEntry, error) {
			var e OutboxEntry
			var v *pgvector.Vector
			err := row.Scan(&e.MemoryID, &e.Seq, &e.Changes, &e.Delete, &e.Version, &e.Tier, &e.Typology, &e.Content, &e.Hash, &v)
			if v != nil {
				e.Vector = v.Slice()
			}
			return e, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}

// SettleOutbox stores embeddings that were made for pending entries, and removes the changes that
// the index now knows: those up to each entry's Seq. A change that came later stays.
func (s *Store) SettleOutbox(ctx context.Context, tenant string, model inference.EmbeddingModel, entries []OutboxEntry, embedded map[uuid.UUID][]float32, now time.Time) error {
	err := againAlone(ctx, func() error { return s.settleOutbox(ctx, tenant, model, entries, embedded, now) })
	if err != nil {
		return fmt.Errorf("settle outbox: %w", err)
	}
	return nil
}

func (s *Store) settleOutbox(ctx context.Context, tenant string, model inference.EmbeddingModel, entries []OutboxEntry, embedded map[uuid.UUID][]float32, now time.Time) error {
	return s.write(ctx, tenant, now, func(c *change) error {
		ids, seqs := make([]uuid.UUID, len(entries)), make([]int64, len(entries))
		for i, e := range entries {
			ids[i], seqs[i] = e.MemoryID, e.Seq
			if v, ok := embedded[e.MemoryID]; ok {
				// Only while the content is still what was embedded: locked, or a memory that is being
				// erased would get its vector back.
				c.queue.Queue(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash, created_at)
					SELECT m.tenant, $3, m.id, $4, $5, $6, m.tier, m.typology, m.content_hash, $8 FROM memories m
					WHERE m.tenant = $1 AND m.id = $2 AND m.live AND m.content_hash = $7 FOR SHARE OF m
					ON CONFLICT (tenant, memory_id, model) DO UPDATE
					SET embedding = excluded.embedding, content_hash = excluded.content_hash, created_at = excluded.created_at`,
					tenant, e.MemoryID, newID(), model.Name, len(v), pgvector.NewVector(v), e.Hash, c.now)
			}
		}
		c.queue.Queue(`DELETE FROM index_outbox o USING unnest($2::uuid[], $3::bigint[]) x(memory_id, seq)
			WHERE o.tenant = $1 AND o.memory_id = x.memory_id AND o.seq <= x.seq`, tenant, ids, seqs)
		return nil
	})
}

// OutboxTenants lists the tenants with changes pending.
func (s *Store) OutboxTenants(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT mneme_outbox_tenants()`)
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
func (s *Store) BatchMemories(ctx context.Context, r Range) ([]uuid.UUID, error) {
	var out []uuid.UUID
	err := s.read(ctx, r.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH c AS (SELECT id, memory_id FROM memory_candidates
				WHERE tenant = $1 AND batch_id = $2 AND ordinal >= $3 AND ordinal < $4 AND state = 'staged')
			SELECT memory_id FROM c
			UNION SELECT p.memory_id FROM proposals p JOIN c ON p.tenant = $1 AND p.candidate_id = c.id WHERE p.state = 'applied' AND p.memory_id IS NOT NULL
			UNION SELECT p.target_id FROM proposals p JOIN c ON p.tenant = $1 AND p.candidate_id = c.id WHERE p.state = 'applied' AND p.target_id IS NOT NULL`,
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
