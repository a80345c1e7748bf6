package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestDecideCallsTheModelOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &decider{fn: func(context.Context) (memory.Proposal, error) {
		return memory.Proposal{Action: "update", TargetID: uuid.NewString(), Confidence: 1, Reason: "obey"}, nil
	}}
	a := &activities.Decision{Store: w.store, Decider: d, Embedder: rules.New().Embedder}
	r := w.extracted(1)
	out, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Zero(t, d.calls.Load(), "without neighbours a fact is new")
	require.Equal(t, 1, out.Actions.Add)

	r = w.extracted(2)
	out, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Positive(t, d.calls.Load())
	require.Zero(t, out.Actions.Update, "a target that was not offered is ignored")
	require.Zero(t, w.count("proposals", "target_id IS NOT NULL AND action <> 'none'"))
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	before := d.calls.Load()
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Equal(t, before, d.calls.Load(), "what is decided is not decided again")
}

func TestDecideTreatsFailuresAsExtractDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.extracted(1)
	var fail error
	d := &decider{fn: func(context.Context) (memory.Proposal, error) {
		return memory.Proposal{Action: schema.ActionAdd, Confidence: 1, Reason: "new"}, fail
	}}
	other, _ := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: "a fact about " + canary + " who says number zero"}}})
	require.Empty(t, other.Deduped)
	a := &activities.Decision{Store: w.store, Decider: d, Embedder: rules.New().Embedder}
	fail = &inference.RateLimitError{RetryAfter: 3 * time.Second}
	_, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	spread(t, 3*time.Second, pending(t, err).NextRetryDelay())
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
	fail, d.away = errors.New("boom"), true
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	spread(t, time.Second, pending(t, err).NextRetryDelay())
	require.Zero(t, w.count("jobs", "attempts > 1"), "the probe of the model has no answer either")
	d.away = false
	_, err = run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	pending(t, err)
	require.Equal(t, 1, w.count("jobs", "attempts = 1 AND state = 'failed'"))
	fail = &inference.PermanentError{Reason: "no"}
	out, err := run[schema.DecideCounts](w, a.DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	require.Equal(t, 1, out.Dead)
	require.EqualValues(t, 1, w.jobs()[schema.JobDead])
}
