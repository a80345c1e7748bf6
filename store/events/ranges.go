package events

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// Range is a part of a stream.
type Range struct {
	Stream      string
	First, Last int64
}

const rangesSQL = `
	SELECT ` + columns + `
	FROM unnest(@streams::text[], @firsts::bigint[], @lasts::bigint[]) WITH ORDINALITY x(stream, first, last, n)
		CROSS JOIN LATERAL (
			SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = x.stream AND seq >= x.first AND seq <= x.last
			ORDER BY seq
			LIMIT @limit) e
	ORDER BY x.n, e.seq`

// RangesIn reads at most limit events of each of several parts of streams, in a transaction bound to the tenant.
// The parts must not overlap. It returns the events of each part in order.
func RangesIn(ctx context.Context, tx pgx.Tx, tenant string, parts []Range, limit int) ([][]ledger.Event, error) {
	out := make([][]ledger.Event, len(parts))
	if len(parts) == 0 {
		return out, nil
	}
	streams, firsts, lasts := make([]string, len(parts)), make([]int64, len(parts)), make([]int64, len(parts))
	of := make(map[string][]int, len(parts))
	for i, p := range parts {
		streams[i], firsts[i], lasts[i] = p.Stream, p.First, p.Last
		of[p.Stream] = append(of[p.Stream], i)
	}
	all, err := collect(ctx, tx, rangesSQL,
		pg.Args{"tenant": tenant, "streams": streams, "firsts": firsts, "lasts": lasts, "limit": limit})
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		for _, i := range of[e.Stream] {
			if e.Seq >= parts[i].First && e.Seq <= parts[i].Last {
				out[i] = append(out[i], e)
				break
			}
		}
	}
	return out, nil
}
