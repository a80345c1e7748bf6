package api_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Package api imports only schema of Mneme's packages, and not the Temporal SDK.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Less(t, len(deps), 200)
	for _, dep := range deps {
		require.False(t, strings.HasPrefix(dep, "go.temporal.io/sdk"), dep)
		if strings.HasPrefix(dep, "github.com/mneme/mneme/") {
			require.Contains(t, []string{"github.com/mneme/mneme/api", "github.com/mneme/mneme/schema",
				"github.com/mneme/mneme/schema/check", "github.com/mneme/mneme/schema/jsonschema",
				"github.com/mneme/mneme/schema/ledger"}, dep)
		}
	}
}
