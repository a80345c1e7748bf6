package pipeline

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Kinds of operations. Package workflows uses the same names for operations with a staged request.
const (
	KindPut       = "put"
	KindRevise    = "revise"
	KindModify    = "modify"
	KindForget    = "forget"
	KindRecover   = "recover"
	kindReview    = "review"
	kindFeedback  = "feedback"
	kindIngest    = "ingest"
	kindCandidate = "candidate"
	kindResume    = "resume"
)

// Ages from which an erasure treats a staged request as abandoned. A run drops its request when it ends, unless the
// run was terminated or no worker continued it.
const (
	// AbandonedAfter applies to requests that name erased memories. Such a request would fail as not found, so it
	// can be dropped even if its run still waits. Within an hour, requests in progress can finish normally.
	AbandonedAfter = time.Hour
	// StaleAfter applies to all other requests. They may contain an erased text in words that a search cannot find.
	// It is longer than a night without workers, and longer than all attempts of an operation's activity: thirty
	// attempts of ten minutes take five hours (workflows/flow/options.go). A request that still waits after that
	// fails with an error.
	StaleAfter = 24 * time.Hour
)

// Accept stores the body of a request until the request is carried out, so that activities need only its id. A second
// call changes nothing. It returns a *schema.ValidationError if the operation id belongs to a request of another kind
// or with another body.
func (s *Pipeline) Accept(ctx context.Context, op schema.OperationRef, kind string, body any, now time.Time) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("accept %s: %w", kind, err)
	}
	err = commit.Write(ctx, s.DB, op.Tenant, now, func(c *commit.Change) error {
		digest, err := digest(ctx, c, encoded)
		if err != nil {
			return err
		}
		if err := c.LockOperations(ctx, op.Keys()); err != nil {
			return err
		}
		// A body that is stored under another key belongs to another run. This run needs its own.
		var known, same bool
		err = c.Tx.QueryRow(ctx, `
			SELECT coalesce(bool_or(known), false),
				coalesce(bool_and(coalesce(kind = @kind, true) AND coalesce(digest = @digest, true)), true)
			FROM (
				SELECT true AS known, kind, digest
				FROM operations
				WHERE tenant = @tenant AND id = ANY(@keys)
				UNION ALL
				SELECT id = @id, kind, digest
				FROM staged_requests
				WHERE tenant = @tenant AND id = ANY(@keys)) x`,
			pg.Args{
				"tenant": c.Tenant,
				"id":     op.ID,
				"keys":   op.Keys(),
				"kind":   kind,
				"digest": digest,
			}).Scan(&known, &same)
		switch {
		case err != nil:
			return err
		case !same:
			return commit.OtherRequest()
		case known: // the result exists; a body stored now would never be deleted
			return nil
		}
		c.Queue.Queue(requestSQL, pg.Args{
			"tenant":     c.Tenant,
			"id":         op.ID,
			"kind":       kind,
			"body":       string(encoded),
			"created_at": c.Now,
			"digest":     digest,
		})
		return nil
	})
	if err != nil {
		return fmt.Errorf("accept %s: %w", kind, err)
	}
	return nil
}

var requestSQL = commit.Insert("staged_requests", "tenant, id, kind, body, created_at, digest")

// digest returns a digest of a body, which distinguishes requests. It does not depend on the order of the body's
// members. It uses a secret key, so that a guess at the body of a deleted request cannot be confirmed.
func digest(ctx context.Context, c *commit.Change, body []byte) ([]byte, error) {
	key, err := c.Secret(ctx, "operation")
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	ordered, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(ordered)
	return mac.Sum(nil), nil
}

// Accepted reads the body of an accepted request into body. It returns false and reads nothing if the operation has
// been carried out already. A second run of the operation returns the first result.
func (s *Pipeline) Accepted(ctx context.Context, op schema.OperationRef, body any) (bool, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var encoded []byte
	err := s.Read(ctx, op.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT body FROM staged_requests WHERE tenant = $1 AND id = $2`, op.Tenant,
			op.ID).Scan(&encoded)
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

// Drop deletes the body of a request whose run has ended, so that it will not be carried out.
func (s *Pipeline) Drop(ctx context.Context, op schema.OperationRef, now time.Time) error {
	err := commit.Write(ctx, s.DB, op.Tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`DELETE FROM staged_requests WHERE tenant = $1 AND id = $2`, c.Tenant, op.ID)
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop request: %w", err)
	}
	return nil
}

// SweepStaged deletes the requests of all tenants that have waited for a week. No run lasts that long, so their runs
// must have been terminated. It returns the number of deleted requests.
func (s *Pipeline) SweepStaged(ctx context.Context) (int, error) {
	swept := 0
	if err := s.Pool.QueryRow(ctx, `SELECT mneme_sweep_staged()`).Scan(&swept); err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	return swept, nil
}

// RunOnce runs fn as one change and stores its result as the result of the operation. A repeated delivery returns the
// first result and changes nothing. The staged body is deleted in the same transaction. RunOnce returns a
// *schema.ValidationError if the operation was of another kind.
func RunOnce[R any](ctx context.Context, s *pg.DB, op schema.OperationRef, kind string, now time.Time,
	fn func(*commit.Change) (R, error)) (R, error) {
	var result R
	err := commit.Write(ctx, s, op.Tenant, now, func(c *commit.Change) error {
		done, err := c.Operation(ctx, op.Keys(), kind, &result)
		if err != nil {
			return err
		}
		if !done {
			if result, err = fn(c); err != nil {
				return err
			}
			if err := c.RecordOperation(op.ID, kind, result); err != nil { // with the body's digest
				return err
			}
		}
		// If the operation was carried out under another key, the body under this key is still staged.
		c.Queue.Queue(`DELETE FROM staged_requests WHERE tenant = $1 AND id = $2`, c.Tenant, op.ID)
		return nil
	})
	if err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// sameContents returns the digest that is stored for contents. It returns a *schema.ValidationError if one of the keys
// belongs to other contents.
func sameContents(ctx context.Context, c *commit.Change, keys []string, contents string) ([]byte, error) {
	if contents == "" {
		return nil, nil
	}
	sum, err := digest(ctx, c, []byte(strconv.Quote(contents)))
	if err != nil {
		return nil, err
	}
	var other bool
	err = c.Tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT
			FROM operations
			WHERE tenant = @tenant AND id = ANY(@keys) AND digest <> @digest)`,
		pg.Args{"tenant": c.Tenant, "keys": keys, "digest": sum}).Scan(&other)
	switch {
	case err != nil:
		return nil, err
	case other:
		return nil, schema.OtherRequest("idempotency_key")
	}
	return sum, nil
}
