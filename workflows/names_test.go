package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// A start joins the run that has its id. Whoever hits on the same key must not be answered with the run
// of another.
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
						workflows.IngestWorkflowID(schema.IngestRequest{Principal: p, IdempotencyKey: key}),
						workflows.IngestWorkflowID(schema.IngestRequest{Principal: p, Candidates: []schema.Candidate{{Content: key}}}),
						workflows.OperationWorkflowID(workflows.KindPut, schema.Operation{Principal: p, OperationID: key}, nil),
						workflows.RecallWorkflowID(schema.RecallRequest{Principal: p, Query: key}),
					} {
						require.Equal(t, schema.Principal{}, seen[id], id)
						seen[id] = p
					}
				}
			}
		}
		for _, id := range []string{workflows.ResumeWorkflowID(tenant, "k"), workflows.ReviewWorkflowID(tenant, "k")} {
			require.NotContains(t, seen, id)
			seen[id] = schema.Principal{Tenant: tenant}
		}
	}
	require.Equal(t, "ingest/acme/bot/import/42", workflows.IngestWorkflowID(schema.IngestRequest{
		Principal: schema.Principal{Tenant: "acme", Agent: "bot"}, IdempotencyKey: "import/42"}), "what is plain stays readable")
	of := schema.IngestRequest{Principal: schema.Principal{Tenant: "acme", Agent: "bot", User: "maya@acme.example"}, IdempotencyKey: "import/42"}
	require.Regexp(t, "^ingest/acme/bot%40[0-9a-f]{32}/import/42$", workflows.IngestWorkflowID(of), "a user's name stays out of ids")
}
