package commit

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// Rows reads all rows of a query into structs, each column into the field of its name.
func Rows[T any](ctx context.Context, tx pgx.Tx, query string, args pg.Args) ([]T, error) {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// Row reads the only row of a query into a struct, each column into the field of its name. Without a row it returns
// pgx.ErrNoRows.
func Row[T any](ctx context.Context, tx pgx.Tx, query string, args pg.Args) (T, error) {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// Values reads all rows of a query with one column.
func Values[T any](ctx context.Context, tx pgx.Tx, query string, args pg.Args) ([]T, error) {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// Insert renders an INSERT of one row, with an argument named like each column. The columns are separated by
// commas.
func Insert(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ")" +
		"\nVALUES (@" + strings.Join(names, ", @") + ")"
}

// MayReadAs renders the condition that a principal may read a memory or a batch, which may be superseded. Its arguments
// are @agent, @project and @grants. The grants are pg.ReadGrants, or pg.ChangeGrants in a statement that changes the
// rows.
func MayReadAs(alias string) string { return pg.SharedWith(alias, "@agent", "@project", "@grants") }

// mayRead is MayReadAs for a memory m.
var mayRead = MayReadAs("m")
