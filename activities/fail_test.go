package activities

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
)

// A write that Postgres will never accept is not retried. The message of the error may quote a value and is dropped.
func TestFailDoesNotRetryRefusedValues(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[string]bool{"22P02": true, "22021": true, "54000": true, "40001": false,
		"57P01": false, "23505": false} {
		err := step.Fail(fmt.Errorf("put: %w",
			&pgconn.PgError{Severity: "ERROR", Code: code, Message: `invalid input: "the secret"`}))
		var app *temporal.ApplicationError
		if !permanent {
			require.NotErrorAs(t, err, &app, code)
			continue
		}
		require.ErrorAs(t, err, &app, code)
		require.True(t, app.NonRetryable(), code)
		require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
		require.Contains(t, err.Error(), code)
		require.NotContains(t, err.Error(), "secret")
		require.NoError(t, app.Unwrap())
	}
}
