package workflows_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
)

// A worker is killed after a report was accepted: before any of it is done, while it is counted, and when it has been
// counted and Temporal has not learned of it. Another worker finishes the report, and the outcome counts once.
func TestReportWorkerKilled(t *testing.T) {
	t.Parallel()
	const counting = "while the transaction is open"
	for _, at := range []string{"RespondWorkflowTaskCompleted", counting, "Report"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
			defer cancel()
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, at)
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
			h.StartWorker(t)
			p := testkit.Principal()
			id := putProcedure(t, h, p, "the fix", "the-fix")
			out := advise(t, h, asksAbout(p, 3))
			require.Equal(t, id, out.Best.MemoryID)
			h.StopWorker()
			owner := testkit.Owner(t, h.DatabaseURL)
			if at == counting {
				_, err := owner.Exec(ctx, "BEGIN")
				require.NoError(t, err)
				_, err = owner.Exec(ctx, "SELECT FROM advice WHERE id = $1 FOR UPDATE", out.AdviceID)
				require.NoError(t, err)
			}

			env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
				"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": h.TaskQueue}
			victim := harness.StartProcess(t, env)
			run, err := mneme.StartReport(ctx, c, h.TaskQueue, reportOn(p, out, schema.OutcomeFailure))
			require.NoError(t, err)
			if at == counting {
				require.Eventually(t, func() bool {
					var waiting int
					err := owner.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
						WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting)
					return err == nil && waiting > 0
				}, 3*time.Minute, 20*time.Millisecond, "the report waits for the row")
			} else {
				require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			}
			victim.Kill()
			if at == counting {
				_, err := owner.Exec(ctx, "ROLLBACK")
				require.NoError(t, err)
			}
			counted := 0
			if at == "Report" {
				counted = 1
			}
			require.Eventually(t, func() bool { return testkit.Rows(t, owner, "outcome_reports", "") == counted },
				30*time.Second, 50*time.Millisecond)

			env["TEMPORAL_ADDRESS"] = address
			harness.StartProcess(t, env)
			result, err := mneme.Outcome[api.ReportResult](ctx, run)
			require.NoError(t, err)
			require.Equal(t, []string{id}, result.Changed)
			again, err := mneme.Report(ctx, c, h.TaskQueue, reportOn(p, out, schema.OutcomeFailure))
			require.NoError(t, err)
			require.Equal(t, result, again)
			require.Equal(t, 1, testkit.Rows(t, owner, "outcome_reports", "ok = false"))
			require.Equal(t, 1, testkit.Rows(t, owner, "outcome_reports", ""))
			rows := testkit.Strings(t, owner, "SELECT stats::text FROM solution_outcomes")
			require.Len(t, rows, 1)
			var stats evidence.Stats
			require.NoError(t, json.Unmarshal([]byte(rows[0]), &stats))
			require.Equal(t, [2]int64{5, 1}, [2]int64{stats.All.Successes, stats.All.Failures},
				"the five successes that the procedure claims, and the reported failure")
		})
	}
}
