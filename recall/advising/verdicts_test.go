package advising_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

// says gives feedback on a procedure that a recall has returned to a principal.
func (m *team) says(p schema.Principal, id string, v schema.Verdict) schema.FeedbackResultItem {
	m.t.Helper()
	m.now = m.now.Add(time.Minute)
	r := search.Retrieval{ID: uuid.New(), Principal: p, MemoryIDs: []uuid.UUID{uuid.MustParse(id)}}
	require.NoError(m.t, m.store.TrackRetrieval(context.Background(), r, m.now))
	out, err := m.store.Feedback(context.Background(), pipeline.FeedbackInput{
		Operation: schema.OperationRef{Tenant: "t", ID: uuid.NewString(), WorkflowID: "w"},
		Request: schema.FeedbackRequest{Operation: schema.Operation{Principal: p}, RetrievalID: r.ID.String(),
			Items: []schema.FeedbackItem{{MemoryID: id, Verdict: v}}},
		Policy: proposals.DefaultWritePolicy(), Now: m.now})
	require.NoError(m.t, err)
	return out.Items[0]
}

// Failed verdicts of one agent on a shared procedure change its own advice, and that of others by one verdict.
func TestVerdictsOfOneAgentDoNotSinkASharedProcedure(t *testing.T) {
	m := newTeam(t)
	a, b := m.agent("a"), m.agent("b")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 3)
	m.says(a, id, schema.VerdictFailed)
	once := m.confidence(b, id)
	for range 5 {
		m.now = m.now.Add(24 * time.Hour)
		m.says(a, id, schema.VerdictFailed)
	}
	require.Equal(t, once, m.confidence(b, id))
	require.Equal(t, id, m.best(b))
	require.Empty(t, m.best(a), "its own advice follows its verdicts")
}

// What does not count for others is not in the outcomes that the first report begins with.
func TestHeldVerdictsDoNotReachOthersByAReport(t *testing.T) {
	m := newTeam(t)
	a, b := m.agent("a"), m.agent("b")
	id := m.procedure(a, schema.VisibilityShared, "unlock", 50)
	for range 6 {
		m.says(a, id, schema.VerdictFailed)
	}
	require.Empty(t, m.best(a))
	m.reports(a, id, schema.OutcomeFailure, "s")
	_, failures := m.counts(id)
	require.EqualValues(t, 2, failures, "one by feedback, one by the report")
	require.Equal(t, id, m.best(b))
}

// The verdicts of a user change the advice for that user, and not that of the agent and its other users.
func TestVerdictsOfAUser(t *testing.T) {
	m := newTeam(t)
	solo, maya, tom := m.agent("solo"), m.userOf("solo", "maya"), m.userOf("solo", "tom")
	id := m.procedure(solo, schema.VisibilityPrivate, "unlock", 3)
	for range 6 {
		m.says(maya, id, schema.VerdictFailed)
	}
	require.Empty(t, m.best(maya))
	require.Equal(t, id, m.best(tom))
	require.Equal(t, id, m.best(solo))
	for range 6 {
		require.Empty(t, m.says(solo, id, schema.VerdictFailed).CountsFor, "the agent's own all count")
	}
	require.Empty(t, m.best(tom))
}
