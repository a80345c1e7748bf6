package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Operation names a request that a workflow has taken in.
type Operation struct {
	Tenant     string
	ID         string // key of the staged body and of the result
	WorkflowID string // for history: erasing finds the runs that carried a text
}

// Accept keeps the body of a request that carries content until it is carried out, so that activities
// need only its id. Accepting it again changes nothing.
func (s *Store) Accept(ctx context.Context, op Operation, kind string, body any, now time.Time) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("accept %s: %w", kind, err)
	}
	err = s.write(ctx, op.Tenant, now, func(c *change) error {
		// A body delivered again behind the result is not kept: nobody would drop it.
		c.queue.Queue(`INSERT INTO staged_requests (tenant, id, kind, body, created_at)
			SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM operations WHERE tenant = $1 AND id = $2)
			ON CONFLICT DO NOTHING`, c.tenant, op.ID, kind, string(encoded), c.now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("accept %s: %w", kind, err)
	}
	return nil
}

// Accepted reads the body of an accepted request into body. It reports false, and reads nothing, when
// the operation has been carried out already: carrying it out again answers with the first result.
func (s *Store) Accepted(ctx context.Context, op Operation, body any) (bool, error) {
	var encoded []byte
	err := s.read(ctx, op.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT body FROM staged_requests WHERE tenant = $1 AND id = $2`, op.Tenant, op.ID).Scan(&encoded)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read request: %w", err)
	}
	if err := json.Unmarshal(encoded, body); err != nil {
		return false, fmt.Errorf("read request: %w", err)
	}
	return true, nil
}

// carryOut runs fn as one change whose result is the operation's: delivered again, it answers with
// the first result and changes nothing. The staged body goes in the same transaction.
func carryOut[R any](ctx context.Context, s *Store, op Operation, now time.Time, fn func(*change) (R, error)) (R, error) {
	var result R
	err := s.write(ctx, op.Tenant, now, func(c *change) error {
		done, err := c.operation(ctx, op.ID, &result)
		if err != nil || done {
			return err
		}
		if result, err = fn(c); err != nil {
			return err
		}
		c.queue.Queue(`DELETE FROM staged_requests WHERE tenant = $1 AND id = $2`, c.tenant, op.ID)
		return c.recordOperation(op.ID, result)
	})
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}
