package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// first is the version of the first migration. An unreleased earlier series created the same tables step by step with
// versions 1 to 24. The numbers distinguish its databases.
const first = 101

// ErrFormerSeries means that the database was created by a build before the migrations began with version 101. Such a
// database cannot be migrated.
var ErrFormerSeries = errors.New("the database was made by an earlier build and cannot be migrated. " +
	"Export each tenant with that build (mneme export --tenant T --all-agents --include-deleted -o FILE), " +
	"create a new " +
	"database, run `mneme migrate up` on it, and import the files there (mneme import FILE)")

// Status is one migration and when it was applied.
type Status struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// Up applies every pending migration to the first schema of the connection's search_path, and returns the names of the
// applied migrations. Concurrent calls are safe: one waits for the other. For a database of the former series, Up
// returns ErrFormerSeries and changes nothing.
func Up(ctx context.Context, databaseURL string) ([]string, error) {
	provider, closeDB, err := open(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate up: %w", err)
	}
	applied := make([]string, 0, len(results))
	for _, r := range results {
		applied = append(applied, r.Source.Path)
	}
	return applied, nil
}

// List returns every known migration in order, applied or not.
func List(ctx context.Context, databaseURL string) ([]Status, error) {
	provider, closeDB, err := open(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	found, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	out := make([]Status, 0, len(found))
	for _, s := range found {
		out = append(out, Status{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied,
			AppliedAt: s.AppliedAt})
	}
	return out, nil
}

// Latest returns the version of the newest migration in this binary.
func Latest() int64 {
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		panic("migrations: nothing embedded")
	}
	v, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		panic(err)
	}
	return v
}

func open(ctx context.Context, databaseURL string) (*goose.Provider, func(), error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		// the error quotes the URL, in which a password cannot always be recognized
		return nil, nil, errors.New("the database URL cannot be parsed")
	}
	// A migration has no time limit, regardless of server and role settings. Waiting for locks is limited, because
	// other statements queue behind a waiting migration.
	cfg.RuntimeParams["statement_timeout"], cfg.RuntimeParams["lock_timeout"] = "0", "60s"
	db := stdlib.OpenDB(*cfg)
	closeDB := func() { _ = db.Close() }
	if err := refuseFormerSeries(ctx, db); err != nil {
		closeDB()
		return nil, nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(lockID(cfg)))
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("migrations: %w", err)
	}
	return provider, closeDB, nil
}

// refuseFormerSeries returns ErrFormerSeries if goose's version table has versions of the former series.
func refuseFormerSeries(ctx context.Context, db *sql.DB) error {
	var exists bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_tables
		WHERE schemaname = current_schema() AND tablename = 'goose_db_version')`).Scan(&exists)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if !exists {
		return nil
	}
	var former bool
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM goose_db_version
		WHERE version_id BETWEEN 1 AND $1 - 1)`, first).Scan(&former)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if former {
		return ErrFormerSeries
	}
	return nil
}

// lockID returns a lock id for migrations that differs between schemas.
func lockID(cfg *pgx.ConnConfig) int64 {
	const offset, prime = int64(-3750763034362895579), int64(1099511628211) // FNV-1a, 64 bit
	h := offset
	for _, b := range []byte(cfg.Database + "/" + cfg.RuntimeParams["search_path"]) {
		h = (h ^ int64(b)) * prime
	}
	return h
}
