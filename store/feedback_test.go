package store_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

// retrieved records that a recall of the principal has returned the memories.
func (w *world) retrieved(ids ...uuid.UUID) uuid.UUID {
	w.t.Helper()
	r := search.Retrieval{ID: uuid.New(), Principal: w.p, MemoryIDs: ids}
	require.NoError(w.t, w.TrackRetrieval(ctx, r, w.now))
	return r.ID
}

func says(id uuid.UUID, v schema.Verdict) schema.FeedbackItem {
	return schema.FeedbackItem{MemoryID: id.String(), Verdict: v}
}

func (w *world) feedbackInput(retrieval uuid.UUID, items ...schema.FeedbackItem) pipeline.FeedbackInput {
	op := w.modification()
	op.WorkflowID = "feedback/t/a/1"
	return pipeline.FeedbackInput{Operation: op, Policy: w.policy, Now: w.now,
		Request: schema.FeedbackRequest{Operation: schema.Operation{Principal: w.p}, RetrievalID: retrieval.String(),
			Items: items}}
}

func (w *world) feedback(retrieval uuid.UUID, items ...schema.FeedbackItem) schema.FeedbackResult {
	w.t.Helper()
	return w.feed(w.feedbackInput(retrieval, items...))
}

func (w *world) feed(in pipeline.FeedbackInput) schema.FeedbackResult {
	w.t.Helper()
	require.NoError(w.t, in.Request.Validate())
	out, err := w.Feedback(ctx, in)
	require.NoError(w.t, err)
	w.requireExactDue()
	return out
}

func metadataOf(t testing.TB, h schema.HistoryEntry) (out map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(h.Metadata, &out))
	return out
}

// feedbackOn is feedback on one memory.
func (w *world) feedbackOn(retrieval, id uuid.UUID, v schema.Verdict) schema.FeedbackResultItem {
	w.t.Helper()
	return w.feedback(retrieval, says(id, v)).Items[0]
}

// requireExactDue recomputes the due time of every memory from the stored fields and compares.
func (w *world) requireExactDue() {
	w.t.Helper()
	memories, err := w.List(ctx, pg.Filter{Principal: w.p, MaxSensitivity: schema.SensitivityHyper},
		pg.Page{Limit: 500})
	require.NoError(w.t, err)
	for _, m := range memories {
		l := m.Lifecycle
		d := memory.Decay{Curve: l.Decay.Curve, HalfLife: time.Duration(l.Decay.HalfLifeSeconds) * time.Second,
			MinSalience: l.Decay.MinSalience,
			MaxAge:      time.Duration(l.Decay.MaxAgeSeconds) * time.Second, Floor: l.Decay.Floor,
			ReinforcementGain: l.Decay.ReinforcementGain}
		due, falls := d.DueAt(m.Salience, m.SalienceAt, m.CreatedAt, l.Pinned)
		require.Equal(w.t, falls, l.DecayDueAt != nil, m.ID)
		require.True(w.t, !falls || due.Equal(*l.DecayDueAt), "%s is due at %s, stored %s", m.ID, due, l.DecayDueAt)
	}
}

func (w *world) procedure(name string) uuid.UUID {
	w.t.Helper()
	return w.keep(schema.MemoryRecord{Type: schema.TypeCompetence, Confidence: 0.7, Importance: 0.5, Salience: 0.5,
		SourceTrust: 1, Content: "how to " + name,
		Payload: json.RawMessage(`{"kind":"competence","skill_name":"` + name +
			`","triggers":[{"signal":"ld: cache mismatch"}],"recipe":[{"step":"` + name + `"}],
			"performance":{"avg_latency_ms":12.5}}`)})
}

func (w *world) performance(id uuid.UUID) schema.Performance {
	w.t.Helper()
	var p schema.CompetencePayload
	require.NoError(w.t, json.Unmarshal(w.get(id).Payload, &p))
	require.NotNil(w.t, p.Performance)
	return *p.Performance
}

func TestFeedbackReinforcesAndPenalises(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	helped, inVain, failed, procedure := w.explicit("Tea is served hot."), w.explicit("Coffee is served "+
		"black."), w.explicit("Milk goes first."), w.procedure("rebuild")
	w.exec(`UPDATE memories SET salience = 0.5`)
	w.now = w.now.Add(30 * 24 * time.Hour)
	retrieval := w.retrieved(helped, inVain, failed, procedure)
	before := map[uuid.UUID]schema.MemoryRecord{}
	for _, id := range []uuid.UUID{helped, inVain, failed, procedure} {
		before[id] = w.get(id)
		require.True(t, before[id].SalienceAt.Before(w.now) && before[id].Salience == 0.5,
			"being returned changes nothing else")
		require.True(t, w.now.Equal(*before[id].LastAccessed), "only the time of the last access changes")
	}
	w.now = w.now.Add(time.Hour)
	outbox := w.count("index_outbox", "true")

	in := w.feedbackInput(retrieval, says(procedure, schema.VerdictSucceeded), says(helped, schema.VerdictPartly),
		says(failed, schema.VerdictFailed))
	in.Request.AllOthersUnused, in.Request.Reason, in.Request.Actor = true, "the build is green", "person:mia"
	out := w.feed(in)
	require.Equal(t, "ok", out.Summary())
	require.Equal(t, retrieval.String(), out.RetrievalID)
	want := []struct {
		id      uuid.UUID
		status  schema.FeedbackStatus
		verdict schema.Verdict
		weight  float64
	}{
		{procedure, schema.FeedbackReinforced, schema.VerdictSucceeded, 1},
		{helped, schema.FeedbackReinforced, schema.VerdictPartly, 0.5},
		{failed, schema.FeedbackPenalised, schema.VerdictFailed, -1},
		{inVain, schema.FeedbackPenalised, schema.VerdictUnused, -0.25},
	}
	require.Len(t, out.Items, len(want))
	for i, expected := range want {
		got, was, m := out.Items[i], before[expected.id], w.get(expected.id)
		require.Equal(t, []any{expected.id.String(), expected.status, expected.verdict},
			[]any{got.MemoryID, got.Status, got.Verdict})
		faded := memory.DefaultDecay(m.Type).Salience(0.5, w.now.Sub(was.SalienceAt))
		require.InDelta(t, faded, *got.SalienceBefore, 1e-12)
		require.InDelta(t, faded+0.1*expected.weight, *got.SalienceAfter, 1e-12)
		require.InDelta(t, *got.SalienceAfter,
			memory.DefaultDecay(m.Type).Salience(m.Salience, w.now.Sub(m.SalienceAt)), 1e-12)
		if expected.weight > 0 {
			require.True(t, m.SalienceAt.Equal(w.now), "the curve starts again")
		} else {
			require.True(t, m.SalienceAt.Equal(was.SalienceAt), "the curve continues")
		}
		require.Equal(t, expected.weight > 0, m.Lifecycle.LastReinforcedAt.Equal(w.now))
		require.Equal(t, []any{was.Version, was.UpdatedAt, was.Content, was.Importance},
			[]any{m.Version, m.UpdatedAt, m.Content, m.Importance}, "not what it says")
		h := w.history(expected.id)
		last := h[len(h)-1]
		action := schema.AuditPenalise
		if expected.weight > 0 {
			action = schema.AuditReinforce
		}
		require.Equal(t, []any{schema.EventModified, action, "person:mia", "the build is green", 0},
			[]any{last.Event, last.Action, last.ChangedBy, last.Reason, last.Version})
		require.Nil(t, last.OldContent)
		require.Nil(t, last.NewContent)
		told := metadataOf(t, last)
		require.Equal(t, []any{retrieval.String(), string(expected.verdict), *got.SalienceAfter, "feedback/t/a/1"},
			[]any{told["retrieval_id"], told["verdict"], told["salience_after"], told["workflow_id"]})
	}
	require.Equal(t, outbox, w.count("index_outbox", "true"), "the index needs no update")

	// The feedback counts for the procedure.
	p := w.performance(procedure)
	require.Equal(t, []any{int64(1), int64(0), 1.0, 0.0, 12.5},
		[]any{p.SuccessCount, p.FailureCount, *p.SuccessRate, *p.FailureRate, *p.AvgLatencyMS})
	require.True(t, p.LastUsedAt.Equal(w.now))
	require.InDelta(t, (3*0.7+1)/4, w.get(procedure).Confidence, 1e-12)
	require.Equal(t, []any{int64(1), int64(0), w.get(procedure).Confidence},
		[]any{*out.Items[0].SuccessCount, *out.Items[0].FailureCount, *out.Items[0].Confidence})
	require.Nil(t, out.Items[1].SuccessCount)
	require.Equal(t, before[helped].Confidence, w.get(helped).Confidence)

	// A retrieval is read with its memories in the order in which they were returned.
	read, err := w.Retrieved(ctx, w.p, retrieval)
	require.NoError(t, err)
	require.Len(t, read.Items, 4)
	require.Equal(t, []any{helped.String(), schema.VerdictPartly, "person:mia", 0},
		[]any{read.Items[0].MemoryID, read.Items[0].Verdict, read.Items[0].Actor, read.Items[0].Corrections})
	testkit.CheckInvariants(t, w.owner)
}

// A repeated verdict on an item has no effect. Another verdict replaces it at any later time.
func TestFeedbackIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.procedure("rebuild"), w.procedure("reinstall")
	first, second := w.retrieved(id, other), w.retrieved(id)
	start := w.get(id)
	require.Equal(t, schema.FeedbackReinforced, w.feedbackOn(first, id, schema.VerdictSucceeded).Status)
	stands := w.get(id)
	w.now = w.now.Add(24 * time.Hour)
	again := w.feedbackOn(first, id, schema.VerdictSucceeded)
	require.Equal(t, []any{schema.FeedbackUnchanged, *again.SalienceBefore}, []any{again.Status, *again.SalienceAfter})
	require.Equal(t, stands.Salience, w.get(id).Salience, "the same verdict again changes nothing")
	require.Equal(t, int64(1), w.performance(id).SuccessCount)

	// Another retrieval of the same memory is a separate use.
	require.Equal(t, schema.FeedbackReinforced, w.feedbackOn(second, id, schema.VerdictSucceeded).Status)
	require.Equal(t, int64(2), w.performance(id).SuccessCount)

	// Weeks later it turns out that the use had failed.
	w.now = w.now.Add(20 * 24 * time.Hour)
	item := w.feedbackOn(first, id, schema.VerdictFailed)
	require.Equal(t, []any{schema.FeedbackCorrected, schema.VerdictSucceeded, int64(1), int64(1)},
		[]any{item.Status, item.Corrects, *item.SuccessCount, *item.FailureCount})
	d := memory.DefaultDecay(schema.TypeCompetence)
	once := d.Salience(start.Salience, 24*time.Hour) + 0.1 // without the first verdict
	require.InDelta(t, d.Salience(once, 20*24*time.Hour)-0.1, *item.SalienceAfter, 1e-9)
	require.InDelta(t, *item.SalienceAfter, d.Salience(w.get(id).Salience, w.now.Sub(w.get(id).SalienceAt)), 1e-9)
	require.InDelta(t, (3*0.7+1)/5, w.get(id).Confidence, 1e-9)
	require.Equal(t, 1, w.count("retrieval_feedback",
		"retrieval_id = $1 AND corrections = 1 AND verdict = 'failed' AND counted = 'failure'", first))
	h := w.history(id)
	require.Equal(t, []any{schema.AuditPenalise, "succeeded"},
		[]any{h[len(h)-1].Action, metadataOf(t, h[len(h)-1])["corrects"]})

	// "All others" names no memory in particular, and corrects none.
	in := w.feedbackInput(first)
	in.Request.AllOthersUnused = true
	out := w.feed(in)
	require.Equal(t, []any{schema.FeedbackUnchanged, schema.VerdictFailed},
		[]any{out.Items[0].Status, out.Items[0].Verdict})
	require.Equal(t, []any{schema.FeedbackPenalised, schema.VerdictUnused},
		[]any{out.Items[1].Status, out.Items[1].Verdict})
	// An outcome of the whole retrieval corrects all items.
	in = w.feedbackInput(first)
	in.Request.Outcome = schema.OutcomeSuccess
	out = w.feed(in)
	require.Equal(t, []schema.Verdict{schema.VerdictFailed, schema.VerdictUnused},
		[]schema.Verdict{out.Items[0].Corrects, out.Items[1].Corrects})
	require.Equal(t, int64(2), w.performance(id).SuccessCount)
	require.Zero(t, w.performance(id).FailureCount)
	testkit.CheckInvariants(t, w.owner)
}

func TestFeedbackStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fine, never := w.explicit("Tea is served hot."), w.explicit("Not among the results.")
	deleted, archived, retracted, erased := w.explicit("This goes."), w.explicit("This is put "+
		"away."), w.explicit("This was wrong."), w.explicit("This is erased.")
	contested, pinned := w.explicit("This is doubted."), w.explicit("critical: Never pour water on a grease fire.")
	stranger := *w
	stranger.p.Agent, stranger.vis = "b", schema.VisibilityShared
	shared, hidden := stranger.explicit("Shared for now."), stranger.explicit("Shared, and then no more.")
	byForce := uuid.New()
	retrieval := w.retrieved(fine, deleted, archived, retracted, erased, contested, pinned, shared, hidden, byForce)
	w.softDelete(deleted)
	w.softDelete(erased)
	w.exec(`UPDATE memories SET erased_at = $2, content = '', normalized_content = '' WHERE id = $1`, erased, w.now)
	w.exec(`UPDATE memories SET archived_at = now() WHERE id = $1`, archived)
	w.exec(`UPDATE memories SET status = 'retracted' WHERE id = $1`, retracted)
	w.exec(`UPDATE memories SET status = 'contested' WHERE id = $1`, contested)
	w.exec(`UPDATE memories SET visibility = 'private' WHERE id = $1`, hidden)

	unknown := uuid.New()
	var items []schema.FeedbackItem
	var want []schema.FeedbackStatus
	for _, c := range []struct {
		id   uuid.UUID
		want schema.FeedbackStatus
	}{
		{never, schema.FeedbackNotRetrieved}, {unknown, schema.FeedbackNotRetrieved}, {deleted, schema.FeedbackGone},
		{archived, schema.FeedbackGone},
		{retracted, schema.FeedbackGone}, {erased, schema.FeedbackGone}, {hidden, schema.FeedbackGone},
		{byForce, schema.FeedbackGone},
		{fine, schema.FeedbackReinforced}, {contested, schema.FeedbackReinforced}, {shared, schema.FeedbackReinforced},
		{pinned, schema.FeedbackReinforced},
	} {
		items, want = append(items, says(c.id, schema.VerdictSucceeded)), append(want, c.want)
	}
	statuses := func(out schema.FeedbackResult) (got []schema.FeedbackStatus) {
		for _, item := range out.Items {
			got = append(got, item.Status)
		}
		return got
	}
	frost := *w
	frost.policy.Mode = schema.ModeFrozen
	before := w.snapshot()
	frozen := frost.feedback(retrieval, items[8:]...)
	require.Equal(t, []schema.FeedbackStatus{"mutations_frozen", "mutations_frozen", "mutations_frozen",
		"mutations_frozen"}, statuses(frozen))
	require.Equal(t, "refused", frozen.Summary())
	refused := w.feedback(retrieval, items[:8]...)
	require.Equal(t, want[:8], statuses(refused))
	for _, item := range refused.Items {
		require.Nil(t, item.SalienceBefore, "the result has no values of the memory")
	}
	after := w.snapshot()
	for table, digest := range before {
		if table != "operations" && table != "memory_history" && table != "instance_secrets" {
			require.Equal(t, digest, after[table], table)
		}
	}
	require.Equal(t, 4, w.count("memory_history", "metadata->>'refused' = 'gone' AND event = 'none'"),
		"a visible memory has the refusal in its history")
	require.Zero(t, w.count("memory_history", "memory_id = ANY($1) AND event = 'none'",
		[]uuid.UUID{hidden, byForce, never, unknown}))

	out := w.feedback(retrieval, items...)
	require.Equal(t, want, statuses(out))
	require.Equal(t, "partial", out.Summary())
	require.Nil(t, w.get(pinned).Lifecycle.DecayDueAt, "a pinned memory does not fade")

	// A recovered memory has its previous values, and late feedback on it counts.
	w.recoverOne(deleted)
	require.Equal(t, schema.FeedbackReinforced, w.feedbackOn(retrieval, deleted, schema.VerdictSucceeded).Status)
}

// A retrieval of another agent or tenant and one that does not exist have the same answer, and nothing changes.
func TestFeedbackOnRetrievalsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityGlobal
	id := w.explicit("Tea is served hot.")
	retrieval := w.retrieved(id)
	agent, tenant := *w, *w
	agent.p.Agent = "b"
	tenant.p.Tenant = "t2"
	before := w.snapshot()
	for name, in := range map[string]pipeline.FeedbackInput{
		"unknown":          w.feedbackInput(uuid.New(), says(id, schema.VerdictFailed)),
		"another agent's":  agent.feedbackInput(retrieval, says(id, schema.VerdictFailed)),
		"another tenant's": tenant.feedbackInput(retrieval, says(id, schema.VerdictFailed)),
	} {
		_, err := w.Feedback(ctx, in)
		require.ErrorIs(t, err, pg.ErrNotFound, name)
		require.EqualError(t, err, "feedback: retrieval "+in.Request.RetrievalID+": not found", name)
		_, err = w.Retrieved(ctx, in.Request.Principal, uuid.MustParse(in.Request.RetrievalID))
		require.ErrorIs(t, err, pg.ErrNotFound, name)
	}
	require.Equal(t, before, w.snapshot())
	// Once retention has removed the retrieval, it is unknown, and its feedback is removed with it.
	w.feedbackOn(retrieval, id, schema.VerdictSucceeded)
	w.exec(`DELETE FROM retrievals`)
	_, err := w.Feedback(ctx, w.feedbackInput(retrieval, says(id, schema.VerdictFailed)))
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.Zero(t, w.count("retrieval_feedback", "true"))
	_, err = w.Feedback(ctx, pipeline.FeedbackInput{Operation: w.modification(), Policy: w.policy, Now: w.now,
		Request: schema.FeedbackRequest{Operation: schema.Operation{Principal: w.p}}})
	require.ErrorIs(t, err, pg.ErrNotFound, "a request whose body was removed")
}

func TestFeedbackDeliveredAgainHasOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.procedure("rebuild")
	in := w.feedbackInput(w.retrieved(id), says(id, schema.VerdictSucceeded))
	require.NoError(t, w.Accept(ctx, in.Operation, "feedback", in.Request, w.now))
	results := make(chan schema.FeedbackResult, 8)
	var wg sync.WaitGroup
	for range cap(results) {
		wg.Go(func() {
			out, err := w.Feedback(ctx, in)
			if err != nil {
				t.Error(err)
			}
			results <- out
		})
	}
	wg.Wait()
	first := <-results
	require.Equal(t, schema.FeedbackReinforced, first.Items[0].Status)
	for range cap(results) - 1 {
		require.Equal(t, first, <-results)
	}
	require.Equal(t, int64(1), w.performance(id).SuccessCount)
	require.Equal(t, 1, w.count("memory_history", "action = 'reinforce'"))
	require.Zero(t, w.count("staged_requests", "true"))
}

// Concurrent feedback on one memory counts in full, in any order of the items. Of two verdicts on one item, the last
// one is kept.
func TestConcurrentFeedback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 12
	a, b := w.procedure("rebuild"), w.procedure("reinstall")
	w.exec(`UPDATE memories SET reinforcement_gain = 0.01`)
	var inputs []pipeline.FeedbackInput
	for i := range n {
		items := []schema.FeedbackItem{says(a, schema.VerdictSucceeded), says(b, schema.VerdictFailed)}
		if i%2 == 1 {
			slices.Reverse(items)
		}
		inputs = append(inputs, w.feedbackInput(w.retrieved(a, b), items...))
	}
	contradictory := w.retrieved(a)
	inputs = append(inputs, w.feedbackInput(contradictory, says(a, schema.VerdictSucceeded)),
		w.feedbackInput(contradictory, says(a, schema.VerdictFailed)))
	var wg sync.WaitGroup
	for _, in := range inputs {
		wg.Go(func() {
			if _, err := w.Feedback(ctx, in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var last schema.Verdict
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT verdict FROM retrieval_feedback WHERE retrieval_id = $1 AND corrections = 1`,
		contradictory).Scan(&last))
	successes, failures, salience := int64(n), int64(1), 0.5+(n-1)*0.01
	if last == schema.VerdictSucceeded {
		successes, failures, salience = n+1, 0, 0.5+(n+1)*0.01
	}
	p := w.performance(a)
	require.Equal(t, []int64{successes, failures}, []int64{p.SuccessCount, p.FailureCount})
	require.InDelta(t, salience, w.get(a).Salience, 1e-9)
	require.InDelta(t, (3*0.7+float64(successes))/float64(3+successes+failures), w.get(a).Confidence, 1e-9)
	require.Equal(t, int64(n), w.performance(b).FailureCount)
	require.InDelta(t, 0.5-n*0.01, w.get(b).Salience, 1e-9)
	w.requireExactDue()
	testkit.CheckInvariants(t, w.owner)
}

// A worker whose clock is slow changes the salience but not its time.
func TestFeedbackWithASlowClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.procedure("rebuild")
	first, second, third := w.retrieved(id), w.retrieved(id), w.retrieved(id)
	ahead := w.now.Add(10 * 24 * time.Hour)
	w.now = ahead
	w.feedbackOn(first, id, schema.VerdictSucceeded)
	stands := w.get(id)
	require.True(t, stands.SalienceAt.Equal(ahead))
	w.now = ahead.Add(-9 * 24 * time.Hour)
	item := w.feedbackOn(second, id, schema.VerdictSucceeded)
	require.Equal(t, stands.Salience, *item.SalienceBefore, "a salience from the future does not decay a second time")
	require.InDelta(t, stands.Salience+0.1, *item.SalienceAfter, 1e-12)
	m := w.get(id)
	require.True(t, m.SalienceAt.Equal(ahead))
	require.True(t, m.Lifecycle.LastReinforcedAt.Equal(ahead))
	require.True(t, w.performance(id).LastUsedAt.Equal(ahead))
	// A correction reverts the whole change: for the memory, no time has passed.
	w.now = ahead.Add(-8 * 24 * time.Hour)
	w.feedbackOn(second, id, schema.VerdictPartly)
	require.InDelta(t, stands.Salience+0.05, w.get(id).Salience, 1e-12)
	w.now = ahead.Add(30 * 24 * time.Hour)
	require.InDelta(t, (stands.Salience+0.05)/2, *w.feedbackOn(third, id, schema.VerdictUnused).SalienceBefore, 1e-12)
}

func TestFeedbackIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.procedure("rebuild"), w.explicit("Tea is served hot.")
	in := w.feedbackInput(w.retrieved(id, other), says(id, schema.VerdictSucceeded), says(other, schema.VerdictFailed))
	require.NoError(t, w.Accept(ctx, in.Operation, "feedback", in.Request, w.now))
	before := w.snapshot()
	for _, table := range []string{"memories", "memory_history", "retrieval_feedback", "operations",
		"staged_requests"} {
		w.failing(table, func() {
			_, err := w.Feedback(ctx, in)
			require.ErrorContains(t, err, "broken by the test", table)
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	require.Equal(t, "ok", w.feed(in).Summary())
}
