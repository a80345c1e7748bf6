package workflows_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// interrupted ingests while disturb is called in the middle of each phase that asks a model, and checks that the same
// is learned as in an undisturbed run.
func interrupted(t *testing.T, databaseURL, temporalAddress string, disturb func()) {
	t.Helper()
	var once sync.Map
	pause := func(kind string) {
		if _, seen := once.LoadOrStore(kind, true); !seen && disturb != nil {
			disturb()
		}
	}
	answer := func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Decision {
			pause(call.Kind)
			return testkit.DecisionOf(schema.ActionAdd, "")
		}
		if strings.HasPrefix(call.Data, "Known") {
			return testkit.FactsOf()
		}
		pause(call.Kind)
		return testkit.ExtractionOf([]memory.Fact{{Content: "It is known that " + call.Data}},
			memory.Triple{Source: "Atlas", Relationship: "mentioned_with", Target: strings.Fields(call.Data)[0],
				Confidence: 0.9})
	}
	learn := func(url, address string) map[string][]string {
		model := testkit.NewModel(t, answer)
		h := harness.NewAt(t, url, harness.DialTemporal(t, address, nil), func(d *workflows.Dependencies) {
			d.Brain = model.Brain(t)
		})
		p := testkit.Principal()
		known(t, h, p, "Known: the Atlas project has several services.")
		started, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation,
			"Billing runs on the Atlas project.", "Search runs on the Atlas project.",
			"Mail runs on the Atlas project."))
		require.Zero(t, result.Dead)
		require.Empty(t, result.Deferred)
		require.Len(t, started.Ack.MemoryIDs, 3)
		h.StopWorker()
		return landscape(t, testkit.Owner(t, url))
	}
	got := learn(databaseURL, temporalAddress)
	disturb = nil
	want := learn(testkit.DatabaseURL(t), testkit.TemporalAddress(t))
	require.Equal(t, want, got)
	require.Len(t, want["memories"], 7)
	require.Contains(t, want["entities"], "atlas|6")
}

// Temporal is killed while the model works on a run, in two phases, and is down when the model answers.
func TestTemporalRestartedMidRun(t *testing.T) {
	t.Parallel()
	state, env := testkit.PrivateStack(t, "temporal")
	interrupted(t, testkit.DatabaseURL(t), env["TEMPORAL_ADDRESS"], crash(t, state, "temporal"))
}

// The same for Postgres.
func TestPostgresRestartedMidRun(t *testing.T) {
	t.Parallel()
	state, env := testkit.PrivateStack(t, "postgres")
	// Test stacks acknowledge commits before they are durable; here no commit may be lost.
	conn, err := pgx.Connect(context.Background(), env["DATABASE_URL"])
	require.NoError(t, err)
	_, err = conn.Exec(context.Background(), "ALTER DATABASE mneme SET synchronous_commit = on")
	require.NoError(t, err)
	require.NoError(t, conn.Close(context.Background()))
	interrupted(t, testkit.NewSchema(t, env["DATABASE_URL"]), testkit.TemporalAddress(t), crash(t, state, "postgres"))
}

// crash returns a function that kills a part of a private stack and restarts it a little later.
func crash(t *testing.T, state, part string) func() {
	var back sync.WaitGroup
	t.Cleanup(back.Wait)
	run := func(verb string) {
		if out, err := testkit.Stack(verb, "--state", state, "--ephemeral", part); err != nil {
			t.Errorf("%s %s: %v\n%s", verb, part, err, out)
		}
	}
	return func() {
		back.Wait()
		run("kill")
		back.Go(func() {
			time.Sleep(2 * time.Second) // long enough for calls to fail
			run("up")
		})
	}
}
