package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
)

// JobQueue counts the waiting jobs of all tenants.
type JobQueue struct {
	Waiting int64      `json:"waiting"` // pending, leased or failed
	Oldest  *time.Time `json:"oldest,omitempty"`
	Dead    int64      `json:"dead"`
}

// JobQueue counts the jobs of all tenants. It returns only numbers and a time.
func (s *Admin) JobQueue(ctx context.Context) (JobQueue, error) {
	var q JobQueue
	if err := s.Pool.QueryRow(ctx, jobQueueSQL).Scan(&q.Waiting, &q.Oldest, &q.Dead); err != nil {
		return q, fmt.Errorf("read the job queue: %w", err)
	}
	return q, nil
}

const jobQueueSQL = `SELECT waiting, oldest, dead FROM mneme_job_queue()`

// MigrationVersion returns the newest migration of the database.
func (s *Admin) MigrationVersion(ctx context.Context) (int64, error) {
	var v int64
	if err := s.Pool.QueryRow(ctx, migrationVersion).Scan(&v); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return v, nil
}

const migrationVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

// OpenJob is a job that has not ended, with its run.
type OpenJob struct {
	ID         uuid.UUID
	WorkflowID string
}

// OpenJobs lists the tenant's unfinished jobs that have waited since before a time, oldest first.
func (s *Admin) OpenJobs(ctx context.Context, tenant string, before time.Time, limit int) ([]OpenJob, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out []OpenJob
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = pg.CollectByName[OpenJob](ctx, tx, `
			SELECT id, workflow_id
			FROM jobs
			WHERE tenant = @tenant AND `+pg.JobIsOpen+`
				AND coalesce(revived_at, created_at) < @before
			ORDER BY coalesce(revived_at, created_at), id
			LIMIT @limit`, pg.Args{"tenant": tenant, "before": before.UTC(), "limit": limit})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list open jobs: %w", err)
	}
	return out, nil
}

// MarkJobDead marks an open job as dead, so that it can be revived. It is for jobs whose run no longer exists. If the
// tenant has no such open job, it returns ErrNotFound.
func (s *Admin) MarkJobDead(ctx context.Context, tenant string, id uuid.UUID, reason string, now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		var candidate, memoryID uuid.UUID
		var phase string
		err := c.Tx.QueryRow(ctx, `
			UPDATE jobs
			SET state = 'dead', last_error = @reason, updated_at = @now, finished_at = @now
			WHERE tenant = @tenant AND id = @id AND `+pg.JobIsOpen+`
			RETURNING candidate_id, memory_id, phase`,
			pg.Args{"tenant": tenant, "id": id, "reason": reason, "now": c.Now}).Scan(&candidate, &memoryID, &phase)
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		if err != nil {
			return err
		}
		pipeline.MarkDead(c, candidate, memoryID, phase, reason)
		return nil
	})
	if err != nil {
		return fmt.Errorf("close job: %w", err)
	}
	return nil
}

// LiveCount returns the tenant's number of live memories. It reads one row, because every change updates the count.
func (s *Admin) LiveCount(ctx context.Context, tenant string) (int64, error) {
	var n int64
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT coalesce(sum(docs), 0)::bigint
			FROM corpus_stats
			WHERE tenant = $1`, tenant).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count memories: %w", err)
	}
	return n, nil
}

// Inspector reads a database's catalogue, settings and statistics, never a row of a tenant. It needs no migrated
// schema, and works as the user in the URL. It is for one goroutine.
type Inspector struct{ conn *pgx.Conn }

// Inspect connects. Errors do not contain the URL, which has a password.
func Inspect(ctx context.Context, databaseURL string) (*Inspector, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("inspect: the database URL cannot be parsed")
	}
	cfg.RuntimeParams["application_name"] = "mneme-doctor"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return &Inspector{conn: conn}, nil
}

// Close ends the connection.
func (i *Inspector) Close(ctx context.Context) { _ = i.conn.Close(ctx) }

// Version returns the server's version as text.
func (i *Inspector) Version(ctx context.Context) (string, error) {
	return one[string](ctx, i, "read the server's version", `SELECT current_setting('server_version')`)
}

// MigrationVersion returns the newest migration of the schema; 0 if none has been applied.
func (i *Inspector) MigrationVersion(ctx context.Context) (int64, error) {
	v, err := one[int64](ctx, i, "read the schema's version", migrationVersion)
	var pgErr *pgconn.PgError
	// undefined_table, insufficient_privilege
	if errors.As(err, &pgErr) && (pgErr.Code == "42P01" || pgErr.Code == "42501") {
		return 0, nil
	}
	return v, err
}

// ClockAhead returns how far the server's clock is ahead of this machine's clock. The function now reads this
// machine's clock. The result assumes that the request and the answer took equally long.
func (i *Inspector) ClockAhead(ctx context.Context, now func() time.Time) (time.Duration, error) {
	before := now()
	theirs, err := one[time.Time](ctx, i, "read the server's clock", `SELECT clock_timestamp()`)
	if err != nil {
		return 0, err
	}
	took := now().Sub(before)
	return theirs.Sub(before.Add(took / 2)), nil
}

// AppRoleState is the state of the application's role.
type AppRoleState struct {
	Exists   bool
	Bypasses bool // row-level security does not apply to it
	// Owns is the number of tables of the schema whose owner it is or is a member of: row-level security does not
	// apply to them.
	Owns   int
	Usable bool // the user in the URL may switch to it
}

// AppRole reads the state of the role pg.AppRole.
func (i *Inspector) AppRole(ctx context.Context) (AppRoleState, error) {
	return one[AppRoleState](ctx, i, "read the application's role", `
		SELECT
			count(*) > 0 AS exists,
			coalesce(bool_or(rolsuper OR rolbypassrls), false) AS bypasses,
			(SELECT count(*)
				FROM pg_class c
				WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
					AND pg_has_role(min(r.oid), c.relowner, 'MEMBER')) AS owns,
			-- since Postgres 16 a member may lack the right to SET ROLE
			coalesce(bool_or(pg_has_role(r.oid, CASE WHEN current_setting('server_version_num')::int < 160000
				THEN 'MEMBER' ELSE 'SET' END)), false) AS usable
		FROM (
			SELECT oid, rolsuper, rolbypassrls
			FROM pg_roles
			WHERE rolname = $1
		) r`, pg.AppRole)
}

// Extension is an extension that the schema needs.
type Extension struct {
	Name      string
	Installed string // version; empty if it is not installed
	Least     string // oldest sufficient version
}

// requiredExtensions: filtered searches need the iterative scans of pgvector 0.8.
var requiredExtensions = [][2]string{{"btree_gin", "1.0"}, {"vector", "0.8.0"}}

// Extensions reads the versions of the extensions that the schema needs.
func (i *Inspector) Extensions(ctx context.Context) ([]Extension, error) {
	var out []Extension
	for _, e := range requiredExtensions {
		installed, err := one[string](ctx, i, "read the extensions",
			`SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = $1), '')`, e[0])
		if err != nil {
			return nil, err
		}
		out = append(out, Extension{Name: e[0], Installed: installed, Least: e[1]})
	}
	return out, nil
}

// Connections is the server's number of clients and its limit.
type Connections struct{ Open, Most int }

// Connections counts the server's connections, also those to other databases. Connections reserved for superusers and
// for roles that may use reserved connections (from Postgres 16) do not count as available.
func (i *Inspector) Connections(ctx context.Context) (Connections, error) {
	return one[Connections](ctx, i, "count connections", `
		SELECT
			(SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database) AS open,
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
				- coalesce(current_setting('reserved_connections', true)::int, 0) AS most`)
}

// InvalidIndexes lists indexes left invalid by an interrupted build: they slow every write and serve no query.
func (i *Inspector) InvalidIndexes(ctx context.Context) ([]string, error) {
	return many[string](ctx, i, "look for invalid indexes", `
		SELECT c.relname::text
		FROM pg_index x
		JOIN pg_class c ON c.oid = x.indexrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT (x.indisvalid AND x.indisready)
		ORDER BY 1`)
}

// UnboundTables lists the tables that have a tenant column and are not bound to the tenant: row-level security is off,
// or there is no policy, or one that applies to the application and admits other rows too. Policies add up.
func (i *Inspector) UnboundTables(ctx context.Context) ([]string, error) {
	return many[string](ctx, i, "read row-level security", `
		WITH app AS (
			SELECT r.oid AS roleid
			FROM pg_roles r
			WHERE EXISTS (SELECT FROM pg_roles a WHERE a.rolname = $1 AND pg_has_role(a.oid, r.oid, 'MEMBER'))
		)
		SELECT c.relname::text
		FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
			AND EXISTS (
				SELECT
				FROM pg_attribute a
				WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped)
			AND NOT (c.relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
				AND NOT EXISTS (
					SELECT
					FROM pg_policy p
					CROSS JOIN LATERAL unnest(p.polroles) role
					CROSS JOIN LATERAL unnest(ARRAY[pg_get_expr(p.polqual, c.oid),
						pg_get_expr(p.polwithcheck, c.oid)]) condition
					WHERE p.polrelid = c.oid AND p.polpermissive
						AND (role = 0 OR role IN (SELECT a.roleid FROM app a))
						AND condition !~ $2))
		ORDER BY 1`, pg.AppRole, ofTheTenant)
}

// ofTheTenant matches the condition of mneme_protect_table as Postgres prints it.
const ofTheTenant = `^\(tenant = \( ?SELECT (\w+\.)?mneme_tenant\(\) AS mneme_tenant\)\)$`

// guards are the triggers, by table, that keep data append-only, keep versions in order, and remove or blank what is
// derived from changed or deleted memories.
var guards = [][2]string{
	{"events", "events_append_only"}, {"events", "events_derived"}, {"events", "events_marks"},
	{"events", "events_no_truncate"},
	{"memories", "memories_blank_topics"}, {"memories", "memories_deleted_blank_topics"},
	{"memories", "memories_deleted_drop_drafts"}, {"memories", "memories_deleted_erase_outcomes"},
	{"memories", "memories_drop_duplicate_key"},
	{"memories", "memories_drop_model_answers"},
	{"memories", "memories_episode_only_grows"}, {"memories", "memories_erase_outcomes"},
	{"memories", "memories_forget_learning"}, {"memories", "memories_keep_version"},
	{"memories", "memories_place_episode"}, {"memories", "memories_place_grown_episode"},
	{"memories", "memories_stay_erased"}, {"memories", "memories_versions_in_time"},
	{"memory_history", "memory_history_append_only"}, {"memory_history", "memory_history_no_truncate"},
	{"outcome_reports", "outcome_reports_place"},
	{"retention_policy_changes", "retention_policy_changes_append_only"},
	{"retention_policy_changes", "retention_policy_changes_no_truncate"},
}

// AbsentGuards returns the names of the guards that are missing or disabled.
func (i *Inspector) AbsentGuards(ctx context.Context) ([]string, error) {
	tables, triggers := make([]string, len(guards)), make([]string, len(guards))
	for n, g := range guards {
		tables[n], triggers[n] = g[0], g[1]
	}
	return many[string](ctx, i, "read the triggers", `
		SELECT g.name
		FROM unnest(@tables::text[], @triggers::text[]) g(tbl, name)
		WHERE NOT EXISTS (
			SELECT
			FROM pg_trigger t
			JOIN pg_class c ON c.oid = t.tgrelid
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = g.tbl AND t.tgname = g.name
				AND t.tgenabled IN ('O', 'A'))
		ORDER BY 1`, pg.Args{"tables": tables, "triggers": triggers})
}

// unanalysedRows is the number of rows above which a table needs statistics.
const unanalysedRows = 1000

// Unanalysed lists the tables that have more than a thousand rows and were never analysed. The planner has to guess
// for these.
func (i *Inspector) Unanalysed(ctx context.Context) ([]string, error) {
	return many[string](ctx, i, "read the statistics", `
		SELECT relname::text
		FROM pg_stat_user_tables
		WHERE schemaname = current_schema() AND n_live_tup > $1 AND last_analyze IS NULL AND last_autoanalyze IS NULL
		ORDER BY 1`, unanalysedRows)
}

// Bloated lists tables with more dead rows than live ones, and at least ten thousand dead rows, because vacuum does
// not keep up with them.
func (i *Inspector) Bloated(ctx context.Context) ([]string, error) {
	return many[string](ctx, i, "read the statistics", `
		SELECT relname::text
		FROM pg_stat_user_tables
		WHERE schemaname = current_schema() AND n_dead_tup > $1 AND n_dead_tup > n_live_tup
		ORDER BY 1`, bloatedRows)
}

// bloatedRows is the number of dead rows below which Bloated reports nothing, because autovacuum has no reason to
// run.
const bloatedRows = 10_000

// one reads one row: a value, or a struct by column name.
func one[T any](ctx context.Context, i *Inspector, what, query string, args ...any) (T, error) {
	found, err := many[T](ctx, i, what, query, args...)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: %w", what, pgx.ErrNoRows)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return found[0], nil
}

func many[T any](ctx context.Context, i *Inspector, what, query string, args ...any) ([]T, error) {
	rows, err := i.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	read := pgx.RowTo[T]
	switch any(*new(T)).(type) {
	case string, int64, time.Time:
	default:
		read = pgx.RowToStructByName[T]
	}
	out, err := pgx.CollectRows(rows, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// Stats counts the tenant's data.
func (s *Admin) Stats(ctx context.Context, tenant string) (read.Stats, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var out read.Stats
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, statsSQL, tenant)
		if err != nil {
			return err
		}
		out, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByNameLax[read.Stats])
		return err
	})
	if err != nil {
		return read.Stats{}, fmt.Errorf("count memories: %w", err)
	}
	if out.Jobs, err = pipeline.New(s.DB).JobCounts(ctx, tenant); err != nil {
		return read.Stats{}, err
	}
	return out, nil
}

// statsSQL has the columns of read.Stats, without the jobs.
const statsSQL = `
	SELECT
		(SELECT coalesce(jsonb_object_agg(type, n), '{}')
			FROM (SELECT type, count(*) AS n FROM memories WHERE tenant = $1 AND live GROUP BY type) t) AS memories,
		(SELECT count(*) FROM entities WHERE tenant = $1) AS entities,
		(SELECT count(*) FROM entity_relations WHERE tenant = $1) AS relations,
		(SELECT count(*) FROM memory_history WHERE tenant = $1) AS history,
		(SELECT count(*)
			FROM proposals p
			WHERE p.tenant = $1 AND ` + pg.WaitsForReview + `) AS to_review,
		(SELECT count(*) FROM index_outbox WHERE tenant = $1) AS index_pending,
		(SELECT min(coalesce(revived_at, created_at))
			FROM jobs
			WHERE tenant = $1 AND ` + pg.JobIsOpen + `) AS oldest_job`

// KnowsTenant reports whether anything was ever ingested or set for a tenant, judging by stored data. Reads do not
// count.
func (s *Admin) KnowsTenant(ctx context.Context, tenant string) (known bool, err error) {
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT 1 FROM memories WHERE tenant = $1)
				OR EXISTS (SELECT 1 FROM ingest_batches WHERE tenant = $1)
				OR EXISTS (SELECT 1 FROM memory_history WHERE tenant = $1)
				OR EXISTS (SELECT 1 FROM artifacts WHERE tenant = $1)
				OR EXISTS (SELECT 1 FROM retention_policies WHERE tenant = $1)`, tenant).Scan(&known)
	})
	if err != nil {
		return false, fmt.Errorf("look for the tenant: %w", err)
	}
	return known, nil
}
