package pg

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestWordsHoldEachTextOnce(t *testing.T) {
	t.Parallel()
	words := Words{}
	var kind, other string
	column, next := words.Column(&kind), words.Column(&other)
	require.NoError(t, column.ScanBytes([]byte("episodic")))
	require.NoError(t, next.ScanBytes([]byte("episodic")))
	require.Equal(t, "episodic", kind)
	require.Same(t, unsafe.StringData(kind), unsafe.StringData(other))
	require.NoError(t, column.ScanBytes(nil))
	require.Empty(t, kind, "NULL")
	require.Equal(t, "episodic", other)
}
