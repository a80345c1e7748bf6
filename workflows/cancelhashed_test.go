package workflows_test

import (
	"strings"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// A hashed id does not contain the tenant: the owner of the run must be looked up before a caller may cancel it.
func TestCancelByHashedIDReachesOnlyOwnRuns(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	p := testkit.Principal()
	p.Tenant += strings.Repeat("t", schema.MaxNameLength-len(p.Tenant))
	p.Agent = strings.Repeat("a", schema.MaxNameLength)
	run, err := mneme.StartForget(t.Context(), h.Temporal, h.TaskQueue,
		forgetRequest(p, "", schema.Selector{Query: "tea"}))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(run.GetID(), "/"), "it is hashed")
	own, err := workflows.ParseCallers("*=" + p.Tenant)
	require.NoError(t, err)
	require.NoError(t, workflows.Cancellable(t.Context(), h.Temporal, own, api.KindForget, run.GetID()))
	other, err := workflows.ParseCallers("*=acme")
	require.NoError(t, err)
	for _, id := range []string{run.GetID(), "forget/0123456789abcdef/0123456789abcdef"} {
		var refused *nexus.HandlerError
		require.ErrorAs(t, workflows.Cancellable(t.Context(), h.Temporal, other, api.KindForget, id), &refused, id)
		require.Equal(t, nexus.HandlerErrorTypeUnauthorized, refused.Type)
	}
	require.NoError(t, h.Temporal.TerminateWorkflow(t.Context(), run.GetID(), "", "the test is over"))
}
