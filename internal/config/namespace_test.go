package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/config"
)

// Temporal's client also reads a file with profiles. Search attributes, schedules and the doctor's questions must be
// for the namespace that the client uses: runs in a namespace without the attributes make no progress.
func TestTheNamespaceIsThatOfTheClient(t *testing.T) {
	dir := clean(t)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	namespace := func() string {
		t.Helper()
		c, err := config.Load()
		require.NoError(t, err)
		return c.Namespace
	}
	require.Equal(t, "default", namespace())
	file := filepath.Join(dir, "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[profile.default]
namespace = "of-the-file"
[profile.shop]
address = "localhost:1"
namespace = "of-the-profile"
[profile.bare]
address = "localhost:1"
`), 0o600))
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	require.Equal(t, "of-the-file", namespace())
	t.Setenv("TEMPORAL_PROFILE", "shop")
	require.Equal(t, "of-the-profile", namespace())
	t.Setenv("TEMPORAL_PROFILE", "bare")
	require.Equal(t, "default", namespace())
	t.Setenv("TEMPORAL_NAMESPACE", "of-the-environment")
	require.Equal(t, "of-the-environment", namespace())

	// A file that cannot be read is reported when Temporal is needed.
	unset(t, "TEMPORAL_NAMESPACE")
	require.NoError(t, os.WriteFile(file, []byte(`not TOML`), 0o600))
	require.Equal(t, "default", namespace())
	c, err := config.Load()
	require.NoError(t, err)
	_, err = c.DialTemporal(t.Context(), nil)
	require.ErrorContains(t, err, "temporal settings")
}
