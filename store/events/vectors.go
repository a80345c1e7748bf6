package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// WithoutVector returns the ids of the given events that have no vector of a model yet.
func (s *Events) WithoutVector(ctx context.Context, tenant string, m inference.EmbeddingModel,
	ids []string) (out []string, err error) {
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT i.id
			FROM unnest(@ids::text[]) i(id)
			WHERE NOT EXISTS (
				SELECT FROM event_vectors v
				WHERE v.tenant = @tenant AND v.event_id = i.id AND v.model = @model AND v.dims = @dims)`,
			pg.Args{"tenant": tenant, "ids": ids, "model": m.Name, "dims": m.Dimensions})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find events without a vector: %w", err)
	}
	return out, nil
}

// PutVectors stores the vectors of events, which are in the same order as their ids. An existing vector stays. An
// event that was erased in the meantime, or does not exist, gets none.
func (s *Events) PutVectors(ctx context.Context, tenant string, m inference.EmbeddingModel, ids []string,
	vectors [][]float32, now time.Time) error {
	texts := make([]string, len(vectors))
	for i, v := range vectors {
		texts[i] = pgvector.NewVector(v).String()
	}
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		// This transaction and an erasure wait for each other. Otherwise the erasure would not see vectors that it must
		// delete.
		if _, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(mneme_event_vectors_lock(@tenant))`,
			pg.Args{"tenant": tenant}); err != nil {
			return err
		}
		_, err := c.Tx.Exec(ctx, `
			INSERT INTO event_vectors (tenant, event_id, model, dims, embedding)
			SELECT @tenant, i.id, @model, @dims, n.vector::vector
			FROM unnest(@ids::text[], @vectors::text[]) n(id, vector)
				JOIN event_ids i ON i.tenant = @tenant AND i.id = n.id
				CROSS JOIN LATERAL (
					SELECT FROM events
					WHERE tenant = @tenant AND stream = i.stream AND seq = i.seq AND recorded_at = i.recorded_at
						AND erased_at IS NULL
					OFFSET 0) e
			ON CONFLICT DO NOTHING`,
			pg.Args{"tenant": tenant, "ids": ids, "model": m.Name, "dims": m.Dimensions, "vectors": texts})
		return err
	})
	if err != nil {
		return fmt.Errorf("store vectors of events: %w", err)
	}
	return nil
}

// NearestEvents returns the events, among those with these ids, whose vectors are nearest to a vector, at most k, with
// their cosine similarity as a score in [0,1]. It compares all of them exactly, so that none is missed and events of
// other agents do not use up the limit.
func (s *Events) NearestEvents(ctx context.Context, tenant string, m inference.EmbeddingModel, vector []float32,
	ids []string, k int) (out []views.Hit, err error) {
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT v.event_id AS id, greatest(0, 1 - (v.embedding <=> @vector::vector)) AS score
			FROM event_vectors v
			WHERE v.tenant = @tenant AND v.event_id = ANY(@ids) AND v.model = @model AND v.dims = @dims
			ORDER BY score DESC, id
			LIMIT @k`,
			pg.Args{"tenant": tenant, "ids": ids, "model": m.Name, "dims": m.Dimensions,
				"vector": pgvector.NewVector(vector).String(), "k": k})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[views.Hit])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare vectors of events: %w", err)
	}
	return out, nil
}

// WipeVectors removes the vectors of a tenant's events of all models. They are computed again when needed.
func (s *Events) WipeVectors(ctx context.Context, tenant string, now time.Time) (n int64, err error) {
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		gone, err := c.Tx.Exec(ctx, `DELETE FROM event_vectors WHERE tenant = @tenant`, pg.Args{"tenant": tenant})
		n = gone.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove vectors of events: %w", err)
	}
	return n, nil
}
