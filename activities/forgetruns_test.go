package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mneme/mneme/activities"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// If an attempt has no time for all runs that carried an erased text, the rest is left to another attempt.
func TestDeletingRunsContinuesInAnotherAttempt(t *testing.T) {
	defer activities.PartialAfter(0)()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var ids, carriers []string
	for _, text := range []string{"Tea is served hot.", "Coffee is served in the garden.", "Water is served cold."} {
		started, _ := h.Ingest(t, testkit.Request(p, schema.SourceMemory, text))
		ids, carriers = append(ids, started.Ack.MemoryIDs...), append(carriers, started.ID)
	}
	request := schema.ForgetRequest{Operation: schema.Operation{Principal: p, Actor: "person:mia",
		Reason: "not wanted"},
		Mode: schema.ForgetErase, Selector: schema.Selector{IDs: ids}}
	run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, request)
	require.NoError(t, err)
	preview, err := mneme.ForgetPreview(ctx, h.Temporal, run)
	require.NoError(t, err)
	token, err := h.Store.ForgetToken(ctx, p, uuid.MustParse(preview.RunID), time.Now())
	require.NoError(t, err)
	_, err = mneme.ConfirmForget(ctx, h.Temporal, preview.WorkflowID,
		schema.ForgetConfirmation{Token: token, Actor: "person:bo"})
	require.NoError(t, err)
	receipt, err := mneme.Outcome[schema.ForgetReceipt](ctx, run)
	require.NoError(t, err)
	require.Empty(t, receipt.Pending)
	require.GreaterOrEqual(t, receipt.Removed["temporal_runs"], len(carriers))

	attempts := 0
	events := h.Temporal.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "ForgetRuns" {
			attempts++
		}
	}
	require.Greater(t, attempts, len(carriers), "one run each, and one that finds none")
	for _, id := range carriers {
		require.NoError(t, testkit.Eventually(ctx, func() error {
			_, err := h.Temporal.DescribeWorkflowExecution(ctx, id, "")
			if err == nil {
				return errors.New("it is still there")
			}
			return nil
		}))
	}
}
