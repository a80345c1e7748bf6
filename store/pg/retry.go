package pg

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/schema"
)

// RetryOnConflict carries out a change and repeats it if it conflicts with another transaction. The repetition sees
// what the other one committed. Conflicts are possible because inserting a memory does not wait for its scope's
// lock.
func RetryOnConflict[R any](ctx context.Context, carry func() (R, error)) (R, error) {
	for attempt := 1; ; attempt++ {
		result, err := carry()
		if err == nil || attempt == conflictAttempts || ctx.Err() != nil || !isConflict(err) {
			return result, err
		}
	}
}

// RetryChange is RetryOnConflict for a change without a result.
func RetryChange(ctx context.Context, carry func() error) error {
	_, err := RetryOnConflict(ctx, func() (struct{}, error) { return struct{}{}, carry() })
	return err
}

// isConflict reports whether a change failed because of a concurrent one: live content, an active fact or an id
// appeared, a referenced row was removed, or there was a deadlock.
func isConflict(err error) bool {
	if errors.Is(err, ErrConflict) {
		return true
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	const uniqueViolation, foreignKeyViolation, deadlock, serialization = "23505", "23503", "40P01", "40001"
	switch pgErr.Code {
	case uniqueViolation:
		return slices.Contains([]string{"memories_live_hash", "memories_active_fact", "memories_pkey",
			"memories_external"}, pgErr.ConstraintName)
	case foreignKeyViolation, deadlock, serialization:
		return true
	}
	return false
}

// InvalidID returns the error for a field that is not a memory id.
func InvalidID(field string) error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: "must be a memory id"}}}
}

// conflictAttempts is the number of attempts on conflict.
const conflictAttempts = 5

// ErrConflict means that a concurrent transaction has changed what this one had checked.
var ErrConflict = errors.New("conflict with another change")
