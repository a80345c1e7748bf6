package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sessions"
)

// The state of the ledger covers all tenants: an open session without a workflow is found.
func TestLedgerState(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx := t.Context()
	state, err := h.Store.LedgerState(ctx)
	require.NoError(t, err)
	require.Zero(t, state.OpenSessions)
	require.Nil(t, state.Oldest)
	require.False(t, state.Unplaced)
	c := newCLI(t, h)
	found := func() string { return c.run("doctor").out }
	require.Contains(t, found(), "none is open")

	old := time.Now().Add(-10 * 24 * time.Hour).UTC().Truncate(time.Microsecond)
	for i, tenant := range []string{"a", "b"} {
		_, err := h.Store.OpenSession(ctx, sessions.Key{Principal: schema.Principal{Tenant: tenant, Agent: "ann"},
			Session: "x", Stream: "run/x",
			WorkflowID: "session/" + tenant + "/ann/x"}, old.AddDate(0, 0, i))
		require.NoError(t, err)
	}
	state, err = h.Store.LedgerState(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, state.OpenSessions)
	require.Equal(t, old, state.Oldest.UTC())
	metrics, err := h.Store.SystemMetrics(ctx)
	require.NoError(t, err)
	require.Equal(t, state.OpenSessions, metrics.Ledger.OpenSessions)
	require.Contains(t, found(), "2 are open, the oldest has had no event for 240h")
	require.Contains(t, found(), "mneme session list --open --every-agent --all-scopes --tenant T")
	require.Equal(t, app.ExitNotFound, c.run("session", "show", "x").code)
}
