package learning_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	storelearning "github.com/mneme/mneme/store/learning"
)

// report stores reports of failures of a memory, without a session or each in its own, as a report on advice does.
func (w *world) report(memory uuid.UUID, problem string, n int) {
	w.t.Helper()
	for range n {
		_, err := w.owner.Exec(ctx, `
			INSERT INTO outcome_reports (tenant, memory_id, advice_id, problem, agent_id, ok, at)
			VALUES ('t', $1, gen_random_uuid(), $2, 'ana', false, $3)`, memory, problem, time.Now())
		require.NoError(w.t, err)
	}
}

// figures requires that the record of the only procedure or plan has the outcomes that are counted for it.
func (w *world) figures(successes, failures int64) {
	w.t.Helper()
	known := w.known(ana)
	require.Len(w.t, known, 1)
	var payload struct{ Performance, Metrics *schema.Performance }
	require.NoError(w.t, json.Unmarshal(known[0].Payload, &payload))
	p := payload.Performance
	if p == nil {
		p = payload.Metrics
	}
	all := known[0].Stats.All
	require.Equal(w.t, []int64{successes, failures}, []int64{all.Successes, all.Failures})
	require.Equal(w.t, []int64{successes, failures}, []int64{p.SuccessCount, p.FailureCount})
	require.InDelta(w.t, float64(failures)/float64(successes+failures), *p.FailureRate, 1e-9)
	require.InDelta(w.t, all.Chance(), known[0].Confidence, 1e-9)
}

// A record has the outcomes in its episodes and the reported ones together, also if a run finds more of both, and those
// that were reported before there was a record.
func TestARecordHasTheFiguresOfItsOutcomes(t *testing.T) {
	t.Parallel()
	for kind, story := range map[schema.MemoryType]func(n int) *testkit.Story{
		schema.TypeCompetence: func(n int) *testkit.Story { return testkit.Build(ana, n, "linux", testkit.ClearCache(n)) },
		schema.TypePlanGraph: func(n int) *testkit.Story {
			return setUp(ana, n, "go", "git init", "go mod init app", "gofmt -l .")
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := story(0).Record(t, w.store)
			var key string
			episodes, err := w.store.Learning.Episodes(ctx, "t", []uuid.UUID{first})
			require.NoError(t, err)
			for _, a := range episodes[0].Attempts {
				key = a.Key()
			}
			w.report(first, evidence.ProblemHash(key), 1)
			for n := 1; n < 4; n++ {
				story(n).Record(t, w.store)
			}
			require.Equal(t, 1, w.learn(ana, kind).Added)
			w.figures(4, 1)

			known := w.known(ana)[0]
			w.report(known.ID, "", 2)
			for n := 4; n < 7; n++ {
				story(n).Record(t, w.store)
			}
			require.Equal(t, 1, w.learn(ana, kind).Updated)
			w.figures(7, 3)

			_, err = w.store.Learning.TakeReports(ctx, storelearning.Scope{Tenant: "t", Agent: "ana"}, time.Now())
			require.NoError(t, err)
			require.Zero(t, w.learn(ana, kind).Changes(), fmt.Sprint("the same evidence changes nothing: ", kind))
		})
	}
}
