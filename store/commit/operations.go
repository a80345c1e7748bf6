package commit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Operation reads the first result of an operation into result, and reports whether there is one under any of its
// keys. Its own key comes first. A concurrent delivery of the same operation waits here until the first has
// committed. If the operation is of another kind, it returns a *schema.ValidationError.
func (c *Change) Operation(ctx context.Context, keys []string, kind string, result any) (bool, error) {
	var first string
	var encoded []byte
	if err := c.LockOperations(ctx, keys); err != nil {
		return false, err
	}
	err := c.Tx.QueryRow(ctx, `
		SELECT coalesce(kind, ''), result
		FROM operations
		WHERE tenant = @tenant AND id = ANY(@keys)
		ORDER BY array_position(@keys, id)
		LIMIT 1`, pg.Args{"tenant": c.Tenant, "keys": keys}).Scan(&first, &encoded)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case first != "" && first != kind:
		return false, OtherRequest()
	}
	return true, json.Unmarshal(encoded, result)
}

// LockOperations waits until no other transaction carries out an operation with these keys. It locks them in order,
// so that two callers do not deadlock.
func (c *Change) LockOperations(ctx context.Context, keys []string) error {
	_, err := c.Tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(hashtextextended(@tenant || '/operation/' || k, hashtext(current_schema())))
		FROM (SELECT DISTINCT k FROM unnest(@keys::text[]) k ORDER BY k) keys`,
		pg.Args{"tenant": c.Tenant, "keys": keys})
	return err
}

// RecordOperation stores the result of an operation in the transaction that produces it.
func (c *Change) RecordOperation(id, kind string, result any) error {
	return c.RecordRequest(id, kind, nil, result)
}

// RecordRequest is RecordOperation for a request with a digest. Without one, the digest of the staged request is used,
// if there is one.
func (c *Change) RecordRequest(id, kind string, digest []byte, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("operation result: %w", err)
	}
	c.Queue.Queue(`
		INSERT INTO operations (tenant, id, kind, digest, result, created_at)
		VALUES (@tenant, @id, @kind,
			coalesce(@digest::bytea,
				(SELECT digest FROM staged_requests WHERE tenant = @tenant AND id = @id AND kind = @kind)),
			@result, @now)
		ON CONFLICT DO NOTHING`,
		pg.Args{"tenant": c.Tenant, "id": id, "kind": kind, "digest": digest, "result": string(encoded),
			"now": c.Now})
	return nil
}

// Secret returns a key of the tenant, which is made on first use. If two callers make one at the same time, both
// get the key that was stored first.
func (c *Change) Secret(ctx context.Context, name string) ([]byte, error) {
	const read = `SELECT secret FROM tenant_secrets WHERE tenant = $1 AND name = $2`
	var key []byte
	err := c.Tx.QueryRow(ctx, read, c.Tenant, name).Scan(&key)
	if !errors.Is(err, pgx.ErrNoRows) {
		return key, err
	}
	fresh := make([]byte, 32)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	_, err = c.Tx.Exec(ctx, `
		INSERT INTO tenant_secrets (tenant, name, secret, created_at)
		VALUES (@tenant, @name, @secret, @now)
		ON CONFLICT DO NOTHING`,
		pg.Args{"tenant": c.Tenant, "name": name, "secret": fresh, "now": c.Now})
	if err != nil {
		return nil, err
	}
	err = c.Tx.QueryRow(ctx, read, c.Tenant, name).Scan(&key)
	return key, err
}

// OtherRequest returns the error for an operation id that belongs to another request.
func OtherRequest() error { return schema.OtherRequest("operation_id") }
