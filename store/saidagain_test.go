package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

const saidPorto, inLima = "I live in Porto.", "I live in Lima now."

// on returns a statement that was made on a day of January.
func on(day int, content string) schema.Candidate {
	at := time.Date(2026, 1, day, 9, 0, 0, 0, time.UTC)
	return schema.Candidate{Content: content, OccurredAt: &at}
}

// taken stages a statement that must not be a duplicate, takes it through the pipeline, and returns its source and
// the memory of its fact.
func (w *world) taken(c schema.Candidate, i idea) (source, record uuid.UUID) {
	w.t.Helper()
	w.now = w.now.Add(time.Hour)
	ack, r := w.stage(c)
	require.Empty(w.t, ack.Deduped)
	w.decided(r, schema.CandidateID(r.BatchID, 0), i)
	w.write(r)
	require.NoError(w.t, w.CompleteJobs(ctx, r, w.now))
	out := w.outcomes(r)
	require.Equal(w.t, schema.ProposalApplied, out[0].State)
	return uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(out[0].MemoryID)
}

func (w *world) taught(day int) (source, porto uuid.UUID) {
	w.t.Helper()
	return w.taken(on(day, saidPorto), idea{fact: lives("Maya lives in Porto.", "Maya", "Porto"),
		action: schema.ActionAdd})
}

func (w *world) moved(day int, from uuid.UUID) (source, lima uuid.UUID) {
	w.t.Helper()
	return w.taken(on(day, inLima), idea{fact: lives("Maya lives in Lima now.", "Maya", "Lima"),
		action: schema.ActionUpdate, target: from, change: memory.ChangeSupersede})
}

func (w *world) movedBack(day int, from uuid.UUID) (source, porto uuid.UUID) {
	w.t.Helper()
	return w.taken(on(day, saidPorto), idea{fact: lives("Maya lives in Porto.", "Maya", "Porto"),
		action: schema.ActionUpdate, target: from, change: memory.ChangeSupersede})
}

// deduped stages statements and requires that all are duplicates, without a job.
func (w *world) deduped(why string, candidates ...schema.Candidate) {
	w.t.Helper()
	w.now = w.now.Add(time.Hour)
	ack, r := w.stage(candidates...)
	require.Len(w.t, ack.Deduped, len(candidates), why)
	require.Zero(w.t, w.count("jobs", "batch_id = $1", r.BatchID), why)
}

func TestAStatementSaidAgainIsProcessedOncePerChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, porto := w.taught(1)
	_, lima := w.moved(2, porto)
	again, back := w.movedBack(3, lima)
	require.Equal(t, source, again, "its text is not stored again")
	require.Equal(t, back.String(), w.get(lima).SupersededBy)
	h := w.history(source)
	require.Contains(t, h[len(h)-2].Reason, "replaced or retracted")

	w.deduped("the fact is current again", on(4, saidPorto))
	_, lima = w.moved(5, back)
	_, back = w.movedBack(6, lima)
	require.Equal(t, schema.StatusActive, w.get(back).Status)
	w.deduped("the fact is current again", on(7, saidPorto))
	testkit.CheckInvariants(t, w.owner)
}

// A client that sends its transcript again changes nothing.
func TestATranscriptSentAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, porto := w.taught(1)
	_, lima := w.moved(2, porto)
	w.deduped("without times", say(saidPorto, inLima)...)
	w.deduped("without times, in parts", say(saidPorto)...)
	w.deduped("with its times", on(1, saidPorto), on(2, inLima))
	w.deduped("the last statement of the batch is current", on(3, saidPorto), on(4, inLima))
	w.deduped("Lima was said later", on(3, saidPorto))
	_, back := w.movedBack(80, lima) // after the transcripts without times
	require.Equal(t, back.String(), w.get(lima).SupersededBy)
	testkit.CheckInvariants(t, w.owner)
}

// A statement is compared with the current value, too, however many values were between them.
func TestTheCurrentValueOfTheBatchStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, porto := w.taught(1)
	_, lima := w.moved(2, porto)
	const inRome = "I live in Rome now."
	w.taken(on(3, inRome), idea{fact: lives("Maya lives in Rome now.", "Maya", "Rome"), action: schema.ActionUpdate,
		target: lima, change: memory.ChangeSupersede})
	w.deduped("Rome was said later than Lima", on(2, saidPorto))
	w.deduped("Rome is the last statement", on(4, saidPorto), on(5, inRome))
	ack, r := w.stage(on(6, saidPorto), on(6, "I like tea."))
	require.Empty(t, ack.Deduped)
	require.Equal(t, 2, w.count("jobs", "batch_id = $1", r.BatchID))
}

// A correction is about the memory, not about the world: the same sentence does not undo it.
func TestACorrectedFactIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, porto uuid.UUID){
		"retracted by a person": func(w *world, porto uuid.UUID) {
			req := w.revision(schema.ReviseRetract, nil, w.as(porto)...)
			req.Actor = "operator:maya"
			w.applied(req)
		},
		"revised by its agent": func(w *world, porto uuid.UUID) {
			w.applied(w.revision(schema.ReviseSupersede, same(claims("Maya", "Braga", "")), w.as(porto)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, porto := w.taught(1)
			change(w, porto)
			late := w.now.Add(time.Hour)
			w.deduped(name, schema.Candidate{Content: saidPorto, OccurredAt: &late})
		})
	}
}

// A fact that a statement retracted counts like one that was replaced.
func TestAStatementIsSaidAgainAfterItsRetraction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, porto := w.taught(1)
	w.taken(on(3, "I no longer live in Porto."), retraction("Maya no longer lives in Porto.", porto))
	require.Equal(t, schema.StatusRetracted, w.get(porto).Status)
	w.deduped("the retraction is later", on(2, saidPorto))
	_, back := w.taught(80) // a retraction counts from the time at which it was written
	require.Equal(t, schema.StatusActive, w.get(back).Status)
	require.NotEqual(t, porto, back)
}

// A memory has one open job, so a second statement in the meantime stays a duplicate. Nothing is staged without a job.
func TestAStatementSaidAgainTwiceHasOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, porto := w.taught(1)
	w.moved(2, porto)
	_, first := w.stage(on(3, saidPorto))
	require.Equal(t, 1, w.count("jobs", "batch_id = $1", first.BatchID))
	w.deduped("the first is not processed yet", on(4, saidPorto))
	require.NoError(t, w.CompleteJobs(ctx, first, w.now))
	w.deduped("the first was processed after the change", on(5, saidPorto))

	w = newWorld(t)
	source, porto := w.taught(1)
	w.exec(`UPDATE jobs SET state = 'leased', phase = 'link', finished_at = NULL WHERE memory_id = $1`, source)
	w.moved(2, porto)
	w.deduped("its first job is open", on(3, saidPorto))

	w = newWorld(t)
	_, porto = w.taught(1)
	w.moved(2, porto)
	acks := inParallel(t, 4, func(int) (schema.IngestAck, error) { return w.Stage(ctx, w.input(on(3, saidPorto))) })
	staged := 0
	for _, ack := range acks {
		staged += 1 - len(ack.Deduped)
	}
	require.Equal(t, 1, staged)
	require.Equal(t, 1, w.count("jobs", "state = 'pending'"))
}

// A merge of duplicates is neither a change nor a correction: a statement is a duplicate after it, and may be true
// again after its fact was replaced.
func TestAStatementIsTrueAgainAfterAMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, porto := w.taught(1)
	_, other := w.taken(on(1, "My home is Porto."), idea{fact: fact("Maya's home is Porto."), action: schema.ActionAdd})
	_, third := w.taken(on(1, "Porto is my home."), idea{fact: fact("Porto is Maya's home."), action: schema.ActionAdd})
	req := w.revision(schema.ReviseMerge, &schema.MemoryRecord{ID: other.String()}, w.as(porto, third)...)
	req.Actor = "consolidation"
	req.Record.Version, req.Record.Type = w.get(other).Version, schema.TypeSemantic
	w.applied(req)
	require.Equal(t, other.String(), w.get(porto).SupersededBy)
	w.deduped("the merged fact is current", on(2, saidPorto))
	_, lima := w.moved(3, other)
	_, back := w.movedBack(4, lima)
	require.Equal(t, back.String(), w.get(lima).SupersededBy)
	testkit.CheckInvariants(t, w.owner)
}

// portoAgain processes a batch that says Porto, Lima and Porto again, without the repetition.
func (w *world) portoAgain() schema.Range {
	w.t.Helper()
	ack, r := w.stage(on(1, saidPorto), on(2, inLima), on(3, saidPorto))
	require.Equal(w.t, []int{2}, ack.Deduped)
	w.decided(r, schema.CandidateID(r.BatchID, 0), idea{fact: lives("Maya lives in Porto.", "Maya", "Porto"),
		action: schema.ActionAdd})
	w.write(r)
	porto := uuid.MustParse(w.outcomes(r)[0].MemoryID)
	w.decided(r, schema.CandidateID(r.BatchID, 1), idea{fact: lives("Maya lives in Lima now.", "Maya", "Lima"),
		action: schema.ActionUpdate, target: porto, change: memory.ChangeSupersede})
	w.write(r)
	require.Equal(w.t, schema.StatusSuperseded, w.get(porto).Status)
	require.NoError(w.t, w.CompleteJobs(ctx, r, w.now))
	return r
}

// The last statement of a batch holds, also if it repeats an earlier one of the batch word for word: it is staged when
// the batch has been processed, and a repeated delivery of the completion neither stages it twice nor completes it.
func TestAStatementThatABatchRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.portoAgain()
	for range 2 {
		require.NoError(t, w.CompleteJobs(ctx, r, w.now))
		again, err := w.SaidAgain(ctx, r, w.now)
		require.NoError(t, err)
		require.Equal(t, 1, again)
		require.Equal(t, 1, w.count("jobs", "state = 'pending'"))
		require.Equal(t, 1, w.count("memory_candidates", "state = 'staged' AND ordinal = 2"))
	}
	w.exec(`UPDATE jobs SET state = 'leased' WHERE state = 'pending'`)
	require.NoError(t, w.CompleteJobs(ctx, r, w.now))
	again, err := w.SaidAgain(ctx, r, w.now)
	require.NoError(t, err)
	require.Zero(t, again, "it was processed")
	require.Equal(t, 3, w.count("memory_candidates", "state = 'done'"))
}

// A batch that repeats a statement means it, unless a later statement of the batch changes it, or it came with a former
// idempotency key, or nothing of this batch has changed it.
func TestRepetitionsThatABatchMeans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored []schema.Candidate // before
		batch  []schema.Candidate
		again  int
	}{
		"without times":          {nil, say(saidPorto, inLima, saidPorto), 1},
		"stored before":          {say(saidPorto), say(inLima, saidPorto), 1},
		"Lima was said later":    {nil, []schema.Candidate{on(1, saidPorto), on(4, inLima), on(3, saidPorto)}, 0},
		"Lima is the last":       {nil, say(saidPorto, inLima, saidPorto, inLima), 0},
		"a former key":           {[]schema.Candidate{keyed(saidPorto)}, append(say(inLima), keyed(saidPorto)), 0},
		"nothing was in-between": {nil, say(saidPorto, saidPorto, inLima), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := c.stored
			if first == nil {
				first = c.batch
			}
			_, r := w.stage(first...)
			w.decided(r, schema.CandidateID(r.BatchID, 0), idea{fact: lives("Maya lives in Porto.", "Maya", "Porto"),
				action: schema.ActionAdd})
			w.write(r)
			porto := uuid.MustParse(w.outcomes(r)[0].MemoryID)
			if c.stored != nil {
				require.NoError(t, w.CompleteJobs(ctx, r, w.now))
				w.now = w.now.Add(time.Hour)
				_, r = w.stage(c.batch...)
			}
			lima := slices.IndexFunc(c.batch, func(s schema.Candidate) bool { return s.Content == inLima })
			w.decided(r, schema.CandidateID(r.BatchID, lima), idea{fact: lives("Maya lives in Lima now.", "Maya", "Lima"),
				action: schema.ActionUpdate, target: porto, change: memory.ChangeSupersede})
			w.write(r)
			require.Equal(t, schema.StatusSuperseded, w.get(porto).Status)
			require.NoError(t, w.CompleteJobs(ctx, r, w.now))
			again, err := w.SaidAgain(ctx, r, w.now)
			require.NoError(t, err)
			require.Equal(t, c.again, again)
		})
	}
}

// keyed returns a statement with an idempotency key and without a time.
func keyed(content string) schema.Candidate {
	return schema.Candidate{Content: content, IdempotencyKey: "key of " + content}
}
