package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func TestExtractRetriesOnlyTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(5)
	e := &extractor{fn: only(2, errors.New("connection reset"))}
	// Sequentially: a failure before the first answer would make the activity probe the model.
	a := &activities.Extraction{Store: w.store, Extractor: e, Concurrency: 1}
	_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	app := pending(t, err)
	var failed int
	require.NoError(t, app.Details(&failed))
	require.Equal(t, 1, failed)
	require.EqualValues(t, 5, e.calls.Load())
	require.Equal(t, map[schema.JobState]int64{schema.JobLeased: 4, schema.JobFailed: 1}, w.jobs())

	e.fn = nil
	out, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.EqualValues(t, 6, e.calls.Load())
	require.Equal(t, schema.ExtractCounts{Candidates: 5, Facts: 5}, out, "the totals of the range, over both attempts")
	_, err = run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.EqualValues(t, 6, e.calls.Load(), "a third run finds nothing to do")
}

func TestPermanentFailureOfOneCandidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(4)
	e := &extractor{fn: only(1, &inference.PermanentError{Reason: "status 400"})}
	out, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e,
		Concurrency: 2}).ExtractFacts, r)
	require.NoError(t, err, "a dead job is not tried again")
	require.Equal(t, schema.ExtractCounts{Candidates: 3, Facts: 3, Dead: 1}, out)
	require.EqualValues(t, 1, w.jobs()[schema.JobDead])
	dead, err := w.store.Jobs(ctx, "t", pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Contains(t, dead[0].LastError, "status 400")
}

func TestACandidateThatKeepsFailingDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(2)
	e := &extractor{fn: only(0, errors.New("boom"))}
	a := &activities.Extraction{Store: w.store, Extractor: e}
	for range 2 {
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		spread(t, time.Second, pending(t, err).NextRetryDelay())
	}
	out, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	require.Equal(t, 1, out.Dead)
	require.EqualValues(t, 1+3+3, e.calls.Load(),
		"each failure was confirmed by a probe of the endpoint with another text")
}

// spread requires that a delay is the expected one plus jitter.
func spread(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+lifecycle.RetryJitterMax)
}

func TestThrottlingCountsNoAttempt(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{7 * time.Second: 7 * time.Second, 0: time.Second,
		5 * time.Hour: 10 * time.Minute} {
		w := newWorld(t)
		_, r := w.stage(3)
		e := &extractor{fn: only(1, fmt.Errorf("extract: %w", &inference.RateLimitError{RetryAfter: asked}))}
		a := &activities.Extraction{Store: w.store, Extractor: e}
		var most time.Duration // of jitter
		for range 5 {          // more often than a job may fail
			_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
			delay := pending(t, err).NextRetryDelay()
			spread(t, want, delay)
			most = max(most, delay-want)
		}
		require.Positive(t, most, "the delay has jitter")
		require.Zero(t, w.jobs()[schema.JobDead])
		e.fn = nil
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		require.NoError(t, err)
	}
}

func TestUnavailableEndpointCountsNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(30)
	e := &extractor{fn: func(context.Context, inference.Source) error { return errors.New("connection refused") }}
	a := &activities.Extraction{Store: w.store, Extractor: e}
	for n := range int32(5) { // more often than a job may fail
		_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
		spread(t, time.Second, pending(t, err).NextRetryDelay())
		require.ErrorContains(t, err, "connection refused", "the error says what the run waits for")
		require.Equal(t, 2*(n+1), e.calls.Load(), "the remaining candidates are not sent to it")
	}
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
	require.Zero(t, w.jobs()[schema.JobDead])
	e.fn = nil
	_, err := run[schema.ExtractCounts](w, a.ExtractFacts, r)
	require.NoError(t, err)
	for _, text := range e.seen {
		require.True(t, strings.Contains(text, canary) || text == "Nothing happened.",
			"the answer to a probe is not stored")
	}
}

// The attempts of a phase outlast a long outage, and the next one starts soon after its end.
func TestRetryWait(t *testing.T) {
	t.Parallel()
	total := time.Duration(0)
	for attempt := range int32(29) { // between thirty attempts
		wait := activities.RetryWait(attempt + 1)
		require.LessOrEqual(t, wait, 10*time.Minute)
		total += wait
	}
	require.Equal(t, time.Second, activities.RetryWait(1))
	require.Equal(t, 8*time.Second, activities.RetryWait(4))
	require.Equal(t, 10*time.Minute, activities.RetryWait(1<<30))
	require.Greater(t, total, 3*time.Hour)
}

func TestExtractStopsAtTheFirstInfrastructureError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(300)
	e := &extractor{}
	e.fn = func(ctx context.Context, _ inference.Source) error {
		// if the activity continued after the first failed save, it would call the extractor again here
		if e.calls.Load() > 100 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
			}
		}
		return nil
	}
	w.exec(`ALTER TABLE memory_candidates ADD CONSTRAINT broken CHECK (extraction IS NULL) NOT VALID`)
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e,
		Concurrency: 4}).ExtractFacts, r)
	require.Error(t, err)
	require.Less(t, e.calls.Load(), int32(120), "it stops at the first save that fails")
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.False(t, app.NonRetryable(), "Postgres may be available again")
	require.Zero(t, w.count("jobs", "attempts > 1 OR state <> 'leased'"), "no candidate is counted as failed")
}

func TestStoppedActivityCountsNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(3)
	stop, cancel := context.WithCancel(ctx)
	e := &extractor{fn: func(ctx context.Context, _ inference.Source) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}
	_, err := (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts(stop, r)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, w.count("jobs", "attempts > 1"), "the first attempt continues")
}

func TestASlowModelCallStillSendsHeartbeats(t *testing.T) { // not parallel, because it counts heartbeats
	before := beats.Load()
	w := newWorld(t)
	_, r := w.stage(1)
	e := &extractor{fn: func(context.Context, inference.Source) error {
		time.Sleep(600 * time.Millisecond)
		return nil
	}}
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts, r)
	require.NoError(t, err)
	require.GreaterOrEqual(t, beats.Load()-before, int32(3), "one call may take longer than the heartbeat timeout")
}

func TestExtractValidatesAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := make([]byte, normalize.MaxExtractInput+100)
	for i := range long {
		long[i] = 'a' + byte(i%7)
	}
	ack, r := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{{Content: string(long)}}})
	e := &extractor{}
	out, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store, Extractor: e}).ExtractFacts, r)
	require.NoError(t, err)
	require.Len(t, []rune(e.seen[0]), normalize.MaxExtractInput)
	require.Contains(t, e.seen[0], "[truncated]")
	require.Zero(t, out.Facts, "a fact of 12,000 characters is dropped")
	require.Equal(t, 3, out.Warnings, "the rules extract from a source if no fact is left")
	m, err := w.store.Get(ctx, schema.Principal{Tenant: "t", Agent: "a"}, uuid.MustParse(ack.MemoryIDs[0]))
	require.NoError(t, err)
	require.Equal(t, string(long), m.Content, "the memory itself has the whole text")
}

// extracted stages candidates and extracts one fact from each.
func (w *world) extracted(n int) schema.Range {
	w.t.Helper()
	_, r := w.stage(n)
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store,
		Extractor: &extractor{}}).ExtractFacts, r)
	require.NoError(w.t, err)
	return r
}
