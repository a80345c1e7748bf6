package workflows_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// A person asks to erase a statement: no memory of it is left or learned again, including its source.
func TestEraseOfAStatement(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	said := testkit.Request(p, schema.SourceUserInput, "I prefer Python.", "I prefer Python. I live in Oslo.")
	said.Candidates[0].Speaker, said.Candidates[1].Speaker = "Maya", "Maya"
	h.Ingest(t, schema.IngestRequest{Principal: p, Candidates: said.Candidates[:1]})
	_, ingested := h.Ingest(t, schema.IngestRequest{Principal: p, Candidates: said.Candidates[1:]})
	require.NotEmpty(t, ingested.MemoryIDs)
	r := h.Recaller()
	find := func(query string) []schema.RecallResult {
		out, err := r.Recall(context.Background(), schema.RecallRequest{Principal: p, Query: query})
		require.NoError(t, err)
		return out.Results
	}
	facts := testkit.Strings(t, testkit.Owner(t, h.DatabaseURL),
		`SELECT id::text FROM memories WHERE type = 'semantic' AND content = 'Maya prefers Python.'`)
	require.Len(t, facts, 1, "the fact was extracted from the statement")

	run, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: facts}))
	require.True(t, preview.Everywhere)
	require.Equal(t, []int{3, 2}, []int{preview.Total, preview.SaysSame})
	var several schema.ForgetEcho
	for _, e := range preview.Echoes {
		require.Equal(t, "source", e.Tie)
		if e.AlsoSays > 0 {
			several = e
		}
	}
	require.Equal(t, 1, several.AlsoSays, "the fact that she lives in Oslo")
	confirmForget(t, h, p, preview)
	receipt := receiptOf(t, run)
	require.Equal(t, 3, receipt.Forgotten)
	require.Len(t, receipt.IDs, 3)
	require.Contains(t, receipt.IDs, several.ID)
	require.Zero(t, receipt.StillSaid)
	require.Equal(t, 3, receipt.Removed["vectors/pgvector"])
	require.Equal(t, 2, receipt.Removed["temporal_runs"], "both ingests")
	for _, m := range find("What does Maya prefer? Python?") {
		require.NotContains(t, m.Content, "Python")
	}
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memory_hints",
		"memory_id = ANY(ARRAY["+quotedIDs(receipt.IDs)+"]::uuid[])"))
	oslo := find("Where does Maya live?")
	require.NotEmpty(t, oslo)
	require.Equal(t, "Maya lives in Oslo.", oslo[0].Content)
	require.NoError(t, uuid.Validate(oslo[0].ID))
}

func quotedIDs(ids []string) string {
	out := ""
	for i, id := range ids {
		if i > 0 {
			out += ","
		}
		out += "'" + id + "'"
	}
	return out
}
