package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

func TestSchedulesCommands(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	h := harness.NewAt(t, testkit.DatabaseURL(t),
		harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace }), nil)
	c := newCLI(t, h)
	c.cfg.Namespace, c.cfg.TemporalEnv = namespace, temporalAt(address, namespace)

	require.Contains(t, c.run("schedules", "list").is(app.ExitOK).out, "decay is missing")
	require.Contains(t, c.run("schedules", "trigger", "decay").is(app.ExitNotFound).err, "schedules apply")
	printed := c.run("schedules", "apply", "--print").is(app.ExitOK).out
	require.Equal(t, mneme.DefaultSchedulesFile(), printed)

	var applied app.Page[mneme.AppliedSchedule]
	outcomes := func() string {
		var out []string
		for _, s := range applied.Items {
			out = append(out, s.Name+" "+s.Outcome)
		}
		return strings.Join(out, ", ")
	}
	quiet := writeFile(t, quietSchedules)
	c.run("schedules", "apply", "--json", quiet).is(app.ExitOK).json(&applied)
	require.Equal(t,
		"decay created, retention created, sync_index created, drift created, topics created, consolidation created",
		outcomes())
	c.run("schedules", "apply", "--json", quiet).is(app.ExitOK).json(&applied)
	require.Equal(t,
		"decay unchanged, retention unchanged, sync_index unchanged, drift unchanged, topics unchanged, "+
			"consolidation unchanged", outcomes())
	c.runWith(context.Background(), "schedules: [{name: drift, every: 48h}]", "schedules", "apply", "--json",
		"-").is(app.ExitOK).json(&applied)
	require.Equal(t, "drift updated", outcomes())
	require.Equal(t, "schedules[0].every",
		c.run("schedules", "apply", "--json",
			writeFile(t, "schedules: [{name: drift, every: often}]")).is(app.ExitUsage).problem().Fields[0].Field)
	c.run("schedules", "apply", "/nowhere/schedules.yaml").is(app.ExitUsage)

	for _, name := range []string{"dream", "day"} { // only existing schedules are offered
		require.Equal(t, "must be one of decay, retention, sync_index, drift, topics, consolidation",
			c.run("schedules", "trigger", name, "--json").is(app.ExitUsage).problem().Fields[0].Problem)
	}

	var run operate.Triggered
	c.run("schedules", "trigger", "sync_index", "--json").is(app.ExitOK).json(&run)
	require.Contains(t, run.URL, "http://ui.test/namespaces/"+namespace+"/workflows/sync-index%2Fpgvector")
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	require.NoError(t, h.Temporal.GetWorkflow(ctx, run.WorkflowID, "").Get(ctx, nil))
	// each starts a registered workflow with a valid input
	for _, name := range []string{"decay", "retention", "drift", "topics", "consolidation"} {
		c.run("schedules", "trigger", name, "--json").is(app.ExitOK).json(&run)
		require.NoError(t, h.Temporal.GetWorkflow(ctx, run.WorkflowID, "").Get(ctx, nil), name)
	}

	require.Equal(t, "reason", c.run("schedules", "pause", "retention", "--reason", strings.Repeat("x", 501),
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Contains(t, c.run("schedules", "pause", "retention").is(app.ExitOK).out,
		"retention is paused: paused by hand (operator")
	c.run("schedules", "resume", "retention").is(app.ExitOK)
	require.Contains(t, c.run("schedules", "pause", "retention", "--reason", "an audit").is(app.ExitOK).out,
		"retention is paused: an audit (operator")
	var known app.Page[mneme.ScheduleStatus]
	c.run("schedules", "list", "--json").is(app.ExitOK).json(&known)
	require.Equal(t, mneme.PausedByOperator, known.Items[1].PausedBy)
	require.Contains(t, known.Items[1].Note, "an audit")
	require.Equal(t, "Completed", known.Items[2].Last.Status)
	require.Equal(t, "every 48h", known.Items[3].When)
	text := c.run("schedules", "list").is(app.ExitOK).out
	require.Contains(t, text, "paused by operator")
	require.Contains(t, text, "completed")
	c.run("schedules", "apply", "--json", quiet).is(app.ExitOK).json(&applied)
	require.True(t, applied.Items[1].Paused)
	c.run("schedules", "resume", "retention").is(app.ExitOK)
	c.run("schedules", "list", "--json").is(app.ExitOK).json(&known)
	require.False(t, known.Items[1].Paused)

	queue := c.cfg.TaskQueue
	c.cfg.TaskQueue = "another-" + queue
	require.Contains(t, c.run("schedules", "apply", quiet).is(app.ExitConflict).err, queue)
	// A file that is refused changes nothing, also not what comes before the schedule that is another's.
	topics := writeFile(t, "schedules: [{name: topics, every: 24h}]")
	c.run("schedules", "apply", "--take-over", topics).is(app.ExitOK)
	c.cfg.TaskQueue = queue
	c.run("schedules", "apply", writeFile(t,
		"schedules: [{name: drift, every: 36h}, {name: topics, every: 36h}]")).is(app.ExitConflict)
	c.run("schedules", "list", "--json").is(app.ExitOK).json(&known)
	require.Equal(t, "every 24h", known.Items[3].When, "drift")
	c.run("schedules", "apply", "--take-over", topics).is(app.ExitOK)
	c.cfg.TaskQueue = "another-" + queue
	c.run("schedules", "apply", "--take-over", quiet).is(app.ExitOK)
	c.cfg.TaskQueue = queue
	c.run("schedules", "apply", "--take-over", quiet).is(app.ExitOK)

	var done operate.ScheduleDone
	at := time.Now().UTC().Truncate(24 * time.Hour)
	c.run("schedules", "backfill", "drift", "--json", "--from", at.Add(-36*time.Hour).Format(time.RFC3339), "--to",
		at.Add(-12*time.Hour).Format(time.RFC3339)).is(app.ExitOK).json(&done)
	require.Equal(t, 1, done.Runs)
	for field, args := range map[string][]string{"from": {"drift"},
		"to": {"drift", "--from", "2026-01-01", "--to", "2999-01-01"}, "name": {"dream", "--from", "2026-01-01"}} {
		require.Equal(t, field, c.run(append([]string{"schedules", "backfill", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
}
