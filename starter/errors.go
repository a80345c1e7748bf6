package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Exit codes, as the help of the root command explains them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnavailable = 4
	exitPartial     = 5
	exitConflict    = 6
	exitInterrupted = 130
)

// codedError is an error that knows its exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// invalid is the error for one field that is wrong.
func invalid(field, format string, args ...any) error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: fmt.Sprintf(format, args...)}}}
}

// unavailable says that something the command depends on is not there.
func unavailable(format string, args ...any) error {
	return &codedError{exitUnavailable, fmt.Errorf(format, args...)}
}

// databaseError says what to do about a database that does not answer, or does not let this user in.
func databaseError(err error) error {
	switch {
	case pg.IsTimeout(err):
		return statementTimeout(err)
	case denied(err):
		return unavailable("Postgres refuses the connection (correct DATABASE_URL, or the rights of its role): %w", err)
	case pg.IsUnavailable(err), timedOut(err):
		return postgresAway(err)
	}
	return err
}

// denied reports whether Postgres does not let this user in, or to the tables that say what is migrated.
func denied(err error) bool {
	const insufficientPrivilege = "42501"
	code, _, _ := pg.ServerSays(err)
	return pg.IsDenied(err) || code == insufficientPrivilege
}

// statementTimeout says that Postgres answers, and ended a statement that took too long.
func statementTimeout(err error) error {
	return &codedError{exitFailure, fmt.Errorf("a statement was ended by Postgres at its time limit; try again, or ask for less at once: %w", err)}
}

func postgresAway(err error) error {
	return unavailable("Postgres does not answer (is it up? `make up`): %w", err)
}

// exitCode chooses the exit code for an error; ctx is the one that an interrupt cancels.
func exitCode(ctx context.Context, err error) int {
	var coded *codedError
	var bad *schema.ValidationError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &bad):
		return exitUsage
	case pg.IsTimeout(err):
		return exitFailure
	case errors.Is(err, pg.ErrNotFound):
		return exitNotFound
	case errors.Is(err, pipeline.ErrAddressMismatch), errors.Is(err, pipeline.ErrArtifactTooLarge):
		return exitUsage
	case errors.Is(err, pg.ErrNotMigrated), pg.IsUnavailable(err), pg.IsDenied(err), temporalAway(err), timedOut(err):
		return exitUnavailable
	}
	return exitFailure
}

func temporalAway(err error) bool {
	var away *serviceerror.Unavailable
	return errors.As(err, &away) || status.Code(err) == codes.Unavailable
}

// temporalRefuses reports whether Temporal answers and does not accept this client's credentials.
func temporalRefuses(err error) bool {
	var denied *serviceerror.PermissionDenied
	code := status.Code(err)
	return errors.As(err, &denied) || code == codes.Unauthenticated || code == codes.PermissionDenied
}

// timedOut reports whether err says that a deadline passed, in Go's, Temporal's or gRPC's words.
func timedOut(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) || errors.As(err, &update) ||
		status.Code(err) == codes.DeadlineExceeded || errors.As(err, &network) && network.Timeout()
}

// errorBody is an error as --json shows it.
type errorBody struct {
	Message string              `json:"message"`
	Fields  []schema.FieldError `json:"fields"`
}

func bodyOf(err error) errorBody {
	body := errorBody{Message: oneLine(err.Error()), Fields: []schema.FieldError{}}
	var bad *schema.ValidationError
	if errors.As(err, &bad) {
		body.Fields = bad.Fields
	}
	return body
}

// printError reports the error on one line of standard error.
func (a *app) printError(code int, err error) {
	if code == exitInterrupted {
		// What was being waited for when the interrupt came does not matter to anybody.
		err = errors.New("interrupted")
		if a.interrupted != "" {
			err = errors.New("interrupted: " + a.interrupted)
		}
	}
	body := bodyOf(err)
	if !a.json {
		_, _ = fmt.Fprintln(a.errOut, "mneme: "+body.Message)
		return
	}
	encoder := json.NewEncoder(a.errOut)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]errorBody{"error": body})
}

// isNotFound reports whether Temporal says that there is no such thing.
func isNotFound(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}
