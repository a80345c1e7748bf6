package workflows_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// asking is a decider that may call a model, as far as its caller knows.
type asking struct{ inference.Decider }

// Facts of one batch that change the same memory are decided in several rounds. Without a model these rounds run within
// one activity, and the stored result is the same.
func TestRoundsWithinOneActivityStoreTheSame(t *testing.T) {
	t.Parallel()
	var candidates []schema.Candidate
	for i, city := range []string{"Lisbon", "Oslo", "Turin", "Graz"} {
		said := "I live in " + city + "."
		if i > 0 {
			said = "I moved to " + city + "."
		}
		candidates = append(candidates,
			schema.Candidate{Content: said, Speaker: "Maya", SourceKind: schema.SourceUserInput},
			schema.Candidate{Content: fmt.Sprintf("Machine %d was restarted.", i),
				SourceKind: schema.SourceObservation})
	}
	run := func(change func(*workflows.Dependencies)) (stored []string, result api.IngestResult, writes int) {
		h := harness.New(t, change)
		p := testkit.Principal()
		started, result := h.Ingest(t, schema.IngestRequest{Principal: p, Candidates: candidates})
		for _, event := range rawHistory(t, h.Temporal, started.Run.GetID(), started.Run.GetRunID()) {
			if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "WriteProposals" {
				writes++
			}
		}
		db := testkit.Owner(t, h.DatabaseURL)
		stored = testkit.Strings(t, db, `
			SELECT concat_ws('|', m.type, m.content, m.status, m.version, s.content,
				(SELECT string_agg(h.event || h.reason, ',' ORDER BY h.seq) FROM memory_history h
				WHERE h.memory_id = m.id))
			FROM memories m LEFT JOIN memories s ON s.id = m.superseded_by
			WHERE m.tenant = '`+p.Tenant+`'
			ORDER BY 1`)
		stored = append(stored, testkit.Strings(t, db, `
			SELECT concat_ws('|', state, action, outcome, rounds, fact->>'content') FROM proposals
			WHERE tenant = '`+p.Tenant+`'
			ORDER BY 1`)...)
		result.IngestAck = schema.IngestAck{}
		return stored, result, writes
	}
	want, wantResult, several := run(func(d *workflows.Dependencies) { d.Brain.Decider = asking{d.Brain.Decider} })
	got, gotResult, once := run(nil)
	require.Equal(t, want, got)
	require.Equal(t, wantResult, gotResult)
	require.Greater(t, several, 1)
	require.Equal(t, 1, once)
}
