package commit

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// bulkMost is the number of rows that one statement writes. A statement has a time limit, and a row of a large
// vector index takes milliseconds.
const bulkMost = 100

// bulkText is the number of bytes in texts that one statement inserts, unless one row has more.
const bulkText = schema.MaxContentBytes

// Bulk is a statement that writes many rows at once. Each argument is an array: one for each column, with an
// element for each row.
type Bulk struct {
	sql     string
	columns []bulkColumn
	key     []string // columns in which two rows of one statement must differ
}

type bulkColumn struct {
	name  string
	array bool // its values are arrays: they are sent as text, since unnest would flatten them
}

// NewBulk returns a statement for columns given as "name type, name type", which names the arrays @name.
func NewBulk(columns, sql string, key ...string) *Bulk {
	b := &Bulk{sql: sql, key: key}
	for column := range strings.SplitSeq(columns, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		b.columns = append(b.columns, bulkColumn{name, strings.HasSuffix(kind, "[]")})
	}
	return b
}

// BulkInsert returns the INSERT of rows into a table. Columns are as in NewBulk; rest follows the rows, such as an ON
// CONFLICT clause. If rest updates existing rows, key has the columns that identify a row.
func BulkInsert(table, columns, rest string, key ...string) *Bulk {
	b := NewBulk(columns, "", key...)
	var names, values, arrays []string
	for i, column := range strings.Split(columns, ",") {
		_, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		name, sent := b.columns[i].name, kind
		value := "u." + name
		if b.columns[i].array {
			sent, value = "text", value+"::"+kind
		}
		names, values = append(names, name), append(values, value)
		arrays = append(arrays, fmt.Sprintf("@%s::%s[]", name, sent))
	}
	list := strings.Join(names, ", ")
	b.sql = fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM unnest(%s) u(%s)\n%s",
		table, list, strings.Join(values, ", "), strings.Join(arrays, ", "), list, rest)
	return b
}

// args turns at most bulkMost rows into the arguments of the statement.
func (b *Bulk) args(rows []pg.Args) pg.Args {
	out := make(pg.Args, len(b.columns))
	for _, column := range b.columns {
		values := make([]any, len(rows))
		for i, row := range rows {
			if value := row[column.name]; column.array {
				values[i] = arrayLiteral(value)
			} else {
				values[i] = pointedAt(value)
			}
		}
		out[column.name] = values
	}
	return out
}

// pointedAt returns the value of a pointer, or nil for a nil pointer: the elements of an array must be values.
func pointedAt(value any) any {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return v.Elem().Interface()
	}
	return value
}

// arrayLiteral renders a slice as Postgres writes arrays.
func arrayLiteral(value any) string {
	v := reflect.ValueOf(value)
	var out strings.Builder
	out.WriteByte('{')
	for i := range v.Len() {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('"')
		out.WriteString(arrayEscapes.Replace(fmt.Sprint(v.Index(i).Interface())))
		out.WriteByte('"')
	}
	out.WriteByte('}')
	return out.String()
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// bulkRows holds the queued rows of one statement.
type bulkRows struct {
	*Bulk
	at   int // number of statements in the queue before them
	rows []pg.Args
	keys map[string]bool
}

// Add queues a row. Rows of a statement are sent together if no other statement was queued between them. If there
// are several such statements, they are sent in the order in which the first row of each was added.
func (c *Change) Add(b *Bulk, row pg.Args) {
	at, key := c.Queue.Len(), ""
	for _, name := range b.key {
		key += fmt.Sprint(row[name]) + "\x00"
	}
	for i := len(c.bulks) - 1; i >= 0 && c.bulks[i].at == at; i-- {
		rows := &c.bulks[i]
		if rows.Bulk != b {
			continue
		}
		if len(rows.rows) >= bulkMost || key != "" && rows.keys[key] {
			break
		}
		rows.rows = append(rows.rows, row)
		if key != "" {
			rows.keys[key] = true
		}
		return
	}
	c.bulks = append(c.bulks, bulkRows{Bulk: b, at: at, rows: []pg.Args{row}, keys: map[string]bool{key: true}})
}

// queued returns the batch that Flush sends: the statements of the queue, and the rows between them.
func (c *Change) queued() *pgx.Batch {
	out := &pgx.Batch{}
	next := 0
	for i := 0; i <= c.Queue.Len(); i++ {
		for ; next < len(c.bulks) && c.bulks[next].at == i; next++ {
			b := c.bulks[next]
			out.Queue(b.sql, b.args(b.rows))
		}
		if i < c.Queue.Len() {
			out.QueuedQueries = append(out.QueuedQueries, c.Queue.QueuedQueries[i])
		}
	}
	return out
}

// together returns how many of the first rows one statement writes: a text of bulkText takes half a second, because its
// words are indexed.
func together(rows []pg.Args) int {
	text := 0
	for n, row := range rows[:min(len(rows), bulkMost)] {
		for _, value := range row {
			if s, ok := value.(string); ok {
				text += len(s)
			}
		}
		if n > 0 && text > bulkText {
			return n
		}
	}
	return min(len(rows), bulkMost)
}

// insertNew inserts rows and returns the ids of those that are new, as the statement returns them.
func insertNew[T comparable](ctx context.Context, tx pgx.Tx, b *Bulk, rows []pg.Args) (map[T]bool, error) {
	out := make(map[T]bool, len(rows))
	batch := &pgx.Batch{}
	for len(rows) > 0 {
		part := rows[:together(rows)]
		rows = rows[len(part):]
		batch.Queue(b.sql, b.args(part)).Query(func(found pgx.Rows) error {
			ids, err := pgx.CollectRows(found, pgx.RowTo[T])
			for _, id := range ids {
				out[id] = true
			}
			return err
		})
	}
	return out, tx.SendBatch(ctx, batch).Close()
}
