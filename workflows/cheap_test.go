package workflows_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The size of an ingest's history, compared with that of the first version for the same batch. Search attributes are
// upserted once, for the outcome, and each id appears twice, in the acknowledgement and in the result.
func TestHistoryOfAnIngest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	batch := testkit.Request(testkit.Principal(), schema.SourceObservation)
	for i := range 300 { // as in ingest-batch
		batch.Candidates = append(batch.Candidates,
			schema.Candidate{Content: fmt.Sprintf("Sensor %d reads %d.", i, i*i)})
	}
	started, result := h.Ingest(t, batch)
	now := &history.History{Events: rawHistory(t, h.Temporal, started.ID, started.RunID)}
	before := capturedHistory(t, "ingest-batch")
	t.Logf("300 candidates: %d events and %d bytes; before, %d and %d",
		len(now.Events), proto.Size(now), len(before.Events), proto.Size(before))
	require.Less(t, len(now.Events), len(before.Events))
	require.Less(t, proto.Size(now), proto.Size(before)-10_000)
	var upserted []string
	for _, event := range now.Events {
		fields := event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
		upserted = append(upserted, slices.Collect(maps.Keys(fields))...)
	}
	require.Equal(t, []string{"TemporalChangeVersion", mneme.AttrOutcome.GetName()}, upserted,
		"the first is from the marker of the form")
	text := now.String()
	for _, id := range result.MemoryIDs {
		require.Equal(t, 2, strings.Count(text, id), id)
	}
	require.Equal(t, started.Ack.MemoryIDs, result.MemoryIDs)
}

// A worker registers Mneme's search attributes in the namespace. Runs that start before the first worker wait for it.
func TestStartsBeforeTheFirstWorker(t *testing.T) {
	t.Parallel()
	address := testkit.TemporalAddress(t)
	c, err := client.Dial(client.Options{HostPort: address, Namespace: harness.NewNamespace(t, address)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	p := testkit.Principal()
	_, err = mneme.StartRecall(t.Context(), c, api.TaskQueue, schema.RecallRequest{Principal: p, Query: "tea"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	req := testkit.Request(p, schema.SourceMemory, "Tea is served hot.")
	_, err = mneme.StartIngest(ctx, c, api.TaskQueue, req)
	require.Error(t, err, "no worker stages it yet")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, c, api.IngestWorkflowID(req)))
}
