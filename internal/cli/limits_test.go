package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// A listing refuses a number of items that it does not return, before it connects. Clamped silently, it would seem
// complete to a caller that asked for more.
func TestListingsRefuseLimitsOutOfRange(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"list --limit", "history 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --limit",
		"jobs list --limit", "review list --limit", "contradictions --limit", "learned list --limit",
		"topics list --limit", "retention changes --limit", "events tail run/x --number", "events replay run/x --number",
		"events streams --number", "session list --number", "beliefs list --number", "beliefs draw --number"} {
		for _, n := range []string{"-1", "0", "1001"} {
			var out, errOut bytes.Buffer
			a := &app.App{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			a.Cfg.Principal = schema.Principal{Tenant: "t", Agent: "a"}
			code := run(context.Background(), a, append(strings.Fields(command), n))
			require.Equal(t, app.ExitUsage, code, "%s %s: %s", command, n, errOut.String())
			require.Contains(t, errOut.String(), "must be between 1 and ", "%s %s", command, n)
		}
	}
}
