package transfer

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/pg"
)

// eventCursor is a position in the ledger, in recording order.
type eventCursor struct {
	at     time.Time
	stream string
	seq    int64
}

// exportEvents reads a page of the ledger's events after a cursor: the events of the selected memories and, in an
// export of a whole tenant, also the events that belong to no memory.
func exportEvents(
	ctx context.Context, tx pgx.Tx, x ExportSelection, after eventCursor,
) ([]ExportLine, eventCursor, error) {
	args := pg.Args{"tenant": x.Filter.Principal.Tenant, "after_time": after.at, "after_stream": after.stream,
		"after_seq": after.seq, "limit": exportPage}
	selected := ""
	if !x.isWhole() {
		selected = `
			AND EXISTS (SELECT FROM memories m WHERE m.id = e.memory_id AND ` + x.where("m", args) + `)`
	}
	rows, err := tx.Query(ctx, `
		SELECT e.recorded_at, e.stream, e.seq, to_jsonb(e) - '{tenant,seq}'::text[]
			|| CASE WHEN s.scope <> '' THEN jsonb_build_object('stream_scope', s.scope) ELSE '{}' END
		FROM events e
			LEFT JOIN event_streams s ON s.tenant = e.tenant AND s.stream = e.stream
		WHERE e.tenant = @tenant AND (e.recorded_at, e.stream, e.seq) > (@after_time, @after_stream, @after_seq)`+
		selected+`
		ORDER BY e.recorded_at, e.stream, e.seq
		LIMIT @limit`, args)
	if err != nil {
		return nil, after, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExportLine, error) {
		line := ExportLine{Kind: LineEvent}
		err := row.Scan(&after.at, &after.stream, &after.seq, &line.Event)
		return line, err
	})
	return lines, after, err
}
