package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// aviary is a stream that two agents share; events of it are in an episode of each.
type aviary struct {
	*harness.Harness
	t        *testing.T
	episodes map[string]string // by agent
	tenant   string
}

const birdsong = "the fourth canary sings at midnight"

// newAviary records two sessions of ann and one of bob on one stream. Their episodes contain the
// event u1. The episode of cas, on another stream, does not.
func newAviary(t *testing.T, h *harness.Harness) *aviary {
	t.Helper()
	a := &aviary{Harness: h, t: t, episodes: map[string]string{}, tenant: testkit.Principal().Tenant}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := func(agent, name, stream string) api.SessionRef {
		return api.SessionRef{Principal: schema.Principal{Tenant: a.tenant, Agent: agent},
			Session: "in the aviary" + name, Stream: stream}
	}
	refs := []api.SessionRef{ref("ann", "", "world/aviary"), ref("bob", "", "world/aviary"),
		ref("ann", "again", "world/aviary"), ref("cas", "", "world/barn")}
	for i, r := range refs {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
			api.AppendRequest{SessionRef: r, Events: []ledger.Event{thought(fmt.Sprintf("begins %d", i))}})
		require.NoError(t, err)
	}
	heard := thought("u1")
	heard.Kind, heard.Payload = ledger.KindUserInjected, json.RawMessage(fmt.Sprintf(`{"text":%q}`, birdsong))
	_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: refs[0], Events: []ledger.Event{heard}})
	require.NoError(t, err)
	for _, r := range refs {
		closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
			api.CloseRequest{SessionRef: r, Outcome: schema.OutcomeSuccess})
		require.NoError(t, err)
		a.episodes[r.Principal.Agent+strings.TrimPrefix(r.Session, "in the aviary")] = closed.EpisodeID
	}
	require.ElementsMatch(t, a.telling(), []string{a.episodes["ann"], a.episodes["annagain"], a.episodes["bob"]})
	return a
}

// telling lists the memories that contain the text of u1, now or in their history.
func (a *aviary) telling() []string {
	a.t.Helper()
	return testkit.Strings(a.t, testkit.Owner(a.t, a.DatabaseURL), `
		SELECT id::text FROM memories WHERE payload::text LIKE '%canary sings%' OR content LIKE '%canary sings%'
		UNION
		SELECT memory_id::text FROM memory_history h WHERE h::text LIKE '%canary sings%'`)
}

// erase erases u1 everywhere. It waits for a minute at most, because a permanent failure must not be retried for
// longer.
func (a *aviary) erase() (api.EraseEventsResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	return mneme.EraseEvents(ctx, a.Temporal, a.TaskQueue, a.request())
}

func (a *aviary) request() api.EraseEventsRequest {
	return api.EraseEventsRequest{Tenant: a.tenant, IDs: []string{"u1"}, Everywhere: true, Actor: "person:mia",
		Reason: "asked for"}
}

// forgets lists the runs of Forget of the tenant.
func (a *aviary) forgets(status enumspb.WorkflowExecutionStatus) (ids []string) {
	a.t.Helper()
	listed, err := a.Temporal.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND MnemeTenant = '%s' AND ExecutionStatus = '%s'", api.WorkflowForget,
			a.tenant, status)})
	require.NoError(a.t, err)
	for _, e := range listed.GetExecutions() {
		ids = append(ids, e.GetExecution().GetWorkflowId())
	}
	return ids
}

// requireErased checks that no memory contains u1, and that the episode of the other stream is unchanged.
func (a *aviary) requireErased() {
	a.t.Helper()
	require.Empty(a.t, a.telling())
	require.Equal(a.t, 1, testkit.Rows(a.t, testkit.Owner(a.t, a.DatabaseURL), "memories",
		"id = $1::uuid AND erased_at IS NULL AND version = 1", a.episodes["cas"]))
}

// refuseForgetting makes Postgres refuse all forget requests of an agent, and returns a function that ends this.
func (a *aviary) refuseForgetting(agent string) func() {
	a.t.Helper()
	db := testkit.Owner(a.t, a.DatabaseURL)
	_, err := db.Exec(a.t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF NEW.agent_id = '`+agent+`' THEN
				RAISE EXCEPTION 'refused by a test' USING ERRCODE = '22023';
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON forget_runs FOR EACH ROW EXECUTE FUNCTION refuse()`)
	require.NoError(a.t, err)
	return func() {
		_, err := db.Exec(context.Background(), `
			DROP TRIGGER IF EXISTS refuse ON forget_runs;
			DROP FUNCTION IF EXISTS refuse()`)
		require.NoError(a.t, err)
	}
}

// An event is erased from the episodes of all agents, including those that an agent keeps for a user, with a receipt
// for each agent.
func TestErasedEventsLeaveTheEpisodesOfEveryAgent(t *testing.T) {
	t.Parallel()
	a := newAviary(t, harness.New(t, nil))
	out, err := a.erase()
	require.NoError(t, err)
	require.Equal(t, 1, out.Erased)
	require.Empty(t, out.Episodes)
	require.Len(t, out.Receipts, 2)
	require.ElementsMatch(t, []string{a.episodes["ann"], a.episodes["annagain"]}, out.Receipts[0].IDs)
	require.Equal(t, []string{a.episodes["bob"]}, out.Receipts[1].IDs)
	a.requireErased()
	again, err := a.erase()
	require.NoError(t, err)
	require.Empty(t, again.Receipts, "nothing is left")
}

// When erasing one agent's episodes fails, the run reports it at once, the events are emptied, the episodes of the
// other agents are erased, and repeating the request erases the rest.
func TestErasingOneAgentsEpisodesFails(t *testing.T) {
	t.Parallel()
	a := newAviary(t, harness.New(t, nil))
	allow := a.refuseForgetting("ann")
	t.Cleanup(allow)
	_, err := a.erase()
	require.ErrorContains(t, err, "SQLSTATE 22023")
	require.NotContains(t, err.Error(), "canary")
	require.ElementsMatch(t, a.telling(), []string{a.episodes["ann"], a.episodes["annagain"]}, "bob's are gone")
	page, err := a.Store.Page(t.Context(), a.tenant, "world/aviary", 0, 10)
	require.NoError(t, err)
	i := slices.IndexFunc(page, func(e ledger.Event) bool { return e.ID == "u1" })
	require.True(t, page[i].Erased)

	allow()
	out, err := a.erase()
	require.NoError(t, err)
	require.Len(t, out.Receipts, 1)
	require.Len(t, out.Receipts[0].IDs, 2)
	a.requireErased()
}

// A record that changes after its selection is kept, and the result lists it. Repeating the request erases it.
func TestErasingAnEpisodeThatChanges(t *testing.T) {
	t.Parallel()
	a := newAviary(t, harness.New(t, nil))
	a.StopWorker()
	first := true
	a.StartWorkerWith(t, around(func(ctx context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ForgetBatch" && first { // those of ann come first
			first = false
			_, err := testkit.Owner(t, a.DatabaseURL).Exec(ctx,
				`UPDATE forget_items SET version = version + 1 WHERE memory_id = $1::uuid`, a.episodes["ann"])
			if err != nil {
				return nil, err
			}
		}
		return run()
	}))
	out, err := a.erase()
	require.NoError(t, err)
	require.Equal(t, []string{a.episodes["ann"]}, out.Episodes)
	require.Equal(t, []string{a.episodes["ann"]}, a.telling())
	out, err = a.erase()
	require.NoError(t, err)
	require.Empty(t, out.Episodes)
	a.requireErased()
}

// A run of Forget that is cancelled before its confirmation keeps its records, and the result reports it. The other
// agents' records are erased, and repeating the request erases the rest.
func TestErasingEpisodesIsCancelled(t *testing.T) {
	t.Parallel()
	a := newAviary(t, harness.New(t, nil))
	a.StopWorker()
	approving, cancelled := make(chan struct{}), make(chan struct{})
	first := true
	a.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ApproveErasure" && first {
			first = false
			close(approving)
			<-cancelled
		}
		return run()
	}))
	go func() {
		defer close(cancelled)
		<-approving
		var waiting []string
		err := testkit.Eventually(context.Background(), func() error {
			if waiting = a.forgets(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING); len(waiting) != 1 {
				return errors.New("not listed yet")
			}
			return a.waitsForApproval(waiting[0])
		})
		if err == nil {
			err = a.Temporal.CancelWorkflow(context.Background(), waiting[0], "")
		}
		if err == nil {
			err = ended(a.Temporal, waiting[0])
		}
		if err != nil {
			t.Error(err)
		}
	}()
	out, err := a.erase()
	require.NoError(t, err)
	require.Equal(t, schema.ForgetCancelled, out.Receipts[0].State)
	require.Zero(t, out.Receipts[0].Forgotten)
	require.Equal(t, []string{a.episodes["bob"]}, out.Receipts[1].IDs)
	left := []string{a.episodes["ann"], a.episodes["annagain"]}
	require.ElementsMatch(t, left, out.Episodes)
	require.ElementsMatch(t, left, a.telling())

	out, err = a.erase()
	require.NoError(t, err)
	require.Empty(t, out.Episodes)
	a.requireErased()
}

// waitsForApproval returns an error if a run of Forget has not selected its memories. A run that is cancelled before has
// no receipt.
func (a *aviary) waitsForApproval(id string) error {
	d, err := a.Temporal.DescribeWorkflowExecution(context.Background(), id, "")
	switch {
	case err != nil:
		return err
	case len(d.GetPendingActivities()) > 0,
		testkit.Rows(a.t, testkit.Owner(a.t, a.DatabaseURL), "forget_runs", "state = 'preview'") == 0:
		return errors.New("it does not wait for approval yet")
	}
	return nil
}

// ended waits for the end of a run, with any status.
func ended(c client.Client, id string) error {
	return testkit.Eventually(context.Background(), func() error {
		d, err := c.DescribeWorkflowExecution(context.Background(), id, "")
		if err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			err = errors.New("it runs")
		}
		return err
	})
}

// When the run that erases events is terminated, the run of Forget that it has started completes or expires; repeating
// the request erases the rest.
func TestErasingIsRepeatedAfterATermination(t *testing.T) {
	t.Parallel()
	a := newAviary(t, harness.New(t, nil))
	a.StopWorker()
	approving, ended := make(chan struct{}), make(chan struct{})
	first := true
	a.StartWorkerWith(t, around(func(_ context.Context, name string, run func() (any, error)) (any, error) {
		if name == "ApproveErasure" && first {
			first = false
			close(approving)
			<-ended
			return nil, errors.New("the worker went away")
		}
		return run()
	}))
	go func() {
		<-approving
		err := a.Temporal.TerminateWorkflow(context.Background(), api.EraseEventsWorkflowID(a.request()), "",
			"by a test")
		if err != nil {
			t.Error(err)
		}
		close(ended)
	}()
	_, err := a.erase()
	require.ErrorContains(t, err, "terminated")
	require.Len(t, a.telling(), 3)
	out, err := a.erase()
	require.NoError(t, err)
	require.Len(t, out.Receipts, 2)
	a.requireErased()
}
