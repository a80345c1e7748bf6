package store_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/sweeping"
)

// fading puts an episode that is due in an hour, and returns it.
func (w *world) fading(content string, change ...func(*schema.MemoryRecord)) uuid.UUID {
	w.t.Helper()
	m := episode(w.t, uuid.NewString(), content)
	m.Content, m.Lifecycle.DeletionPolicy = content, schema.DeleteAutoPrune
	m.Lifecycle.Decay = schema.DecayProfile{Curve: schema.CurveExponential, HalfLifeSeconds: 3600, MinSalience: 0.5,
		ReinforcementGain: 0.1}
	m.Lifecycle.LastReinforcedAt = w.now
	m.Salience = 1
	for _, c := range change {
		c(&m)
	}
	return w.created(m)
}

func (w *world) sweepDecay(run string, limit int) sweeping.DecayBatch {
	w.t.Helper()
	var sum sweeping.DecayBatch
	for {
		b, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: w.p.Tenant, Run: run, After: sum.Next, Until: w.now,
			Limit: limit, Now: w.now})
		require.NoError(w.t, err)
		require.LessOrEqual(w.t, b.Pruned+b.Archived+b.Kept+b.NotDue, limit, "a batch is capped")
		sum = sweeping.DecayBatch{Pruned: sum.Pruned + b.Pruned, Archived: sum.Archived + b.Archived,
			Kept: sum.Kept + b.Kept, NotDue: sum.NotDue + b.NotDue, Next: b.Next}
		if !b.More {
			return sum
		}
	}
}

func (w *world) last(id uuid.UUID) schema.HistoryEntry {
	w.t.Helper()
	h := w.history(id)
	return h[len(h)-1]
}

// Document 004 §5: episodes fade fast. An episode that is not reinforced is due in its fifth week.
func TestAnEpisodeIsDueInItsFifthWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(schema.Candidate{Content: "The build failed on node 7.", SourceKind: schema.SourceToolOutput})
	require.NoError(t, w.CompleteJobs(ctx, r, w.now))
	id, began := uuid.MustParse(ack.MemoryIDs[0]), w.now
	require.Equal(t, schema.TypeEpisodic, w.get(id).Type)
	w.now = began.Add(28 * day)
	require.Zero(t, w.sweepDecay("early", 500))
	w.now = began.Add(35 * day)
	require.Equal(t, 1, w.sweepDecay("late", 500).Pruned)
}

func TestDecayDoesWhatThePolicySays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	policy := func(p schema.DeletionPolicy) func(*schema.MemoryRecord) {
		return func(m *schema.MemoryRecord) { m.Lifecycle.DeletionPolicy = p }
	}
	world := func(m *schema.MemoryRecord) { m.WorldID = "world" }
	auto, manual, never := w.fading("It goes."), w.fading("It is put away.",
		policy(schema.DeleteManualOnly)), w.fading("It stays.", policy(schema.DeleteNever))
	pinned := w.fading("It is pinned.", func(m *schema.MemoryRecord) { m.Lifecycle.Pinned = true; m.Importance = 1 })
	ofWorld, young := w.fading("It is of a world.", world), w.fading("It is not due.", func(m *schema.MemoryRecord) {
		m.Lifecycle.Decay.HalfLifeSeconds = 7200
	})
	aged := w.fading("It is old.", func(m *schema.MemoryRecord) {
		m.Lifecycle.Decay.HalfLifeSeconds, m.Lifecycle.Decay.MaxAgeSeconds = 1e9, 3600
	})
	decision := w.fading("It was decided.", func(m *schema.MemoryRecord) { m.Lifecycle.Decay.HalfLifeSeconds = 1e9 })
	acted := w.fading("It was acted on.")
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'promoted_to', $2, now())`, acted, decision)
	_, err := w.SetRetention(ctx, "t",
		schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierSession, Typology: schema.Any,
			KeepSeconds: 86400,
			OnExpiry:    schema.ExpiryPurge, DecayExempt: false, UpdatedBy: "alice", Reason: "a test"}, nil, nil, w.now)
	require.NoError(t, err)

	w.now = w.now.Add(time.Hour - time.Millisecond)
	require.Zero(t, w.sweepDecay("early", 500), "nothing is due yet")
	w.now = w.now.Add(time.Millisecond)
	done := w.sweepDecay("run", 500)
	require.Equal(t, []int{2, 3, 1, 0}, []int{done.Pruned, done.Archived, done.Kept, done.NotDue})

	for id, want := range map[uuid.UUID]struct {
		event  schema.HistoryEvent
		action schema.AuditAction
		reason string
	}{
		auto: {schema.EventDeleted, schema.AuditDelete, "decay: faded (salience 0.500, threshold 0.500)"},
		aged: {schema.EventDeleted, schema.AuditDelete, "decay: max_age (salience 1.000, threshold 0.500)"},
		manual: {schema.EventModified, schema.AuditArchive,
			"decay: archived, not deleted: manual_only (salience 0.500, threshold 0.500)"},
		ofWorld: {schema.EventModified, schema.AuditArchive,
			"decay: archived, not deleted: world (salience 0.500, threshold 0.500)"},
		acted: {schema.EventModified, schema.AuditArchive,
			"decay: archived, not deleted: action_linked (salience 0.500, threshold 0.500)"},
		never: {schema.EventNone, schema.AuditKeep, "decay: kept: never (salience 0.500, threshold 0.500)"},
	} {
		h := w.last(id)
		require.Equal(t, []any{want.event, want.action, want.reason, "decay"},
			[]any{h.Event, h.Action, h.Reason, h.ChangedBy})
	}
	for _, id := range []uuid.UUID{pinned, young, decision, never} {
		require.Equal(t, 1, w.count("memories", "live AND id = $1", id))
	}
	require.Equal(t, "It goes.", *w.last(auto).OldContent)
	require.Equal(t, 5, w.count("index_outbox", "op = 'delete'"))
	require.Zero(t, w.count("memories", "id = $1 AND decay_due_at IS NOT NULL", never),
		"it is not due again before it changes")
	w.requireExactStats()
	testkit.CheckInvariants(t, w.owner)

	before := w.snapshot()
	require.Zero(t, w.sweepDecay("run", 500), "a second sweep finds nothing")
	require.Equal(t, before, w.snapshot())
	runs, err := w.SweepRuns(ctx, "t", schema.SweepDecay, 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, map[string]int64{"pruned": 2, "archived": 3, "kept": 1}, runs[0].Counts)

	// A memory that decay deleted can be recovered. Its curve starts again, so that it is not due at once.
	for _, id := range []uuid.UUID{auto, manual} {
		require.Equal(t, schema.RecoverRecovered, w.recoverOne(id).Status)
		m := w.get(id)
		require.Equal(t, []any{1.0, w.now.Add(time.Hour)}, []any{m.Salience, m.Lifecycle.DecayDueAt.UTC()})
	}
	require.Zero(t, w.sweepDecay("again", 500))
	testkit.CheckInvariants(t, w.owner)
}

// A memory that a policy exempts is checked again after the policy may have changed.
func TestDecayRechecksExemptMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.fading("It is exempt.")
	exempt := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 86400, OnExpiry: schema.ExpiryPurge,
		DecayExempt: true, UpdatedBy: "alice", Reason: "a test"}
	_, err := w.SetRetention(ctx, "t", exempt, nil, &exempt.DecayExempt, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(2 * time.Hour)
	require.Equal(t, 1, w.sweepDecay("first", 500).Kept)
	require.Contains(t, w.last(id).Reason, "decay_exempt")
	exempt.DecayExempt = false
	_, err = w.SetRetention(ctx, "t", exempt, nil, &exempt.DecayExempt, w.now)
	require.NoError(t, err)
	require.Zero(t, w.sweepDecay("second", 500))
	w.now = w.now.Add(lifecycle.KeptFor)
	require.Equal(t, 1, w.sweepDecay("third", 500).Pruned)

	var unknown *schema.ValidationError
	_, err = w.RetentionChanges(ctx, "t", uuid.New(), 10)
	require.ErrorAs(t, err, &unknown, "an unknown cursor does not look like the end of the list")
	changes, err := w.RetentionChanges(ctx, "t", uuid.Nil, 10)
	require.NoError(t, err)
	require.Len(t, changes, 2)
	require.Equal(t, []any{true, false, "alice", "a test"},
		[]any{changes[0].Before.DecayExempt, changes[0].After.DecayExempt, changes[0].ChangedBy, changes[0].Reason})
	require.Nil(t, changes[1].Before)
}

// The result of a sweep depends neither on its batches nor on where it is interrupted.
func TestDecayInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 7
	for i := range n {
		w.fading(fmt.Sprintf("Note %d of several.", i))
	}
	w.now = w.now.Add(2 * time.Hour)
	for range (n + 1) / 2 {
		before := w.snapshot()
		w.failing("memory_history", func() {
			_, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: "run", Until: w.now, Limit: 2,
				Now: w.now})
			require.Error(t, err)
		})
		require.Equal(t, before, w.snapshot(), "a batch is all or nothing")
		// A sweep that is killed after its commit begins again without its position.
		_, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: "run", Until: w.now, Limit: 2, Now: w.now})
		require.NoError(t, err)
	}
	require.Equal(t, n, w.count("memories", "deleted_at IS NOT NULL AND version = 2"))
	require.Equal(t, n, w.count("memory_history", "action = 'delete'"))
	runs, err := w.SweepRuns(ctx, "t", schema.SweepDecay, 10)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"pruned": n}, runs[0].Counts, "counted in the transaction of each batch")
	testkit.CheckInvariants(t, w.owner)
}

func TestConcurrentDecaySweeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 40
	for i := range n {
		w.fading(fmt.Sprintf("Note %d of many.", i))
	}
	w.now = w.now.Add(2 * time.Hour)
	var wg sync.WaitGroup
	taken, errs := make([]int, 4), make([]error, 4)
	for i := range taken {
		wg.Go(func() {
			at := schema.DueCursor{}
			for {
				b, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: fmt.Sprint(i), After: at,
					Until: w.now, Limit: 5, Now: w.now})
				errs[i] = err
				if err != nil || !b.More && b.Pruned == 0 {
					break
				}
				taken[i] += b.Pruned
				at = b.Next
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	left := w.sweepDecay("rest", 500).Pruned
	require.Less(t, left, n, "some were removed before")
	for _, k := range taken {
		left += k
	}
	require.Equal(t, n, left, "each is taken once")
	require.Equal(t, n, w.count("memories", "deleted_at IS NOT NULL AND version = 2"))
	w.requireExactStats()
	testkit.CheckInvariants(t, w.owner)
}

// A memory that a pipeline processes or that another transaction has locked is skipped; the ones after it are not.
func TestDecaySkipsBusyMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy := w.memory("A pipeline works on it.")
	held, free := w.fading("Somebody holds it."), w.fading("Nobody holds it.")
	w.exec(`UPDATE memories SET decay_due_at = $2 WHERE id = $1`, busy, w.now)
	w.now = w.now.Add(365 * 24 * time.Hour)
	tx, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM memories WHERE id = $1 FOR UPDATE`, held)
	require.NoError(t, err)
	require.Equal(t, 1, w.sweepDecay("run", 1).Pruned)
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, []int{0, 1, 1},
		[]int{w.count("memories", "live AND id = $1", free), w.count("memories", "live AND id = $1", held),
			w.count("memories", "live AND id = $1", busy)})
	require.Equal(t, 1, w.sweepDecay("run", 500).Pruned)
}

// A stored due time that is too early removes nothing before the correct time, and is repaired.
func TestDecayRepairsAWrongDueTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.fading("It has an hour.")
	w.exec(`UPDATE memories SET decay_due_at = $2 WHERE id = $1`, id, w.now.Add(-time.Hour))
	require.Equal(t, 1, w.sweepDecay("run", 500).NotDue)
	require.Equal(t, w.now.Add(time.Hour), w.get(id).Lifecycle.DecayDueAt.UTC())
	require.Len(t, w.history(id), 1, "the memory did not change")
}

// CheckClock fails if any of the clocks is ahead.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	require.NoError(t, w.CheckClock(ctx))
	require.NoError(t, w.CheckClock(ctx, now, now.Add(-1000*time.Hour)))
	for _, at := range [][]time.Time{{now, now.Add(time.Hour)}, {now.Add(time.Hour), now}} {
		require.ErrorIs(t, w.CheckClock(ctx, at...), sweeping.ErrClockAhead)
	}
}

// A clock that jumped ahead makes everything due at once. The sweep asks for approval. Approved memories are removed
// by any run.
func TestLargeDecaySweepNeedsApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 20
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`)
	w.exec(`UPDATE memories SET half_life = '1 hour', min_salience = 0.5, salience_at = $1,
		decay_due_at = $1::timestamptz + interval '1 hour'`, w.now)
	begin := func() *schema.SweepHold {
		t.Helper()
		begun, err := w.BeginSweep(ctx, "t", schema.SweepDecay, 0.5, w.now)
		require.NoError(t, err)
		return begun.Held
	}
	batch := func() int {
		t.Helper()
		b, err := w.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: "run", Until: w.now, Limit: 10, Now: w.now})
		require.NoError(t, err)
		return b.Pruned
	}
	require.Nil(t, begin())
	early := w.now
	w.now = w.now.Add(24 * time.Hour)
	for range 2 { // asked for once
		held := begin()
		require.Equal(t, []any{int64(lifecycle.SweepFree + 1), int64(n), w.now},
			[]any{held.WouldTake, held.Stored, held.AskedAt.UTC()})
		require.Zero(t, batch(), "a run that began before the question removes nothing either")
	}
	holds, err := w.SweepHolds(ctx)
	require.NoError(t, err)
	require.Len(t, holds, 1)
	tenants, err := w.DecayTenants(ctx, "", 10, early)
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, tenants,
		"a tenant with an open question is visited, although nothing may be due any more")
	_, err = w.AdmitSweep(ctx, "other", schema.SweepDecay, 5, "alice", "x", w.now)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = w.AdmitSweep(ctx, "t", schema.SweepDecay, 15, "alice", "it was a long holiday", w.now)
	require.NoError(t, err)
	require.Nil(t, begin())
	var wg sync.WaitGroup
	taken := make([]int, 4)
	for i := range taken { // two runs and their retries
		wg.Go(func() { taken[i] = batch() })
	}
	wg.Wait()
	require.Equal(t, 15, taken[0]+taken[1]+taken[2]+taken[3], "the approved memories, each once")
	require.NotNil(t, begin(), "the approval is used up, and the rest is still too much")
	_, err = w.AdmitSweep(ctx, "t", schema.SweepDecay, 2*n, "alice", "all of it", w.now)
	require.NoError(t, err)
	w.sweepDecay("run", 500)
	require.Nil(t, begin(), "nothing is left to approve")
	require.Zero(t, w.count("sweep_holds", "true"), "the rest of the approval is discarded")
	w.requireExactStats()
}

// A memory that is due but stays is not counted: the sweep would ask for approval of nothing.
func TestDecayApprovalDoesNotCountMemoriesThatStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 20
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`)
	due := `half_life = '1 hour', min_salience = 0.5, salience_at = $1, decay_due_at = $1::timestamptz + interval '1 hour'`
	for _, stays := range []string{`deletion_policy = 'never'`,
		`world_id = 'w', tier = 'persistent', typology = 'semantic', deletion_policy = 'auto_prune'`,
		`typology = 'procedural'`} {
		w.exec(`UPDATE memories SET `+stays+`, `+due, w.now)
		begun, err := w.BeginSweep(ctx, "t", schema.SweepDecay, 0.5, w.now.Add(day))
		require.NoError(t, err)
		require.Nil(t, begun.Held, stays)
	}
	w.exec(`UPDATE memories SET valid_until = $1::timestamptz + interval '2 hours', typology = 'semantic',
		world_id = 'w'`, w.now)
	begun, err := w.BeginSweep(ctx, "t", schema.SweepDecay, 0.5, w.now.Add(day))
	require.NoError(t, err)
	require.NotNil(t, begun.Held, "a hold that no longer applies is released")
}

// The count before approval equals what the rule removes, for any policy, class and validity.
func TestDecayCountMatchesTheRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = lifecycle.SweepFree + 20
	w.insertMany(n)
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = now()`)
	w.exec(`UPDATE memories SET half_life = '1 hour', min_salience = 0.5, salience = 1, salience_at = $1,
		decay_due_at = $1::timestamptz + interval '1 hour', decay_curve = 'exponential', decay_floor = 0`, w.now)
	at, past, future := w.now.Add(day), w.now.Add(2*time.Hour), w.now.Add(2*day)
	taken := map[bool]int{}
	for _, policy := range []schema.DeletionPolicy{schema.DeleteNever, schema.DeleteManualOnly,
		schema.DeleteAutoPrune} {
		for _, world := range []bool{false, true} {
			for _, class := range []struct {
				Tier     schema.Tier
				Typology schema.Typology
			}{
				{Tier: schema.TierPersistent, Typology: schema.TypologySemantic},
				{Tier: schema.TierPersistent, Typology: schema.TypologyProcedural},
				{Tier: schema.TierSession, Typology: schema.TypologySemantic},
			} {
				for _, until := range []*time.Time{nil, &past, &future} {
					m := lifecycle.Decayed{Decay: memory.Decay{Curve: schema.CurveExponential, HalfLife: time.Hour,
						MinSalience: 0.5},
						Salience: 1, SalienceAt: w.now, CreatedAt: w.now, DeletionPolicy: policy, World: world,
						Tier:     class.Tier,
						Typology: class.Typology, ValidUntil: until}
					domain := schema.RetainMemory
					if world {
						domain = schema.RetainWorld
					}
					v := lifecycle.JudgeDue(m, lifecycle.DefaultRetention(domain, class.Tier, class.Typology), at)
					takes := v.Outcome == lifecycle.SweepPrune || v.Outcome == lifecycle.SweepArchive
					w.exec(`UPDATE memories SET deletion_policy = $1, world_id = CASE WHEN $2 THEN 'w' END, tier = $3,
						typology = $4,
						valid_until = $5`, policy, world, class.Tier, class.Typology, until)
					begun, err := w.BeginSweep(ctx, "t", schema.SweepDecay, 0.5, at)
					require.NoError(t, err)
					require.Equal(t, takes, begun.Held != nil, "%s %s %s world %t until %v: %s", policy, class.Tier,
						class.Typology,
						world, until, v.Why)
					taken[takes]++
				}
			}
		}
	}
	require.NotZero(t, taken[true])
	require.NotZero(t, taken[false])
}

// The salience and importance that are shown are computed for now. Reading changes the importance only.
func TestSalienceAndImportanceAreComputedForNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.fading("It fades by the hour.", func(m *schema.MemoryRecord) { m.Importance = 0.8 })
	pinned := w.fading("It is pinned.", func(m *schema.MemoryRecord) { m.Lifecycle.Pinned = true; m.Importance = 1 })
	worth := func(id uuid.UUID) []float64 {
		t.Helper()
		rows, err := w.Hydrate(ctx, pg.Filter{Principal: w.p}, []uuid.UUID{id}, w.now)
		require.NoError(t, err)
		return []float64{rows[id].Salience, rows[id].ImportanceNow, rows[id].Importance}
	}
	w.now = w.now.Add(day)
	require.InDeltaSlice(t, []float64{math.Exp2(-24), 0.8 * 0.95, 0.8}, worth(id), 1e-9)
	require.InDeltaSlice(t, []float64{1, 1, 1}, worth(pinned), 1e-9)
	due := w.get(id).Lifecycle.DecayDueAt
	require.NoError(t, w.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: w.p,
		MemoryIDs: []uuid.UUID{id}}, w.now))
	require.InDeltaSlice(t, []float64{math.Exp2(-24), 0.8, 0.8}, worth(id), 1e-9,
		"reading resets the importance and nothing else")
	require.Equal(t, due, w.get(id).Lifecycle.DecayDueAt)
	w.now = w.now.Add(-2 * day)
	require.InDeltaSlice(t, []float64{1, 0.8, 0.8}, worth(id), 1e-9, "a clock that was put back causes no decay")
}
