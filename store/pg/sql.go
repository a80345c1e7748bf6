package pg

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
)

// RecordedAt is the time at which the store recorded a memory m, as the expression of the index memories_evidence. It
// is a CASE because row-level security does not let coalesce be an index condition.
const RecordedAt = `(CASE WHEN m.recorded_at IS NULL THEN m.created_at ELSE m.recorded_at END)`

// ByKey renders a lateral subquery for the memory with a tenant and id, under an alias. OFFSET 0 keeps the two
// conditions together, so that only the primary key fits. With a plain join, if the planner expects one row of the
// tenant, it may read all memories of the tenant for each id.
func ByKey(alias, tenant, id string) string {
	return fmt.Sprintf("LATERAL (SELECT * FROM memories WHERE memories.tenant = %s AND memories.id = %s OFFSET 0) %s",
		tenant, id, alias)
}

// Held are the columns of HeldVerdicts: the successes and failures of a procedure that a reader has reported by
// feedback, and that do not count for others.
const Held = `
	CASE WHEN v.verdict = 'succeeded' THEN v.times - v.counted ELSE 0 END AS held_successes,
	CASE WHEN v.verdict = 'failed' THEN v.times - v.counted ELSE 0 END AS held_failures`

// HeldVerdicts renders the join of a reader's verdicts v on the uses of the memories m. Their source is that of
// memory.VerdictSourceOf; the agent itself has no rows for its private memories.
func HeldVerdicts(p schema.Principal, args Args) string {
	args["held_agent"], args["held_user"] = p.Agent, evidence.UserKey(p.Tenant, p.Agent, p.User)
	return `
		LEFT JOIN verdict_sources v ON v.tenant = m.tenant AND v.memory_id = m.id AND v.agent_id = @held_agent AND v.used
			AND v.user_key = CASE WHEN m.visibility = 'private' THEN @held_user ELSE '' END`
}

// OutboxLagSQL reads how many changes wait for the vector index, how many of them are parked, and how long the
// oldest has waited.
const OutboxLagSQL = `SELECT pending, parked, oldest FROM mneme_outbox_lag()`

// QuoteLiteral renders a string as an SQL literal.
func QuoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// CollectByName reads all rows of a query into structs. A column is scanned into the field of its name or db tag.
// Fields without a column stay empty.
func CollectByName[T any](ctx context.Context, tx pgx.Tx, query string, args Args) ([]T, error) {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return rowsByName[T](rows)
}

// rowsByName is pgx.CollectRows with pgx.RowToStructByNameLax, but it matches columns and fields once instead of
// for every row, which would take 1 ms of a recall.
func rowsByName[T any](rows pgx.Rows) ([]T, error) {
	out := []T{}
	if err := eachByName(rows, func(row *T) { out = append(out, *row) }); err != nil {
		return nil, err
	}
	return out, nil
}

// eachByName scans each row into the same struct and passes it to fn.
func eachByName[T any](rows pgx.Rows, fn func(*T)) error {
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	fields := fieldsOf{CollectableRow: rows}
	row, err := pgx.RowToAddrOfStructByNameLax[T](&fields)
	if err != nil {
		return err
	}
	for more := true; more; more = rows.Next() {
		*row = *new(T)
		if err := rows.Scan(fields.targets...); err != nil {
			return err
		}
		fn(row)
	}
	return rows.Err()
}

// fieldsOf is a row whose Scan keeps the targets instead of scanning into them.
type fieldsOf struct {
	pgx.CollectableRow
	targets []any
}

// Scan keeps the targets.
func (f *fieldsOf) Scan(targets ...any) error {
	f.targets = targets
	return nil
}

// NewID returns a time-ordered unique id.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// NewIDs returns n time-ordered ids.
func NewIDs(n int) []uuid.UUID {
	out := make([]uuid.UUID, n)
	for i := range out {
		out[i] = NewID()
	}
	return out
}

// TagList returns an empty list instead of NULL.
func TagList(tags []string) []string {
	if tags == nil {
		return []string{}
	}
	return tags
}
