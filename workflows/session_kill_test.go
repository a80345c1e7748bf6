package workflows_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// The worker of a session is killed after a step has committed and before the acknowledgement. The step runs again on
// another worker: each event is in the ledger once, in order and without gaps, and there is one episode.
func TestSessionWorkerKilledBeforeAcknowledgement(t *testing.T) {
	t.Parallel()
	ways := map[string]func(context.Context, client.Client, string, api.SessionRef) (api.SessionResult, error){
		"by updates": func(ctx context.Context, c client.Client, queue string,
			ref api.SessionRef) (api.SessionResult, error) {
			for from := 0; from < 6; from += 2 {
				_, err := mneme.AppendEvents(ctx, c, queue,
					api.AppendRequest{SessionRef: ref, Events: sessionThoughts("e", from, from+2)})
				if err != nil {
					return api.SessionResult{}, err
				}
			}
			return mneme.CloseSession(ctx, c, queue, api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeSuccess})
		},
		"in whole": func(ctx context.Context, c client.Client, queue string,
			ref api.SessionRef) (api.SessionResult, error) {
			return mneme.RecordSession(ctx, c, queue, api.RecordRequest{SessionRef: ref,
				Events: sessionThoughts("e", 0, 6), Outcome: schema.OutcomeSuccess})
		},
	}
	for name, way := range ways {
		for _, step := range []string{"OpenSession", "AppendSessionEvents", "CloseSession"} {
			t.Run(name+"/"+step, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
				defer cancel()
				address := testkit.TemporalAddress(t)
				gate := harness.NewGate(t, address, step)
				namespace := harness.NewNamespace(t, address)
				c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
				url, queue := testkit.DatabaseURL(t), "test-"+uuid.NewString()
				start := func(temporal string) *harness.Process {
					return harness.StartProcess(t, map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": temporal,
						"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": queue})
				}
				victim := start(gate.Address)
				ref := sessionRef("hunted")
				type answer struct {
					closed api.SessionResult
					err    error
				}
				answers := make(chan answer, 1)
				go func() {
					closed, err := way(ctx, c, queue, ref)
					answers <- answer{closed, err}
				}()
				require.NoError(t, gate.WaitHeld(ctx), victim.Output())
				victim.Kill()
				start(address)
				got := <-answers
				require.NoError(t, got.err)
				require.Equal(t, 7, got.closed.Events, "six events and the end")
				require.Equal(t, int64(1), got.closed.FirstSeq)
				page, err := testkit.OpenStore(t, url).Page(ctx, ref.Principal.Tenant, ref.StreamName(), 0, 100)
				require.NoError(t, err)
				require.Len(t, page, 7)
				for i, e := range page {
					require.Equal(t, int64(i+1), e.Seq)
					if i < 6 {
						require.Equal(t, fmt.Sprintf("e-%06d", i), e.ID)
					}
				}
				require.Equal(t, []string{got.closed.EpisodeID}, testkit.Strings(t, testkit.Owner(t, url),
					`SELECT id::text FROM memories WHERE type = 'episodic'`))
			})
		}
	}
}
