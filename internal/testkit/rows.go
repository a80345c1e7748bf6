package testkit

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/budget"
	"github.com/mneme/mneme/store"
)

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)

// Rows counts a table's rows under a condition; an empty condition counts all.
func Rows(t testing.TB, db *pgx.Conn, table, where string, args ...any) int {
	t.Helper()
	require.Regexp(t, plainName, table)
	query := "SELECT count(*) FROM " + table
	if where != "" {
		query += " WHERE " + where
	}
	var n int
	require.NoError(t, db.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

// Tables lists the tables of the test's schema, without the migrations' own.
func Tables(t testing.TB, db *pgx.Conn) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose%'
			AND table_name !~ '^events_([0-9_]+|rest)$' ORDER BY 1`) // a partition's rows are those of its table
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// RowCounts counts the rows of every table.
func RowCounts(t testing.TB, db *pgx.Conn) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range Tables(t, db) {
		if n := Rows(t, db, table, ""); n > 0 {
			out[table] = n
		}
	}
	return out
}

// Digest returns a hash over all columns of the rows that a condition selects.
func Digest(t testing.TB, db *pgx.Conn, table, where string, args ...any) string {
	t.Helper()
	require.Regexp(t, plainName, table)
	var sum string
	require.NoError(t, db.QueryRow(context.Background(),
		"SELECT coalesce(md5(string_agg(x::text, E'\\n' ORDER BY x::text)), '') FROM "+table+" x WHERE "+where,
		args...).Scan(&sum))
	return sum
}

// Strings reads one text column.
func Strings(t testing.TB, db *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// TokenDay reads a tenant's use of tokens on the day of a time.
func TokenDay(t testing.TB, s *store.Store, tenant string, at time.Time) (day budget.Day) {
	t.Helper()
	require.NoError(t, s.Read(t.Context(), tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(t.Context(), `
			SELECT settled, reserved, 0::bigint AS "limit"
			FROM token_budgets
			WHERE tenant = $1 AND day = $2`, tenant, budget.DayOf(at))
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[budget.Day])
		if len(found) == 1 {
			day = found[0]
		}
		return err
	}))
	return day
}
