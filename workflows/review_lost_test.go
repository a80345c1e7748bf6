package workflows_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// A proposal whose review was terminated, or was never started because its ingest ended before, still expires: the
// next purge starts a review for its batch. Without that it would wait forever, and its batch would never be purged.
func TestAProposalWithoutAReviewExpires(t *testing.T) {
	t.Parallel()
	for name, deadline := range map[string]string{
		"the review was lost":        "now() - interval '1 day'",
		"the review was not started": "NULL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, nil)
			p := testkit.Principal()
			result, item := moved(t, h, p, "Dana prefers Go for backend services.",
				"Dana prefers Rust for backend services.")
			reviewWaits(t, h, result.ReviewID)
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			require.NoError(t, h.Temporal.TerminateWorkflow(ctx, result.ReviewID, "", "by mistake"))
			first := runOf(t, h.Temporal, result.ReviewID)
			purge := func() {
				_, _, err := sweep(t, h, workflows.RetentionPurge, api.SweepInput{Tenant: p.Tenant})
				require.NoError(t, err)
			}
			purge()
			require.Equal(t, first, runOf(t, h.Temporal, result.ReviewID), "it is not late yet")
			_, err := testkit.Owner(t, h.DatabaseURL).Exec(ctx, `UPDATE proposals
				SET decided_at = decided_at - interval '15 days', expires_at = `+deadline+` WHERE id = $1`, item.ProposalID)
			require.NoError(t, err)
			purge()
			require.NotEqual(t, first, runOf(t, h.Temporal, result.ReviewID))
			if deadline == "NULL" { // it has the whole time from now on
				reviewWaits(t, h, result.ReviewID)
				require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, statusOf(t, h.Temporal, result.ReviewID))
				return
			}
			require.Equal(t, 1, reviewEnds(t, h, result.ReviewID).Expired)
			waiting, err := h.Store.ListReviews(ctx, p, pipeline.ReviewFilter{}, pg.Page{})
			require.NoError(t, err)
			require.Empty(t, waiting)
			decided, err := h.Store.ListReviews(ctx, p, pipeline.ReviewFilter{State: schema.ReviewsDecided}, pg.Page{})
			require.NoError(t, err)
			require.Equal(t, schema.ProposalExpired, decided[0].State)
		})
	}
}
