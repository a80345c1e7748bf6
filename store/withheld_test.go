package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/advising"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
	"github.com/mneme/mneme/store/transfer"
)

var toHyper = policy.UpTo(schema.SensitivityHyper)

// proposalOf returns the id of the only proposal of a batch.
func (w *world) proposalOf(r schema.Range) (id uuid.UUID) {
	w.t.Helper()
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT id FROM proposals WHERE batch_id = $1`, r.BatchID).Scan(&id))
	return id
}

// secretSource stages a source above the default limit and decides on its ideas.
func (w *world) secretSource(content string, ideas ...idea) (uuid.UUID, schema.Range) {
	w.t.Helper()
	ack, r := w.stage(schema.Candidate{Content: content, Sensitivity: schema.SensitivityHigh})
	parent := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, parent, ideas...)
	return parent, r
}

// A contradiction shows a fact from a source, so the source limits who sees it.
func TestContradictionsAreLimitedByTheirSource(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the vault is closed")
	_, r := w.secretSource("what the guard said", idea{fact: fact("the vault is not closed"),
		action: schema.ActionUpdate, target: target})
	require.Equal(t, schema.WriteCounts{Blocked: 1}, w.write(r))
	require.Empty(t, w.reviews(pipeline.ReviewFilter{}))
	found, err := w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(t, err)
	require.Empty(t, found)
	found, err = w.Contradictions(ctx, w.p, pg.Page{}, toHyper)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "the vault is not closed", found[0].Left.Content)

	// Nor does one who may not read the source at all see the fact.
	w.p.Project, w.vis = "p", schema.VisibilityShared
	open := w.memory("the gate is closed")
	parent, r := w.source("what the porter said", idea{fact: fact("the gate is not closed"),
		action: schema.ActionUpdate, target: open})
	w.write(r)
	other := schema.Principal{Tenant: "t", Agent: "b", Project: "p"}
	found, err = w.Contradictions(ctx, other, pg.Page{})
	require.NoError(t, err)
	require.Len(t, found, 1)
	w.exec(`UPDATE memories SET visibility = 'private' WHERE id = $1`, parent)
	found, err = w.Contradictions(ctx, other, pg.Page{})
	require.NoError(t, err)
	require.Empty(t, found)
}

// In shadow mode a source is not stored. Its candidate limits who reads the proposal.
func TestAReviewOfAShadowRunIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Mode = schema.ModeShadow
	_, r := w.secretSource("what the guard said", idea{fact: fact("the vault opens at nine"), action: schema.ActionAdd})
	w.write(r)
	id := w.proposalOf(r)
	_, err := w.GetReview(ctx, w.p, id)
	require.ErrorIs(t, err, pg.ErrNotFound)
	shown, err := w.GetReview(ctx, w.p, id, toHyper)
	require.NoError(t, err)
	require.Equal(t, "the vault opens at nine", shown.Fact)
}

// A review does not name a memory that its reader may not read, and withholds a reason that may be about it.
func TestAReviewNamesNoHiddenMemory(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	hidden := w.keep(func() schema.MemoryRecord {
		m := semantic("the code is plugh", "code", "states", "plugh", `{"mode":"global"}`)
		m.Sensitivity = schema.SensitivityHigh
		return m
	}())
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky", idea{fact: fact("the sky is not blue"), action: schema.ActionUpdate,
		target: target, offered: []uuid.UUID{hidden}})
	require.Equal(t, []schema.Target{{ID: target.String(), IfVersion: 1}}, item.Offered)
	require.Equal(t, memory.WithheldReason, item.Reason)
	found, err := w.Contradictions(ctx, w.p, pg.Page{})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, memory.WithheldReason, found[0].Reason)
	whole, err := w.GetReview(ctx, w.p, uuid.MustParse(item.ProposalID), toHyper)
	require.NoError(t, err)
	require.Len(t, whole.Offered, 2)
	require.Equal(t, "because", whole.Reason)
	found, err = w.Contradictions(ctx, w.p, pg.Page{}, toHyper)
	require.NoError(t, err)
	require.Equal(t, "because", found[0].Reason)

	w.exec(`UPDATE proposals SET memory_id = $1`, hidden)
	require.Empty(t, w.review(item.ProposalID).MemoryID)
	require.Equal(t, []schema.Target{{ID: target.String(), IfVersion: 1}}, w.review(item.ProposalID).Offered)
}

// History outlives a purged memory with its texts, so the memory's sensitivity still limits who reads it.
func TestHistoryOfAPurgedMemoryIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := func(content string) schema.MemoryRecord {
		m := semantic(content, content, "states", content, `{"mode":"global"}`)
		m.Sensitivity = schema.SensitivityHigh
		return m
	}
	open := semantic("the sky is blue", "sky", "states", "blue", `{"mode":"global"}`)
	put, plain := w.keep(secret("the code is plugh")), w.keep(open)
	raised := w.memory("the door is open")
	w.exec(`UPDATE memories SET sensitivity = 'high' WHERE id = $1`, raised)
	for _, id := range []uuid.UUID{put, plain, raised} {
		w.exec(`UPDATE memories SET deleted_at = $2, version = version + 1 WHERE id = $1`, id,
			w.now.Add(-100*24*time.Hour))
	}
	w.purge(100)
	require.Zero(t, w.count("memories", "true"))
	for id, limited := range map[uuid.UUID]bool{put: true, raised: true, plain: false} {
		steps, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{})
		require.NoError(t, err)
		require.Equal(t, limited, len(steps) == 0)
		steps, err = w.HistoryAt(ctx, w.p, id, read.HistoryPage{}, toHyper)
		require.NoError(t, err)
		require.NotEmpty(t, steps)
		require.NotNil(t, steps[0].NewContent, "history keeps the text")
	}
}

// The reason of a decision may quote the memory that it was about, so it is withheld from those who may not read that.
func TestReasonsOfDecisionsAboutHiddenMemoriesAreWithheld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hidden := w.keep(func() schema.MemoryRecord {
		m := semantic("the code is plugh", "code", "states", "plugh", `{"mode":"global"}`)
		m.Sensitivity = schema.SensitivityHigh
		return m
	}())
	source, r := w.source("what is known of the code", idea{fact: fact("the code is secret"),
		action: schema.ActionNone, target: hidden})
	w.exec(`UPDATE proposals SET reason = 'it is plugh' WHERE batch_id = $1`, r.BatchID)
	require.Equal(t, 1, w.write(r).Skipped)

	old := w.memory("the safe is green")
	_, r2 := w.secretSource("what the guard said", idea{fact: fact("the safe was painted red"),
		action: schema.ActionUpdate, target: old, change: memory.ChangeSupersede})
	w.exec(`UPDATE proposals SET reason = 'now it is plugh' WHERE batch_id = $1`, r2.BatchID)
	require.Equal(t, 1, w.write(r2).Updated)

	for _, id := range []uuid.UUID{source, old} {
		steps, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{})
		require.NoError(t, err)
		require.NotEmpty(t, steps)
		require.NotContains(t, fmt.Sprintf("%+v", steps), "plugh")
		for _, s := range steps {
			require.NotContains(t, string(s.Metadata), hidden.String())
		}
		shown, err := w.Get(ctx, w.p, id)
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprintf("%+v", shown.AuditLog), "plugh")
		steps, err = w.HistoryAt(ctx, w.p, id, read.HistoryPage{}, toHyper)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprintf("%+v", steps), "plugh")
	}
	out := w.outcomes(r)
	require.Len(t, out, 1)
	require.Empty(t, out[0].Target)
	require.NotContains(t, out[0].Reason, "plugh")
}

// The figures in advice name no situation: the values of a context may be from an episode that is erased later.
func TestAdviceKeepsNoSituations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var stats evidence.Stats
	stats.ObserveIn(map[string]string{"customer": "xyzzycanary"}, true, w.now)
	require.NoError(t, w.SaveAdvice(ctx, advising.Advice{ID: uuid.New(), Principal: w.p,
		Offered: []advising.Offer{{ID: uuid.NewString(), Stats: stats}}}, w.now))
	require.Empty(t, w.columnsWith("xyzzycanary"))
	require.Equal(t, 1, w.count("advice", "offered->0->'stats'->'all'->>'successes' = '1'"))
	require.Len(t, stats.In, 1, "the caller's figures stay")
}

// Advice keeps the figures of what it offered. They go with a memory that is erased or forgotten by force.
func TestAdviceForgetsFiguresOfErasedMemories(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gone, kept := w.procedure("repair"), w.procedure("another")
			w.exec(`INSERT INTO advice (tenant, id, agent_id, offered, created_at) VALUES ('t', gen_random_uuid(), 'a',
				jsonb_build_array(
					jsonb_build_object('id', $1::text, 'stats', '{"all": {}, "in": {"customer=xyzzycanary": {}}}'::jsonb),
					jsonb_build_object('id', $2::text, 'stats', '{"all": {}, "in": {"customer=plugh": {}}}'::jsonb)), $3)`,
				gone.String(), kept.String(), w.now)
			w.forgetAll(w.forgets(mode, onlyNamed(gone)))
			require.Empty(t, w.columnsWith("xyzzycanary"))
			require.Equal(t, []string{"advice.offered"}, w.columnsWith("plugh"))
			require.Equal(t, 1, w.count("advice", "jsonb_array_length(offered) = 1"))
		})
	}
}

// The successor of a memory is found by the words of that memory, unless the words would reach readers who may not read
// it. They go when the memory is erased or purged.
func TestSuccessorsHaveNoWordsOfHiddenOrErasedMemories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sensitivity schema.Sensitivity
		end         func(w *world, old uuid.UUID)
	}{
		"hidden": {schema.SensitivityHigh, nil},
		"erased": {schema.SensitivityLow, func(w *world, old uuid.UUID) {
			w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(old)))
		}},
		"removed by force": {schema.SensitivityLow, func(w *world, old uuid.UUID) {
			w.forgetAll(w.forgets(schema.ForgetForce, onlyNamed(old)))
		}},
		"purged": {schema.SensitivityLow, func(w *world, old uuid.UUID) {
			w.exec(`UPDATE memories SET deleted_at = $2, version = version + 1 WHERE id = $1`, old,
				w.now.Add(-100*24*time.Hour))
			w.purge(100)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ack, _ := w.stage(schema.Candidate{Content: "We use Jenkins for the xyzzycanary builds.",
				Sensitivity: c.sensitivity})
			old := uuid.MustParse(ack.MemoryIDs[0])
			_, r := w.source("what changed", idea{fact: fact("We switched to GitHub Actions."),
				action: schema.ActionUpdate, target: old, change: memory.ChangeSupersede})
			require.Equal(t, 1, w.write(r).Updated)
			of := `hint ILIKE '%xyzzycanary%' AND memory_id <> $1`
			if c.end == nil {
				require.Zero(t, w.count("memory_hints", of, old))
				return
			}
			require.Equal(t, 1, w.count("memory_hints", of, old))
			c.end(w, old)
			require.Zero(t, w.count("memory_hints", of, old))
		})
	}
}

// A read names no memory that the reader may not read: neither the predecessor, nor the successor, nor a source.
func TestReadsNameNoHiddenMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hidden := w.keep(func() schema.MemoryRecord {
		m := semantic("the code is plugh", "code", "states", "plugh", `{"mode":"global"}`)
		m.Sensitivity = schema.SensitivityHigh
		return m
	}())
	open := w.memory("the sky is blue")
	w.exec(`UPDATE memories SET supersedes = $1, superseded_by = $1 WHERE id = $2`, hidden, open)
	w.exec(`UPDATE memory_provenance SET ref = 'memory:' || $1::text WHERE memory_id = $2`, hidden, open)
	future := time.Now().Add(time.Hour)
	type reader func(...policy.Clearance) schema.MemoryRecord
	filter := func(c []policy.Clearance) pg.Filter {
		f := pg.Filter{Principal: w.p}
		if len(c) > 0 {
			f.MaxSensitivity = c[0].Limit
		}
		return f
	}
	listed := func(f pg.Filter) schema.MemoryRecord {
		list, err := w.List(ctx, f, pg.Page{})
		require.NoError(t, err)
		for _, m := range list {
			if m.ID == open.String() {
				return m
			}
		}
		require.Fail(t, "not listed")
		return schema.MemoryRecord{}
	}
	for name, get := range map[string]reader{
		"get": func(c ...policy.Clearance) schema.MemoryRecord {
			m, err := w.Get(ctx, w.p, open, c...)
			require.NoError(t, err)
			return m
		},
		"get as of": func(c ...policy.Clearance) schema.MemoryRecord {
			m, err := w.GetAsOf(ctx, w.p, open, future, c...)
			require.NoError(t, err)
			return m
		},
		"list": func(c ...policy.Clearance) schema.MemoryRecord { return listed(filter(c)) },
		"list as of": func(c ...policy.Clearance) schema.MemoryRecord {
			f := filter(c)
			f.AsOf = &future
			return listed(f)
		},
		"records": func(c ...policy.Clearance) schema.MemoryRecord {
			found, err := w.Records(ctx, filter(c), []uuid.UUID{open})
			require.NoError(t, err)
			return found[open]
		},
	} {
		m := get()
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		require.NotContains(t, string(encoded), hidden.String(), name)
		m = get(toHyper)
		require.Equal(t, []string{hidden.String(), hidden.String()}, []string{m.Supersedes, m.SupersededBy}, name)
		require.Len(t, m.Provenance.Sources, 2, name)
		require.Equal(t, "memory:"+hidden.String(), m.Provenance.Sources[0].Ref, name)
	}
	shown, err := w.Hydrate(ctx, filter(nil), []uuid.UUID{open}, future)
	require.NoError(t, err)
	require.Empty(t, shown[open].Ref)
	shown, err = w.Hydrate(ctx, filter([]policy.Clearance{toHyper}), []uuid.UUID{open}, future)
	require.NoError(t, err)
	require.Equal(t, "memory:"+hidden.String(), shown[open].Ref)
}

// An export with a limit on sensitivity has no words of memories above it: neither the reason of a decision about one,
// nor the reason of a relation to one, nor an earlier version that was above it.
func TestALimitedExportHasNoWordsOfHiddenMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hidden := w.keep(func() schema.MemoryRecord {
		m := semantic("the code is plugh", "code", "states", "plugh", `{"mode":"global"}`)
		m.Sensitivity = schema.SensitivityHigh
		return m
	}())
	_, r := w.source("what is known of the code", idea{fact: fact("the code is secret"),
		action: schema.ActionNone, target: hidden})
	w.exec(`UPDATE proposals SET reason = 'it is plugh' WHERE batch_id = $1`, r.BatchID)
	require.Equal(t, 1, w.write(r).Skipped)
	old := w.memory("the safe is green")
	_, r2 := w.secretSource("what the guard said", idea{fact: fact("the safe was painted red"),
		action: schema.ActionUpdate, target: old, change: memory.ChangeSupersede})
	w.exec(`UPDATE proposals SET reason = 'now it is plugh' WHERE batch_id = $1`, r2.BatchID)
	require.Equal(t, 1, w.write(r2).Updated)
	open := w.memory("the sky is blue")
	w.exec(`INSERT INTO memory_links (tenant, source_id, target_id, predicate, weight, reason, created_at)
		VALUES ('t', $1, $2, 'supports', 1, 'because of plugh', now())`, open, hidden)
	was := w.keep(func() schema.MemoryRecord {
		m := semantic("the word is known", "word", "states", "known", `{"mode":"global"}`)
		m.Sensitivity, m.Tags = schema.SensitivityHigh, []string{"plugh"}
		return m
	}())
	w.exec(`UPDATE memories SET sensitivity = 'low', tags = '{}', version = version + 1 WHERE id = $1`, was)
	require.Positive(t, w.count("memory_versions", "record->>'sensitivity' = 'high' AND record::text LIKE '%plugh%'"))

	x := transfer.ExportSelection{Filter: pg.Filter{Principal: w.p}}
	require.Contains(t, string(bytes.Join(w.export(x), nil)), "plugh")
	x.Filter.MaxSensitivity = schema.SensitivityMedium
	for _, line := range w.export(x) {
		require.NotContains(t, string(line), "plugh")
	}
	to := newWorld(t)
	got := to.restore("t", w.export(x), 10)
	require.Empty(t, got.Conflicts)
}
