package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

func TestForgetOfAnotherVersionChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("Ana likes tea")
	w.touch(id)
	before := w.get(id)
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		req := w.forgets(mode, onlyNamed(id))
		req.Execute, req.IfVersion = true, before.Version-1
		_, err := w.SelectForget(ctx, schema.OperationRef{Tenant: "t", ID: uuid.NewString(), WorkflowID: "forget/wf"},
			req, w.now)
		var conflict *schema.VersionConflict
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, schema.VersionConflict{ID: id.String(), IfVersion: before.Version - 1,
			Version: before.Version}, *conflict)
	}
	require.Equal(t, before, w.get(id))
	require.Zero(t, w.count("forget_runs", "true"), "no run is stored")

	req := w.forgets("", named(id))
	req.Execute, req.IfVersion = true, before.Version
	require.Equal(t, schema.ForgetConfirmed, w.selects(req).State)
	req.Selector = named(uuid.New())
	require.Equal(t, 1, w.selects(req).NotFound)
}
