package recall_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// Postgres itself reports what was read: each table with words of memories is replaced by a view, and every column with
// words passes through a function that sends a notice with the id of the memory. Postgres evaluates only the columns
// that a statement uses, so there is a notice for each read column and for no other. The function has a high cost, so
// that a condition on such a column is evaluated after the cheap ones of the filter. Index searches are not reported:
// an index returns only ids.
//
// The function is declared STABLE, which is true except for the notice. The planner then treats it as a column.
const spySQL = `CREATE FUNCTION spy(what text, id text, value anyelement) RETURNS anyelement LANGUAGE plpgsql STABLE COST 100000
	AS $$ BEGIN RAISE NOTICE 'read % %', what, id; RETURN value; END $$`

// spied lists, by table, the columns with words of a memory, and the column with the id of the memory or the address
// of the artifact.
var spied = []struct {
	table, id string
	columns   []string
}{
	{"memories", "id", []string{"content", "normalized_content", "payload", "tsv", "subject", "object",
		"safe_summary"}},
	{"memory_embeddings", "memory_id", []string{"embedding"}},
	{"memory_versions", "memory_id", []string{"record"}},
	{"memory_history", "memory_id", []string{"old_content", "new_content"}},
	{"memory_candidates", "memory_id", []string{"content", "extraction"}},
	{"memory_hints", "memory_id", []string{"hint", "tsv"}},
	{"entity_claims", "memory_id", []string{"subject", "predicate", "object"}},
	{"memory_provenance", "memory_id", []string{"ref"}},
	{"memory_links", "source_id", []string{"reason"}},
	{"artifacts", "encode(sha256, 'hex')", []string{"content", "words"}},
	{"proposals", "candidate_id", []string{"fact", "reason"}},
}

// unspied are views that still read their tables: the words of a hint, a claim or an artifact are compared inside the
// filtering statement, or before the filter if that is cheaper. The rows that leave that statement are checked on the
// wire.
var unspied = []string{"memory_hint_search", "claim_search", "artifact_search"}

// plantSpies turns the tables into views. After that, nothing must be written to them.
func plantSpies(t testing.TB, owner *pgx.Conn) {
	t.Helper()
	exec := func(sql string) {
		_, err := owner.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	exec(spySQL)
	views := viewsOf(t, owner)
	for _, s := range spied {
		var columns []string
		require.NoError(t, owner.QueryRow(ctx,
			`SELECT array_agg(CASE WHEN attname = ANY($2) THEN format('spy(%L, %s::text, %I) AS %I',
				$1::text || '.' || attname, $3::text, attname, attname)
			ELSE quote_ident(attname) END ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1::text::regclass
				AND attnum > 0 AND NOT attisdropped`,
			s.table, s.columns, s.id).Scan(&columns))
		require.Equal(t, len(s.columns), strings.Count(strings.Join(columns, " "), "spy("), "columns of %s", s.table)
		exec(fmt.Sprintf(`ALTER TABLE %[1]s RENAME TO %[1]s_kept; CREATE VIEW %[1]s WITH (security_invoker = true) AS
			SELECT %[2]s FROM %[1]s_kept;
			GRANT SELECT ON %[1]s TO mneme_app`, s.table, strings.Join(columns, ", ")))
	}
	for _, v := range views { // the tables that they named are views now
		if !slices.Contains(unspied, v.Name) {
			exec(`CREATE OR REPLACE VIEW ` + v.Name + ` AS ` + v.Definition)
		}
	}
}

type view struct{ Name, Definition string }

// viewsOf lists the views of the schema.
func viewsOf(t testing.TB, owner *pgx.Conn) []view {
	t.Helper()
	rows, err := owner.Query(ctx,
		`SELECT viewname::text, definition FROM pg_views WHERE schemaname = current_schema() ORDER BY 1`)
	require.NoError(t, err)
	views, err := pgx.CollectRows(rows, pgx.RowToStructByPos[view])
	require.NoError(t, err)
	require.NotEmpty(t, views)
	return views
}

// watch records what Postgres read and returned for one request.
type watch struct {
	mu    sync.Mutex
	reads map[string]map[string]int // counts by memory, and by table and column
	left  map[left]bool
}

type watchKey struct{}

func watched(ctx context.Context) (context.Context, *watch) {
	w := &watch{reads: map[string]map[string]int{}, left: map[left]bool{}}
	return context.WithValue(ctx, watchKey{}, w), w
}

// watcher attributes notices and rows to requests: a connection serves the request that sent its last statement.
type watcher struct{ by sync.Map } // *pgconn.PgConn → *watch

func (s *watcher) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.begin(ctx, conn, []string{data.SQL})
	return ctx
}

func (s *watcher) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *watcher) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var statements []string
	for _, q := range data.Batch.QueuedQueries {
		statements = append(statements, q.SQL)
	}
	s.begin(ctx, conn, statements)
	return ctx
}

func (s *watcher) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (s *watcher) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (s *watcher) begin(ctx context.Context, conn *pgx.Conn, statements []string) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	s.by.Store(conn.PgConn(), w)
	if wire, ok := conn.PgConn().Conn().(*wire); ok {
		wire.begin(w, statements)
	}
}

func (s *watcher) notice(conn *pgconn.PgConn, n *pgconn.Notice) {
	fields := strings.Fields(n.Message)
	held, _ := s.by.Load(conn)
	w, _ := held.(*watch)
	if w == nil || len(fields) != 3 || fields[0] != "read" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads[fields[2]] == nil {
		w.reads[fields[2]] = map[string]int{}
	}
	w.reads[fields[2]][fields[1]]++
}

// openWatched opens a store that reports its reads to the watch of their context. Each of its connections plans a
// statement again.
func openWatched(t testing.TB, databaseURL string, conns int) *store.Store {
	t.Helper()
	var w watcher
	s, err := store.Open(ctx, pg.Config{URL: databaseURL, MaxConns: int32(conns), Configure: func(c *pgxpool.Config) {
		c.ConnConfig.Tracer, c.ConnConfig.OnNotice = &w, w.notice
		tap(c.ConnConfig)
		c.ConnConfig.StatementCacheCapacity = 1024 // for a group of cases: leakWorld.alike
	}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// The spies report exactly what is read.
func TestSpiesReportReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := planted([8]byte{1}), planted([8]byte{2})
	for id, text := range map[uuid.UUID]string{one: "the canary sings", two: "the kestrel dives"} {
		was := w.remember(text)
		for _, sql := range []string{`SET session_replication_role = replica`,
			`UPDATE memories SET id = '` + id.String() + `' WHERE id = '` + was.String() + `'`} {
			_, err := w.owner.Exec(ctx, sql)
			require.NoError(t, err)
		}
	}
	plantSpies(t, w.owner)
	s := openWatched(t, w.owner.Config().ConnString(), 1)
	ctx, seen := watched(ctx)
	_, err := s.Authorize(ctx, pg.Filter{Principal: w.p}, []uuid.UUID{one})
	require.NoError(t, err)
	require.Empty(t, seen.reads, "authorising reads no content")
	_, err = s.Hydrate(ctx, pg.Filter{Principal: w.p}, []uuid.UUID{one}, time.Now())
	require.NoError(t, err)
	require.Equal(t, 1, seen.reads[one.String()]["memories.content"])
	require.NotContains(t, seen.reads, two.String())
	for l := range seen.left {
		require.Equal(t, one.String(), l.what)
	}
	require.Len(t, seen.left, 2, "by authorising and by hydrating")
}
