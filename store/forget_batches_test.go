package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func TestForgetSoftly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, changed, deleted := w.memory("Ana likes tea"), w.memory("Ana likes coffee"), w.memory("Ana likes milk")
	ack, _ := w.stage(schema.Candidate{Content: "critical: Never deploy on Fridays", SourceKind: schema.SourceMemory})
	pinned := uuid.MustParse(ack.MemoryIDs[0])
	kept := w.memory("Ana likes water")
	preview := w.selects(w.forgets("", named(gone, changed, deleted, pinned, uuid.New())))
	require.Equal(t, 1, preview.Pinned)
	require.Equal(t, 5, preview.Total)
	w.touch(changed)
	w.forgetAll(w.forgets("", named(deleted)))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	run := uuid.MustParse(preview.RunID)
	for range 3 {
		_, err = w.ForgetBatch(ctx, "t", run, 2, w.now.Add(time.Hour))
		require.NoError(t, err)
	}
	receipt, err := w.CloseForget(ctx, "t", run, schema.ForgetDone, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, schema.ForgetReceipt{State: schema.ForgetDone, RunID: preview.RunID, Mode: schema.ForgetSoft,
		Total: 5, Forgotten: 1,
		Skipped: map[string]int{"version_conflict": 1, "deleted": 1, "pinned": 1, "not_found": 1},
		Removed: map[string]int{"memories": 1},
		IDs:     []string{gone.String()}}, receipt)
	require.Equal(t, 5, receipt.Processed())

	m := w.get(gone)
	require.NotNil(t, m.DeletedAt)
	require.Equal(t, 2, m.Version)
	require.Equal(t, "Ana likes tea", m.Content, "it can be recovered")
	h := w.history(gone)
	last := h[len(h)-1]
	require.Equal(t, schema.EventDeleted, last.Event)
	require.Equal(t, schema.AuditDelete, last.Action)
	require.Equal(t, "Ana likes tea", *last.OldContent)
	require.Nil(t, last.NewContent)
	require.Equal(t, "operator:bob", last.ChangedBy)
	require.Equal(t, "no longer wanted", last.Reason)
	require.Equal(t, 2, last.Version)
	for _, id := range []uuid.UUID{changed, pinned, kept} {
		require.Nil(t, w.get(id).DeletedAt)
	}
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete' AND version = 2", gone))
	w.requireExactStats()

	// A few named memories need no confirmation if the request says so; force includes pinned ones.
	req := w.forgets("", named(kept))
	req.Execute = true
	require.Equal(t, schema.ForgetConfirmed, w.selects(req).State)
	req = w.forgets(schema.ForgetForce, named(pinned))
	req.Execute = true
	require.Equal(t, schema.ForgetPreviewed, w.selects(req).State, "force always needs confirmation")
	require.Equal(t, 1, w.forgetAll(req).Forgotten)
	require.Zero(t, w.count("memories", "id = $1", pinned))
	w.requireExactStats()
}

// insertMany inserts many memories directly.
func (w *world) insertMany(n int) {
	w.t.Helper()
	for from := 0; from < n; from += 500 {
		var candidates []schema.Candidate
		for i := from; i < min(n, from+500); i++ {
			candidates = append(candidates,
				schema.Candidate{Content: fmt.Sprintf("Machine %d stands in hall %d", i, i%7)})
		}
		w.stage(candidates...)
	}
}

// Batches delivered concurrently and repeatedly forget each row once.
func TestForgetBatchesDeliveredTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertMany(1000)
	preview := w.selects(w.forgets("", schema.Selector{All: true}))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	var wg sync.WaitGroup
	failures := make(chan error, 64)
	var mu sync.Mutex
	forgotten := 0
	for range 4 {
		wg.Go(func() {
			for {
				out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 70, w.now)
				if err != nil {
					failures <- err
					return
				}
				mu.Lock()
				forgotten += len(out.Forgotten)
				mu.Unlock()
				if out.Receipt.Remaining == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Equal(t, 1000, forgotten)
	require.Equal(t, 1000, w.count("memory_history", "event = 'deleted'"))
	require.Equal(t, 1000, w.count("memories", "deleted_at IS NOT NULL AND version = 2"))
	require.Equal(t, 1000, w.count("memory_versions", "version = 1"))
	require.Equal(t, 1000, w.count("jobs", "state = 'dead' AND last_error = 'forgotten'"))
	w.requireExactStats()
}

// A batch that fails at any of its writes changes nothing.
func TestForgetBatchIsAtomic(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			parent, r := w.linkedSource("XyzzyCanary knows Bob")
			_ = r
			preview := w.selects(w.forgets(mode, onlyNamed(parent)))
			_, err := w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			tables := []string{"memory_history", "index_outbox", "forget_items", "forget_runs", "jobs", "lexeme_stats"}
			if mode == schema.ForgetErase {
				tables = append(tables, "memories", "memory_candidates", "proposals")
			}
			for _, table := range tables {
				before := w.snapshot()
				w.breaking(table, func() {
					_, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, w.now)
					require.Error(t, err, table)
					require.NotContains(t, err.Error(), "XyzzyCanary")
				})
				require.Equal(t, before, w.snapshot(), table)
			}
			out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, w.now)
			require.NoError(t, err)
			require.Equal(t, 1, out.Receipt.Forgotten)
		})
	}
}

// linkedSource is a source with a fact, an edge and an open job.
func (w *world) linkedSource(content string) (uuid.UUID, schema.Range) {
	w.t.Helper()
	ack, r := w.stage(say(content)...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	f := fact("It is said that " + content)
	require.NoError(w.t, w.SaveExtractions(ctx, w.p.Tenant, []pipeline.Extracted{{CandidateID: id,
		Extraction: memory.Extraction{Facts: []memory.Fact{f},
			Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}}}, w.now))
	w.decide(r, id, idea{fact: f, action: schema.ActionAdd, vector: axis()})
	require.Equal(w.t, 1, w.write(r).Added)
	w.link(r)
	return id, r
}

// requireExactEdges recounts the edges from the memories.
func (w *world) requireExactEdges() {
	w.t.Helper()
	require.Zero(w.t, w.count("entity_relations r", `mentions <> (SELECT count(*) FROM entity_relation_sources m
		WHERE m.tenant = r.tenant AND (m.source_id, m.relationship, m.target_id) = (r.source_id, r.relationship, r.target_id))`))
	w.requireExactMentions()
}

func TestForgettingSubtractsExactlyItsMentions(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one, r1 := w.linkable("Alice knows Bob and, as they say, the boss", triple("Alice", "knows", "Bob"),
				triple("Bob", "knows", "Alice"), triple("Alice", "fears", "the Director"))
			two, r2 := w.linkable("Alice knows Bob well", triple("alice", "knows", "Bob"),
				triple("Bob", "owns", "Acme Corp"))
			w.link(r1)
			w.link(r2)
			w.requireExactEdges()
			require.Equal(t, 2, w.mentions("alice"))
			require.Equal(t, 1, w.mentions("the director"),
				"an entity whose name is in no text is mentioned by its source only")
			require.Equal(t, 1, w.count("entity_relations", "mentions = 2"))

			receipt := w.forgetAll(w.forgets(mode, named(one)))
			require.Equal(t, 1, receipt.Removed["entities"])
			require.Equal(t, 2, receipt.Removed["entity_relations"])
			require.Equal(t, 3, receipt.Removed["memory_entity_mentions"])
			w.requireExactEdges()
			require.Equal(t, 1, w.mentions("alice"))
			require.Zero(t, w.count("entities", "canonical_name = 'the director'"))
			require.Equal(t, 2, w.count("entity_relations", "mentions = 1"))
			w.forgetAll(w.forgets(mode, named(two)))
			require.Zero(t, w.count("entities", "true"))
			require.Zero(t, w.count("entity_relations", "true"))
			w.requireExactStats()
		})
	}
}

// Linking and forgetting run concurrently: nothing is counted twice, and no run fails.
func TestForgetWhileLinking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []uuid.UUID
	var ranges []schema.Range
	for i := range 24 {
		id, r := w.linkable(fmt.Sprintf("Alice, Bob and Carol met %d times", i), triple("Alice", "met", "Bob"),
			triple("Carol", "met", "Alice"), triple("Bob", "met", "Carol"))
		ids, ranges = append(ids, id), append(ranges, r)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 200)
	retry := func(fn func() error) {
		var err error
		for range 10 { // retried as the activity is
			if err = fn(); err == nil {
				return
			}
		}
		errs <- err
	}
	for i := range ranges {
		wg.Go(func() { retry(func() error { _, err := w.Link(ctx, ranges[i], w.now); return err }) })
	}
	previews := []schema.ForgetPreview{}
	for i := range 3 {
		mode := []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase, schema.ForgetSoft}[i]
		preview := w.selects(w.forgets(mode, named(ids[i*8:i*8+8]...)))
		_, err := w.confirm(preview, w.token(preview))
		require.NoError(t, err)
		previews = append(previews, preview)
	}
	for _, preview := range previews {
		wg.Go(func() {
			for range 4 {
				retry(func() error {
					_, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2,
						w.now)
					return err
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	w.requireExactEdges()
	w.requireExactStats()
	require.Equal(t, 24, w.count("memory_history", "event = 'deleted'"))
	require.Zero(t, w.count("memory_entity_mentions x",
		"NOT EXISTS (SELECT FROM memories m WHERE m.id = x.memory_id AND m.erased_at IS NULL)"))
}

// A pipeline that is processing forgotten memories writes nothing more, in any phase.
func TestForgottenMemoriesLeaveThePipeline(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := fact("XyzzyCanary lives here")
			extraction := memory.Extraction{Facts: []memory.Fact{f},
				Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}
			ack, r := w.stage(say("XyzzyCanary at the first step", "XyzzyCanary at the second",
				"XyzzyCanary at the third", "and another one stays")...)
			at := func(i int) uuid.UUID { return uuid.MustParse(ack.MemoryIDs[i]) }
			require.NoError(t, w.SaveExtractions(ctx, "t",
				[]pipeline.Extracted{{CandidateID: at(1), Extraction: extraction},
					{CandidateID: at(2), Extraction: extraction}}, w.now))
			w.decide(r, at(2), idea{fact: f, action: schema.ActionAdd})

			preview := w.selects(w.forgets(mode, named(at(0), at(1), at(2))))
			_, err := w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2, w.now)
			require.NoError(t, err)
			require.Empty(t, out.Stop, "the run has work left")
			out, err = w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2, w.now)
			require.NoError(t, err)
			require.Empty(t, out.Stop)
			require.Equal(t, 3, w.count("memory_candidates", "state = 'dead'"))

			// A model call that was in progress returns.
			before := w.snapshot()
			require.NoError(t, w.SaveExtractions(ctx, "t",
				[]pipeline.Extracted{{CandidateID: at(0), Extraction: extraction}}, w.now))
			w.decideQuietly(r, at(1), f)
			require.Equal(t, schema.WriteCounts{}, w.write(r))
			require.Equal(t, schema.LinkCounts{}, w.link(r))
			require.Equal(t, before, w.snapshot())
			left, err := w.LeaseExtract(ctx, r, w.now)
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, at(3), left[0].CandidateID)
			if mode != schema.ForgetSoft {
				require.Empty(t, w.columnsWith("XyzzyCanary"))
			}

			// After the last memory the run has nothing left to do.
			last := w.selects(w.forgets(mode, named(at(3))))
			_, err = w.confirm(last, w.token(last))
			require.NoError(t, err)
			out, err = w.ForgetBatch(ctx, "t", uuid.MustParse(last.RunID), 2, w.now)
			require.NoError(t, err)
			require.Equal(t, []string{"wf"}, out.Stop)
		})
	}
}

// decideQuietly saves a decision that looked at no memories.
func (w *world) decideQuietly(r schema.Range, candidate uuid.UUID, f memory.Fact) {
	w.t.Helper()
	require.NoError(w.t, w.SaveDecisions(ctx, r, []uuid.UUID{candidate},
		[]pipeline.Decided{{CandidateID: candidate, Fact: f,
			Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 0.8, Reason: "because of " + f.Content}}},
		w.now))
}
