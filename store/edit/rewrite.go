package edit

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// WordedRecord returns the new record of a revision with its final text: its own, or the first target's text with
// another value (revision.RewrittenRecord). If that text cannot be made, because the target does not exist in the
// version that the caller saw or its sentence cannot be rewritten, it returns the record unchanged and Revise will
// refuse it.
func (s *Editing) WordedRecord(ctx context.Context, req schema.ReviseRequest) (schema.MemoryRecord, error) {
	record := *req.Record
	id, err := uuid.Parse(req.Targets[0].ID)
	if err != nil {
		return record, pg.InvalidID("targets[0].id")
	}
	err = s.Read(ctx, req.Principal.Tenant, func(tx pgx.Tx) error {
		rows, err := (&commit.Change{Tx: tx, Tenant: req.Principal.Tenant}).PeekRows(ctx, req.Principal,
			[]uuid.UUID{id})
		if err != nil {
			return err
		}
		worded, refused, err := wordedRecord(req, rows[id])
		if err == nil && refused == "" {
			record = worded
		}
		return err
	})
	if err != nil {
		return record, fmt.Errorf("word the record: %w", err)
	}
	return record, nil
}

// wordedRecord makes the text of a revision's record from its first target, or returns why it cannot. It does not
// change the record if the target was not found or has another version than the caller saw.
func wordedRecord(req schema.ReviseRequest, target commit.MemoryRow) (schema.MemoryRecord, string, error) {
	record := *req.Record
	if target.ID == uuid.Nil || target.Version != req.Targets[0].IfVersion {
		return record, "", nil
	}
	worded, err := revision.RewrittenRecord(record, schema.MemoryRecord{Type: target.Type, Content: target.Content,
		Payload: target.Payload}, req.Replace)
	var refused *revision.RewriteError
	if errors.As(err, &refused) {
		return record, refused.Problem + ": " + revision.Remedy, nil
	}
	return worded, "", err
}
