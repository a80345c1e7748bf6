package workflows_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

var (
	villageTurns = flag.Int("village.turns", 20, "turns of TestFourAgentsWithAKilledWorker")
	villageKills = flag.Int("village.kills", 2, "number of times that its worker is killed")
	villageSeed  = flag.Uint64("village.seed", 1, "seed of the times at which it is killed")
)

const (
	village       = "world/village"
	villageWindow = 8 // events, and the threshold of reflections
)

var villagers = []string{"baker", "judge", "miller", "smith"}

func villager(name string) schema.Principal { return schema.Principal{Tenant: "village", Agent: name} }

// turnEvents returns the events of a turn, always the same.
func turnEvents(turn int) []ledger.Event {
	r := rand.New(rand.NewPCG(18, uint64(turn)))
	thing := []string{"the oven", "a letter", "the mill", "wet flour", "a burnt coat"}[r.IntN(5)]
	who := villagers[turn%len(villagers)]
	event := func(n int, kind string, payload any) ledger.Event {
		encoded, _ := json.Marshal(payload)
		return ledger.Event{ID: fmt.Sprintf("t%03d-%d", turn, n), Stream: village, Agent: who, Kind: kind, Turn: turn,
			Payload:    encoded,
			OccurredAt: time.Date(2026, 1, 2, 0, turn, n, 0, time.UTC)}
	}
	text := func(kind, format string) []ledger.Event {
		return []ledger.Event{event(0, kind, ledger.Text{Text: fmt.Sprintf(format, thing)})}
	}
	switch r.IntN(8) {
	case 0:
		return text(ledger.KindUserInjected, "Find out who touched %s, and tell me")
	case 1:
		return text(ledger.KindWorldObserved, "It rains on %s")
	case 2:
		return text(ledger.KindJudgeVerdict, "Nobody but the smith was near %s")
	case 3:
		return text(ledger.KindClueFound, "There are footprints near %s")
	case 4:
		spoke := text(ledger.KindAgentSpoke, "I have decided to stay away from %s")
		spoke[0].Visibility = schema.VisibilityShared
		return spoke
	case 5, 6:
		call := fmt.Sprintf("c%d", turn)
		done := event(1, ledger.KindToolReturned, ledger.ToolResult{CallID: call, Result: json.RawMessage(`"ok"`)})
		if r.IntN(2) == 0 {
			done = event(1, ledger.KindToolFailed, ledger.ToolResult{CallID: call, Error: thing + " is locked"})
		}
		return []ledger.Event{event(0, ledger.KindToolCalled, ledger.ToolCall{CallID: call, Tool: "open"}), done}
	default:
		return text(ledger.KindAgentThought, "Who was at %s?")
	}
}

// villageSession is the session of a villager in the village's stream.
func villageSession(name string) api.SessionRef {
	return api.SessionRef{Principal: villager(name), Session: "days", Stream: village}
}

// live plays the turns: each awaits its append by the agent's session, and then the reflection of every agent that is
// due. At the end the sessions are closed.
func live(t *testing.T, s *store.Store, c client.Client, queue string, turn func(n int, reflect func())) {
	t.Helper()
	for n := 1; n <= *villageTurns; n++ {
		list := turnEvents(n)
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		_, err := mneme.AppendEvents(ctx, c, queue,
			api.AppendRequest{SessionRef: villageSession(list[0].Agent), Events: list})
		cancel()
		require.NoError(t, err)
		turn(n, func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			for _, name := range villagers {
				out, err := mneme.Reflect(ctx, c, queue,
					api.ReflectInput{Principal: villager(name), Stream: village, Threshold: villageWindow})
				require.NoError(t, err)
				require.Empty(t, out.Refused)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	for _, name := range villagers {
		closed, err := mneme.CloseSession(ctx, c, queue,
			api.CloseRequest{SessionRef: villageSession(name), Outcome: schema.OutcomeSuccess})
		require.NoError(t, err)
		require.NotEmpty(t, closed.EpisodeID)
	}
}

// requireRebuilt checks that everything derived from the ledger equals a rebuild, also after it was lost.
func requireRebuilt(t *testing.T, c client.Client, queue string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	for _, in := range []api.RebuildRequest{{Verify: true}, {Drop: true}, {Verify: true}} {
		in.Tenant = "village"
		run, err := mneme.StartRebuild(ctx, c, queue, in)
		require.NoError(t, err)
		var out api.RebuildResult
		require.NoError(t, run.Get(ctx, &out))
		require.Zero(t, out.Different, out.Differences)
		require.Empty(t, out.Kept)
		require.GreaterOrEqual(t, out.Compared, len(villagers)+1, "every episode, and the derived rows of the stream")
		if in.Drop {
			require.Equal(t, out.Compared, out.Rebuilt)
		}
	}
}

// lived is the result of the turns: the ledger without its times, and what each agent would read.
type lived struct {
	ledger   []ledger.Event
	contexts map[string]string
	episodes map[string]schema.EpisodicPayload // by villager, without times
	beliefs  int
}

// episodesOf returns the episodes of the villagers' sessions.
func episodesOf(t *testing.T, s *store.Store) map[string]schema.EpisodicPayload {
	t.Helper()
	out := map[string]schema.EpisodicPayload{}
	for _, name := range villagers {
		ref := villageSession(name)
		shown, err := s.ShowSession(context.Background(), sessions.Key{Principal: ref.Principal, Session: ref.Session})
		require.NoError(t, err)
		require.Len(t, shown.Episodes, 1)
		found, err := s.Get(context.Background(), ref.Principal, *shown.Episodes[0].MemoryID)
		require.NoError(t, err)
		var payload schema.EpisodicPayload
		require.NoError(t, json.Unmarshal(found.Payload, &payload))
		for i := range payload.Timeline {
			payload.Timeline[i].T = time.Time{}
		}
		out[name] = payload
	}
	return out
}

func whatLived(t *testing.T, s *store.Store) lived {
	t.Helper()
	out := lived{contexts: map[string]string{}}
	for after := int64(0); ; {
		page, err := s.Page(context.Background(), "village", village, after, events.MaxPage)
		require.NoError(t, err)
		out.ledger = append(out.ledger, page...)
		if len(page) < events.MaxPage {
			break
		}
		after = page[len(page)-1].Seq
	}
	for _, name := range villagers {
		for _, salience := range []bool{false, true} {
			built, err := views.Build(context.Background(),
				views.Request{Viewer: views.Viewer{Agent: name}, Events: out.ledger,
					Memory: views.Memory{Window: villageWindow, UseSalience: salience,
						ReflectionThreshold: villageWindow,
						MaxBeliefs:          64}})
			require.NoError(t, err)
			out.contexts[fmt.Sprint(name, salience)] = built.Text()
		}
		requireWithinWindow(t, name, out.ledger)
	}
	for i := range out.ledger {
		out.ledger[i].RecordedAt, out.ledger[i].OccurredAt = nil, time.Time{}
		if out.ledger[i].Kind == ledger.KindAgentReflected {
			out.beliefs++
		}
	}
	return out
}

// requireWithinWindow checks that an agent's memory is its beliefs and at most a window of other events, and that every
// event that it saw is in the memory or summarized by a belief in it.
func requireWithinWindow(t *testing.T, name string, list []ledger.Event) {
	t.Helper()
	v := views.Viewer{Agent: name}
	own := func(e ledger.Event) bool { return e.Agent == name && e.Kind == ledger.KindAgentReflected }
	shown, seq, upTo, covers, window := map[string]bool{}, map[string]int64{}, int64(0), 0, 0
	for _, e := range list {
		seq[e.ID] = e.Seq
	}
	for _, e := range (views.EpisodicMemory{Viewer: v, Window: villageWindow, Reflections: true,
		MaxBeliefs: 64}).Recall(list) {
		shown[e.ID] = true
		if !own(e) {
			window++
			continue
		}
		r, _ := ledger.Payload[ledger.Reflection](e)
		covers += r.Covers
		upTo = max(upTo, seq[r.Through])
	}
	require.LessOrEqual(t, window, villageWindow, name)
	covered := 0
	for _, e := range v.Visible(list) {
		if own(e) {
			require.True(t, shown[e.ID], "%s: every belief is shown", name)
			continue
		}
		require.True(t, shown[e.ID] || e.Seq <= upTo, "%s: %s is neither shown nor summarized", name, e.ID)
		if e.Seq <= upTo {
			covered++
		}
	}
	require.Equal(t, covered, covers, "%s: beliefs summarize each event once", name)
}

// A scripted run of four agents that reflect has the same result when its worker is killed at random times: the same
// events in the same places, the same beliefs from the same evidence, and the same contexts. In every turn each agent's
// memory fits a window of eight events (document 001).
func TestFourAgentsWithAKilledWorker(t *testing.T) {
	t.Parallel()
	// Each run has its own namespace: the other one has the same names, and a closed session answers a repeated update
	// with its earlier result.
	address := testkit.TemporalAddress(t)
	quiet := harness.NewNamespace(t, address)
	calm := harness.NewAt(t, testkit.DatabaseURL(t),
		harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = quiet }), nil)
	began := time.Now()
	live(t, calm.Store, calm.Temporal, calm.TaskQueue, func(n int, reflect func()) {
		reflect()
		if n%10 == 0 {
			whatLived(t, calm.Store)
		}
	})
	want := whatLived(t, calm.Store)
	want.episodes = episodesOf(t, calm.Store)
	t.Logf("undisturbed: %d turns, %d events, %d beliefs in %s", *villageTurns, len(want.ledger), want.beliefs,
		time.Since(began).Round(time.Millisecond))
	require.Greater(t, want.beliefs, *villageTurns/8)

	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url, queue := testkit.DatabaseURL(t), "test-"+uuid.NewString()
	settings := map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace,
		"MNEME_TASK_QUEUE": queue}
	worker := harness.StartProcess(t, settings)
	s := testkit.OpenStore(t, url)
	r := rand.New(rand.NewPCG(*villageSeed, 18))
	at := map[int]bool{}
	for len(at) < min(*villageKills, *villageTurns) {
		at[1+r.IntN(*villageTurns)] = true
	}
	began = time.Now()
	live(t, s, c, queue, func(n int, reflect func()) {
		if !at[n] {
			reflect()
			return
		}
		moment, replaced := time.Duration(r.IntN(80_000))*time.Microsecond, make(chan struct{})
		go func() {
			defer close(replaced)
			time.Sleep(moment)
			worker.Kill()
			worker = harness.SpawnProcess(t, settings)
		}()
		reflect()
		<-replaced
	})
	got := whatLived(t, s)
	got.episodes = episodesOf(t, s)
	t.Logf("with %d kills (seed %d): %s", len(at), *villageSeed, time.Since(began).Round(time.Millisecond))
	require.Equal(t, want.ledger, got.ledger)
	require.Equal(t, want.contexts, got.contexts)
	require.Equal(t, want.episodes, got.episodes)
	requireRebuilt(t, c, queue)
}
