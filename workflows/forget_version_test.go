package workflows_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// A memory is forgotten at the version that the request names; otherwise the request fails with a typed error and
// changes nothing, for every caller and whenever the memory changes.
func TestForgetGuardedByItsVersion(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	id := known(t, h, o.p, "Tea is served hot.")[0]
	tags := []string{"drinks"}
	change := func() int {
		_, result := modify(t, h, modifyRequest(o.p, schema.Patch{ID: id, Tags: &tags}))
		require.Equal(t, schema.PatchUpdated, result.Results[0].Status)
		tags = append(tags, "x"+uuid.NewString())
		return o.get(id).Version
	}
	version := change()
	request := func(at int) schema.ForgetRequest {
		req := forgetRequest(o.p, "", schema.Selector{IDs: []string{id}})
		req.Execute, req.IfVersion = true, at
		return req
	}
	refused := func(err error, want schema.VersionConflict) {
		t.Helper()
		var conflict *schema.VersionConflict
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, want, *conflict)
		require.Nil(t, o.get(id).DeletedAt)
	}

	// From Go.
	run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, request(version-1))
	require.NoError(t, err)
	_, err = mneme.ForgetPreview(ctx, h.Temporal, run)
	refused(err, schema.VersionConflict{ID: id, IfVersion: version - 1, Version: version})
	_, err = mneme.Outcome[schema.ForgetReceipt](ctx, run)
	refused(err, schema.VersionConflict{ID: id, IfVersion: version - 1, Version: version})

	// From a client that knows only names, and from an agent's workflow.
	plain := map[string]any{"principal": o.p, "reason": "r", "execute": true, "if_version": version + 1,
		"selector": map[string]any{"ids": []string{id}}}
	run, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "plain/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, "Forget", plain)
	require.NoError(t, err)
	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	for _, err := range []error{run.Get(ctx, nil), within(t, a.start(t, api.OperationForget, plain), nil)} {
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, api.ErrTypeVersion, app.Type())
		var details map[string]any
		require.NoError(t, app.Details(&details))
		require.Equal(t, map[string]any{"id": id, "if_version": float64(version + 1), "version": float64(version)},
			details)
	}

	// The memory changes after it was selected.
	later := forgetRequest(o.p, "", schema.Selector{IDs: []string{id}})
	later.IfVersion = version
	run, preview := startForget(t, h, later)
	require.Equal(t, schema.ForgetPreviewed, preview.State)
	now := change()
	confirmForget(t, h, o.p, preview)
	_, err = mneme.Outcome[schema.ForgetReceipt](ctx, run)
	refused(err, schema.VersionConflict{ID: id, IfVersion: version})

	// At the current version it is forgotten.
	run, err = mneme.StartForget(ctx, h.Temporal, h.TaskQueue, request(now))
	require.NoError(t, err)
	receipt := receiptOf(t, run)
	require.Equal(t, 1, receipt.Forgotten)
	require.Zero(t, receipt.Skipped[lifecycle.OutcomeVersionConflict])
	require.NotNil(t, o.get(id).DeletedAt)
}
