package pg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/store/pg"
)

// Queries use a partial index only if their condition implies its condition, and an upsert finds the index only by the
// same words.
func TestConditionsAreThoseOfPartialIndexes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../schema/migrations/*.sql")
	require.NoError(t, err)
	var migrations strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		migrations.Write(text)
	}
	for _, index := range []string{
		"CREATE UNIQUE INDEX jobs_open ON jobs (tenant, kind, memory_id) WHERE " + pg.JobIsOpen + ";",
		"CREATE INDEX memories_procedural ON memories (tenant, id) WHERE live AND " + pg.IsProcedure + ";",
	} {
		require.Contains(t, migrations.String(), index)
	}
}
