package workflows_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// What an ingest leaves in its history, beside what the first version left for the same batch: one upsert of search
// attributes, for the outcome, and each id twice, in the acknowledgement and in the result.
func TestHistoryOfAnIngest(t *testing.T) {
	t.Parallel()
	h := testkit.NewHarness(t, nil)
	batch := testkit.Request(testkit.Principal(), schema.SourceObservation)
	for i := range 300 { // as in ingest-batch
		batch.Candidates = append(batch.Candidates, schema.Candidate{Content: fmt.Sprintf("Sensor %d reads %d.", i, i*i)})
	}
	started, result := h.Ingest(t, batch)
	now := &history.History{Events: rawHistory(t, h.Temporal, started.ID, started.RunID)}
	before := capturedHistory(t, "ingest-batch")
	t.Logf("300 candidates: %d events and %d bytes; before, %d and %d",
		len(now.Events), proto.Size(now), len(before.Events), proto.Size(before))
	require.Less(t, len(now.Events), len(before.Events))
	require.Less(t, proto.Size(now), proto.Size(before)-10_000)
	upserts := 0
	for _, event := range now.Events {
		if event.EventType == enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES {
			upserts++
		}
	}
	require.Equal(t, 1, upserts)
	text := now.String()
	for _, id := range result.MemoryIDs {
		require.Equal(t, 2, strings.Count(text, id), id)
	}
	require.Equal(t, started.Ack.MemoryIDs, result.MemoryIDs)
}
