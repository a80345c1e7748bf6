package workflows_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

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
