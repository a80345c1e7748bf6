package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func candidates[T any](in []T, id func(T) uuid.UUID) []string {
	out := []string{}
	for _, x := range in {
		out = append(out, id(x).String())
	}
	return out
}

func extractable(e pipeline.Extractable) uuid.UUID { return e.CandidateID }
func undecided(u pipeline.Undecided) uuid.UUID     { return u.CandidateID }

func (w *world) job(r schema.Range, n int) schema.Job {
	w.t.Helper()
	jobs, err := w.Jobs(ctx, w.p.Tenant, pipeline.JobFilter{BatchID: r.BatchID})
	require.NoError(w.t, err)
	return jobs[n]
}

func TestExtractionResumesWhereItStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("one", "two", "three", "four")...)
	ids := ack.MemoryIDs
	first, err := w.LeaseExtract(ctx, r, w.now)
	require.NoError(t, err)
	require.ElementsMatch(t, ids, candidates(first, extractable))
	require.Equal(t, schema.JobLeased, w.job(r, 0).State)

	usage := inference.Usage{Model: "m", Calls: 1, PromptTokens: 7, CompletionTokens: 3}
	paid := []pipeline.Extracted{{CandidateID: uuid.MustParse(ids[1]),
		Extraction: memory.Extraction{Facts: []memory.Fact{fact("two is a number")}}, Usage: usage}}
	require.NoError(t, w.SaveExtractions(ctx, "t", paid, w.now))
	second, err := w.LeaseExtract(ctx, r, w.now)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{ids[0], ids[2], ids[3]}, candidates(second, extractable))
	third, err := w.LeaseExtract(ctx, schema.Range{Tenant: "t", BatchID: r.BatchID, From: 0, To: 2}, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{ids[0]}, candidates(third, extractable), "candidates outside the range are not leased")
	foreign, err := w.LeaseExtract(ctx, schema.Range{Tenant: "t2", BatchID: r.BatchID, From: 0, To: 4}, w.now)
	require.NoError(t, err)
	require.Empty(t, foreign)

	j := w.job(r, 1)
	require.Len(t, j.Log, 1)
	require.Equal(t, schema.JobAttempt{Attempt: 1, Phase: "extract", At: w.now, Outcome: "ok", Model: "m",
		PromptTokens: 7, CompletionTokens: 3}, j.Log[0])

	changed := paid
	changed[0].Extraction.Facts = []memory.Fact{fact("another answer altogether")}
	require.NoError(t, w.SaveExtractions(ctx, "t", changed, w.now))
	due, err := w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{ids[1]}, candidates(due, undecided), "only candidates that were extracted")
	require.Equal(t, "two is a number", due[0].Facts[0].Content, "the first result is kept")
}

func TestDecisionsResumeWhereTheyStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("one", "two")...)
	a, b := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1])
	known := w.memory("what is known")
	w.decided(r, a, idea{fact: fact("a fact of one"), action: schema.ActionAdd, offered: []uuid.UUID{known}},
		idea{fact: fact("a second fact of one"), action: schema.ActionAdd})
	require.NoError(t, w.SaveExtractions(ctx, "t",
		[]pipeline.Extracted{{CandidateID: b, Extraction: memory.Extraction{Facts: []memory.Fact{}}}}, w.now))
	due, err := w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{b.String()}, candidates(due, undecided), "a decided candidate is not decided again")
	require.NoError(t, w.SaveDecisions(ctx, r, []uuid.UUID{b}, nil, w.now))
	due, err = w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Empty(t, due, "without facts there is nothing to decide")

	before := w.snapshot()
	w.decide(r, a, idea{fact: fact("a fact of one"), action: schema.ActionNone})
	after := w.snapshot()
	require.Equal(t, before["proposals"], after["proposals"], "a repeated decision does not replace the first")

	w.touch(known)
	require.Equal(t, 1, w.write(r).Stale)
	due, err = w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{a.String()}, candidates(due, undecided))
	require.Equal(t, []int{0}, due[0].Stale, "only the fact whose candidates have changed")
}

func TestFailedAttemptsLeadToRetryOrDeath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("one", "two", "three")...)
	ids := make([]uuid.UUID, 3)
	for i := range ids {
		ids[i] = uuid.MustParse(ack.MemoryIDs[i])
	}
	lease := func(want ...uuid.UUID) {
		left, err := w.LeaseExtract(ctx, r, w.now)
		require.NoError(t, err)
		require.ElementsMatch(t, want, leasedIDs(left))
	}
	fail := func(permanent bool, ids ...uuid.UUID) int {
		var failures []pipeline.Failure
		for _, id := range ids {
			failures = append(failures, pipeline.Failure{CandidateID: id, Phase: "extract", Reason: "endpoint down",
				Permanent: permanent, Usage: inference.Usage{Model: "m", PromptTokens: 5}})
		}
		n, err := w.FailJobs(ctx, "t", failures, w.now)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 0, w.job(r, 0).Attempts)
	lease(ids...)
	j := w.job(r, 0)
	require.Equal(t, []any{schema.JobLeased, 1}, []any{j.State, j.Attempts},
		"the attempt is counted when the lease is taken")
	require.Equal(t, 1, fail(false, ids[0]))
	j = w.job(r, 0)
	require.Equal(t, schema.JobFailed, j.State)
	require.Equal(t, 1, j.Attempts)
	require.Equal(t, "endpoint down", j.LastError)
	require.Nil(t, j.FinishedAt)

	require.Zero(t, fail(true, ids[1]), "a permanent failure is final at once")
	j = w.job(r, 1)
	require.Equal(t, schema.JobDead, j.State)
	require.Equal(t, 1, j.Attempts)
	require.NotNil(t, j.FinishedAt)
	h := w.history(ids[1])
	require.Equal(t, "pipeline", h[len(h)-1].ChangedBy)
	require.Contains(t, h[len(h)-1].Reason, "endpoint down")

	lease(ids[0], ids[2])
	require.Equal(t, []any{schema.JobLeased, 2}, []any{w.job(r, 0).State, w.job(r, 0).Attempts})
	require.Equal(t, []any{schema.JobLeased, 1}, []any{w.job(r, 2).State, w.job(r, 2).Attempts},
		"an attempt with a valid lease continues")
	require.Equal(t, 1, fail(false, ids[0]))
	lease(ids[0], ids[2])
	require.Zero(t, fail(false, ids[0]), "the third of three attempts")
	j = w.job(r, 0)
	require.Equal(t, schema.JobDead, j.State)
	require.Equal(t, 3, j.Attempts)
	require.Len(t, j.Log, 3)
	require.Equal(t, []int{1, 2, 3}, []int{j.Log[0].Attempt, j.Log[1].Attempt, j.Log[2].Attempt})

	before := w.snapshot()
	require.Zero(t, fail(false, ids[0], ids[1]), "a dead job does not fail again")
	require.Equal(t, before, w.snapshot())

	left, err := w.LeaseExtract(ctx, r, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{ids[2].String()}, candidates(left, extractable), "the others continue")
	require.NoError(t, w.CompleteJobs(ctx, r, w.now))
	counts, err := w.JobCounts(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, map[schema.JobState]int64{schema.JobDead: 2, schema.JobCompleted: 1}, counts)
	require.Equal(t, 1, w.count("memory_candidates", "state = 'done'"))
}

func leasedIDs(left []pipeline.Extractable) (ids []uuid.UUID) {
	for _, e := range left {
		ids = append(ids, e.CandidateID)
	}
	return ids
}

// Attempts are counted per phase: attempts of the extraction do not count against the decision.
func TestAttemptsArePerPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("one")...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	failure := func(phase string) {
		n, err := w.FailJobs(ctx, "t", []pipeline.Failure{{CandidateID: id, Phase: phase, Reason: "endpoint down"}},
			w.now)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	for range 2 {
		require.NoError(t, second(w.LeaseExtract(ctx, r, w.now)))
		failure("extract")
	}
	require.NoError(t, second(w.LeaseExtract(ctx, r, w.now)))
	require.Equal(t, 3, w.job(r, 0).Attempts)
	require.NoError(t, w.SaveExtractions(ctx, "t",
		[]pipeline.Extracted{{CandidateID: id,
			Extraction: memory.Extraction{Facts: []memory.Fact{fact("one is here")}}}}, w.now))
	due, err := w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Len(t, due, 1)
	j := w.job(r, 0)
	require.Equal(t, []any{schema.JobLeased, "decide", 1}, []any{j.State, j.Phase, j.Attempts})
	failure("decide")
	due, err = w.LeaseDecide(ctx, r, w.now)
	require.NoError(t, err)
	require.Len(t, due, 1, "a failed job is tried again")
	require.Equal(t, 2, w.job(r, 0).Attempts)
}

// The waiting time of a job that is revived days later starts at the revival, so that no alert is raised for it.
func TestWaitingTimeOfARevivedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("zero")...)
	_, err := w.FailJobs(ctx, "t",
		[]pipeline.Failure{{CandidateID: uuid.MustParse(ack.MemoryIDs[0]), Phase: "extract", Reason: "poison",
			Permanent: true}}, w.now)
	require.NoError(t, err)
	w.now = w.now.Add(72 * time.Hour)
	_, err = w.ReviveJob(ctx, "t", uuid.MustParse(w.job(r, 0).ID), "op", "ops", w.now)
	require.NoError(t, err)
	q, err := w.JobQueue(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, q.Waiting)
	require.WithinDuration(t, w.now, *q.Oldest, time.Millisecond)
	stats, err := w.Stats(ctx, "t")
	require.NoError(t, err)
	require.WithinDuration(t, w.now, *stats.OldestJob, time.Millisecond)
	open, err := w.OpenJobs(ctx, "t", w.now, 10)
	require.NoError(t, err)
	require.Empty(t, open, "nor is it counted as stalled")
	open, err = w.OpenJobs(ctx, "t", w.now.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
}

func TestADeadJobIsRevived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("zero", "one", "two")...)
	id := uuid.MustParse(ack.MemoryIDs[1])
	job := w.job(r, 1)
	_, err := w.ReviveJob(ctx, "t", uuid.MustParse(job.ID), "op", "ops", w.now)
	require.ErrorIs(t, err, pipeline.ErrNotDead)
	_, err = w.ReviveJob(ctx, "t", uuid.New(), "op", "ops", w.now)
	require.ErrorIs(t, err, pg.ErrNotFound)

	_, err = w.FailJobs(ctx, "t", []pipeline.Failure{{CandidateID: id, Phase: "extract", Reason: "poison",
		Permanent: true}}, w.now)
	require.NoError(t, err)
	_, err = w.ReviveJob(ctx, "t2", uuid.MustParse(job.ID), "op", "ops", w.now)
	require.ErrorIs(t, err, pg.ErrNotFound, "a job of another tenant")
	got, err := w.ReviveJob(ctx, "t", uuid.MustParse(job.ID), "op", "ops", w.now)
	require.NoError(t, err)
	require.Equal(t, schema.Range{Tenant: "t", BatchID: r.BatchID, From: 1, To: 2}, got)
	again, err := w.ReviveJob(ctx, "t", uuid.MustParse(job.ID), "op", "ops", w.now)
	require.NoError(t, err, "a repeated request: the acknowledgement of the first was lost")
	require.Equal(t, got, again)
	_, err = w.ReviveJob(ctx, "t", uuid.MustParse(job.ID), "another", "ops", w.now)
	require.ErrorIs(t, err, pipeline.ErrNotDead)
	j := w.job(r, 1)
	require.Equal(t, schema.JobPending, j.State)
	require.Zero(t, j.Attempts)
	require.Nil(t, j.FinishedAt)
	h := w.history(id)
	require.Equal(t, "ops", h[len(h)-1].ChangedBy)
	left, err := w.LeaseExtract(ctx, got, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{id.String()}, candidates(left, extractable))
}

func TestBuryAndNoteTouchOpenJobsOfTheRangeOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(say("one", "two", "three")...)
	part := r
	part.To = 2
	require.NoError(t, w.CompleteJobs(ctx, schema.Range{Tenant: "t", BatchID: r.BatchID, From: 0, To: 1}, w.now))
	require.NoError(t, w.NoteOnJobs(ctx, part, "link: graph is down", w.now))
	require.Empty(t, w.job(r, 0).LastError)
	require.Equal(t, "link: graph is down", w.job(r, 1).LastError)
	require.Empty(t, w.job(r, 2).LastError)
	n, err := w.MarkRangeDead(ctx, part, "write", "gave up", w.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []schema.JobState{schema.JobCompleted, schema.JobDead, schema.JobPending},
		[]schema.JobState{w.job(r, 0).State, w.job(r, 1).State, w.job(r, 2).State})
	n, err = w.MarkRangeDead(ctx, part, "write", "gave up", w.now)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestJobsArePagedOldestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.stage(say("one", "two", "three", "four", "five")...)
	_, err := w.MarkRangeDead(ctx, schema.Range{Tenant: "t", BatchID: r.BatchID, From: 0, To: 2}, "write", "gave up",
		w.now)
	require.NoError(t, err)
	var seen []string
	after := ""
	for {
		page, err := w.Jobs(ctx, "t", pipeline.JobFilter{After: after, Limit: 2})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 2)
		for _, j := range page {
			require.Greater(t, j.ID, after)
			after = j.ID
			seen = append(seen, j.ID)
		}
	}
	require.Len(t, seen, 5)
	dead, err := w.Jobs(ctx, "t", pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Len(t, dead, 2)
	_, err = w.Jobs(ctx, "t", pipeline.JobFilter{After: "nonsense"})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	none, err := w.Jobs(ctx, "t2", pipeline.JobFilter{})
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = w.Job(ctx, "t2", uuid.MustParse(seen[0]))
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = w.Batch(ctx, "t2", r.BatchID)
	require.ErrorIs(t, err, pg.ErrNotFound)
}
