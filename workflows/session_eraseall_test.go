package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/agents"
)

// talks has sessions of two users, with their words in the ledger and in histories.
type talks struct {
	*harness.Harness
	t  *testing.T
	of map[string]api.SessionRef // by user; both agents serve maya
}

// words are what the users of talks say.
var words = map[string]string{"maya": "the maya canary sings", "tom": "the tom canary sings"}

func newTalks(t *testing.T, h *harness.Harness) *talks {
	t.Helper()
	out := &talks{Harness: h, t: t, of: map[string]api.SessionRef{}}
	p := testkit.Principal()
	say := func(agent, user, session string, list ...ledger.Event) api.SessionRef {
		by := p
		by.Agent, by.User = agent, user
		ref := api.SessionRef{Principal: by, Session: session}
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, api.AppendRequest{SessionRef: ref, Events: list})
		require.NoError(t, err)
		return ref
	}
	out.of["maya"] = say("ann", "maya", "m", canaryEvent("m1", words["maya"]), canaryEvent("m2", words["maya"]))
	out.of["maya/bob"] = say("bob", "maya", "m of bob", canaryEvent("m3", words["maya"]))
	out.of["tom"] = say("ann", "tom", "t", canaryEvent("t1", words["tom"]))
	return out
}

func (x *talks) request() api.EraseEventsRequest {
	return api.EraseEventsRequest{Tenant: x.of["maya"].Principal.Tenant, User: "maya", All: true, Actor: "person:mia",
		Reason: "asked for"}
}

// told lists the events with a payload that contains the words of a user.
func (x *talks) told(user string) []string {
	x.t.Helper()
	return testkit.Strings(x.t, testkit.Owner(x.t, x.DatabaseURL),
		`SELECT id FROM events WHERE payload::text LIKE '%`+words[user]+`%' ORDER BY id`)
}

// requireErased checks that no event and no history of a session contains what maya said, and that tom's are unchanged.
func (x *talks) requireErased() {
	x.t.Helper()
	require.Empty(x.t, x.told("maya"))
	require.Equal(x.t, []string{"t1"}, x.told("tom"))
	require.NoError(x.t, testkit.Eventually(context.Background(), func() error {
		for _, name := range []string{"maya", "maya/bob"} {
			if found := carrying(x.t, x.Temporal, x.of[name], words["maya"]); len(found) > 0 {
				return fmt.Errorf("still carried: %v", found)
			}
		}
		if len(carrying(x.t, x.Temporal, x.of["tom"], words["tom"])) == 0 {
			return errors.New("tom's session is not listed")
		}
		return nil
	}))
}

// A request for all events of a user erases those of every agent, in as many steps as there are pages, and nothing of
// another user. The same request again finds nothing new.
func TestAllEventsOfAUserAreErased(t *testing.T) {
	t.Parallel()
	x := newTalks(t, harness.New(t, nil))
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := x.of["maya"]
	for from := 0; from < ledger.MaxAppend+50; from += 500 { // more than one step
		_, err := mneme.AppendEvents(ctx, x.Temporal, x.TaskQueue, api.AppendRequest{SessionRef: ref,
			Events: sessionThoughts("many", from, min(from+500, ledger.MaxAppend+50))})
		require.NoError(t, err)
	}
	out, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.NoError(t, err)
	require.Equal(t, ledger.MaxAppend+53, out.Erased)
	require.Equal(t, 3, out.Sessions, "one has two pages")
	require.Empty(t, out.Unknown)
	x.requireErased()
	receipts, err := x.Store.Receipts(ctx, ref.Principal.Tenant, []string{"m1"})
	require.NoError(t, err)
	require.Equal(t, []string{"person:mia", "asked for", api.EraseEventsWorkflowID(x.request())},
		[]string{receipts["m1"].By, receipts["m1"].Reason, receipts["m1"].Run})
	again, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.NoError(t, err)
	require.Zero(t, again.Erased)
	other := x.request()
	other.User = "someone"
	out, err = mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, other)
	require.NoError(t, err)
	require.Equal(t, api.EraseEventsResult{}, out, "a user without events")
	other.User = "not a name"
	_, err = mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, other)
	require.ErrorContains(t, err, "user: ")
}

// When the run ends between emptying the events and deleting the histories, the same request deletes them.
func TestErasingAllIsRepeatedAfterATermination(t *testing.T) {
	t.Parallel()
	x := newTalks(t, harness.New(t, nil))
	x.StopWorker()
	emptied, ended := make(chan struct{}), make(chan struct{})
	first := true
	x.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ForgetSessions" && first {
			first = false
			close(emptied)
			<-ended
			return nil, errors.New("the worker went away")
		}
		return run()
	}))
	go func() {
		<-emptied
		err := x.Temporal.TerminateWorkflow(context.Background(), api.EraseEventsWorkflowID(x.request()), "", "by a test")
		if err != nil {
			t.Error(err)
		}
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	_, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.ErrorContains(t, err, "terminated")
	require.Empty(t, x.told("maya"))
	require.NotEmpty(t, carrying(t, x.Temporal, x.of["maya"], words["maya"]))
	out, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.NoError(t, err)
	require.Zero(t, out.Erased)
	require.Equal(t, 2, out.Sessions)
	x.requireErased()
}

// Events that an open session appends while the run works are erased as well, also in streams that the run has passed.
// So are those that arrive during the last renewal of a session.
func TestEventsThatArriveWhileTheRunWorksAreErased(t *testing.T) {
	t.Parallel()
	x := newTalks(t, harness.New(t, nil))
	x.StopWorker()
	arrived := 0
	x.StartWorkerWith(t, around(func(ctx context.Context, name string, run func() (any, error)) (any, error) {
		result, err := run()
		if name == "ForgetSessions" && arrived < 2 && err == nil {
			arrived++
			_, err = mneme.AppendEvents(ctx, x.Temporal, x.TaskQueue, api.AppendRequest{SessionRef: x.of["maya"],
				Events: []ledger.Event{canaryEvent(fmt.Sprintf("late%d", arrived), words["maya"])}})
		}
		return result, err
	}))
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	out, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.NoError(t, err)
	require.Equal(t, 2, arrived)
	require.Equal(t, 5, out.Erased)
	require.False(t, out.StillWritten)
	x.requireErased()
}

// A step whose result was lost is counted, and the sessions that it names get a new history.
func TestErasedEventsAreCountedWhenAResultIsLost(t *testing.T) {
	t.Parallel()
	x := newTalks(t, harness.New(t, nil))
	x.StopWorker()
	lost := map[string]bool{}
	x.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		result, err := run()
		if !lost[name] && (name == "EraseUserEvents" || name == "EraseEvents") {
			lost[name] = true
			return nil, errors.New("the worker went away")
		}
		return result, err
	}))
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	one := api.EraseEventsRequest{Tenant: x.request().Tenant, User: "maya", IDs: []string{"m1"}}
	out, err := mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, one)
	require.NoError(t, err)
	require.Equal(t, 1, out.Erased)
	out, err = mneme.EraseEvents(ctx, x.Temporal, x.TaskQueue, x.request())
	require.NoError(t, err)
	require.Equal(t, 2, out.Erased)
	require.Len(t, lost, 2)
	x.requireErased()
}

// A client that speaks only Nexus erases all events of a user. It cannot erase memories by this operation.
func TestNexusErasesEventsOfAUser(t *testing.T) {
	t.Parallel()
	x := newTalks(t, harness.New(t, nil))
	a := newAgents(t, x.Temporal, harness.Namespace, x.TaskQueue)
	req := x.request()
	for field, change := range map[string]func(*api.EraseEventsRequest){
		"user":       func(r *api.EraseEventsRequest) { r.User = "" },
		"all":        func(r *api.EraseEventsRequest) { r.IDs = []string{"m1"} },
		"everywhere": func(r *api.EraseEventsRequest) { r.All, r.IDs, r.Everywhere = false, []string{"m1"}, true },
	} {
		bad := req
		change(&bad)
		var app *temporal.ApplicationError
		require.ErrorAs(t, within(t, a.start(t, api.OperationEraseEvents, bad), nil), &app)
		var invalid schema.ValidationError
		require.NoError(t, app.Details(&invalid))
		require.Equal(t, field, invalid.Fields[0].Field)
	}
	require.Equal(t, []string{"m1", "m2", "m3"}, x.told("maya"))
	var out api.EraseEventsResult
	require.NoError(t, within(t, a.start(t, api.OperationEraseEvents, req), &out))
	require.Equal(t, 3, out.Erased)
	x.requireErased()
}

// A run with many steps continues as new with its place and its counts. The runs that may have shown the events are
// deleted once, at the end.
func TestErasingAllContinuesAsNew(t *testing.T) {
	t.Parallel()
	var of *activities.Forgetting
	run := func(req api.EraseEventsRequest, pages int) (*testsuite.TestWorkflowEnvironment, []bool) {
		env := harness.Environment()
		workflows.Register(env, workflows.Dependencies{})
		var shown []bool
		env.OnActivity(of.EraseUserEvents, mock.Anything, mock.Anything).Return(func(_ context.Context,
			in api.EraseEventsRequest) (activities.EraseUserEventsResult, error) {
			require.Zero(t, in.State.Result, "a step needs only the place")
			if in.State.Passes > 0 {
				return activities.EraseUserEventsResult{}, nil
			}
			seq := in.State.Seq + 1
			return activities.EraseUserEventsResult{Stream: "run/s", Seq: seq, More: seq < int64(pages),
				EraseEventsResult: activities.EraseEventsResult{Events: 2, Sessions: []string{"session/x"}, Shown: true,
					Episodes: []string{"same", fmt.Sprintf("e%04d", seq)}}}, nil
		})
		env.OnActivity(of.ForgetSessions, mock.Anything, mock.Anything).Return(func(_ context.Context,
			in activities.ForgetSessionsRequest) (activities.ForgetSessionsResult, error) {
			shown = append(shown, in.Shown)
			return activities.ForgetSessionsResult{Deleted: 1}, nil
		})
		env.ExecuteWorkflow(agents.EraseEvents, req)
		return env, shown
	}
	pages := agents.EraseStepsPerRun + 3
	req := api.EraseEventsRequest{Tenant: "t", User: "maya", All: true, Reason: "asked for"}
	env, shown := run(req, pages)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.NotContains(t, shown, true)
	var passed api.EraseEventsRequest
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &passed))
	require.Equal(t, int64(agents.EraseStepsPerRun), passed.State.Seq)
	require.Equal(t, 2*agents.EraseStepsPerRun, passed.State.Result.Erased)
	require.Equal(t, req.Reason, passed.Reason)
	env, shown = run(passed, pages)
	require.NoError(t, env.GetWorkflowError())
	var out api.EraseEventsResult
	require.NoError(t, env.GetWorkflowResult(&out))
	require.Equal(t, 2*pages, out.Erased)
	require.Equal(t, pages, out.Sessions)
	require.Equal(t, pages+1, out.Runs)
	require.Len(t, out.Episodes, pages+1)
	require.Equal(t, []bool{false, false, false, true}, shown)
}

// A run passes over the streams until it finds no events, and ends after a bounded number of passes if an agent writes
// all the time.
func TestErasingAllEndsWhenAnAgentWritesAllTheTime(t *testing.T) {
	t.Parallel()
	var of *activities.Forgetting
	run := func(writing int) (out api.EraseEventsResult, passes []int) {
		env := harness.Environment()
		workflows.Register(env, workflows.Dependencies{})
		env.OnActivity(of.EraseUserEvents, mock.Anything, mock.Anything).Return(func(_ context.Context,
			in api.EraseEventsRequest) (activities.EraseUserEventsResult, error) {
			require.Empty(t, in.State.Stream, "a pass begins at the first stream")
			passes = append(passes, in.State.Passes)
			if len(passes) > writing {
				return activities.EraseUserEventsResult{}, nil
			}
			return activities.EraseUserEventsResult{Stream: "run/s", Seq: int64(len(passes)),
				EraseEventsResult: activities.EraseEventsResult{Events: 1, Shown: true}}, nil
		})
		env.OnActivity(of.ForgetSessions, mock.Anything, mock.Anything).Return(activities.ForgetSessionsResult{}, nil)
		env.ExecuteWorkflow(agents.EraseEvents, api.EraseEventsRequest{Tenant: "t", User: "maya", All: true})
		require.NoError(t, env.GetWorkflowResult(&out))
		return out, passes
	}
	out, passes := run(0)
	require.Equal(t, []int{0}, passes)
	require.Zero(t, out)
	out, passes = run(2)
	require.Equal(t, []int{0, 1, 2}, passes)
	require.Equal(t, api.EraseEventsResult{Erased: 2}, out)
	out, passes = run(api.MaxErasePasses - 1)
	require.Len(t, passes, api.MaxErasePasses)
	require.False(t, out.StillWritten)
	out, passes = run(1_000)
	require.Len(t, passes, api.MaxErasePasses)
	require.Equal(t, api.EraseEventsResult{Erased: api.MaxErasePasses, StillWritten: true}, out)
}
