package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A JSON value in Postgres has at most 256 MB, so no statement of an export collects a history in one value.
func TestAnExportReadsAHistoryRowByRow(t *testing.T) {
	for _, shown := range []condition{nil, func(alias string) string { return alias + ".sensitivity = 'low'" }} {
		require.NotContains(t, exportSQL(shown), "memory_history")
	}
}
