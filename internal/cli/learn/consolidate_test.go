package learn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
)

func TestScopesAreCountedInWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 scopes: 0 changed, 0 failed\n", 1: "1 scope: 0 changed, 0 failed\n",
		2: "2 scopes: 0 changed, 0 failed\n"} {
		var out app.Text
		consolidated{Tenant: &api.ConsolidateAllResult{Scopes: n}}.text(&out, false)
		require.Equal(t, want, out.Buf.String())
	}
}
