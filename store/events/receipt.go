package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// Receipts returns the receipts of those of a tenant's events that were erased, by id.
func (s *Events) Receipts(ctx context.Context, tenant string, ids []string) (map[string]ledger.Receipt, error) {
	out := map[string]ledger.Receipt{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT e.id, e.erased_at, coalesce(e.receipt, '{}')
			FROM event_ids i
				JOIN events e ON e.tenant = i.tenant AND e.stream = i.stream AND e.seq = i.seq
					AND e.recorded_at = i.recorded_at
			WHERE i.tenant = @tenant AND i.id = ANY(@ids) AND e.erased_at IS NOT NULL`,
			pg.Args{"tenant": tenant, "ids": ids})
		if err != nil {
			return err
		}
		for rows.Next() {
			var id string
			var at time.Time
			var r ledger.Receipt
			if err := rows.Scan(&id, &at, &r); err != nil {
				return err
			}
			r.At = at.UTC()
			out[id] = r
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("receipts of events: %w", err)
	}
	return out, nil
}
