package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/pg"
)

const oneSession = `
{"id": "s1", "kind": "run.started", "payload": {"text": "Fix the build."}}
{"id": "s2", "kind": "world.observed", "payload": {"build": "red"}}
{"id": "s3", "kind": "run.ended", "payload": {"outcome": "success"}}
`

// Lost records are listed by id, without content, and restored.
func TestRebuildCommand(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	c.runWith(t.Context(), oneSession, "session", "record", "monday", "-").is(app.ExitOK)
	equal := c.run("rebuild", "--verify").is(app.ExitOK)
	require.Contains(t, equal.out, "equal to the ledger: 2 compared, 0 differed, 0 rebuilt")

	ctx := t.Context()
	tx, err := h.Store.Pool.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, pg.Bind(ctx, tx, c.cfg.Principal.Tenant, false, h.Store.Limits(pg.ClassPipeline)))
	_, err = tx.Exec(ctx, `DELETE FROM memory_embeddings`)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `DELETE FROM memories`)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `DELETE FROM event_marks`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))

	differs := c.run("rebuild", "--verify").is(app.ExitFailure)
	require.Contains(t, differs.out, "not equal to the ledger: 2 compared, 2 differed, 0 rebuilt")
	require.Contains(t, differs.out, "record")
	require.NotContains(t, differs.out, "Fix the build")
	var out operate.Rebuilt
	c.run("rebuild", "--verify", "--json").is(app.ExitFailure).json(&out)
	require.Equal(t, 2, out.Result.Left)
	require.Equal(t, "marks", out.Result.Differences[0].Kind)
	require.Contains(t, c.run("rebuild").is(app.ExitOK).out, "equal to the ledger: 2 compared, 2 differed, 2 rebuilt")
	require.Contains(t, c.run("rebuild", "--verify", "--stream", "run/monday").is(app.ExitOK).out,
		"2 compared, 0 differed")
	require.Contains(t, c.run("rebuild", "--drop").is(app.ExitOK).out, "2 compared, 0 differed, 2 rebuilt")
	require.Equal(t, "drop", c.run("rebuild", "--drop", "--verify",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
}
