package workflows_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// runsOf lists the runs of a session with the length and size of their histories, newest first.
func runsOf(t testing.TB, c client.Client, ref api.SessionRef) (lengths, sizes []int64) {
	t.Helper()
	ctx := context.Background()
	for run := ""; ; {
		found, err := c.DescribeWorkflowExecution(ctx, api.SessionWorkflowID(ref), run)
		require.NoError(t, err)
		info := found.GetWorkflowExecutionInfo()
		lengths, sizes = append(lengths, info.GetHistoryLength()), append(sizes, info.GetHistorySizeBytes())
		history := c.GetWorkflowHistory(ctx, api.SessionWorkflowID(ref), info.GetExecution().GetRunId(), false, 0)
		require.True(t, history.HasNext())
		first, err := history.Next()
		require.NoError(t, err)
		if run = first.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return lengths, sizes
		}
	}
}

// A session of thousands of events continues over several runs: no event is lost or stored twice, the state of the work
// is kept, and the session becomes one episode. MNEME_SESSION_EVENTS sets the number of events.
func TestLongSessionContinuesAsNew(t *testing.T) {
	t.Parallel()
	total, _ := strconv.Atoi(os.Getenv("MNEME_SESSION_EVENTS"))
	total = max(total, 3_000)
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ref := sessionRef("long")
	began := time.Now()
	var wg sync.WaitGroup
	const writers = 4
	for w := range writers {
		wg.Go(func() {
			for from := 0; from < total/writers; from += 50 {
				req := api.AppendRequest{SessionRef: ref,
					Events: sessionThoughts(fmt.Sprintf("w%d", w), from, min(from+50, total/writers))}
				if w == 0 && from == 0 {
					req.Events[0] = stateUpdated(req.Events[0].ID, "half way")
				}
				var err error
				if w%2 == 0 {
					_, err = mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, req)
				} else {
					err = mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue, req)
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool {
		working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
		return err == nil && working.Seq == int64(total)
	}, 3*time.Minute, 50*time.Millisecond)
	appended := time.Since(began)
	working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
	require.NoError(t, err)
	require.Equal(t, "half way", working.Working.ContextSummary, "carried over to the next run")
	require.Len(t, requireGapless(t, h, ref), total)
	began = time.Now()
	closed, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
		api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err)
	require.Equal(t, total+1, closed.Events)
	lengths, sizes := runsOf(t, h.Temporal, ref)
	require.Greater(t, len(lengths), 3, "it continues as new")
	events, bytes := int64(0), int64(0)
	for i := range lengths {
		events, bytes = events+lengths[i], bytes+sizes[i]
	}
	t.Logf("%d events appended in %s (%.0f/s), closed in %s; %d runs, %.2f history events and %d bytes an "+
		"event, longest %v",
		total, appended.Round(time.Millisecond), float64(total)/appended.Seconds(),
		time.Since(began).Round(time.Millisecond),
		len(lengths), float64(events)/float64(total), bytes/int64(total), lengths)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 1, testkit.Rows(t, db, "memories", ""))
	require.Equal(t, 0, testkit.Rows(t, db, "sessions", "working IS NOT NULL"))
}

// While some clients append and others close, no event is lost or stored twice, and the episodes follow one another
// without gaps or overlaps.
func TestAppendingWhileClosing(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("restless")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 15 {
				e := thought(fmt.Sprintf("w%d-%02d", w, i))
				if i%7 == 6 {
					e = runEnded(e.ID)
				}
				if i%5 == 0 {
					e.OccurredAt = e.OccurredAt.AddDate(-1, 0, 0) // late
				}
				req := api.AppendRequest{SessionRef: ref, Events: []ledger.Event{e}}
				var err error
				if w%2 == 0 {
					_, err = mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, req)
				} else if err = mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue, req); err == nil && i%3 == 0 {
					err = mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue, req) // twice
				}
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				if w == 3 && i%4 == 3 {
					if _, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue,
						api.CloseRequest{SessionRef: ref}); err != nil {
						t.Errorf("close: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	_, err := mneme.CloseSession(ctx, h.Temporal, h.TaskQueue, api.CloseRequest{SessionRef: ref})
	require.NoError(t, err)
	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, nil))
	require.Len(t, requireGapless(t, h, ref), 60)
	requireEpisodes(t, h, 60)
}

// requireEpisodes checks that the episodes cover the stream without gaps and overlaps, and that each has its record.
func requireEpisodes(t testing.TB, h *harness.Harness, events int) {
	t.Helper()
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{fmt.Sprintf("%d %d", events, events)}, testkit.Strings(t, db,
		`SELECT concat_ws(' ', count(*), count(DISTINCT g))
			FROM session_episodes e, generate_series(e.first_seq, e.last_seq) g`))
	require.Equal(t, testkit.Rows(t, db, "session_episodes", ""), testkit.Rows(t, db, "memories", "type = 'episodic'"))
	require.Equal(t, 1, testkit.Rows(t, db, "sessions", "state = 'closed'"))
}

// Workers are killed at random times while events arrive: the next worker continues, and the ledger and the episode are
// those of an undisturbed session.
func TestSessionSurvivesKilledWorkers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	url, queue := testkit.DatabaseURL(t), "test-"+uuid.NewString()
	settings := map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace,
		"MNEME_TASK_QUEUE": queue}
	ref := sessionRef("hunted")
	h := &harness.Harness{Store: testkit.OpenStore(t, url), Temporal: c, TaskQueue: queue, DatabaseURL: url}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 60 {
				req := api.AppendRequest{SessionRef: ref,
					Events: []ledger.Event{thought(fmt.Sprintf("w%d-%02d", w, i))}}
				var err error
				if w == 0 {
					_, err = mneme.AppendEvents(ctx, c, queue, req)
				} else {
					err = mneme.SignalEvents(ctx, c, queue, req)
				}
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	kills := 0
	for worker := harness.StartProcess(t, settings); ; worker = harness.StartProcess(t, settings) {
		select {
		case <-done:
		case <-time.After(time.Duration(500+rand.IntN(1500)) * time.Millisecond):
			if kills < 4 {
				worker.Kill()
				kills++
				continue
			}
			<-done
		}
		break
	}
	closed, err := mneme.CloseSession(ctx, c, queue, api.CloseRequest{SessionRef: ref, Outcome: schema.OutcomeSuccess})
	require.NoError(t, err)
	require.Equal(t, 181, closed.Events)
	require.Len(t, requireGapless(t, h, ref), 181)
	requireEpisodes(t, h, 181)
	t.Logf("%d workers killed", kills)
}

// An idle session closes. Before that, another device reads its state and appends to it.
func TestIdleSessionCloses(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	ref := sessionRef("idle")
	settings := api.SessionSettings{IdleSeconds: 2}
	_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Settings: settings,
			Events: []ledger.Event{stateUpdated("a", "on the phone")}})
	require.NoError(t, err)
	other := harness.Temporal(t)
	working, err := mneme.SessionWorking(ctx, other, ref)
	require.NoError(t, err)
	require.Equal(t, "on the phone", working.Working.ContextSummary)
	_, err = mneme.AppendEvents(ctx, other, h.TaskQueue,
		api.AppendRequest{SessionRef: ref, Events: []ledger.Event{thought("b")}})
	require.NoError(t, err)
	var closed api.SessionResult
	require.NoError(t, h.Temporal.GetWorkflow(ctx, api.SessionWorkflowID(ref), "").Get(ctx, &closed))
	require.Equal(t, "idle", closed.Closed)
	require.Equal(t, schema.OutcomePartial, closed.Outcome)
	require.Equal(t, 2, closed.Events)
}
