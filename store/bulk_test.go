package store_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

// Rows are written a hundred at a time. Each is stored as if it were the only one, in its position.
func TestALargeBatchIsStoredLikeSingleCandidates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	odd := []string{`a,b`, `say "so"`, `back\slash`, `{braces}`, `null`, `new line`, `ünïcode`}
	candidates := make([]schema.Candidate, 250)
	for i := range candidates {
		candidates[i] = schema.Candidate{Content: fmt.Sprintf("machine %d was restarted", i%240),
			SourceKind: schema.SourceToolOutput,
			Tags:       []string{odd[i%len(odd)], fmt.Sprint("n", i)},
			Refs:       []schema.Ref{{Kind: "tool_call", Ref: fmt.Sprint("call-", i)}, {Kind: "event", Ref: "e"}}}
	}
	ack, _ := w.stage(candidates...)
	require.Len(t, ack.Deduped, 10)
	for i, id := range ack.MemoryIDs {
		want := candidates[i%240]
		m := w.get(uuid.MustParse(id))
		require.Equal(t, want.Content, m.Content)
		require.ElementsMatch(t, want.Tags, m.Tags)
		require.Equal(t, want.Refs, m.Provenance.Sources)
	}
	alone, _ := w.stage(schema.Candidate{Content: "alone", SourceKind: schema.SourceToolOutput,
		Tags: candidates[2].Tags})
	require.Equal(t, w.get(uuid.MustParse(ack.MemoryIDs[2])).Tags, w.get(uuid.MustParse(alone.MemoryIDs[0])).Tags)
	require.Equal(t, 240, w.count("jobs", "batch_id = $1", uuid.MustParse(ack.BatchID)))
	require.Equal(t, 250, w.count("memory_candidates", "batch_id = $1", uuid.MustParse(ack.BatchID)))
	require.Equal(t, 240, w.count("index_outbox", "memory_id <> $1", uuid.MustParse(alone.MemoryIDs[0])))
	w.requireExactStats()
}
