package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/mneme/mneme/schema/migrations"
)

// AppRole is the role that every connection runs as. The migrations create it.
const AppRole = "mneme_app"

var (
	// ErrNotFound means that the tenant has no such row, or none that the caller may see.
	ErrNotFound = errors.New("not found")
	// ErrNotMigrated means that the database lacks Mneme's tables or its role.
	ErrNotMigrated = errors.New("the database is not migrated: run `mneme migrate up`")
)

// Config describes the connection to Postgres.
type Config struct {
	URL             string // owner or any member of AppRole; search_path selects the schema
	MaxConns        int32  // default 16
	ApplicationName string // shown in pg_stat_activity; default mneme

	// StatementTimeout applies if it is shorter than the limit of a statement's class (ClassLimits). The server
	// ends the statement even if its caller no longer waits. Zero means none.
	StatementTimeout time.Duration

	// TimedOut, if set, is called for every statement that the server ended at its limit.
	TimedOut func(c Class, lock bool)

	// Configure, if set, changes the pool's settings last, for example for tracing.
	Configure func(*pgxpool.Config)
}

// DB runs transactions against Postgres. It is safe for concurrent use.
type DB struct {
	Pool *pgxpool.Pool

	statementTimeout time.Duration
	timedOut         func(Class, bool)
	ScanUpTo         int64 // replaces neighborScan in tests
}

// CheckURL returns an error if a database URL cannot be parsed. The error does not quote it, because it has a password.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return errors.New("the database URL cannot be parsed")
	}
	return nil
}

// Open connects as AppRole and checks that the role is bound by row-level security. It returns
// ErrNotMigrated when the tables are missing or older than this binary.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("open store: the database URL cannot be parsed") // the URL holds a password
	}
	pc.MaxConns = 16
	if cfg.MaxConns > 0 {
		pc.MaxConns = cfg.MaxConns
	}
	pc.ConnConfig.RuntimeParams["application_name"] = "mneme"
	if cfg.ApplicationName != "" {
		pc.ConnConfig.RuntimeParams["application_name"] = cfg.ApplicationName
	}
	s := &DB{statementTimeout: cfg.StatementTimeout, timedOut: cfg.TimedOut}
	// Statements that are not bound to a tenant have the limits of the pipeline.
	limits := s.Limits(ClassPipeline)
	pc.ConnConfig.RuntimeParams["statement_timeout"] = milliseconds(limits.Statement)
	pc.ConnConfig.RuntimeParams["lock_timeout"] = milliseconds(limits.Lock)
	pc.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(limits.Idle)
	// As a start-up parameter the role survives RESET ROLE and costs no round trip.
	pc.ConnConfig.RuntimeParams["role"] = AppRole
	// Postgres reads no whole table if an index can be used. Otherwise it would keep using a plan made while the
	// table was small, or from wrong statistics.
	pc.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	pc.ConnConfig.RuntimeParams["jit"] = "off"
	pc.ConnConfig.RuntimeParams["hnsw.iterative_scan"] = "relaxed_order"
	pc.AfterConnect = registerTypes
	if cfg.Configure != nil {
		cfg.Configure(pc)
	}
	s.Pool, err = pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.check(ctx); err != nil {
		s.Pool.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// registerTypes registers vectors, ids and times. Times are read in UTC, so that a record does not depend on the
// reader's time zone.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
	registerUUIDs(conn.TypeMap())
	return pgxvec.RegisterTypes(ctx, conn)
}

// Close releases every connection.
func (s *DB) Close() { s.Pool.Close() }

// Ping checks that Postgres answers.
func (s *DB) Ping(ctx context.Context) error { return s.Pool.Ping(ctx) }

// check returns an error for a database without the newest migration, and for a role that row-level security does
// not bind.
func (s *DB) check(ctx context.Context) error {
	var bypass bool
	err := s.Pool.QueryRow(ctx, `
		SELECT rolsuper OR rolbypassrls OR EXISTS (
			SELECT
			FROM pg_class c
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
				AND pg_has_role(r.oid, c.relowner, 'MEMBER')) -- policies do not bind an owner
		FROM pg_roles r
		WHERE rolname = current_user`).Scan(&bypass)
	if err != nil {
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) && strings.Contains(pgErr.Message, AppRole) && !IsDenied(err) {
			return ErrNotMigrated
		}
		return err
	}
	if bypass {
		return fmt.Errorf("role %s can bypass row-level security: `mneme doctor` (database_role) says how", AppRole)
	}
	var applied int64
	err = s.Pool.QueryRow(ctx, `
		SELECT coalesce(max(version_id), 0)
		FROM goose_db_version
		WHERE is_applied`).Scan(&applied)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42P01" { // undefined_table
		return ErrNotMigrated
	}
	if err != nil {
		return err
	}
	if applied < migrations.Latest() {
		return ErrNotMigrated
	}
	return nil
}

// RefreshStatistics analyses the tables that have grown much since they were last analysed.
func (s *DB) RefreshStatistics(ctx context.Context) error {
	if _, err := s.Pool.Exec(ctx, `SELECT mneme_refresh_statistics()`); err != nil {
		return fmt.Errorf("refresh statistics: %w", s.limited(ClassPipeline, err))
	}
	return nil
}

// Read runs fn in a read-only transaction bound to the tenant.
func (s *DB) Read(ctx context.Context, tenant string, fn func(pgx.Tx) error) error {
	class := ClassOf(ctx, ClassInteractive)
	return s.EndTransaction(ctx, class, pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if err := Bind(ctx, tx, tenant, true, s.Limits(class)); err != nil {
				return err
			}
			return fn(tx)
		}))
}

// Planning is how Postgres plans a statement.
type Planning string

const (
	// PlanForValues is for statements whose best plan depends on their arguments: the vectors of a small tenant are
	// compared one by one, those of a large one by their index.
	PlanForValues Planning = "force_custom_plan"
	// PlanOnce is for statements for which one plan fits any arguments, because they read by ids or by a bounded
	// number of words. Planning would take longer than reading.
	PlanOnce Planning = "force_generic_plan"
)

// QueryBatch runs one reading statement bound to the tenant and passes its rows to fn. The statements of a batch
// are one transaction, so that it takes one round trip where Read takes four.
func (s *DB) QueryBatch(ctx context.Context, tenant string, how Planning, query string, args []any,
	fn func(pgx.Rows) error) error {
	if tenant == "" {
		return ErrNoTenant
	}
	b := s.NewQueryBatch(ctx, tenant, how)
	b.Queue(query, args...).Query(fn)
	return s.SendQueryBatch(ctx, b)
}

// SendQueryBatch sends a batch made by NewQueryBatch.
func (s *DB) SendQueryBatch(ctx context.Context, b *pgx.Batch) error {
	return s.EndTransaction(ctx, ClassOf(ctx, ClassInteractive), s.Pool.SendBatch(ctx, b).Close())
}

// NewQueryBatch begins a reading batch bound to the tenant.
func (s *DB) NewQueryBatch(ctx context.Context, tenant string, how Planning) *pgx.Batch {
	args := s.Limits(ClassOf(ctx, ClassInteractive)).args()
	args["tenant"], args["planning"] = tenant, how
	b := &pgx.Batch{}
	b.Queue(bindBatch, args)
	return b
}

const (
	bindTenant = `SELECT set_config('mneme.tenant', @tenant, true),` + setLimits
	bindRead   = bindTenant + `,
	set_config('plan_cache_mode', 'force_custom_plan', true)`
	bindBatch = bindTenant + `,
	set_config('transaction_read_only', 'on', true),
	set_config('plan_cache_mode', @planning, true)`
)

// QueryBatchRows is QueryBatch for rows that are structs. A column is scanned into the field of its name or db tag.
// Fields without a column stay empty.
func QueryBatchRows[T any](ctx context.Context, s *DB, tenant string, how Planning, query string,
	args Args) ([]T, error) {
	var out []T
	err := s.QueryBatch(ctx, tenant, how, query, []any{args}, func(rows pgx.Rows) (err error) {
		out, err = rowsByName[T](rows)
		return err
	})
	return out, err
}

// QueuePlanning sets how the following statements of a batch are planned.
func QueuePlanning(b *pgx.Batch, how Planning) {
	b.Queue(`SELECT set_config('plan_cache_mode', @planning, true)`, Args{"planning": how})
}

// QueueRows adds a statement to a batch made by NewQueryBatch, and scans its rows into out as QueryBatchRows does.
func QueueRows[T any](b *pgx.Batch, out *[]T, query string, args Args) {
	b.Queue(query, args).Query(func(rows pgx.Rows) (err error) {
		*out, err = rowsByName[T](rows)
		return err
	})
}

// ErrNoTenant is the error of a read or write without a tenant.
var ErrNoTenant = errors.New("no tenant")

// Bind sets the transaction's tenant. The statements of a reading transaction are planned for their actual
// arguments. Statements for which one plan is enough use QueryBatch.
func Bind(ctx context.Context, tx pgx.Tx, tenant string, search bool, limits Limits) error {
	if tenant == "" {
		return ErrNoTenant
	}
	query := bindTenant
	if search {
		query = bindRead
	}
	args := limits.args()
	args["tenant"] = tenant
	if _, err := tx.Exec(ctx, query, args); err != nil {
		return fmt.Errorf("bind tenant: %w", err)
	}
	return nil
}

// IsUnavailable reports whether err means that Postgres could not be reached, is going down, or was lost during a
// statement, so that a later attempt can succeed. A statement ended at its limit (IsTimeout) does not count.
func IsUnavailable(err error) bool {
	if IsTimeout(err) {
		return false
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		class := pgErr.Code[:min(2, len(pgErr.Code))]
		return class == "08" || class == "53" || class == "57" || class == "40"
	}
	var connErr *pgconn.ConnectError
	var lost *net.OpError
	return errors.As(err, &connErr) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.As(err, &lost) || errors.Is(err, io.ErrUnexpectedEOF)
}

// IsExhausted reports whether err means that the server lacks disk space, memory or connections. A limit that one
// statement has reached (53400) does not count.
func IsExhausted(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && strings.HasPrefix(pgErr.Code, "53") && pgErr.Code != "53400"
}

// IsFull reports whether err means that the server lacks disk space or memory. A statement may need too much itself.
func IsFull(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == "53100" || pgErr.Code == "53200")
}
