package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

// desk is a Review in the test environment with mocked proposals.
type desk struct {
	*testsuite.TestWorkflowEnvironment
	mu      sync.Mutex // activities run concurrently
	state   pipeline.ReviewState
	decided []schema.OperationRef
	given   []time.Time // times up to which proposals were discarded
	atOnce  int         // how many an attempt can discard; 0: all
}

func newDesk(t *testing.T, open int) *desk {
	t.Helper()
	d := &desk{TestWorkflowEnvironment: harness.Environment(),
		state: pipeline.ReviewState{Agent: "a", Project: "p", Open: open}}
	workflows.Register(d.TestWorkflowEnvironment, workflows.Dependencies{})
	d.OnActivity(reviewingOf.OpenReview, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.OpenRequest) (pipeline.ReviewState, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.state.NextAt == nil && d.state.Open > 0 {
			next := d.Now().Add(time.Duration(in.WindowSeconds) * time.Second)
			d.state.NextAt = &next
		}
		return d.state, nil
	}).Maybe()
	d.OnActivity(reviewingOf.ExpireProposals, mock.Anything, mock.Anything).Return(func(_ context.Context,
		in activities.ExpireRequest) (activities.ExpireResult, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.given = append(d.given, in.Before)
		ended := d.state.Open
		if d.atOnce > 0 {
			ended = min(ended, d.atOnce)
		}
		if d.state.Open, d.state.Expired = d.state.Open-ended, d.state.Expired+ended; d.state.Open == 0 {
			d.state.NextAt = nil
		}
		return activities.ExpireResult{Expired: ended, More: d.state.Open > 0}, nil
	}).Maybe()
	d.OnActivity(acceptingOf.Accept, mock.Anything, mock.Anything).Return(activities.Refusal{}, nil).Maybe()
	d.OnActivity(reviewingOf.DecideProposal, mock.Anything, mock.Anything).Return(func(_ context.Context,
		ref schema.OperationRef) (schema.ReviewResult, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.decided = append(d.decided, ref)
		d.state.Open, d.state.Rejected = max(0, d.state.Open-1), d.state.Rejected+1
		if d.state.Open == 0 {
			d.state.NextAt = nil
		}
		return schema.ReviewResult{Status: schema.ReviewRejected}, nil
	}).Maybe()
	return d
}

func rejection(tenant string) schema.ReviewRequest {
	return schema.ReviewRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: tenant, Agent: "a"},
		Actor: "operator:rita", Reason: "no"},
		ProposalID: uuid.NewString(), Decision: schema.DecisionReject}
}

// send sends a decision after a delay and returns its outcome.
func (d *desk) send(after time.Duration, id string, req schema.ReviewRequest) *reply {
	r := &reply{}
	d.RegisterDelayedCallback(func() {
		d.UpdateWorkflow(api.UpdateDecide, id, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { r.rejected = err },
			OnComplete: func(result any, err error) {
				r.err = err
				if err == nil {
					r.result, _ = result.(schema.ReviewResult)
				}
			},
		}, req)
	}, after)
	return r
}

type reply struct {
	result        schema.ReviewResult
	rejected, err error
}

func (d *desk) run(t *testing.T, in api.ReviewInput) (api.ReviewProgress, error) {
	t.Helper()
	in.Tenant, in.BatchID = "t", uuid.NewString()
	d.ExecuteWorkflow(workflows.Review, in)
	require.True(t, d.IsWorkflowCompleted())
	var p api.ReviewProgress
	if err := d.GetWorkflowError(); err != nil {
		return p, err
	}
	return p, d.GetWorkflowResult(&p)
}

func TestReviewDiscardsUndecidedProposals(t *testing.T) {
	t.Parallel()
	for window, in := range map[time.Duration]api.ReviewInput{flow.ReviewWindow: {},
		time.Hour: {ExpiresAfterSeconds: 3600}} {
		d := newDesk(t, 3)
		began := d.Now()
		d.send(time.Minute, "1", rejection("t"))
		var seen api.ReviewProgress
		d.RegisterDelayedCallback(func() {
			encoded, err := d.QueryWorkflow(api.QueryProgress)
			require.NoError(t, err)
			require.NoError(t, encoded.Get(&seen))
		}, 2*time.Minute)
		p, err := d.run(t, in)
		require.NoError(t, err)
		require.Equal(t, api.ReviewProgress{Rejected: 1, Expired: 2}, p)
		require.Equal(t, window, d.Now().Sub(began).Truncate(time.Second))
		require.Len(t, d.given, 1)
		require.Equal(t, window, d.given[0].Sub(began).Truncate(time.Second))
		require.Equal(t, 2, seen.Open)
		require.Equal(t, 1, seen.Rejected)
	}
}

// Proposals that an attempt has no time for are discarded by the next one, at once.
func TestReviewDiscardsTheRestOfAnAttempt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 3)
	d.atOnce = 2
	began := d.Now()
	p, err := d.run(t, api.ReviewInput{})
	require.NoError(t, err)
	require.Equal(t, api.ReviewProgress{Expired: 3}, p)
	require.Len(t, d.given, 2)
	require.Equal(t, flow.ReviewWindow, d.Now().Sub(began).Truncate(time.Second))
}

func TestReviewEndsWithTheLastDecision(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 2)
	first, second := d.send(time.Hour, "one", rejection("t")), d.send(2*time.Hour, "two", rejection("t"))
	p, err := d.run(t, api.ReviewInput{})
	require.NoError(t, err)
	require.Equal(t, api.ReviewProgress{Rejected: 2}, p)
	require.Empty(t, d.given)
	for i, r := range []*reply{first, second} {
		require.NoError(t, r.err)
		require.Equal(t, schema.ReviewRejected, r.result.Status)
		require.Contains(t, d.decided[i].ID, []string{"/one", "/two"}[i], "keyed by the update")
	}
}

func TestReviewWithNothingOpenAnswersAndEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 0)
	r := d.send(0, "late", rejection("t"))
	_, err := d.run(t, api.ReviewInput{})
	require.NoError(t, err)
	require.NoError(t, r.err)
	require.Len(t, d.decided, 1)
}

func TestReviewRefusesInvalidDecisions(t *testing.T) {
	t.Parallel()
	bad := rejection("t")
	bad.Reason = " "
	worse := rejection("t")
	worse.ProposalID = "x"
	worst := rejection("t")
	worst.Decision = "perhaps"
	for field, req := range map[string]schema.ReviewRequest{"reason": bad, "proposal_id": worse, "decision": worst,
		"principal.tenant": rejection("other")} {
		d := newDesk(t, 1)
		r := d.send(time.Minute, "1", req)
		_, err := d.run(t, api.ReviewInput{})
		require.NoError(t, err)
		require.ErrorContains(t, r.rejected, field)
		require.Empty(t, d.decided)
	}
}

func TestReviewContinuesAsNew(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 2)
	d.SetContinueAsNewSuggested(false)
	d.RegisterDelayedCallback(func() { d.SetContinueAsNewSuggested(true) }, time.Minute)
	r := d.send(time.Hour, "1", rejection("t"))
	_, err := d.run(t, api.ReviewInput{ExpiresAfterSeconds: 7200})
	var continued *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &continued)
	require.NoError(t, r.err)
	require.Equal(t, schema.ReviewRejected, r.result.Status, "the handler was drained")
}

func TestReviewSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	env := harness.Environment()
	workflows.Register(env, workflows.Dependencies{})
	calls := 0
	env.OnActivity(reviewingOf.OpenReview, mock.Anything, mock.Anything).Return(func(context.Context,
		activities.OpenRequest) (pipeline.ReviewState, error) {
		if calls++; calls < 200 {
			return pipeline.ReviewState{}, errors.New("postgres is away")
		}
		return pipeline.ReviewState{}, nil
	})
	env.ExecuteWorkflow(workflows.Review, api.ReviewInput{Tenant: "t", BatchID: uuid.NewString()})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 200, calls)
}
