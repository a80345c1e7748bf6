package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// A start joins the run that has its id. Another principal with the same key must not get the result of that run.
func TestWorkflowIDsOfDifferentPrincipalsDiffer(t *testing.T) {
	t.Parallel()
	names := []string{"a", "a/b", "b", "b/c", "c", "a%2Fb", "job"}
	keys := []string{"k", "c/k", "b/c/k", "2Fb/k"}
	seen := map[string]schema.Principal{}
	for _, tenant := range names {
		for _, agent := range append(names, "a%40b", "a@b") {
			p := schema.Principal{Tenant: tenant, Agent: agent}
			for _, user := range []string{"", "b", "k", "a@b"} {
				p.User = user
				for _, key := range keys {
					for _, id := range []string{
						api.IngestWorkflowID(schema.IngestRequest{Principal: p, IdempotencyKey: key}),
						api.IngestWorkflowID(schema.IngestRequest{Principal: p,
							Candidates: []schema.Candidate{{Content: key}}}),
						api.OperationWorkflowID(api.KindPut, schema.Operation{Principal: p, OperationID: key}, nil),
						api.RecallWorkflowID(schema.RecallRequest{Principal: p, Query: key}),
					} {
						require.Equal(t, schema.Principal{}, seen[id], id)
						seen[id] = p
					}
				}
			}
		}
		for _, id := range []string{api.ResumeWorkflowID(tenant, "k"), api.ReviewWorkflowID(tenant, "k")} {
			require.NotContains(t, seen, id)
			seen[id] = schema.Principal{Tenant: tenant}
		}
	}
	require.Equal(t, "ingest/acme/bot/import/42", api.IngestWorkflowID(schema.IngestRequest{
		Principal: schema.Principal{Tenant: "acme", Agent: "bot"}, IdempotencyKey: "import/42"}),
		"plain characters stay readable")
	of := schema.IngestRequest{Principal: schema.Principal{Tenant: "acme", Agent: "bot", User: "maya@acme.example"},
		IdempotencyKey: "import/42"}
	require.Regexp(t, "^ingest/acme/bot%40[0-9a-f]{32}/import/42$", api.IngestWorkflowID(of),
		"ids do not contain user names")
}

// Temporal's SQL persistence keeps 255 characters of an id. Names and keys together may be longer.
func TestWorkflowIDsFitTemporalsTables(t *testing.T) {
	t.Parallel()
	seen := map[string][3]string{}
	rapid.Check(t, func(r *rapid.T) {
		part := func(label string, most int) string {
			letters := []rune("ab/%@é")
			return string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, most).Draw(r, label))
		}
		if rapid.Bool().Draw(r, "filled") { // at the maximum, and around the limit
			part = func(label string, most int) string {
				return strings.Repeat("x", rapid.IntRange(1, most).Draw(r, label))
			}
		}
		p := schema.Principal{Tenant: part("tenant", schema.MaxNameLength), Agent: part("agent", schema.MaxNameLength)}
		key := part("key", schema.MaxIdempotencySize)
		id := api.IngestWorkflowID(schema.IngestRequest{Principal: p, IdempotencyKey: key})
		require.LessOrEqual(r, len(id), api.MaxIDLength)
		of := [3]string{p.Tenant, p.Agent, key}
		if before, ok := seen[id]; ok {
			require.Equal(r, before, of, "two runs have the same id")
		}
		seen[id] = of
		require.Equal(r, id, api.IngestWorkflowID(schema.IngestRequest{Principal: p, IdempotencyKey: key}),
			"a repeated delivery finds its run")
		plain := "ingest/" + p.Tenant + "/" + p.Agent + "/" + key
		if !strings.ContainsAny(p.Tenant+p.Agent, "/%") && len(plain) <= api.MaxIDLength {
			require.Equal(r, plain, id, "a short id is not hashed")
		}
		for _, id := range []string{api.OperationWorkflowID(api.KindForget,
			schema.Operation{Principal: p, OperationID: key}, nil),
			api.RecallWorkflowID(schema.RecallRequest{Principal: p, Query: key}), api.ReviewWorkflowID(p.Tenant, key),
			api.ResumeWorkflowID(p.Tenant, key)} {
			require.LessOrEqual(r, len(id), api.MaxIDLength)
		}
	})
	longest := schema.IngestRequest{Principal: schema.Principal{Tenant: strings.Repeat("t", schema.MaxNameLength),
		Agent: strings.Repeat("a", schema.MaxNameLength)},
		IdempotencyKey: strings.Repeat("k", schema.MaxIdempotencySize)}
	require.Equal(t, "ingest/a33a2e903da822977e5e160e74a26716/", api.IngestWorkflowID(longest)[:40],
		"the scheme is stable: a key finds its run after an upgrade")
}

// All uses of a run's id work with a hashed one: repeated delivery, reviews, and cancelling an operation through Nexus
// where callers are bound to tenants.
func TestRunsWithTheLongestNames(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	p := testkit.Principal()
	p.Tenant += strings.Repeat("t", schema.MaxNameLength-len(p.Tenant))
	p.Agent = strings.Repeat("a", schema.MaxNameLength)
	var err error
	h.Deps.Callers, err = workflows.ParseCallers("*=" + p.Tenant)
	require.NoError(t, err)
	h.StartWorker(t)
	req := testkit.Request(p, schema.SourceMemory, "Tea is served hot.")
	req.IdempotencyKey = strings.Repeat("k", schema.MaxIdempotencySize)
	first, result := h.Ingest(t, req)
	again, _ := h.Ingest(t, req)
	require.Equal(t, first.RunID, again.RunID)
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "ingest_batches", ""))
	require.Len(t, result.MemoryIDs, 1)

	a := newAgents(t, h.Temporal, harness.Namespace, h.TaskQueue)
	forget := forgetRequest(p, "", schema.Selector{Query: "tea"})
	forget.OperationID = strings.Repeat("f", schema.MaxIdempotencySize)
	run := a.start(t, api.OperationForget, forget)
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitLimit)
	defer cancel()
	joined, err := waitFor(ctx, h.Temporal, api.OperationWorkflowID(api.KindForget, forget.Operation, forget))
	require.NoError(t, err)
	_, err = mneme.ForgetPreview(ctx, h.Temporal, joined)
	require.NoError(t, err)
	require.NoError(t, a.temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
	var receipt schema.ForgetReceipt
	require.NoError(t, within(t, run, &receipt), "a token with a hashed id cancels its run")
	require.Equal(t, schema.ForgetCancelled, receipt.State)

	moving, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	choice := decision(p, item, schema.DecisionApprove)
	choice.OperationID = strings.Repeat("é", schema.MaxIdempotencySize)
	require.Equal(t, decide(t, h, choice, moving.BatchID), decide(t, h, choice, moving.BatchID))
}
