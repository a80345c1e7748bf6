package exchange

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line of an export has the whole history of a memory: a working memory of 100 KB that was put three hundred times
// has a line above the limit of other files.
func TestALineOfAnExportMayBeLong(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "export.jsonl")
	require.NoError(t, os.WriteFile(name, []byte("first\n"+strings.Repeat("x", maxLine+1)+"\nlast\n"), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	var lengths []int
	require.NoError(t, (&restorer{}).lines(file, func(_ int, data []byte) error {
		lengths = append(lengths, len(data))
		return nil
	}))
	require.Equal(t, []int{5, maxLine + 1, 4}, lengths)
}
