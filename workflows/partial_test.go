package workflows

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// An attempt that runs out of time returns what it has done, and the run schedules the rest before the next phase. Each
// attempt reports the totals of its range, so the run does not add them up.
func TestARunSchedulesTheRestOfARange(t *testing.T) {
	t.Parallel()
	env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
	env.RegisterWorkflow(ResumeIngest)
	r := schema.Range{Tenant: "t", BatchID: uuid.New(), From: 0, To: 3}
	extractions, decisions := 0, 0
	env.OnActivity(jobs.ReviveJob, mock.Anything, mock.Anything).Return(r, nil)
	env.OnActivity(extraction.ExtractFacts, mock.Anything, r).Return(func(context.Context,
		schema.Range) (schema.ExtractCounts, error) {
		extractions++
		return schema.ExtractCounts{Candidates: extractions, Facts: extractions, More: extractions < 3}, nil
	})
	decide := func(_ context.Context, in activities.DecideRequest) (activities.DecideResult, error) {
		require.Equal(t, 3, extractions, "the whole range is extracted first")
		require.Equal(t, activities.DecideRequest{Range: r, Group: 7 * decisions}, in,
			"it starts with the size of the last group")
		decisions++
		return activities.DecideResult{
			DecideCounts: schema.DecideCounts{Candidates: decisions, More: decisions < 2, Group: 7},
			Written:      &pipeline.WrittenCounts{Added: decisions}}, nil
	}
	env.OnActivity(decision.DecideFacts, mock.Anything, mock.Anything).Return(decide)
	env.OnActivity(writing.WriteProposals, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.WriteRequest) (schema.WriteCounts, error) {
		require.Equal(t, 2, decisions, "the whole range is decided first")
		require.Equal(t, &pipeline.WrittenCounts{Added: 2}, in.Before, "what was written before does not count")
		return schema.WriteCounts{Added: 3}, nil
	}).Once()
	env.OnActivity(linking.LinkEntities, mock.Anything, mock.Anything).Return(schema.LinkCounts{}, nil)
	env.OnActivity(indexer.IndexBatch, mock.Anything, mock.Anything).Return(api.IndexResult{}, nil)
	env.OnActivity(jobs.CompleteJobs, mock.Anything, mock.Anything).Return(activities.CompleteResult{}, nil)

	env.ExecuteWorkflow(ResumeIngest, api.ResumeInput{Tenant: "t", JobID: uuid.NewString(), Actor: "x"})
	require.NoError(t, env.GetWorkflowError())
	var out api.IngestResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.Equal(t, 3, out.Extracted.Candidates)
	require.Equal(t, 2, out.Decided.Candidates)
	require.False(t, out.Decided.More)
	require.Equal(t, 3, out.Written.Added)
}
