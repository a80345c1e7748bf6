package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

const invalidParameter = "22023"

// The application's role can create only the indexes of a model through the function.
func TestApplicationCreatesIndexesOfModels(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	build := func(model string, dims int, tier, typology string, rebuild bool) (bool, error) {
		var built bool
		err := conn.QueryRow(ctx, `SELECT mneme_build_vector_index($1, $2, $3, $4, $5)`, model, dims, tier, typology,
			rebuild).Scan(&built)
		return built, err
	}
	indexes := func() map[string]uint32 {
		rows, err := owner.Query(ctx,
			`SELECT c.relname::text, c.oid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				WHERE i.indrelid = 'memory_embeddings'::regclass AND NOT i.indisprimary`)
		require.NoError(t, err)
		out := map[string]uint32{}
		var name string
		var oid uint32
		_, err = pgx.ForEachRow(rows, []any{&name, &oid}, func() error { out[name] = oid; return nil })
		require.NoError(t, err)
		return out
	}
	before := indexes()
	built, err := build("hash-v1", 384, "session", "episodic", false)
	require.NoError(t, err)
	require.False(t, built, "it stands already")
	require.Equal(t, before, indexes())
	built, err = build("hash-v1", 384, "session", "episodic", true)
	require.NoError(t, err)
	require.True(t, built)
	after := indexes()
	require.Len(t, after, len(before))
	require.NotEqual(t, before["memory_embeddings_hash_v1_session_episodic"],
		after["memory_embeddings_hash_v1_session_episodic"])
	built, err = build("BAAI/bge-small-en-v1.5", 384, "persistent", "semantic", false)
	require.NoError(t, err)
	require.True(t, built)
	built, err = build("BAAI/bge-small-en-v1.5", 384, "brief", "learned", false)
	require.NoError(t, err)
	require.True(t, built)
	require.Len(t, indexes(), len(before)+2)

	for name, bad := range map[string]struct {
		model          string
		dims           int
		tier, typology string
	}{
		"quote":        {"a'); DROP TABLE memories; --", 3, "session", "episodic"},
		"no name":      {"", 3, "session", "episodic"},
		"line break":   {"a\nb", 3, "session", "episodic"},
		"no dims":      {"a", 0, "session", "episodic"},
		"too many":     {"a", 4001, "session", "episodic"},
		"no such tier": {"a", 3, "eternal", "episodic"},
		"no such pair": {"a", 3, "persistent", "episodic"},
		"half a class": {"a", 3, "brief", "semantic"},
	} {
		_, err := build(bad.model, bad.dims, bad.tier, bad.typology, false)
		requireCode(t, err, invalidParameter, name)
	}
	require.Len(t, indexes(), len(before)+2)
	_, err = conn.Exec(ctx, `CREATE INDEX ON memory_embeddings (model)`)
	requireCode(t, err, insufficientPrivilege)
}

// Vectors of another length under the same model name do not prevent writes.
func TestModelMayChangeDimensions(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	conn := app(t, url)
	bind(t, conn, "t")
	_, err := conn.Exec(ctx, `SELECT mneme_build_vector_index('m', 3, 'session', 'episodic', false)`)
	require.NoError(t, err)
	for _, vector := range []string{"[1,0,0]", "[1,0]"} {
		_, err = conn.Exec(ctx,
			`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
				created_at)
			VALUES ('t', gen_random_uuid(), $1, 'm', vector_dims($2::text::vector), $2::text::vector, 'session',
				'episodic', '', now())`,
			remembered(t, conn, "episodic", ""), vector)
		require.NoError(t, err)
	}
}
