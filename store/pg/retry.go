package pg

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/schema"
)

// Again carries a change out and, where another transaction took what the change had found free, once
// more: it then sees what stands. A new memory does not wait for its scope's lock.
func Again[R any](ctx context.Context, carry func() (R, error)) (R, error) {
	for attempt := 1; ; attempt++ {
		result, err := carry()
		if err == nil || attempt == changeAttempts || ctx.Err() != nil || !overtaken(err) {
			return result, err
		}
	}
}

// AgainAlone is again for a change without a result.
func AgainAlone(ctx context.Context, carry func() error) error {
	_, err := Again(ctx, func() (struct{}, error) { return struct{}{}, carry() })
	return err
}

// overtaken reports whether a change failed because another one was committed or waited for: a live
// content, an active fact or an id appeared, what it refers to went, or each waited for the other.
func overtaken(err error) bool {
	if errors.Is(err, ErrOvertaken) {
		return true
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	const uniqueViolation, foreignKeyViolation, deadlock, serialization = "23505", "23503", "40P01", "40001"
	switch pgErr.Code {
	case uniqueViolation:
		return slices.Contains([]string{"memories_live_hash", "memories_active_fact", "memories_pkey", "memories_external"}, pgErr.ConstraintName)
	case foreignKeyViolation, deadlock, serialization:
		return true
	}
	return false
}

// InvalidID is the error for a field that is no memory id.
func InvalidID(field string) error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: "must be a memory id"}}}
}

// changeAttempts bounds how often a change starts over because of others.
const changeAttempts = 5

// ErrOvertaken says that another transaction has taken what this one had found free.
var ErrOvertaken = errors.New("overtaken by another change")
