package testkit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

// A reused database contains nothing of the previous test: no rows, no statistics, and sequences at their start.
func TestDatabasesAreReused(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	again := false
	for range 5 {
		t.Run("", func(t *testing.T) {
			db := testkit.Owner(t, testkit.DatabaseURL(t))
			name := db.Config().Database
			again = again || seen[name]
			seen[name] = true
			require.Empty(t, testkit.RowCounts(t, db))
			require.Zero(t, testkit.Rows(t, db, "pg_statistic", "starelid = 'events'::regclass"))
			exec := func(sql string) {
				_, err := db.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			exec(`INSERT INTO events (tenant, stream, seq, id, agent_id, kind, visibility, sensitivity, occurred_at,
				recorded_at)
				SELECT 't', 'run/x', n, gen_random_uuid(), 'a', 'x', 'private', 'low', now(), now()
					FROM generate_series(1, 10) n`)
			exec(`ANALYZE events`)
			require.Equal(t, 1, testkit.Rows(t, db, "events", "seq = 1"))
			require.Equal(t, 10, testkit.Rows(t, db, "events", ""))
		})
	}
	require.True(t, again)
}

// A database whose schema was changed is not reused, even if the change was reverted.
func TestChangedSchemaIsNotReused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{
		"a column":     {`ALTER TABLE events ADD COLUMN x int`},
		"and back":     {`ALTER TABLE events ALTER kind DROP NOT NULL`, `ALTER TABLE events ALTER kind SET NOT NULL`},
		"a function":   {`CREATE FUNCTION x() RETURNS int LANGUAGE sql AS 'SELECT 1'`},
		"a trigger":    {`ALTER TABLE memory_history DISABLE TRIGGER ALL`},
		"a right":      {`REVOKE SELECT ON memories FROM mneme_app`},
		"an index":     {`CREATE INDEX ON events (kind)`},
		"an extension": {`UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'`},
		"a migration":  {`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`},
		"the owner":    {`ALTER TABLE events OWNER TO mneme_app`},
		"security":     {`ALTER TABLE events DISABLE ROW LEVEL SECURITY`},
	} {
		t.Run(name, func(t *testing.T) {
			var used string
			t.Run("changes", func(t *testing.T) {
				db := testkit.Owner(t, testkit.DatabaseURL(t))
				used = db.Config().Database
				for _, sql := range change {
					_, err := db.Exec(t.Context(), sql)
					require.NoError(t, err)
				}
			})
			db := testkit.Owner(t, testkit.DatabaseURL(t)) // the most recently used one is tried first
			require.Eventually(t, func() bool { return testkit.Rows(t, db, "pg_database", "datname = $1", used) == 0 },
				10*time.Second, 10*time.Millisecond)
		})
	}
}
