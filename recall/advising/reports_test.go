package advising_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
)

// team is a store with agents that ask about one problem and report.
type team struct {
	t       *testing.T
	store   *store.Store
	adviser *advising.Adviser
	now     time.Time
	url     string
}

const locked = "builder: cannot lock the cache of kword"

func newTeam(t *testing.T) *team {
	t.Helper()
	t.Parallel()
	url := testkit.DatabaseURL(t)
	out := &team{t: t, store: testkit.OpenStore(t, url), url: url,
		now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	out.restart()
	return out
}

// restart replaces the adviser, as a new worker does.
func (m *team) restart() {
	m.adviser = inprocess.NewAdviser(inprocess.Options{Store: m.store, Now: func() time.Time { return m.now }})
}

func (m *team) agent(name string) schema.Principal {
	return schema.Principal{Tenant: "t", Agent: name, Project: "app"}
}

func (m *team) userOf(agent, user string) schema.Principal {
	p := m.agent(agent)
	p.User = user
	return p
}

// procedure puts a procedure that claims successes.
func (m *team) procedure(p schema.Principal, v schema.Visibility, cmd string, successes int64) string {
	m.t.Helper()
	payload, err := json.Marshal(schema.CompetencePayload{Kind: schema.TypeCompetence, SkillName: cmd,
		Triggers: []schema.Trigger{{Signal: locked}},
		Recipe: []schema.Step{{Step: cmd, Tool: "shell", ArgsSchema: json.RawMessage(
			fmt.Sprintf(`{"type":"object","properties":{"cmd":{"const":%q}}}`, cmd))}},
		Performance: &schema.Performance{SuccessCount: successes}})
	require.NoError(m.t, err)
	record := schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeCompetence, Payload: payload, Content: cmd,
		Confidence: 0.9, Salience: schema.DefaultSalience, Importance: schema.DefaultImportance,
		SourceTrust: schema.DefaultSourceTrust, Visibility: v}
	out, err := m.store.Put(context.Background(), edit.PutInput{
		Operation: schema.OperationRef{Tenant: "t", ID: record.ID, WorkflowID: "w"},
		Request: schema.PutRequest{Operation: schema.Operation{Principal: p, Reason: "taught"},
			Records: []schema.MemoryRecord{record}},
		Policy: proposals.WritePolicy{Mode: schema.ModeControlled, AllowUpdateDelete: true, MinFactConfidence: 0.5}, Now: m.now})
	require.NoError(m.t, err)
	require.Equal(m.t, schema.PutCreated, out.Items[0].Status, out.Items[0].Problem)
	return out.Items[0].ID
}

// asks returns the advice for an agent.
func (m *team) asks(p schema.Principal) api.AdviseResponse {
	m.t.Helper()
	m.now = m.now.Add(time.Minute)
	out, err := m.adviser.Advise(context.Background(), api.AdviseRequest{Principal: p, Task: "build the app",
		Error: locked, Context: map[string]string{"os": "linux"}, ReadPolicy: schema.ReadShared})
	require.NoError(m.t, err)
	return out
}

// best returns the memory that an agent is advised to follow, or "".
func (m *team) best(p schema.Principal) string {
	m.t.Helper()
	if out := m.asks(p); out.Best != nil {
		return out.Best.MemoryID
	}
	return ""
}

// confidence returns the confidence of a procedure in the advice for an agent.
func (m *team) confidence(p schema.Principal, id string) float64 {
	m.t.Helper()
	out := m.asks(p)
	if out.Best != nil {
		out.Others = append(out.Others, *out.Best)
	}
	for _, o := range out.Others {
		if o.MemoryID == id {
			return o.Confidence
		}
	}
	return 0
}

// reports asks and reports an outcome of a procedure, in a session that may be empty.
func (m *team) reports(p schema.Principal, id string, outcome schema.Outcome, session string) api.ReportResult {
	m.t.Helper()
	asked := m.asks(p)
	m.now = m.now.Add(time.Minute)
	out, err := m.adviser.Report(context.Background(), api.ReportRequest{Principal: p, AdviceID: asked.AdviceID,
		Used: id, Outcome: outcome, Context: map[string]string{"os": "linux"}, Session: session,
		ReadPolicy: schema.ReadShared})
	require.NoError(m.t, err)
	return out
}
