package learning_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	storelearning "github.com/mneme/mneme/store/learning"
)

// The metrics and the confidence of a plan follow from the outcomes that were reported of it, without new evidence.
func TestAPlanHasTheOutcomesThatWereReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 4 {
		setUp(ana, n, "go", "git init", "go mod init app", "gofmt -l .").Record(t, w.store)
	}
	require.Equal(t, 1, w.learn(ana, schema.TypePlanGraph).Added)
	before := w.known(ana)[0]
	stats := before.Stats.Clone()
	for _, session := range []string{"x", "y", "z"} {
		_, err := testkit.Owner(t, w.url).Exec(ctx, `
			INSERT INTO outcome_reports (tenant, memory_id, advice_id, agent_id, session, ok, at)
			VALUES ('t', $1, gen_random_uuid(), 'ana', $2, false, now())`, before.ID, session)
		require.NoError(t, err)
		stats.All.Observe(false, time.Now())
	}
	encoded, err := json.Marshal(stats)
	require.NoError(t, err)
	_, err = testkit.Owner(t, w.url).Exec(ctx, `
		UPDATE learned
		SET stats = $2, tentative = false, version = version + 1
		WHERE tenant = 't' AND memory_id = $1`, before.ID, string(encoded))
	require.NoError(t, err)
	groups, err := w.store.Learning.TakeReports(ctx, storelearning.Scope{Tenant: "t", Agent: "ana"}, time.Now())
	require.NoError(t, err)
	require.Equal(t, 1, groups)
	require.Equal(t, 1, w.learn(ana, schema.TypePlanGraph).Updated)
	after := w.known(ana)[0]
	require.Equal(t, before.ID, after.ID)
	require.Less(t, after.Confidence, before.Confidence)
	require.InDelta(t, after.Stats.All.Chance(), after.Confidence, 1e-9)
	var plan schema.PlanGraphPayload
	require.NoError(t, json.Unmarshal(after.Payload, &plan))
	require.EqualValues(t, 3, plan.Metrics.FailureCount)
	require.EqualValues(t, 4, plan.Metrics.SuccessCount)
	require.Zero(t, w.learn(ana, schema.TypePlanGraph).Changes())
}
