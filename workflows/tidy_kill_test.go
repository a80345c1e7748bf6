package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/learn"
)

// A worker is killed after each step of tidying and before the acknowledgement. The effects occur once.
func TestTidyingWorkerKilled(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Hour)
	for _, of := range []struct {
		name     string
		workflow any
		steps    []string
		given    func(*harness.Harness, schema.Principal)
		then     func(*testing.T, *harness.Harness)
	}{
		{"ResolveDuplicates", learn.ResolveDuplicates, []string{"FindDuplicates", "ResolveDuplicates", "FinishPage"},
			func(h *harness.Harness, p schema.Principal) {
				insert(t, h, p, schema.VisibilityPrivate, states("The office opens at 8.", 0.5, "evt://1"),
					states("office opens at 8", 0.9, "evt://2"))
			},
			func(t *testing.T, h *harness.Harness) {
				db := testkit.Owner(t, h.DatabaseURL)
				require.Equal(t, []string{"office opens at 8"}, contents(t, h, "true"))
				require.Equal(t, 1, testkit.Rows(t, db, "memories", "status = 'superseded'"))
				require.Equal(t, 2, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation'"))
			}},
		{"CompressEpisodes", learn.CompressEpisodes, []string{"FindThreads", "CompressThreads", "FinishPage"},
			func(h *harness.Harness, p schema.Principal) {
				for i := range 8 {
					m := sessionEpisode(t, "s-1", fmt.Sprintf("The build %d failed on Lisbon.", 4000+i), "go",
						at.Add(time.Duration(i-800)*time.Hour))
					insert(t, h, p, schema.VisibilityPrivate, m)
				}
				_, err := testkit.Owner(t, h.DatabaseURL).Exec(context.Background(), `UPDATE memories
					SET created_at = created_at - interval '30 days', recorded_at = recorded_at - interval '30 days'`)
				require.NoError(t, err)
			},
			func(t *testing.T, h *harness.Harness) {
				db := testkit.Owner(t, h.DatabaseURL)
				require.Equal(t, 1, testkit.Rows(t, db, "memories", "type = 'semantic'"))
				require.Equal(t, 6, testkit.Rows(t, db, "memory_links", "predicate = 'derived_from'"))
				require.Equal(t, 7, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation'"))
			}},
		{"UpdateFacts", learn.UpdateFacts, []string{"FindStatements", "UpdateFacts", "FinishPage"},
			func(h *harness.Harness, p schema.Principal) {
				for i := range 3 {
					insert(t, h, p, schema.VisibilityPrivate,
						sessionEpisode(t, fmt.Sprint("go-", i), "I prefer gofmt for formatting.", "go",
							at.Add(time.Duration(i)*time.Minute)))
				}
			},
			func(t *testing.T, h *harness.Harness) {
				db := testkit.Owner(t, h.DatabaseURL)
				require.Equal(t, []string{"I prefer gofmt for formatting."}, contents(t, h, "type = 'semantic'"))
				require.Equal(t, 3, testkit.Rows(t, db, "memory_links", "predicate = 'derived_from'"))
				require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation'"))
			}},
	} {
		for _, step := range of.steps {
			t.Run(of.name+"/"+step, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
				defer cancel()
				address := testkit.TemporalAddress(t)
				gate := harness.NewGate(t, address, step)
				namespace := harness.NewNamespace(t, address)
				c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
				h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
				p := testkit.Principal()
				of.given(h, p)
				env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
					"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
				victim := harness.StartProcess(t, env)
				run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "learn/" + uuid.NewString(),
					TaskQueue: h.TaskQueue}, of.workflow, privateOf(p))
				require.NoError(t, err)
				require.NoError(t, gate.WaitHeld(ctx), victim.Output())
				victim.Kill()
				env["TEMPORAL_ADDRESS"] = address
				harness.StartProcess(t, env)
				var out api.LearnResult
				require.NoError(t, run.Get(ctx, &out))
				require.Equal(t, api.OutcomeOK, out.Outcome)
				of.then(t, h)
				testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
			})
		}
	}
}
