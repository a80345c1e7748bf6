package record

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
)

// A command that may have left events of a user fails with the code of a partial result.
func TestEventsThatMayBeLeftAreAPartialResult(t *testing.T) {
	t.Parallel()
	require.NoError(t, EraseResult{User: "maya", Erased: 3}.problem(nil))
	err := EraseResult{User: "maya", Erased: 3, StillWritten: true}.problem(nil)
	require.ErrorContains(t, err, "newer events may be left")
	require.Equal(t, app.ExitPartial, app.ExitCode(context.Background(), err))
}
