package commit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// SetEventReceipt sets the receipt for ledger events that the transaction empties from then on.
func SetEventReceipt(ctx context.Context, tx pgx.Tx, r ledger.Receipt) error {
	r.At = time.Time{}
	encoded := []byte(nil) // no receipt
	if r != (ledger.Receipt{}) {
		var err error
		if encoded, err = json.Marshal(r); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `SELECT set_config('mneme.receipt', @receipt, true)`, pg.Args{"receipt": string(encoded)})
	return err
}
