package activities_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// The first activity of a run refuses bad values of its input, and names every field that has one.
func TestRunsRefuseBadValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	index := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: vector.PGVector{Store: w.store},
		Others: func(inference.EmbeddingModel) (inference.Embedder, error) { return nil, vector.ErrNoEmbedder }}
	jobs := &activities.Jobs{Store: w.store}
	id, long := uuid.NewString(), strings.Repeat("x", schema.MaxNameLength+1)
	const elsewhere = "index: this worker's index is pgvector"
	for name, test := range map[string]struct {
		fn, in any
		fields []string
	}{
		"resume, nothing": {jobs.ReviveJob, activities.ReviveRequest{},
			[]string{"tenant: is required", "job_id: must be an id"}},
		"resume, no id": {jobs.ReviveJob, activities.ReviveRequest{Tenant: "t", JobID: "7"},
			[]string{"job_id: must be an id"}},
		"resume, long names": {jobs.ReviveJob, activities.ReviveRequest{Tenant: long, JobID: id, Actor: long},
			[]string{"tenant: must be at most 128 characters", "actor: must be at most 128 characters"}},
		"resume, no text": {jobs.ReviveJob, activities.ReviveRequest{Tenant: "t", JobID: id, Actor: "a\x00"},
			[]string{"actor: contains a NUL character"}},
		"rebuild, another index and a long grace": {index.BeginReindex,
			indexing.BeginReindexRequest{Index: "elsewhere", GraceSeconds: 3601},
			[]string{elsewhere, "grace_seconds: must be at most 3600"}},
		"rebuild, an unknown model": {index.BeginReindex, indexing.BeginReindexRequest{Model: "unheard-of"},
			[]string{"model: the worker has no embedder for it; configure it, then rebuild"}},
		"compare memories, another index": {index.CompareMemories,
			api.CompareRequest{Index: "elsewhere", MaxPages: 1}, []string{elsewhere}},
		"compare points, another index": {index.ComparePoints,
			api.CompareRequest{Index: "elsewhere", MaxPages: 1}, []string{elsewhere}},
	} {
		t.Run(name, func(t *testing.T) {
			w.env.RegisterActivity(test.fn)
			_, err := w.env.ExecuteActivity(test.fn, test.in)
			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, api.ErrTypeInvalidRequest, failed.Type())
			require.True(t, failed.NonRetryable())
			var invalid schema.ValidationError
			require.NoError(t, failed.Details(&invalid))
			var fields []string
			for _, f := range invalid.Fields {
				fields = append(fields, f.Error())
			}
			require.Equal(t, test.fields, fields)
		})
	}
	known, err := w.store.Generations(ctx, index.Index.Name())
	require.NoError(t, err)
	for _, g := range known {
		require.NotEqual(t, vectorindex.GenerationBuilding, g.State, "no rebuild has begun")
	}
}
