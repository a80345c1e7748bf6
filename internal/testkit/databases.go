package testkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema/migrations"
)

// DatabaseURL returns the URL, as the owner, of a migrated database without rows. Only this test uses it until the
// test ends. An earlier test may have used it: its rows are removed, and a database whose schema was changed is not
// used again.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	p, err := databases()
	require.NoError(t, err)
	name, err := p.take(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { p.put(name) })
	u, err := in(p.server, name, "main")
	require.NoError(t, err)
	return u
}

// FreshDatabaseURL is DatabaseURL with a new database that no test has used. It is for tests that depend on state that
// a reset may not restore, such as the planner's statistics or the counters of autovacuum. The database is dropped
// after the test.
func FreshDatabaseURL(t testing.TB) string {
	t.Helper()
	p, err := databases()
	require.NoError(t, err)
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	require.NoError(t, p.copyTemplate(name))
	t.Cleanup(func() {
		_ = dropDatabase(p.server, name) // the server or the database may no longer exist
	})
	u, err := in(p.server, name, "main")
	require.NoError(t, err)
	return u
}

// pool has the databases for the tests of this process. It resets a database before it is used again, which takes a
// fraction of the time of a copy. The databases outlive the process, so that the next process can use them. A session
// lock shows whether a database belongs to a running process.
type pool struct {
	server   string // URL of the database that the others are created from
	template string
	asMade   string // digest of the template's catalog, and so of every copy's
	prefix   string // of the names of databases that are copies of this template

	mu    sync.Mutex
	locks *pgx.Conn            // its session holds the locks
	own   map[string]*database // the databases of this process
	free  []string             // those that no test uses
}

// databases makes the template and the pool on first use.
var databases = sync.OnceValues(func() (*pool, error) {
	env, err := stack()
	if err != nil {
		return nil, err
	}
	p := &pool{server: env["DATABASE_URL"], own: map[string]*database{}}
	ctx := context.Background()
	if p.locks, err = pgx.Connect(ctx, p.server); err != nil {
		return nil, err
	}
	if err := p.migrate(ctx); err != nil {
		return nil, fmt.Errorf("make the tests' template database: %w", err)
	}
	if err := p.dropOthers(ctx); err != nil {
		return nil, fmt.Errorf("drop the databases of other migrations: %w", err)
	}
	return p, nil
})

const poolPrefix = "pool_"

// take returns a database without rows. No other test gets it before put.
func (p *pool) take(ctx context.Context) (string, error) {
	for {
		name, used, err := p.next(ctx)
		if err != nil || !used {
			return name, err
		}
		as, err := p.reset(ctx, name)
		if err == nil && as == p.asMade {
			return name, nil
		}
		if err := p.drop(ctx, name); err != nil {
			return "", err
		}
	}
}

// put returns a database to the pool.
func (p *pool) put(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, name)
}

// next returns a free database, or one that an ended process left, which must be reset, or a new one.
func (p *pool) next(ctx context.Context) (name string, used bool, err error) {
	if name, used, err = p.reserve(ctx); err != nil || used {
		return name, used, err
	}
	return name, false, p.copyTemplate(name)
}

// reserve is next without the copy: it only returns the name of a new database.
func (p *pool) reserve(ctx context.Context) (name string, exists bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		name, p.free = p.free[n-1], p.free[:n-1]
		return name, true, nil
	}
	if name, err = p.adopt(ctx, p.prefix); err != nil || name != "" {
		return name, true, err
	}
	name = p.prefix + strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	if p.own[name], err = p.newDatabase(name); err != nil {
		return name, false, err
	}
	_, err = p.lock(ctx, name)
	return name, false, err
}

// adopt locks a database of the pool whose process has ended; the name is empty if there is none.
func (p *pool) adopt(ctx context.Context, prefix string) (string, error) {
	rows, err := p.locks.Query(ctx, `SELECT datname::text FROM pg_database WHERE starts_with(datname, $1) ORDER BY 1`,
		prefix)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if _, own := p.own[name]; own || prefix == poolPrefix && strings.HasPrefix(name, p.prefix) {
			continue
		}
		if locked, err := p.lock(ctx, name); err != nil {
			return "", err
		} else if locked {
			p.own[name], err = p.newDatabase(name)
			return name, err
		}
	}
	return "", nil
}

func (p *pool) newDatabase(name string) (*database, error) {
	u, err := in(p.server, name, "main")
	return &database{url: u}, err
}

func (p *pool) lock(ctx context.Context, name string) (locked bool, err error) {
	err = p.locks.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended($1, 0))`, name).Scan(&locked)
	return locked, err
}

// drop removes a database of this process from the server and the pool.
func (p *pool) drop(ctx context.Context, name string) error {
	p.database(name).close(ctx)
	if err := dropDatabase(p.server, name); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.own, name)
	return second(p.locks.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, name))
}

// dropOthers drops databases that processes with other migrations left.
func (p *pool) dropOthers(ctx context.Context) error {
	for {
		name, err := p.adopt(ctx, poolPrefix)
		if err != nil || name == "" {
			return err
		}
		if err := p.drop(ctx, name); err != nil {
			return err
		}
	}
}

func (p *pool) database(name string) *database {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own[name]
}

// reset ends the connections of the test before, except idle ones of the store, removes its rows and statistics,
// restarts sequences, and returns the digest of the catalog.
func (p *pool) reset(ctx context.Context, name string) (digest string, err error) {
	d := p.database(name)
	owner, giveBack, err := p.owner(ctx, d.url)
	if err != nil {
		return "", err
	}
	defer giveBack()
	if err := owner.QueryRow(ctx, "SELECT ("+alone+" IS NOT NULL)::text || ("+catalogDigest+
		")", d.idle(ctx)).Scan(&digest); err != nil {
		return "", err
	}
	if digest = strings.TrimPrefix(digest, "true"); digest != p.asMade {
		return digest, nil
	}
	return digest, second(owner.Exec(ctx, emptyTables))
}

// alone ends all other connections to the database but those given, and waits until they have ended.
const alone = `(SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
	WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL($1::int[])
		AND backend_type = 'client backend')`

// emptyTables empties the tables that were written to; the others have no file. In replica mode no trigger runs, so it
// also works on append-only tables, in any order. Deleting the few rows of a small table takes a tenth of the time of a
// truncation, which makes new files for the table, its indexes and all tables that refer to it. Tables of vectors are
// truncated, because an HNSW index keeps deleted rows, which reduce its recall. The rows of the migrations stay.
const emptyTables = `DO $$
DECLARE
	r record;
BEGIN
	SET LOCAL session_replication_role = replica;
	FOR r IN SELECT relname, relname = 'memory_embeddings' OR pg_relation_size(oid) > 16 * 8192 OR reltuples <> -1 AS large
		FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'goose_db_version'
			AND (pg_relation_size(oid) > 0 OR reltuples <> -1)
		ORDER BY large DESC
	LOOP
		IF r.large THEN
			EXECUTE format('TRUNCATE %I CASCADE', r.relname);
		ELSE
			EXECUTE format('DELETE FROM %I', r.relname);
		END IF;
	END LOOP;
	PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false) FROM pg_sequences 
		WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename NOT LIKE 'goose%';
	DELETE FROM pg_statistic WHERE starelid >= 16384;
	PERFORM pg_stat_reset();
END $$`

// catalogDigest differs as soon as anything in the catalog was changed, even if it was changed back: every change
// leaves a row of a newer transaction, or one row less. Of pg_class only the columns count that neither TRUNCATE nor
// ANALYZE sets. They are named, because JSON of whole rows takes twenty times as long. The digest includes what the
// migrations have recorded and the database's settings, but not the built-in objects of Postgres, whose ids are below
// 16384.
var catalogDigest = func() string {
	var parts []string
	for _, catalog := range []string{"attribute.attrelid", "attrdef.oid", "constraint.oid", "index.indexrelid",
		"trigger.oid", "proc.oid", "policy.oid", "rewrite.oid", "type.oid", "enum.oid", "extension.oid",
		"default_acl.oid",
		"sequence.seqrelid", "statistic_ext.oid", "event_trigger.oid", "ts_config.oid", "ts_dict.oid", "operator.oid",
		"opclass.oid", "cast.oid", "publication.oid"} {
		table, id, _ := strings.Cut(catalog, ".")
		parts = append(parts,
			fmt.Sprintf("(SELECT concat(count(*), '/', max(xmin::text::bigint)) FROM pg_%s WHERE %s >= 16384)", table,
				id))
	}
	return "SELECT md5(concat_ws(' ', " + strings.Join(parts, ", ") + `,
		(SELECT concat(count(*), '/', max(xmin::text::bigint)) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'),
		(SELECT string_agg(concat_ws('/', oid, relname, relnamespace, reltype, reloftype, relowner, relam, reltablespace,
				reltoastrelid, relhasindex, relisshared, relpersistence, relkind, relnatts, relchecks, relhasrules,
				relhastriggers, relhassubclass, relrowsecurity, relforcerowsecurity, relispopulated, relreplident,
				relispartition, relrewrite, coalesce(relacl::text, '-'), coalesce(reloptions::text, '-'),
				coalesce(relpartbound::text, '-')), ',' ORDER BY oid)
			FROM pg_class WHERE oid >= 16384),
		(SELECT concat(datacl, datconnlimit, (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = d.oid))
			FROM pg_database d WHERE datname = current_database()),
		(SELECT string_agg(concat(version_id, is_applied), ',' ORDER BY id) FROM goose_db_version)))`
}()

// copyTemplate creates a database.
func (p *pool) copyTemplate(name string) error {
	// Copied as files, because test data need not survive a crash, and a copy through the log takes several times as
	// long.
	return onServer(p.server, "CREATE DATABASE "+name+" TEMPLATE "+p.template+" STRATEGY file_copy")
}

func dropDatabase(server, name string) error {
	return onServer(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

// migrate makes the template, because migrating takes many times as long as copying. The name of the template is
// computed from its migrations and the digest statement, so that the next run finds it. Its comment has the digest.
func (p *pool) migrate(ctx context.Context) error {
	digest := sha256.New()
	files, err := filepath.Glob(filepath.Join(Root(), "schema", "migrations", "*.sql"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(digest, "%s %d ", filepath.Base(file), len(data))
		digest.Write(data)
	}
	digest.Write([]byte(catalogDigest))
	id := fmt.Sprintf("%x", digest.Sum(nil)[:8])
	p.template, p.prefix = "template_"+id, poolPrefix+id+"_"
	// One test process makes it, and the others wait. An incomplete template has another name.
	conn, err := pgx.Connect(ctx, p.server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('mneme.test.template'))`); err != nil {
		return err
	}
	err = conn.QueryRow(ctx, `SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1`,
		p.template).Scan(&p.asMade)
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	half := "half_" + p.template
	u, err := in(p.server, half, "main")
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return dropDatabase(p.server, half) },
		func() error { return second(conn.Exec(ctx, "CREATE DATABASE "+half)) },
		func() error { return onServer(u, "CREATE SCHEMA main") },
		func() error { return second(migrations.Up(ctx, u)) },
		func() (err error) {
			p.asMade, err = one(ctx, u, catalogDigest)
			return err
		},
		func() error { return second(conn.Exec(ctx, "COMMENT ON DATABASE "+half+" IS '"+p.asMade+"'")) },
		func() error { return second(conn.Exec(ctx, "ALTER DATABASE "+half+" RENAME TO "+p.template)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func second[T any](_ T, err error) error { return err }

// onServer runs one statement.
func onServer(databaseURL, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return second(conn.Exec(ctx, sql))
}

// one reads one value.
func one(ctx context.Context, databaseURL, sql string) (value string, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, sql).Scan(&value)
	return value, err
}
