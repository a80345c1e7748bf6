package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

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
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitUnavailable = 4
	ExitPartial     = 5
	ExitConflict    = 6
	ExitInterrupted = 130
)

// CodedError is an error with an exit code.
type CodedError struct {
	code int
	err  error
}

func (e *CodedError) Error() string { return e.err.Error() }
func (e *CodedError) Unwrap() error { return e.err }

// WithCode returns err as an error that ends the program with an exit code.
func WithCode(code int, err error) *CodedError { return &CodedError{code, err} }

// Invalid returns the error for one invalid field.
func Invalid(field, format string, args ...any) error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: fmt.Sprintf(format, args...)}}}
}

// Unavailable returns an error for a missing dependency of the command.
func Unavailable(format string, args ...any) error {
	return WithCode(ExitUnavailable, fmt.Errorf(format, args...))
}

// DatabaseError adds advice to an error of a database that does not answer or refuses this user.
func DatabaseError(err error) error {
	switch {
	case pg.IsTimeout(err):
		return statementTimeout(err)
	case Denied(err):
		return Unavailable("Postgres refuses the connection (fix DATABASE_URL, or the rights of its role): %w", err)
	case pg.IsUnavailable(err), TimedOut(err):
		return postgresAway(err)
	}
	return err
}

// Advise adds advice to errors that any command may return.
func Advise(err error) error {
	var namespace *serviceerror.NamespaceNotFound
	if errors.As(err, &namespace) {
		return Unavailable("Temporal has no namespace %q; set TEMPORAL_NAMESPACE to one that exists: %w",
			namespace.Namespace, err)
	}
	return err
}

// Denied reports whether Postgres refuses this user, or access to the table of migrations.
func Denied(err error) bool {
	const insufficientPrivilege = "42501"
	code, _, _ := pg.ServerError(err)
	return pg.IsDenied(err) || code == insufficientPrivilege
}

// statementTimeout adds advice to an error of a statement that reached its time limit.
func statementTimeout(err error) error {
	return WithCode(ExitFailure,
		fmt.Errorf("a statement was ended by Postgres at its time limit; try again, or ask for less at once: %w", err))
}

func postgresAway(err error) error {
	return Unavailable("Postgres does not answer (is it running? `make up`): %w", err)
}

// ExitCode chooses the exit code for an error; ctx is the one that an interrupt cancels.
func ExitCode(ctx context.Context, err error) int {
	var coded *CodedError
	var bad *schema.ValidationError
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil:
		return ExitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &bad):
		return ExitUsage
	case pg.IsTimeout(err):
		return ExitFailure
	case errors.Is(err, pg.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, pipeline.ErrAddressMismatch), errors.Is(err, pipeline.ErrArtifactTooLarge):
		return ExitUsage
	case errors.Is(err, pg.ErrNotMigrated), pg.IsUnavailable(err), pg.IsDenied(err), temporalAway(err), TimedOut(err):
		return ExitUnavailable
	}
	return ExitFailure
}

func temporalAway(err error) bool {
	var away *serviceerror.Unavailable
	return errors.As(err, &away) || status.Code(err) == codes.Unavailable
}

// temporalRefuses reports whether Temporal rejects this client's credentials.
func temporalRefuses(err error) bool {
	var denied *serviceerror.PermissionDenied
	code := status.Code(err)
	return errors.As(err, &denied) || code == codes.Unauthenticated || code == codes.PermissionDenied
}

// TimedOut reports whether err is a passed deadline, of Go, Temporal or gRPC.
func TimedOut(err error) bool {
	var late *serviceerror.DeadlineExceeded
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) || errors.As(err, &update) ||
		status.Code(err) == codes.DeadlineExceeded || errors.As(err, &network) && network.Timeout()
}

// ErrorBody is an error as --json shows it.
type ErrorBody struct {
	Message string              `json:"message"`
	Fields  []schema.FieldError `json:"fields"`
}

// BodyOf returns an error in the form of --json. Fields is empty unless the request was invalid.
func BodyOf(err error) ErrorBody {
	body := ErrorBody{Message: Message(err), Fields: []schema.FieldError{}}
	var bad *schema.ValidationError
	if errors.As(err, &bad) {
		body.Fields = bad.Fields
	}
	return body
}

// Message returns the text of an error on one line. Equal lines are printed once: pgx reports every attempt to connect
// to a server, with TLS and without.
func Message(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return OneLine(strings.Join(lines, " "))
}

// PrintError reports the error on one line of standard error.
func (a *App) PrintError(code int, err error) {
	if code == ExitInterrupted {
		// The error of the interrupted wait is of no interest.
		err = errors.New("interrupted")
		if a.Interrupted != "" {
			err = errors.New("interrupted: " + a.Interrupted)
		}
	}
	body := BodyOf(err)
	if !a.JSON {
		_, _ = fmt.Fprintln(a.ErrOut, "mneme: "+body.Message)
		return
	}
	encoder := json.NewEncoder(a.ErrOut)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]ErrorBody{"error": body})
}

// IsNotFound reports whether Temporal returned NotFound.
func IsNotFound(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}
