package workflows_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func TestIngestAndRecall(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ctx := context.Background()

	started, result := h.Ingest(t, testkit.Request(p, schema.SourceMemory, "critical: [ops]: Never deploy on Fridays."))
	require.Len(t, started.Ack.MemoryIDs, 1)
	require.Zero(t, result.Dead)

	r := h.Recaller()
	answer, err := r.Recall(ctx, schema.RecallRequest{Principal: p, Query: "when may we deploy"})
	require.NoError(t, err)
	require.Empty(t, answer.Meta.Degraded)
	require.NotEmpty(t, answer.Results)
	first := answer.Results[0]
	require.Equal(t, started.Ack.MemoryIDs[0], first.ID)
	require.True(t, first.Pinned)
	require.InDelta(t, 1.0, first.Importance, 0)
	require.Equal(t, []string{"ops"}, first.Tags)
	require.Equal(t, schema.CategoryRule, first.Category)

	again, _ := h.Ingest(t, testkit.Request(p, schema.SourceMemory, "critical: [ops]: Never deploy on Fridays."))
	require.Equal(t, started.Ack.MemoryIDs, again.Ack.MemoryIDs)
	require.Equal(t, []int{0}, again.Ack.Deduped)

	history := testkit.History(t, h.Store, p, uuid.MustParse(started.Ack.MemoryIDs[0]))
	for _, entry := range history {
		t.Log(entry.Event, entry.ChangedBy, entry.Reason)
		require.NotEmpty(t, entry.ChangedBy)
		require.NotEmpty(t, entry.Reason)
	}
	require.GreaterOrEqual(t, len(history), 3)
}

// A text of the largest size is stored in any script, also if its words and the pairs of its characters all differ.
func TestIngestOfTheLongestTexts(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	text := func(from, letters, run int) schema.Candidate { // random words, each a run of letters
		var b strings.Builder
		for i := 0; b.Len() < schema.MaxContentBytes-2*utf8.UTFMax; i++ {
			if b.WriteRune(rune(from + random.IntN(letters))); i%run == run-1 {
				b.WriteByte(' ')
			}
		}
		return schema.Candidate{Content: b.String(), SourceKind: schema.SourceUserInput}
	}
	for _, c := range []schema.Candidate{
		text(0x4E00, 20_000, 20), // Han
		text(0xAC00, 11_000, 3),  // Hangul
	} {
		_, result := h.Ingest(t, schema.IngestRequest{Principal: testkit.Principal(), Candidates: []schema.Candidate{c}})
		require.Zero(t, result.Dead)
	}
	require.Equal(t, 2, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "memories", "type = 'episodic'"))
}
