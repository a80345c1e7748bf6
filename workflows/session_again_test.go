package workflows_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Events with the ids of others are refused, even by the run that appended the others.
func TestSessionRefusesAnotherEventWithAKnownID(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("same-id")
	hand := func(e ledger.Event) (api.AppendResult, error) {
		return mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
			api.AppendRequest{SessionRef: ref, Events: []ledger.Event{e}})
	}
	_, err := hand(stateUpdated("a", "the first"))
	require.NoError(t, err)
	_, err = hand(stateUpdated("a", "another one"))
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "events[0].id", invalid.Fields[0].Field)
	again, err := hand(stateUpdated("a", "the first"))
	require.NoError(t, err)
	require.EqualValues(t, 1, again.LastSeq)
}

// A refused event is appended once the reason for its refusal is gone.
func TestSessionAppendsWhatItHadRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("refused-once")
	hand := func(e ledger.Event) error {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
			api.AppendRequest{SessionRef: ref, Events: []ledger.Event{e}})
		return err
	}
	belief := ledger.Event{ID: "belief", Kind: ledger.KindAgentReflected,
		Payload: []byte(`{"belief":"The log comes first.","based_on":["seen"]}`)}
	var invalid *schema.ValidationError
	require.ErrorAs(t, hand(belief), &invalid)
	require.NoError(t, hand(thought("seen")))
	require.NoError(t, hand(belief))
	require.Equal(t, []string{"seen", "belief"}, requireGapless(t, h, ref))
}

// askingClient tells when a run has answered a query.
type askingClient struct {
	client.Client
	asked chan struct{}
}

func (c askingClient) QueryWorkflowWithOptions(ctx context.Context,
	query *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	answer, err := c.Client.QueryWorkflowWithOptions(ctx, query)
	c.asked <- struct{}{}
	return answer, err
}

// A session that is recorded while another delivery for the same session is being recorded waits for it. It would
// otherwise get the episode of the other events, and its own would be lost.
func TestRecordSessionWhileOtherEventsAreRecorded(t *testing.T) {
	t.Parallel()
	h := newHeld(t, "CloseSession", false)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("two-recordings")
	asking := askingClient{Client: h.Temporal, asked: make(chan struct{}, 100)}
	record := func(ids ...string) (api.SessionResult, error) {
		req := api.RecordRequest{SessionRef: ref}
		for _, id := range ids {
			req.Events = append(req.Events, thought(id))
		}
		return mneme.RecordSession(ctx, asking, h.TaskQueue, req)
	}
	var first, again, other api.SessionResult
	var errs [3]error
	var all sync.WaitGroup
	all.Go(func() { first, errs[0] = record("a", "b") })
	<-h.reached
	all.Go(func() { again, errs[1] = record("a", "b") }) // at another time
	all.Go(func() { other, errs[2] = record("c") })
	for range 2 { // both have found the run of the first
		select {
		case <-asking.asked:
		case <-ctx.Done():
			t.Error(ctx.Err())
		}
	}
	h.release()
	all.Wait()
	require.Equal(t, [3]error{}, errs)
	require.Equal(t, first, again)
	require.Equal(t, 2, first.Events)
	require.Equal(t, 1, other.Events)
	require.NotEqual(t, first.EpisodeID, other.EpisodeID)
	require.Equal(t, []string{"a", "b", "c"}, requireGapless(t, h.Harness, ref))
}
