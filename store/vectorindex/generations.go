package vectorindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// GenerationState is the state of a build of the vector index.
type GenerationState string

// States of a generation.
const (
	GenerationBuilding GenerationState = "building" // gets every change, not searched yet
	GenerationActive   GenerationState = "active"   // the one that is searched
	GenerationRetired  GenerationState = "retired"  // waits to be dropped; gets only deletions
)

// Generation is one build of a vector index: an embedding space and its points. Postgres stores which one is
// searched, so a lost index does not lose that decision. Generations belong to the installation, not to a tenant.
type Generation struct {
	ID          uuid.UUID
	Index       string // vector.Index's name
	Model       inference.EmbeddingModel
	State       GenerationState
	CreatedAt   time.Time
	ActivatedAt *time.Time
	RetiredAt   *time.Time
}

// generationColumns are the columns of generationRow.
const generationColumns = `id, index_name, model, dims, state, created_at, activated_at, retired_at`

type generationRow struct {
	ID          uuid.UUID
	IndexName   string
	Model       string
	Dims        int
	State       GenerationState
	CreatedAt   time.Time
	ActivatedAt *time.Time
	RetiredAt   *time.Time
}

func scanGeneration(row pgx.CollectableRow) (Generation, error) {
	g, err := pgx.RowToStructByName[generationRow](row)
	return Generation{ID: g.ID, Index: g.IndexName, Model: inference.EmbeddingModel{Name: g.Model, Dimensions: g.Dims},
		State: g.State, CreatedAt: g.CreatedAt, ActivatedAt: g.ActivatedAt, RetiredAt: g.RetiredAt}, err
}

// Generations returns an index's generations: the active one first, then the one being built, then those to be
// dropped.
func (s *VectorIndex) Generations(ctx context.Context, index string) ([]Generation, error) {
	rows, err := s.Pool.Query(ctx, `
		SELECT `+generationColumns+`
		FROM index_generations
		WHERE index_name = $1
		ORDER BY array_position(ARRAY['active', 'building', 'retired'], state), created_at, id`, index)
	if err != nil {
		return nil, fmt.Errorf("list generations: %w", err)
	}
	out, err := pgx.CollectRows(rows, scanGeneration)
	if err != nil {
		return nil, fmt.Errorf("list generations: %w", err)
	}
	return out, nil
}

// Generation returns one generation, or ErrNotFound if it has been dropped.
func (s *VectorIndex) Generation(ctx context.Context, id uuid.UUID) (Generation, error) {
	rows, err := s.Pool.Query(ctx, `
		SELECT `+generationColumns+`
		FROM index_generations
		WHERE id = $1`, id)
	if err != nil {
		return Generation{}, fmt.Errorf("read generation: %w", err)
	}
	g, err := pgx.CollectExactlyOneRow(rows, scanGeneration)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, fmt.Errorf("generation %s: %w", id, pg.ErrNotFound)
	}
	if err != nil {
		return g, fmt.Errorf("read generation: %w", err)
	}
	return g, nil
}

// StartGeneration records a new generation. If another caller was faster it returns that caller's, because an index
// has at most one active generation and one that is being built.
func (s *VectorIndex) StartGeneration(ctx context.Context, index string, model inference.EmbeddingModel,
	state GenerationState, now time.Time) (Generation, error) {
	rows, err := s.Pool.Query(ctx, `
		WITH made AS (
			INSERT INTO index_generations (id, index_name, model, dims, state, created_at, activated_at)
			VALUES (@id, @index, @model, @dims, @state, @now, CASE WHEN @state = 'active' THEN @now::timestamptz END)
			ON CONFLICT DO NOTHING
			RETURNING `+generationColumns+`
		)
		SELECT * FROM made
		UNION ALL
		SELECT `+generationColumns+`
		FROM index_generations
		WHERE index_name = @index AND state = @state
		LIMIT 1`,
		pg.Args{"id": pg.NewID(), "index": index, "model": model.Name, "dims": model.Dimensions, "state": state,
			"now": now.UTC()})
	if err != nil {
		return Generation{}, fmt.Errorf("start generation: %w", err)
	}
	g, err := pgx.CollectExactlyOneRow(rows, scanGeneration)
	if errors.Is(err, pgx.ErrNoRows) { // the other caller has not committed yet
		return s.StartGeneration(ctx, index, model, state, now)
	}
	if err != nil {
		return g, fmt.Errorf("start generation: %w", err)
	}
	return g, nil
}

// ActivateGeneration makes a generation the searched one and retires the previous one. A second call changes
// nothing.
func (s *VectorIndex) ActivateGeneration(ctx context.Context, g Generation, now time.Time) error {
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			UPDATE index_generations
			SET state = 'retired', retired_at = @now
			WHERE index_name = @index AND id <> @id AND state = 'active'
				AND EXISTS (SELECT FROM index_generations WHERE id = @id AND state = 'building')`,
			pg.Args{"index": g.Index, "id": g.ID, "now": now.UTC()}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE index_generations
			SET state = 'active', activated_at = @now
			WHERE id = @id AND state = 'building'`,
			pg.Args{"id": g.ID, "now": now.UTC()})
		return err
	})
	if err != nil {
		return fmt.Errorf("activate generation: %w", err)
	}
	return nil
}

// RemoveGeneration removes a generation whose points have been dropped. The active one is kept.
func (s *VectorIndex) RemoveGeneration(ctx context.Context, id uuid.UUID) error {
	if _, err := s.Pool.Exec(ctx, `DELETE FROM index_generations WHERE id = $1 AND state <> 'active'`, id); err != nil {
		return fmt.Errorf("remove generation: %w", err)
	}
	return nil
}

// BuildVectorIndexes builds the HNSW indexes of an embedding model in Postgres, one for each class, each in its own
// transaction. Existing indexes are kept unless rebuild is set; then each is replaced by a new one. Writers of
// embeddings wait for the class that is being built. It returns the number of built indexes.
func (s *VectorIndex) BuildVectorIndexes(ctx context.Context, model inference.EmbeddingModel,
	rebuild bool) (int, error) {
	built := 0
	for _, class := range search.VectorClasses {
		made, err := s.buildVectorIndex(ctx, model, class, rebuild)
		if err != nil {
			return built, err
		}
		if made {
			built++
		}
	}
	return built, nil
}

// RebuildVectorIndexes builds the indexes of all classes again, without the first from classes. After each class it
// calls done with the number of finished classes.
func (s *VectorIndex) RebuildVectorIndexes(
	ctx context.Context,
	model inference.EmbeddingModel,
	from int,
	done func(classes int),
) error {
	for n := from; n < len(search.VectorClasses); n++ {
		if _, err := s.buildVectorIndex(ctx, model, search.VectorClasses[n], true); err != nil {
			return err
		}
		done(n + 1)
	}
	return nil
}

func (s *VectorIndex) buildVectorIndex(
	ctx context.Context,
	model inference.EmbeddingModel,
	class search.VectorClass,
	rebuild bool,
) (made bool, err error) {
	err = s.Long(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT mneme_build_vector_index(@model, @dims, @tier, @typology, @rebuild)`,
			pg.Args{"model": model.Name, "dims": model.Dimensions, "tier": class.Tier, "typology": class.Typology,
				"rebuild": rebuild}).Scan(&made)
	})
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "22023" { // invalid_parameter_value
		return false, fmt.Errorf("index the vectors of a model: %w", ErrNotIndexable)
	}
	if err != nil {
		return false, fmt.Errorf("index the vectors of a model: %w", err)
	}
	return made, nil
}

// ErrNotIndexable means that Postgres has no index for an embedding model's name or number of dimensions. Its vectors
// are searched one by one.
var ErrNotIndexable = errors.New("the embedding model cannot be indexed")

// MemoryTenants lists at most limit tenants with memories after the given one, by name.
func (s *VectorIndex) MemoryTenants(ctx context.Context, after string, limit int) ([]string, error) {
	return s.TenantNames(ctx, `SELECT mneme_memory_tenants(@after, @limit)`, pg.Args{"after": after, "limit": limit})
}

// LiveTotal counts the live memories of all tenants.
func (s *VectorIndex) LiveTotal(ctx context.Context) (int64, error) {
	var n int64
	if err := s.Long(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT mneme_live_total()`).Scan(&n)
	}); err != nil {
		return 0, fmt.Errorf("count memories: %w", err)
	}
	return n, nil
}

// IndexState is the state in Postgres of a memory that an index should or should not have.
type IndexState struct {
	ID       uuid.UUID
	Version  int // 0 if the memory does not exist
	Live     bool
	Embedded bool // it has a vector of the model for its current content
	Pending  bool // the outbox has a change of it that will be tried
	Parked   bool // the outbox has a change of it that is no longer tried
}

// indexStateColumns renders the columns of IndexState for a given id, of a memory m that may be missing.
func indexStateColumns(id string) string {
	return fmt.Sprintf(`%[1]s AS id,
			coalesce(m.version, 0) AS version,
			coalesce(m.live, false) AS live,
			EXISTS (
				SELECT
				FROM memory_embeddings e
				WHERE e.tenant = @tenant AND e.memory_id = m.id AND e.model = @model AND e.dims = @dims
					AND e.content_hash = m.content_hash) AS embedded,
			EXISTS (
				SELECT
				FROM index_outbox o
				WHERE o.tenant = @tenant AND o.memory_id = %[1]s AND o.parked_at IS NULL) AS pending,
			EXISTS (
				SELECT
				FROM index_outbox o
				WHERE o.tenant = @tenant AND o.memory_id = %[1]s AND o.parked_at IS NOT NULL) AS parked`, id)
}

var (
	livePageSQL = `
		SELECT ` + indexStateColumns("m.id") + `
		FROM memories m
		WHERE m.tenant = @tenant AND m.live AND m.id > @after
		ORDER BY m.id
		LIMIT @limit`

	indexStatesSQL = `
		SELECT ` + indexStateColumns("x.id") + `
		FROM unnest(@ids::uuid[]) x(id)
		LEFT JOIN ` + pg.ByKey("m", "@tenant", "x.id") + ` ON true`
)

// LivePage returns the states of at most limit live memories of the tenant after the given id, by id.
func (s *VectorIndex) LivePage(ctx context.Context, tenant string, model inference.EmbeddingModel, after uuid.UUID,
	limit int) ([]IndexState, error) {
	return s.indexStates(ctx, tenant, livePageSQL, pg.Args{"tenant": tenant, "model": model.Name,
		"dims": model.Dimensions, "after": after, "limit": limit})
}

// IndexStates returns the states of memories, live or not. A memory that was deleted or never existed has version 0;
// the outbox may still have its deletion.
func (s *VectorIndex) IndexStates(ctx context.Context, tenant string, model inference.EmbeddingModel,
	ids []uuid.UUID) (map[uuid.UUID]IndexState, error) {
	found, err := s.indexStates(ctx, tenant, indexStatesSQL, pg.Args{"tenant": tenant, "model": model.Name,
		"dims": model.Dimensions, "ids": ids})
	out := make(map[uuid.UUID]IndexState, len(found))
	for _, state := range found {
		out[state.ID] = state
	}
	return out, err
}

func (s *VectorIndex) indexStates(ctx context.Context, tenant, query string, args pg.Args) ([]IndexState, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []IndexState
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = pg.CollectByName[IndexState](ctx, tx, query, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare with the index: %w", err)
	}
	return out, nil
}

// embeddedRows are the tenant's live memories m with a vector e of the model for their current content.
const embeddedRows = `
			FROM memory_embeddings e
			JOIN memories m ON m.tenant = e.tenant AND m.id = e.memory_id AND m.live AND m.content_hash = e.content_hash
			WHERE e.tenant = @tenant AND e.model = @model AND e.dims = @dims`

// CountEmbedded counts the tenant's live memories with a vector of the model for their current content.
func (s *VectorIndex) CountEmbedded(ctx context.Context, tenant string, model inference.EmbeddingModel) (int64, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var n int64
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT count(*)`+embeddedRows,
			pg.Args{"tenant": tenant, "model": model.Name, "dims": model.Dimensions}).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count embeddings: %w", err)
	}
	return n, nil
}

// NearestEmbedded returns the tenant's live memories nearest to a vector, regardless of visibility: ids and scores,
// for the verification of an index.
func (s *VectorIndex) NearestEmbedded(ctx context.Context, tenant string, e pg.Embedding,
	limit int) ([]search.Hit, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	args := pg.Args{"tenant": tenant, "vector": pgvector.NewVector(e.Vector), "limit": limit}
	parts := make([]string, 0, len(search.VectorClasses))
	for _, class := range search.VectorClasses {
		parts = append(parts, "("+search.NearestSQL(e.Model, class, "@tenant", "@vector", "@limit", "m.live")+")")
	}
	var out []search.Hit
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = pg.CollectByName[search.Hit](ctx, tx, `
			SELECT id, score
			FROM (`+strings.Join(parts, " UNION ALL ")+`) u
			ORDER BY score DESC, id
			LIMIT @limit`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	return out, nil
}

// SampleEmbedded returns random live memories of the tenant that have a vector of the model.
func (s *VectorIndex) SampleEmbedded(ctx context.Context, tenant string, model inference.EmbeddingModel,
	n int) ([]uuid.UUID, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong) // it reads all of them
	var out []uuid.UUID
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT e.memory_id`+embeddedRows+`
			ORDER BY random()
			LIMIT @limit`,
			pg.Args{"tenant": tenant, "model": model.Name, "dims": model.Dimensions, "limit": n})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sample embeddings: %w", err)
	}
	return out, nil
}
