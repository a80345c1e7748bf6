package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// newSchedules are the schedules of a new namespace without a worker.
func newSchedules(t *testing.T) (context.Context, mneme.Schedules) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	t.Cleanup(cancel)
	address := testkit.TemporalAddress(t)
	namespace := harness.NewNamespace(t, address)
	c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
	return ctx, mneme.Schedules{Client: c, Namespace: namespace, TaskQueue: "test-" + uuid.NewString(),
		Index: "pgvector"}
}

func outcomes(applied []mneme.AppliedSchedule) map[string]string {
	out := map[string]string{}
	for _, a := range applied {
		out[a.Name] = a.Outcome + strings.Join(append([]string{""}, a.Changed...), " ")
	}
	return out
}

func TestDefaultSchedules(t *testing.T) {
	t.Parallel()
	require.Contains(t, mneme.DefaultSchedulesFile(), "schedules:")
	every := map[string]time.Duration{}
	for _, s := range mneme.DefaultSchedules() {
		every[s.Name] = s.Every
		require.Equal(t, s.Every, s.CatchUp, "one run catches up: one interval is enough")
		require.Less(t, s.Jitter, s.Every)
		require.NotEmpty(t, s.Note)
		// Schedules that delete pause on a failure; those that only update the index continue.
		require.Equal(t, s.Name == mneme.ScheduleDecay || s.Name == mneme.ScheduleRetention, s.PauseOnFailure, s.Name)
	}
	require.Equal(t, map[string]time.Duration{mneme.ScheduleDecay: time.Hour, mneme.ScheduleRetention: 6 * time.Hour,
		mneme.ScheduleSyncIndex: time.Minute, mneme.ScheduleDrift: time.Hour, mneme.ScheduleTopics: time.Hour,
		mneme.ScheduleConsolidation: time.Hour}, every)
}

func TestSchedulesFileIsStrict(t *testing.T) {
	t.Parallel()
	for problem, text := range map[string]string{
		"schedules: is required":                             "",
		"schedules: must be a list":                          "schedules: 3",
		"(file): must be a mapping":                          "- 1",
		"(yaml): must be one document":                       "schedules: []\n---\nschedules: []",
		"(yaml): ":                                           "schedules: [",
		"wheels: is unknown":                                 "wheels: []",
		"schedules[0]: must be a mapping":                    "schedules: [decay]",
		"schedules[0].name: is required":                     "schedules: [{every: 1h}]",
		"schedules[0].name: must be one of decay, retention": "schedules: [{name: dream, every: 1h}]",
		"schedules[1].name: is the name of schedules[0] too": "schedules: [{name: decay, every: 1h}, {name: " +
			"decay, every: 2h}]",
		"schedules[0].evry: is unknown":                      "schedules: [{name: decay, evry: 1h}]",
		"schedules[0].every: is given twice":                 "schedules: [{name: decay, every: 1h, every: 2h}]",
		"schedules[0].every: is required, or calendar":       "schedules: [{name: decay}]",
		"schedules[0].every: must be a duration":             "schedules: [{name: decay, every: soon}]",
		"schedules[0].every: must be in whole seconds":       "schedules: [{name: decay, every: 90001ms}]",
		"schedules[0].every: must be at least 1m0s (line 1)": "schedules: [{name: decay, every: 59s}]",
		"schedules[0].every: must be at least 10s":           "schedules: [{name: sync_index, every: 5s}]",
		"schedules[0].every: must be at most 744h0m0s":       "schedules: [{name: decay, every: 9999h}]",
		"schedules[0].jitter: must be at most 59m59s":        "schedules: [{name: decay, every: 1h, jitter: 1h}]",
		"schedules[0].jitter: must be at least 0s":           "schedules: [{name: decay, every: 1h, jitter: -1s}]",
		"schedules[0].catch_up: must be at least 10s":        "schedules: [{name: decay, every: 1h, catch_up: 1s}]",
		"schedules[0].pause_on_failure: must be true or false": "schedules: [{name: decay, every: 1h, " +
			"pause_on_failure: 2}]",
		"schedules[0].note: must be a text of one line": "schedules: [{name: decay, every: 1h, " +
			"note: \"a\\nb\"}]",
		"schedules[0].calendar: cannot be combined with every": "schedules: [{name: decay, every: 1h, calendar: " +
			"[{hour: 3}]}]",
		"schedules[0].calendar: must be a list of 1 to 24": "schedules: [{name: decay, calendar: []}]",
		"schedules[0].calendar[0].second: is unknown":      "schedules: [{name: decay, calendar: [{second: 3}]}]",
		"schedules[0].calendar[1].hour: must be numbers from 0": "schedules: [{name: decay, calendar: [{hour: 3}, " +
			"{hour: 24}]}]",
		"schedules[0].calendar[0].weekday: must be numbers": "schedules: [{name: decay, calendar: " +
			"[{weekday: 5-1}]}]",
		"schedules[0].time_zone: must be the name": "schedules: [{name: decay, calendar: [{hour: 3}], " +
			"time_zone: Mars/Base}]",
		"schedules[0].time_zone: needs calendar": "schedules: [{name: decay, every: 1h, " +
			"time_zone: UTC}]",
	} {
		_, err := mneme.ParseSchedules([]byte(text))
		var bad *schema.ValidationError
		require.ErrorAs(t, err, &bad, text)
		require.ErrorContains(t, err, problem, text)
	}
	_, err := mneme.ParseSchedules([]byte("schedules: [{name: decay, every: 1s, jitter: x}, {name: drift}]"))
	require.ErrorContains(t, err, "schedules[1].every", "every problem is reported")
	specs, err := mneme.ParseSchedules([]byte("schedules: [{name: consolidation, every: 24h}]"))
	require.NoError(t, err, "the format has every field")
	require.Equal(t, "consolidation", specs[0].Name)
}

// For any file content, reading returns schedules or an error.
func TestSchedulesFileNeverPanics(t *testing.T) {
	t.Parallel()
	whole := mneme.DefaultSchedulesFile()
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.IntRange(0, len(whole)).Draw(r, "at")
		end := rapid.IntRange(at, min(len(whole), at+20)).Draw(r, "end")
		text := whole[:at] + rapid.StringMatching(`[a-z0-9:\-\[\]{}&*!|>#"', \n/]{0,12}`).Draw(r, "instead") +
			whole[end:]
		specs, err := mneme.ParseSchedules([]byte(text))
		if err != nil {
			return
		}
		for _, s := range specs {
			require.NotEmpty(r, s.Name)
			require.True(r, s.Every > 0 || len(s.Calendar) > 0)
		}
	})
}

// The first Apply creates the schedules as described; the second changes nothing. A schedule that an operator has
// paused stays paused, with its reason.
func TestApplySchedules(t *testing.T) {
	t.Parallel()
	ctx, s := newSchedules(t)
	specs := mneme.DefaultSchedules()

	var wg sync.WaitGroup // several at once, like workers that start together
	for range 3 {
		wg.Go(func() {
			if err := s.Ensure(ctx, specs); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	touched := func(id string) (string, *client.ScheduleDescription) {
		described, err := s.Client.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
		require.NoError(t, err)
		return described.Info.LastUpdateAt.String(), described
	}
	before, described := touched("decay-sweep")
	require.Equal(t, enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, described.Schedule.Policy.Overlap)
	require.Equal(t, time.Hour, described.Schedule.Policy.CatchupWindow)
	require.Equal(t, time.Minute, described.Schedule.Spec.Jitter)
	require.True(t, described.Schedule.Policy.PauseOnFailure)
	require.Equal(t, "DecaySweep", described.Schedule.Action.(*client.ScheduleWorkflowAction).Workflow)

	applied, err := s.Apply(ctx, specs)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"decay": "unchanged", "retention": "unchanged", "sync_index": "unchanged",
		"drift": "unchanged", "topics": "unchanged", "consolidation": "unchanged"}, outcomes(applied))

	require.NoError(t, s.Pause(ctx, mneme.ScheduleDrift, "the index moves house"))
	require.NoError(t, s.Client.ScheduleClient().GetHandle(ctx, "retention-purge").Delete(ctx))
	changed, err := mneme.ParseSchedules([]byte(`
schedules:
  - {name: decay, every: 1h, jitter: 1m, note: Prunes or archives what has faded.}
  - {name: drift, every: 2h, note: changed}
  - {name: retention, calendar: [{hour: 3, minute: 30}, {weekday: "1-5", hour: "8-18/2"}], time_zone: Europe/Berlin}
`))
	require.NoError(t, err)
	applied, err = s.Apply(ctx, changed)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"decay": "unchanged", "retention": "created",
		"drift": "updated every jitter catch_up pause_on_failure"}, outcomes(applied))
	after, _ := touched("decay-sweep")
	require.Equal(t, before, after, "an equal schedule is not changed")
	_, drift := touched("drift/pgvector")
	require.True(t, drift.Schedule.State.Paused)
	require.Equal(t, "the index moves house", drift.Schedule.State.Note)
	require.Equal(t, 2*time.Hour, drift.Schedule.Spec.Intervals[0].Every)

	applied, err = s.Apply(ctx, changed) // the server returns a calendar in another form
	require.NoError(t, err)
	require.Equal(t, map[string]string{"decay": "unchanged", "retention": "unchanged", "drift": "unchanged"},
		outcomes(applied))

	known, err := s.Statuses(ctx, specs)
	require.NoError(t, err)
	require.Len(t, known, 6)
	byName := map[string]mneme.ScheduleStatus{}
	for _, k := range known {
		byName[k.Name] = k
	}
	require.Equal(t, mneme.PausedByOperator, byName["drift"].PausedBy)
	require.Nil(t, byName["drift"].Next)
	require.Equal(t, "hour 3 minute 30; weekday 1-5 hour 8-18/2 minute 0; in Europe/Berlin", byName["retention"].When)
	require.Contains(t, byName["retention"].Differs, "calendar")
	require.NotNil(t, byName["decay"].Next)
	require.Empty(t, byName["decay"].Differs)
	require.Equal(t, "every 1h", byName["decay"].When)

	require.NoError(t, s.Resume(ctx, mneme.ScheduleDrift, "back"))
	applied, err = s.Apply(ctx, specs)
	require.NoError(t, err)
	require.Equal(t, "updated every jitter catch_up pause_on_failure note", outcomes(applied)["drift"])

	require.ErrorIs(t, s.Pause(ctx, "dream", "x"), mneme.ErrNoSchedule)
	elsewhere := s
	elsewhere.Index = "qdrant"
	require.ErrorIs(t, elsewhere.Pause(ctx, mneme.ScheduleDrift, "x"), mneme.ErrNoSchedule)

	// A schedule of another task queue is moved only on request.
	other := s
	other.TaskQueue = "other-" + s.TaskQueue
	before, _ = touched("decay-sweep")
	_, err = other.Apply(ctx, specs)
	require.ErrorIs(t, err, mneme.ErrScheduleElsewhere)
	require.ErrorContains(t, err, s.TaskQueue)
	after, _ = touched("decay-sweep")
	require.Equal(t, before, after)
	known, err = other.Statuses(ctx, specs)
	require.NoError(t, err)
	require.Equal(t, []string{mneme.DifferentTaskQueue}, known[0].Differs)
	require.Equal(t, s.TaskQueue, known[0].TaskQueue)
	other.TakeOver = true
	applied, err = other.Apply(ctx, specs)
	require.NoError(t, err)
	require.Equal(t, "updated task queue", outcomes(applied)["decay"])
}

// Apply asks the server for each schedule once. Only an update asks again, for the current state.
func TestApplyDescribesEachScheduleOnce(t *testing.T) {
	t.Parallel()
	ctx, s := newSchedules(t)
	var described atomic.Int32
	s.Client = harness.DialTemporal(t, testkit.TemporalAddress(t), func(o *client.Options) {
		o.Namespace = s.Namespace
		o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions,
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, in, out any, c *grpc.ClientConn,
				call grpc.UnaryInvoker, options ...grpc.CallOption) error {
				if strings.HasSuffix(method, "/DescribeSchedule") {
					described.Add(1)
				}
				return call(ctx, method, in, out, c, options...)
			}))
	})
	specs := mneme.DefaultSchedules()
	for _, outcome := range []string{mneme.ScheduleCreated, mneme.ScheduleUnchanged} {
		described.Store(0)
		applied, err := s.Apply(ctx, specs)
		require.NoError(t, err)
		for _, a := range applied {
			require.Equal(t, outcome, a.Outcome)
		}
		require.EqualValues(t, len(specs), described.Load(), outcome)
	}
}

// A schedule that this build cannot run is refused before anything is changed.
func TestApplyRefusesUnknownSchedules(t *testing.T) {
	t.Parallel()
	ctx, s := newSchedules(t)
	specs := append(mneme.DefaultSchedules(), mneme.ScheduleSpec{Name: "dream", Every: time.Hour})
	_, err := s.Apply(ctx, specs)
	require.ErrorContains(t, err, "schedules[6].name: must be one of decay")
	require.ErrorContains(t, s.Ensure(ctx, specs), "must be one of")
	known, err := s.Statuses(ctx, nil)
	require.NoError(t, err)
	for _, k := range known {
		require.True(t, k.Missing, k.Name)
	}
}

// An installation from before the file keeps its schedules, which are equal to those of the default file.
func TestSchedulesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	ctx, s := newSchedules(t)
	for _, was := range []struct {
		every, jitter time.Duration
		note          string
		action        client.ScheduleWorkflowAction
	}{
		{time.Minute, 5 * time.Second, "Brings the vector index up to date with Postgres.",
			client.ScheduleWorkflowAction{ID: "sync-index/pgvector", Workflow: workflows.SyncIndex,
				Args: []any{api.SyncIndexInput{}}, TaskQueue: s.TaskQueue}},
		{time.Hour, time.Minute, "Compares the vector index with Postgres and repairs what differs.",
			client.ScheduleWorkflowAction{ID: "drift/pgvector", Workflow: workflows.DriftCheck,
				Args: []any{api.DriftInput{Index: "pgvector"}}, TaskQueue: s.TaskQueue}},
	} {
		_, err := s.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: was.action.ID, Action: &was.action,
			Note: was.note, CatchupWindow: was.every,
			Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: was.every}},
				Jitter: was.jitter},
			Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP})
		require.NoError(t, err)
	}
	applied, err := s.Apply(ctx, mneme.DefaultSchedules())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"decay": "created", "retention": "created", "sync_index": "unchanged",
		"drift": "unchanged", "topics": "created", "consolidation": "created"}, outcomes(applied))
}

// A failed run pauses a schedule that asks for it, and the status shows the reason. While a run is in progress, no
// other starts.
func TestSchedulesRunFailAndPause(t *testing.T) {
	t.Parallel()
	ctx, s := newSchedules(t)
	w := worker.New(s.Client, s.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context, map[string]any) error {
		return temporal.NewNonRetryableApplicationError("the purge met a wall", "Wall", nil)
	}, workflow.RegisterOptions{Name: "RetentionPurge"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ map[string]any) error {
		return workflow.Await(ctx, func() bool { return false }) // until it is cancelled
	}, workflow.RegisterOptions{Name: "DecaySweep"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	require.NoError(t, s.Ensure(ctx, mneme.DefaultSchedules()))

	run, err := s.Trigger(ctx, mneme.ScheduleRetention)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(run.WorkflowID, "retention-purge"), run.WorkflowID)
	var retention mneme.ScheduleStatus
	require.NoError(t, testkit.Eventually(ctx, func() error {
		known, err := s.Statuses(ctx, nil)
		if err != nil {
			return err
		}
		if retention = known[1]; !retention.Paused {
			return errors.New("it is not paused yet")
		}
		return nil
	}))
	require.Equal(t, mneme.PausedByFailure, retention.PausedBy)
	require.Contains(t, retention.Note, "the purge met a wall")
	require.Equal(t, run.WorkflowID, retention.Last.WorkflowID)
	require.NoError(t, s.Outcome(ctx, retention.Last))
	require.Equal(t, "Failed", retention.Last.Status)
	require.Equal(t, "the purge met a wall", retention.Last.Error)

	applied, err := s.Apply(ctx, mneme.DefaultSchedules())
	require.NoError(t, err)
	require.Equal(t, "unchanged", outcomes(applied)["retention"], "only an operator resumes it")

	run, err = s.Trigger(ctx, mneme.ScheduleDecay)
	require.NoError(t, err)
	busy, err := s.Trigger(ctx, mneme.ScheduleDecay)
	require.ErrorIs(t, err, mneme.ErrScheduleBusy)
	require.Equal(t, run.WorkflowID, busy.WorkflowID)
	require.NoError(t, s.Outcome(ctx, &run))
	require.Equal(t, "Running", run.Status)

	end := time.Now().Truncate(time.Hour)
	_, err = s.Backfill(ctx, mneme.ScheduleDecay, end.Add(-200*time.Hour), end)
	require.ErrorIs(t, err, mneme.ErrBackfillTooLong)
	n, err := s.Backfill(ctx, mneme.ScheduleDrift, end.Add(-150*time.Minute), end.Add(-30*time.Minute))
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
