package workflows_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
)

// A client without Go gets its context from the workflow and from its query: the scene, the events, the users' messages
// and the results of a recall, without private memories of other agents.
func TestAClientWithoutGoGetsItsContext(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx := context.Background()
	p := testkit.Principal()
	event := func(id, stream, agent, kind, payload string) ledger.Event {
		return ledger.Event{ID: id, Stream: stream, Agent: agent, Kind: kind, Turn: 3, OccurredAt: time.Now(),
			Payload: json.RawMessage(payload)}
	}
	_, err := h.Store.Append(ctx, events.AppendInput{Tenant: p.Tenant, Open: views.GlobalKinds(), Now: time.Now(),
		Events: []ledger.Event{
			event("w1", "world/town", "smith", ledger.KindWorldObserved, `{"oven":"cold"}`),
			event("w2", "world/town", "smith", ledger.KindWorldObserved, `{"oven":"hot"}`),
			event("r1", "run/day", p.Agent, ledger.KindAgentThought, `{"text":"The dough is ready."}`),
			event("r2", "run/day", "smith", ledger.KindAgentThought, `{"text":"I will rob the bakery."}`),
			event("r3", "run/day", "visitor", ledger.KindUserInjected, `{"text":"Two loaves, please."}`)}})
	require.NoError(t, err)
	known(t, h, p, "Ana works at Acme.")
	in := map[string]any{"principal": map[string]any{"tenant": p.Tenant, "agent": p.Agent},
		"streams":  []string{"run/day", "world/town"},
		"identity": "You are the baker.", "recall": "where does Ana work",
		"memory": map[string]any{"use_salience": true, "use_index": true}}
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "plain/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, api.WorkflowContext, in)
	require.NoError(t, err)
	var out ledger.ContextResponse
	require.NoError(t, run.Get(ctx, &out))
	for _, said := range []string{"You are the baker.", "oven: hot", "The dough is ready.", "Two loaves, please.",
		"Acme"} {
		require.Contains(t, out.Text, said)
	}
	require.NotContains(t, out.Text, "rob")
	require.NotContains(t, out.Text, "cold.")
	require.Equal(t, 3, out.Turn)
	require.Contains(t, out.Degraded, "index", "there is none")
	value, err := h.Temporal.QueryWorkflow(ctx, run.GetID(), run.GetRunID(), api.QueryContext)
	require.NoError(t, err)
	var again ledger.ContextResponse
	require.NoError(t, value.Get(&again))
	require.Equal(t, out, again)

	in["stream"] = "run/day"
	run, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "plain/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, api.WorkflowContext, in)
	require.NoError(t, err)
	require.ErrorContains(t, run.Get(ctx, nil), "stream: unknown field")
}

// An invalid context request is refused with its fields before a run is started.
func TestAContextRequestIsChecked(t *testing.T) {
	t.Parallel()
	p := testkit.Principal()
	for field, req := range map[string]ledger.ContextRequest{
		"principal.tenant": {Principal: schema.Principal{Agent: "a"}, Streams: []string{"run/a"}},
		"streams":          {Principal: p},
		"streams[0]":       {Principal: p, Streams: []string{"day"}},
		"recall_limit":     {Principal: p, Streams: []string{"run/a"}, RecallLimit: 1_000},
		"memory.window": {Principal: p, Streams: []string{"run/a"},
			Memory: ledger.MemorySettings{Window: -1}},
		"memory.importance": {Principal: p, Streams: []string{"run/a"},
			Memory: ledger.MemorySettings{Importance: map[string]float64{"x": 2}}},
		"budget_tokens":   {Principal: p, Streams: []string{"run/a"}, BudgetTokens: 1 << 30},
		"max_sensitivity": {Principal: p, Streams: []string{"run/a"}, MaxSensitivity: "secret"},
		"memory.lambda": {Principal: p, Streams: []string{"run/a"},
			Memory: ledger.MemorySettings{Lambda: -1}},
		"memory.weights.relevance": {Principal: p, Streams: []string{"run/a"},
			Memory: ledger.MemorySettings{Weights: &ledger.SalienceWeights{Relevance: -1}}},
	} {
		_, err := mneme.StartContext(context.Background(), nil, "", req)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
}
