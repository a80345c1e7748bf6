package pg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Class is the purpose of a statement. It decides how long the statement may take.
type Class string

// The classes of statements.
const (
	ClassInteractive Class = "interactive" // a caller waits for the answer: recall, reading by id, listings
	ClassPipeline    Class = "pipeline"    // one transaction of a workflow's step, and every other change
	// ClassLong is for statements that read much of the data: index builds, purge, export, restore, counts
	ClassLong Class = "long"
)

// Limits bound the statements of a class. The server ends a statement that exceeds them.
type Limits struct {
	Statement time.Duration // of one statement
	Lock      time.Duration // waiting for one lock
	Idle      time.Duration // of a transaction that waits for its client while others wait for its locks
}

// ClassLimits are the limits of each class. No other place sets limits.
var ClassLimits = map[Class]Limits{
	ClassInteractive: {Statement: 5 * time.Second, Lock: 3 * time.Second, Idle: time.Minute},
	// The writers of one scope wait for each other.
	ClassPipeline: {Statement: 30 * time.Second, Lock: 20 * time.Second, Idle: time.Minute},
	ClassLong:     {Statement: time.Hour, Lock: 20 * time.Second, Idle: time.Hour},
}

type classKey struct{}

// WithClass returns a context whose transactions have a class. The default is interactive for reads and pipeline
// for changes.
func WithClass(ctx context.Context, c Class) context.Context {
	return context.WithValue(ctx, classKey{}, c)
}

// ClassOf returns the class of a context, or the given default.
func ClassOf(ctx context.Context, otherwise Class) Class {
	if c, ok := ctx.Value(classKey{}).(Class); ok {
		return c
	}
	return otherwise
}

// Limits returns the limits of a class, or the store's own if they are shorter.
func (s *DB) Limits(c Class) Limits {
	l := ClassLimits[c]
	if s.statementTimeout > 0 {
		l.Statement, l.Lock = min(l.Statement, s.statementTimeout), min(l.Lock, s.statementTimeout)
	}
	return l
}

// args are the arguments of setLimits.
func (l Limits) args() Args {
	return Args{
		"statement_timeout": milliseconds(l.Statement),
		"lock_timeout":      milliseconds(l.Lock),
		"idle_timeout":      milliseconds(l.Idle),
	}
}

// setLimits sets the limits of a transaction.
const setLimits = `
	set_config('statement_timeout', @statement_timeout, true),
	set_config('lock_timeout', @lock_timeout, true),
	set_config('idle_in_transaction_session_timeout', @idle_timeout, true)`

// Long runs a transaction of ClassLong that is bound to no tenant.
func (s *DB) Long(ctx context.Context, fn func(pgx.Tx) error) error {
	return s.EndTransaction(ctx, ClassLong, pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT`+setLimits, s.Limits(ClassLong).args()); err != nil {
			return err
		}
		return fn(tx)
	}))
}

// milliseconds renders a limit for Postgres, where 0 would mean no limit.
func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// TimeoutError means that Postgres ended a statement because it took longer than its class allows, or waited too
// long for a lock. Postgres itself works: a smaller request, or the same one later, can succeed.
type TimeoutError struct {
	Class Class
	Lock  bool // it waited for a lock
	Err   error
}

// Error says which limit was exceeded.
func (e *TimeoutError) Error() string {
	if e.Lock {
		return fmt.Sprintf("a %s statement waited too long for a lock: %v", e.Class, e.Err)
	}
	return fmt.Sprintf("a %s statement exceeded its time limit: %v", e.Class, e.Err)
}

// Unwrap returns the server's error.
func (e *TimeoutError) Unwrap() error { return e.Err }

// IsTimeout reports whether Postgres ended a statement at its limit.
func IsTimeout(err error) bool {
	var timeout *TimeoutError
	if errors.As(err, &timeout) {
		return true
	}
	ended, _ := endedAtLimit(err)
	return ended
}

// endedAtLimit interprets the server's error. A statement canceled by a person has the same code as one that timed
// out.
func endedAtLimit(err error) (ended, lock bool) {
	const queryCanceled, lockNotAvailable, idleTransaction = "57014", "55P03", "25P03"
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false, false
	}
	switch pgErr.Code {
	case lockNotAvailable:
		return true, true
	case queryCanceled:
		return !strings.Contains(pgErr.Message, "user request"), false
	case idleTransaction:
		return true, false
	}
	return false, false
}

// limited counts an error caused by a limit and converts it to a *TimeoutError.
func (s *DB) limited(c Class, err error) error {
	var known *TimeoutError
	if err == nil || errors.As(err, &known) {
		return err
	}
	ended, lock := endedAtLimit(err)
	if !ended {
		return err
	}
	if s.timedOut != nil {
		s.timedOut(c, lock)
	}
	return &TimeoutError{Class: c, Lock: lock, Err: err}
}
