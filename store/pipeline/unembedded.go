package pipeline

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// embedSources stores the embeddings of source memories that are still live.
func (w *writing) embedSources(sources map[uuid.UUID]pg.Embedding) {
	for id, e := range sources {
		// The memory may have changed since its text was read for embedding.
		if m, ok := w.known[id]; ok && m.live && (e.Hash == nil || memory.SameContent(e.Hash, m.neighbor.Hash)) &&
			(e.Speaker == nil || *e.Speaker == m.neighbor.Who) {
			w.Embed(id, m.tier, m.typology, m.neighbor.Hash, &e)
		}
	}
}

// Unembedded is a source memory of a range without an embedding in a given space.
type Unembedded struct {
	MemoryID uuid.UUID `db:"id"`
	Content  string
	Speaker  string    `db:"who"`
	Hash     []byte    `db:"content_hash"`
	Vector   []float32 `db:"-"` // of a fact with the same content, if it has one
}

type unembeddedRow struct {
	Unembedded
	Embedding *pgvector.Vector
}

// unembedded lists the live sources without an embedding of the model. A source with the same content as one of its
// facts can use the fact's embedding.
var unembedded = `
	WITH ` + candidatesInRange + `, p AS MATERIALIZED (
		SELECT candidate_id, fact->>'content' AS content, embedding
		FROM proposals
		WHERE tenant = @tenant AND candidate_id = ANY(ARRAY(SELECT id FROM c)) AND embedding_model = @model
	), has AS MATERIALIZED (
		SELECT memory_id
		FROM memory_embeddings
		WHERE tenant = @tenant AND memory_id = ANY(ARRAY(SELECT memory_id FROM c)) AND model = @model
	)
	SELECT m.id, m.content, m.who, m.content_hash,
		(SELECT p.embedding FROM p WHERE p.candidate_id = c.id AND p.content = m.content AND c.speaker = m.who LIMIT 1)
			AS embedding
	FROM c
		CROSS JOIN ` + pg.ByKey("m", "@tenant", "c.memory_id") + `
	WHERE c.state = 'staged' AND m.live AND m.id <> ALL(ARRAY(SELECT memory_id FROM has))`

// Unembedded lists the live source memories of a range that lack an embedding of the model.
func (s *Pipeline) Unembedded(
	ctx context.Context,
	r schema.Range,
	model inference.EmbeddingModel,
) ([]Unembedded, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []Unembedded
	err := s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		found, err := commit.Rows[unembeddedRow](ctx, tx, unembedded, rangeArgs(r, pg.Args{"model": model.Name}))
		for _, u := range found {
			if u.Embedding != nil {
				u.Vector = u.Embedding.Slice()
			}
			out = append(out, u.Unembedded)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list memories without embedding: %w", err)
	}
	return out, nil
}
