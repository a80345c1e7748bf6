package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

// A contradiction that no one reviews becomes contested after 14 days: both memories are recalled and marked (document
// 004 §7).
func TestUnreviewedContradictionIsContested(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"a changed preference": {"Dana prefers Go for backend services.", "Dana prefers Rust for backend services."},
		"a pinned one": {"critical: Dana prefers Go for backend services.",
			"Dana prefers Rust for backend services."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYear(t, 7)
			say := func(text string) func(workflow.Context) {
				return func(ctx workflow.Context) {
					req := testkit.Request(y.p, schema.SourceMemory, text)
					req.NoUpdateDelete = true
					var out api.IngestResult
					y.must(y.child(ctx, workflows.Ingest, req).Get(ctx, &out))
					y.did["to review"] += out.ToReview
				}
			}
			waiting := func() []schema.ReviewItem {
				items, err := y.store.ListReviews(context.Background(), y.p, pipeline.ReviewFilter{}, pg.Page{})
				require.NoError(t, err)
				return items
			}
			contested := func() []schema.Contradiction {
				found, err := y.store.Contradictions(context.Background(), y.p, pg.Page{})
				require.NoError(t, err)
				return found
			}
			y.at(y.start.Add(time.Hour), say(texts[0]))
			y.at(y.start.Add(2*time.Hour), say(texts[1]))
			y.at(y.start.Add(2*time.Hour+flow.ReviewWindow-time.Minute), func(workflow.Context) {
				require.Len(t, waiting(), 1)
				require.Empty(t, testkit.Rows(t, y.db, "memories", "status = 'contested'"))
			})
			y.at(y.start.Add(3*time.Hour+flow.ReviewWindow), func(ctx workflow.Context) {
				require.Empty(t, waiting())
				var answer schema.RecallResponse
				y.must(y.child(ctx, workflows.Recall,
					schema.RecallRequest{Principal: y.p,
						Query: "Which language does Dana prefer for backend services?"}).Get(ctx, &answer))
				sides := 0
				for _, r := range answer.Results {
					if r.Type == schema.TypeSemantic && r.Status == schema.StatusContested {
						sides++
					}
				}
				require.GreaterOrEqual(t, sides, 2, "both memories are recalled and marked")
			})
			y.env.ExecuteWorkflow(y.run)
			require.NoError(t, y.env.GetWorkflowError())
			require.Equal(t, 1, y.did["to review"])
			found := contested()
			require.NotEmpty(t, found)
			require.Equal(t, schema.ContradictionOfMemories, found[0].Kind)
			testkit.CheckInvariants(t, y.db)
		})
	}
}
