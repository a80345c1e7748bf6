package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

// stage is a workflow environment in which every activity succeeds unless a test replaces it.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	mu    sync.Mutex
	calls []string // activities with their ranges, in order

	toReview int // proposals of each range that wait for review
}

var (
	stagingOf    *activities.Staging
	extractionOf *activities.Extraction
	decisionOf   *activities.Decision
	writingOf    *activities.Writing
	linkingOf    *activities.Linking
	indexingOf   *indexing.Indexing
	jobsOf       *activities.Jobs
)

func (s *stage) note(name string, r schema.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf("%s %d-%d", name, r.From, r.To))
}

// refused is a non-retryable error.
func refused(what string) error {
	return temporal.NewNonRetryableApplicationError(what, api.ErrTypeInvalidRequest, nil)
}

// newStage mocks the activities. A function in fake decides what its activity returns.
func newStage(t *testing.T, fake map[string]func(schema.Range) error, deduped ...int) *stage {
	t.Helper()
	s := &stage{TestWorkflowEnvironment: harness.Environment()}
	workflows.Register(s.TestWorkflowEnvironment, workflows.Dependencies{})
	do := func(name string, r schema.Range) error {
		s.note(name, r)
		if f := fake[name]; f != nil {
			return f(r)
		}
		return nil
	}
	s.OnActivity(stagingOf.StageCandidates, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.StageRequest) (activities.StageResult, error) {
		ack := schema.IngestAck{BatchID: uuid.NewString(), Deduped: deduped}
		for range in.Request.Candidates {
			ack.MemoryIDs = append(ack.MemoryIDs, uuid.NewString())
		}
		if err := in.Request.Validate(); err != nil {
			return activities.StageResult{}, temporal.NewNonRetryableApplicationError(err.Error(),
				api.ErrTypeInvalidRequest, nil)
		}
		return activities.StageResult{IngestAck: ack}, do("stage", schema.Range{To: len(ack.MemoryIDs)})
	}).Maybe()
	s.OnActivity(extractionOf.ExtractFacts, mock.Anything, mock.Anything).Return(func(_ context.Context,
		r schema.Range) (schema.ExtractCounts, error) {
		return schema.ExtractCounts{Candidates: r.To - r.From, Facts: r.To - r.From}, do("extract", r)
	}).Maybe()
	s.OnActivity(decisionOf.DecideFacts, mock.Anything, mock.Anything).Return(func(_ context.Context,
		r activities.DecideRequest) (activities.DecideResult, error) {
		return activities.DecideResult{DecideCounts: schema.DecideCounts{Candidates: r.To - r.From}},
			do("decide", r.Range)
	}).Maybe()
	s.OnActivity(writingOf.WriteProposals, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.WriteRequest) (schema.WriteCounts, error) {
		err := do("write", in.Range)
		if errors.Is(err, errStale) {
			return schema.WriteCounts{Stale: 1}, nil
		}
		return schema.WriteCounts{Added: in.Range.To - in.Range.From}, err
	}).Maybe()
	s.OnActivity(linkingOf.LinkEntities, mock.Anything, mock.Anything).Return(func(_ context.Context,
		r schema.Range) (schema.LinkCounts, error) {
		return schema.LinkCounts{Mentions: 1}, do("link", r)
	}).Maybe()
	s.OnActivity(indexingOf.IndexBatch, mock.Anything, mock.Anything).Return(func(_ context.Context,
		r schema.Range) (api.IndexResult, error) {
		return api.IndexResult{Upserted: 1}, do("index", r)
	}).Maybe()
	s.OnActivity(jobsOf.CompleteJobs, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.CloseRequest) (activities.CompleteResult, error) {
		return activities.CompleteResult{ToReview: s.toReview}, do("complete", in.Range)
	}).Maybe()
	s.OnActivity(jobsOf.NoteFailure, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.CloseRequest) error {
		return do("note "+in.Phase+" "+in.Reason, in.Range)
	}).Maybe()
	s.OnActivity(jobsOf.BuryJobs, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.CloseRequest) (activities.MarkDeadResult, error) {
		return activities.MarkDeadResult{Dead: in.Range.To - in.Range.From},
			do("mark dead "+in.Phase+" "+in.Reason, in.Range)
	}).Maybe()
	return s
}

var errStale = errors.New("stale")

func (s *stage) run(t *testing.T, candidates int) (api.IngestResult, error) {
	t.Helper()
	req := schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	for i := range candidates {
		req.Candidates = append(req.Candidates, schema.Candidate{Content: fmt.Sprintf("Candidate %d.", i)})
	}
	s.ExecuteWorkflow(workflows.Ingest, req)
	require.True(t, s.IsWorkflowCompleted())
	var result api.IngestResult
	if err := s.GetWorkflowError(); err != nil {
		return result, err
	}
	require.NoError(t, s.GetWorkflowResult(&result))
	return result, nil
}

func TestPhasesInOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	result, err := s.run(t, 500)
	require.NoError(t, err)
	require.Equal(t, []string{"stage 0-500",
		"extract 0-250", "decide 0-250", "write 0-250", "link 0-250", "index 0-250", "complete 0-250",
		"extract 250-500", "decide 250-500", "write 250-500", "link 250-500", "index 250-500", "complete 250-500"},
		s.calls)
	require.Equal(t, 500, result.Written.Added)
	require.Equal(t, 2, result.Linked.Mentions)
}

func TestInvalidRequestRunsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, err := s.run(t, 0)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, api.ErrTypeInvalidRequest, app.Type())
	require.Empty(t, s.calls)
}

func TestFailedRangeIsMarkedDead(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"extract", "decide", "write", "complete"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, map[string]func(schema.Range) error{phase: func(r schema.Range) error {
				if r.From == 0 {
					return refused("no way")
				}
				return nil
			}})
			result, err := s.run(t, 300)
			require.NoError(t, err)
			require.Equal(t, 250, result.Dead)
			name := phase
			if phase == "complete" {
				name = api.PhaseDone
			}
			require.Contains(t, s.calls, "mark dead "+name+" no way 0-250")
			require.Contains(t, s.calls, "complete 250-300")
		})
	}
}

func TestTemporaryFailureIsRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	failures := 0
	s := newStage(t, map[string]func(schema.Range) error{"write": func(schema.Range) error {
		if failures++; failures <= 6 {
			return errors.New("postgres is away")
		}
		return nil
	}})
	began := s.Now()
	result, err := s.run(t, 1)
	require.NoError(t, err)
	require.Zero(t, result.Dead)
	require.Equal(t, time.Duration(1+2+4+8+16+30)*time.Second, s.Now().Sub(began).Truncate(time.Second))
}

func TestPhasesThatMayFail(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{api.PhaseLink, api.PhaseIndex} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, map[string]func(schema.Range) error{phase: func(schema.Range) error {
				return errors.New("is away")
			}})
			result, err := s.run(t, 1)
			require.NoError(t, err)
			require.Equal(t, []string{phase}, result.Deferred)
			require.Zero(t, result.Dead)
			require.Equal(t, 1, result.Written.Added)
			require.Contains(t, s.calls, "note "+phase+" is away 0-1")
			require.Equal(t, "complete 0-1", s.calls[len(s.calls)-1])
		})
	}
}

func TestNothingNewSkipsThePipeline(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, 0, 1)
	result, err := s.run(t, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"stage 0-2"}, s.calls)
	require.Equal(t, []int{0, 1}, result.Deduped)
}

func TestStaleRoundsAreBounded(t *testing.T) {
	t.Parallel()
	for stale, rounds := range map[int]int{0: 1, 1: 2, 99: flow.MaxDecideRounds} {
		t.Run(fmt.Sprint(stale), func(t *testing.T) {
			t.Parallel()
			writes := 0
			s := newStage(t, map[string]func(schema.Range) error{"write": func(schema.Range) error {
				if writes++; writes <= stale {
					return errStale
				}
				return nil
			}})
			_, err := s.run(t, 1)
			require.NoError(t, err)
			require.Equal(t, rounds, writes)
		})
	}
}

// answer collects the response of an update.
type answer struct {
	accepted, completed bool
	ack                 schema.IngestAck
	err                 error
}

func (a *answer) callbacks(t *testing.T) *testsuite.TestUpdateCallback {
	return &testsuite.TestUpdateCallback{
		OnAccept: func() { a.accepted = true },
		OnReject: func(err error) { t.Errorf("update rejected: %v", err) },
		OnComplete: func(result any, err error) {
			a.completed, a.err = true, err
			if err == nil {
				a.ack, _ = result.(schema.IngestAck)
			}
		},
	}
}

func TestStagedUpdate(t *testing.T) {
	t.Parallel()
	t.Run("before and after the staging", func(t *testing.T) {
		t.Parallel()
		var before, after answer
		var s *stage
		s = newStage(t, map[string]func(schema.Range) error{"write": func(schema.Range) error {
			s.UpdateWorkflow(api.UpdateStaged, "2", after.callbacks(t))
			return nil
		}})
		s.RegisterDelayedCallback(func() { s.UpdateWorkflow(api.UpdateStaged, "1", before.callbacks(t)) }, 0)
		result, err := s.run(t, 2)
		require.NoError(t, err)
		for _, a := range []answer{before, after} {
			require.True(t, a.completed)
			require.NoError(t, a.err)
			require.Equal(t, result.IngestAck, a.ack)
		}
	})
	t.Run("when staging fails", func(t *testing.T) {
		t.Parallel()
		var a answer
		s := newStage(t, map[string]func(schema.Range) error{"stage": func(schema.Range) error {
			return refused("disk full")
		}})
		s.RegisterDelayedCallback(func() { s.UpdateWorkflow(api.UpdateStaged, "1", a.callbacks(t)) }, 0)
		_, err := s.run(t, 2)
		require.ErrorContains(t, err, "disk full")
		require.True(t, a.completed)
		require.ErrorContains(t, a.err, "disk full")
		require.Equal(t, []string{"stage 0-2"}, s.calls)
	})
}

func TestProgressQuery(t *testing.T) {
	t.Parallel()
	var seen []api.Progress
	var s *stage
	queryProgress := func(schema.Range) error {
		encoded, err := s.QueryWorkflow(api.QueryProgress)
		if err != nil {
			return err
		}
		var p api.Progress
		if err := encoded.Get(&p); err != nil {
			return err
		}
		seen = append(seen, p)
		return nil
	}
	s = newStage(t, map[string]func(schema.Range) error{"write": queryProgress, "index": queryProgress})
	_, err := s.run(t, 300)
	require.NoError(t, err)
	require.Len(t, seen, 4)
	for i, want := range []api.Progress{
		{Phase: "write", Total: 300, Staged: 300},
		{Phase: "index", Total: 300, Staged: 300, Written: schema.WriteCounts{Added: 250}},
		{Phase: "write", Total: 300, Staged: 300, Processed: 250, Written: schema.WriteCounts{Added: 250}},
		{Phase: "index", Total: 300, Staged: 300, Processed: 250, Written: schema.WriteCounts{Added: 300}}} {
		require.Equal(t, want, seen[i])
	}
}

func TestCancelMarksOpenJobsDead(t *testing.T) {
	t.Parallel()
	var s *stage
	s = newStage(t, map[string]func(schema.Range) error{"decide": func(schema.Range) error {
		s.CancelWorkflow()
		return nil
	}})
	_, err := s.run(t, 300)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, err, &canceled)
	require.Contains(t, s.calls, "mark dead decide the run was cancelled 0-250")
	require.Contains(t, s.calls, "mark dead decide the run was cancelled 250-300")
	require.NotContains(t, s.calls, "extract 250-300")
}

func TestSyncIndexDrainsUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	pages := 0
	env.OnActivity(indexingOf.DrainOutbox, mock.Anything, mock.Anything).Return(func(context.Context,
		indexing.DrainRequest) (indexing.DrainResult, error) {
		pages++
		return indexing.DrainResult{IndexResult: api.IndexResult{Upserted: 10}, More: pages < 3}, nil
	})
	env.ExecuteWorkflow(workflows.SyncIndex, api.SyncIndexInput{Sofar: api.IndexResult{Upserted: 5}})
	var result api.SyncIndexResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, 35, result.Upserted)
}

func TestSyncIndexRefillsALostIndex(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	pages := 0
	env.OnActivity(indexingOf.DrainOutbox, mock.Anything, mock.Anything).Return(func(context.Context,
		indexing.DrainRequest) (indexing.DrainResult, error) {
		pages++
		return indexing.DrainResult{IndexResult: api.IndexResult{Deleted: 1}, More: pages < 3, Lost: pages > 1,
			Index: "i"}, nil
	})
	env.OnWorkflow(workflows.DriftCheck, mock.Anything, api.DriftInput{Index: "i"}).Return(api.DriftResult{},
		nil).Once()
	env.ExecuteWorkflow(workflows.SyncIndex, api.SyncIndexInput{})
	var result api.SyncIndexResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, 3, result.Deleted, "it continues")
	env.AssertExpectations(t)
}

// A request may be cancelled while its candidates are staged: they may be durable without an answer that says so. Their
// jobs are closed like those of any cancelled run, because a job without a run would stay open.
func TestCancelWhileStagingMarksJobsDead(t *testing.T) {
	t.Parallel()
	var s *stage
	s = newStage(t, map[string]func(schema.Range) error{"stage": func(schema.Range) error {
		s.CancelWorkflow()
		time.Sleep(100 * time.Millisecond)
		return nil
	}})
	_, err := s.run(t, 3)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, err, &canceled)
	require.Contains(t, s.calls, "mark dead extract the run was cancelled 0-3")
	require.NotContains(t, s.calls, "extract 0-3")
}

// A replay may be cancelled while its job is put back: it is dead again when the run ends.
func TestCancelWhileRevivingMarksTheJobDead(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.OnActivity(jobsOf.ReviveJob, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.ReviveRequest) (schema.Range, error) {
		s.CancelWorkflow()
		time.Sleep(100 * time.Millisecond)
		return schema.Range{Tenant: in.Tenant, BatchID: uuid.New(), From: 4, To: 5}, nil
	})
	s.ExecuteWorkflow(workflows.ResumeIngest, api.ResumeInput{Tenant: "t", JobID: uuid.NewString(), Actor: "a"})
	var canceled *temporal.CanceledError
	require.ErrorAs(t, s.GetWorkflowError(), &canceled)
	require.Contains(t, s.calls, "mark dead extract the run was cancelled 4-5")
	require.NotContains(t, s.calls, "extract 4-5")
}
