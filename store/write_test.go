package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestWriteAddsAFactWithItsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p = schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s", PolicyGroup: "g"}
	w.vis = schema.VisibilityShared
	ack, r := w.stage(schema.Candidate{Content: "Well, Alice lives in Paris, you know", Speaker: "bob", Session: "s-1",
		Tags:        []string{"people"},
		Sensitivity: schema.SensitivityHigh, Refs: []schema.Ref{{Kind: "event", Ref: "e-1"}}})
	parent := uuid.MustParse(ack.MemoryIDs[0])
	f := lives("Alice lives in Paris.", "Alice", "Paris")
	w.decided(r, parent, idea{fact: f, action: schema.ActionAdd, vector: embed(t, f.Content)})
	require.Equal(t, schema.WriteCounts{Added: 1}, w.write(r))

	out := w.outcomes(r)
	require.Len(t, out, 1)
	require.Equal(t, schema.ProposalApplied, out[0].State)
	id := uuid.MustParse(out[0].MemoryID)
	m := w.get(id)
	require.Equal(t, "Alice lives in Paris.", m.Content)
	require.Equal(t, []string{"p", "s", "g", "shared", "a"},
		[]string{m.Project, m.Scope, m.PolicyGroup, string(m.Visibility), m.Agent})
	require.Equal(t, schema.TypeSemantic, m.Type)
	require.Equal(t, schema.TierPersistent, m.Tier)
	require.InDelta(t, 0.9, m.Confidence, 1e-6)
	require.InDelta(t, 0.9, m.Importance, 1e-6, "a fact is as important as it is certain")
	require.Equal(t, schema.SensitivityHigh, m.Sensitivity, "drawing a fact out of a secret does not publish it")
	require.Equal(t, []string{"people"}, m.Tags)
	require.Equal(t, "pipeline", m.Provenance.CreatedBy)
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "e-1"}}, m.Provenance.Sources)
	require.Equal(t, []schema.Relation{{Predicate: "derived_from", TargetID: parent.String(), Weight: 1}}, m.Relations)
	require.Equal(t, 1, w.count("memory_embeddings", "memory_id = $1 AND model = 'hash-v1' AND dims = 384", id))
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'upsert'", id))
	require.Equal(t, 1, w.count("entity_claims", "memory_id = $1 AND subject = 'Alice' AND functional", id))
	require.Zero(t, w.count("proposals", "embedding IS NOT NULL"), "the vector moves from the proposal to the memory")
	w.requireExactStats()
}

func metadata(t *testing.T, h schema.HistoryEntry) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(h.Metadata, &m))
	return m
}

// Document 002 "Memory History" names these fields.
func TestEveryProposalLeavesHistoryWithItsMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("Deploys are allowed on Friday mornings.")
	parent, r := w.source("a talk about deploys",
		idea{fact: fact("Something wholly new was said."), action: schema.ActionAdd},
		idea{fact: fact("Deploys are not allowed on Friday mornings."), action: schema.ActionUpdate, target: target},
		idea{fact: memory.Fact{Content: "a vague idea", Category: schema.CategoryFact, Confidence: 0.2},
			action: schema.ActionAdd})
	require.Equal(t, schema.WriteCounts{Added: 1, Blocked: 1, Skipped: 1}, w.write(r))
	h := w.history(parent)
	require.Len(t, h, 4)
	states := map[string]map[string]any{}
	for _, e := range h[1:] {
		require.Equal(t, schema.EventNone, e.Event)
		require.Equal(t, "pipeline", e.ChangedBy)
		require.NotEmpty(t, e.Reason)
		require.Nil(t, e.NewContent)
		m := metadata(t, e)
		require.Equal(t, false, m["shadow"])
		require.Equal(t, parent.String(), m["parentId"])
		require.Equal(t, "wf", m["workflowId"])
		require.InDelta(t, 0.8, m["confidence"], 1e-6)
		require.Contains(t, m, "factConfidence")
		require.Contains(t, m, "proposalId")
		require.NotContains(t, string(e.Metadata), "vague", "the text of the fact is in the proposal only")
		switch {
		case m["blockedReason"] != nil:
			states["blocked"] = m
		case m["skippedReason"] != nil:
			states["skipped"] = m
		default:
			states["applied"] = m
		}
	}
	require.Equal(t, "add", states["applied"]["proposedAction"])
	require.NotEmpty(t, states["applied"]["memory_id"])
	blocked := states["blocked"]
	require.Equal(t, "update", blocked["proposedAction"])
	require.Equal(t, target.String(), blocked["targetMemoryId"])
	require.Equal(t, proposals.ReasonContradiction, blocked["blockedReason"])
	require.Equal(t, true, blocked["contradictionRisk"])
	require.Equal(t, true, blocked["reviewNeeded"])
	require.Equal(t, proposals.ReasonLowFactConfidence, states["skipped"]["skippedReason"])
	require.Len(t, w.history(target), 1, "a blocked proposal does not change the target")
}

func TestWriteSkipsAndBlocksWithReasons(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy func(*proposals.WritePolicy)
		target string
		idea   func(target uuid.UUID) idea
		state  schema.ProposalState
		reason string
	}{
		"low confidence": {nil, "", func(uuid.UUID) idea {
			return idea{fact: memory.Fact{Content: "perhaps this", Category: "fact", Confidence: 0.49},
				action: schema.ActionAdd}
		}, schema.ProposalSkipped, proposals.ReasonLowFactConfidence},
		"punctuation": {nil, "", func(uuid.UUID) idea {
			return idea{fact: fact("...!!!..."), action: schema.ActionAdd}
		}, schema.ProposalSkipped, proposals.ReasonEmptyFactContent},
		"known": {nil, "tea is hot", func(id uuid.UUID) idea {
			return idea{fact: fact("tea is rather hot"), action: schema.ActionNone, target: id}
		}, schema.ProposalSkipped, proposals.ReasonAlreadyKnown},
		"duplicate": {nil, "coffee is hot", func(uuid.UUID) idea {
			return idea{fact: fact("Coffee is HOT."), action: schema.ActionAdd}
		}, schema.ProposalSkipped, "duplicate_content_hash"},
		"frozen": {func(p *proposals.WritePolicy) { p.Mode = schema.ModeFrozen }, "", func(uuid.UUID) idea {
			return idea{fact: fact("ice is cold"), action: schema.ActionAdd}
		}, schema.ProposalBlocked, proposals.ReasonMutationsFrozen},
		"updates off": {func(p *proposals.WritePolicy) { p.AllowUpdateDelete = false }, "milk is white",
			func(id uuid.UUID) idea {
				return idea{fact: fact("milk is off-white"), action: schema.ActionUpdate, target: id}
			}, schema.ProposalBlocked, proposals.ReasonDestructiveDisabled},
		"deletes off": {func(p *proposals.WritePolicy) { p.AllowUpdateDelete = false }, "milk is white",
			func(id uuid.UUID) idea {
				return idea{fact: fact("milk is off-white"), action: schema.ActionDelete, target: id}
			}, schema.ProposalBlocked, proposals.ReasonDestructiveDisabled},
		"pinned": {nil, "critical: keep calm", func(id uuid.UUID) idea {
			return idea{fact: fact("carry on"), action: schema.ActionDelete, target: id}
		}, schema.ProposalBlocked, proposals.ReasonPinnedTarget},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var target uuid.UUID
			if c.target != "" {
				target = w.explicit(c.target)
			}
			if c.policy != nil {
				c.policy(&w.policy)
			}
			_, r := w.source("where it was said", c.idea(target))
			before := w.snapshot()
			counts := w.write(r)
			require.Zero(t, counts.Added+counts.Updated+counts.Deleted)
			out := w.outcomes(r)
			require.Equal(t, c.state, out[0].State)
			require.Equal(t, c.reason, out[0].Skipped)
			after := w.snapshot()
			tables := []string{"memory_embeddings", "index_outbox", "lexeme_stats", "corpus_stats"}
			if name == "known" || name == "duplicate" {
				require.Equal(t, target.String(), out[0].MemoryID, "it says which memory covers the fact")
				require.Equal(t, 1, w.get(target).Version)
				require.Len(t, w.get(target).Relations, 1, "which has one more source")
			} else {
				tables = append(tables, "memories", "memory_links")
			}
			for _, table := range tables {
				require.Equal(t, before[table], after[table], table)
			}
			require.NotEqual(t, before["memory_history"], after["memory_history"])
		})
	}
}

func TestShadowWritesProposalsToHistoryOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("the office is in Berlin")
	w.policy.Mode = schema.ModeShadow
	parent, r := w.source("they moved",
		idea{fact: fact("the office is in Hamburg"), action: schema.ActionUpdate, target: target},
		idea{fact: fact("moving was hard"), action: schema.ActionAdd})
	before := w.snapshot()
	require.Equal(t, schema.WriteCounts{Blocked: 2}, w.write(r))
	after := w.snapshot()
	for _, table := range []string{"memories", "memory_links", "memory_embeddings", "index_outbox", "lexeme_stats",
		"entity_claims"} {
		require.Equal(t, before[table], after[table], table)
	}
	h := w.history(parent)
	require.Len(t, h, 2)
	for _, e := range h {
		require.Equal(t, "pipeline-shadow", e.ChangedBy)
		require.Equal(t, schema.EventNone, e.Event)
		require.Equal(t, true, metadata(t, e)["shadow"])
		require.Equal(t, proposals.ReasonShadowMode, metadata(t, e)["blockedReason"])
	}
}

func TestUpdateSupersedesItsTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("Alice lives in Paris")
	parent, r := w.source("a chat with Alice",
		idea{fact: lives("Alice lives in Rome now", "Alice", "Rome"), action: schema.ActionUpdate, target: target})
	require.Equal(t, schema.WriteCounts{Updated: 1}, w.write(r))
	next := uuid.MustParse(w.outcomes(r)[0].MemoryID)
	old := w.get(target)
	require.Equal(t, schema.StatusSuperseded, old.Status)
	require.Equal(t, next.String(), old.SupersededBy)
	require.Equal(t, 2, old.Version)
	require.Equal(t, "Alice lives in Paris", old.Content, "the superseded memory is unchanged")
	require.ElementsMatch(t, []schema.Relation{{Predicate: "derived_from", TargetID: parent.String(), Weight: 1},
		{Predicate: "supersedes", TargetID: target.String(), Weight: 1}},
		w.get(next).Relations)
	h := w.history(target)
	require.Len(t, h, 2)
	require.Equal(t, schema.EventModified, h[1].Event)
	require.Equal(t, "Alice lives in Paris", *h[1].OldContent)
	require.Equal(t, "pipeline", h[1].ChangedBy)
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete' AND version = 2", target))
	hits, err := w.SearchText(ctx, pg.Filter{Principal: w.p}, "where does Alice live", 10)
	require.NoError(t, err)
	for _, hit := range hits {
		require.NotEqual(t, target, hit.ID, "a superseded memory is not found")
	}
	w.requireExactStats()
}

func TestUpdateBySourceWithTheSameWords(t *testing.T) {
	t.Parallel()
	to := lives("Alice lives in Rome now.", "Alice", "Rome")
	t.Run("a lasting source is the successor itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.explicit("Alice lives in Paris")
		ack, r := w.stage(schema.Candidate{Content: "Alice lives in Rome now", SourceKind: schema.SourceMemory})
		parent := uuid.MustParse(ack.MemoryIDs[0])
		w.decided(r, parent, idea{fact: to, action: schema.ActionUpdate, target: target})
		require.Equal(t, schema.WriteCounts{Updated: 1}, w.write(r))
		require.Equal(t, parent.String(), w.get(target).SupersededBy)
		require.Equal(t, 2, w.count("memories", "true"))
		require.Equal(t, []schema.Relation{{Predicate: "supersedes", TargetID: target.String(), Weight: 1}},
			w.get(parent).Relations)
		w.requireExactStats()
	})
	t.Run("a fading source has a record", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.explicit("Alice lives in Paris")
		parent, r := w.source("Alice lives in Rome now", idea{fact: to, action: schema.ActionUpdate, target: target})
		require.Equal(t, schema.WriteCounts{Updated: 1}, w.write(r))
		next := w.get(uuid.MustParse(w.get(target).SupersededBy))
		require.Equal(t, schema.TypeSemantic, next.Type)
		require.Equal(t, schema.TierPersistent, next.Tier)
		require.Equal(t, "Alice lives in Rome now.", next.Content)
		require.ElementsMatch(t, []schema.Relation{{Predicate: "supersedes", TargetID: target.String(), Weight: 1},
			{Predicate: "derived_from", TargetID: parent.String(), Weight: 1}}, next.Relations)
		w.requireExactStats()
	})
}

func TestUpdateToTheContentOfAnotherMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("Alice lives in Paris")
	_, r := w.source("a chat with Alice",
		idea{fact: fact("Alice lives in Rome now"), action: schema.ActionUpdate, target: target})
	twin := w.explicit("alice lives in rome NOW.") // written between decide and write
	w.write(r)
	old := w.get(target)
	require.Equal(t, schema.StatusSuperseded, old.Status)
	require.Equal(t, twin.String(), old.SupersededBy, "a successor that exists")
	require.Contains(t, w.get(twin).Relations,
		schema.Relation{Predicate: "supersedes", TargetID: target.String(), Weight: 1})
	out := w.outcomes(r)[0]
	require.Equal(t, schema.ProposalApplied, out.State)
	require.Equal(t, twin.String(), out.MemoryID)
	w.requireExactStats()
}

func TestDeleteForgetsItsTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("the coffee machine is broken")
	_, r := w.source("someone repaired it",
		idea{fact: fact("a mechanic came by"), action: schema.ActionDelete, target: target})
	require.Equal(t, schema.WriteCounts{Deleted: 1}, w.write(r))
	m := w.get(target)
	require.NotNil(t, m.DeletedAt)
	require.Equal(t, 2, m.Version)
	h := w.history(target)
	require.Equal(t, schema.EventDeleted, h[1].Event)
	require.Equal(t, "the coffee machine is broken", *h[1].OldContent)
	require.Nil(t, h[1].NewContent)
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete'", target))
	list, err := w.List(ctx, pg.Filter{Principal: w.p}, pg.Page{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	w.requireExactStats()
}

func TestWriteRefusesStaleProposals(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world, uuid.UUID){
		"another version": (*world).touch,
		"forgotten":       (*world).forget,
		"gone": func(w *world, id uuid.UUID) {
			w.exec(`DELETE FROM memory_provenance WHERE memory_id = $1`, id)
			w.exec(`UPDATE memories SET id = gen_random_uuid() WHERE id = $1`, id)
		},
	} {
		for _, action := range []schema.Action{schema.ActionAdd, schema.ActionUpdate, schema.ActionDelete,
			schema.ActionNone} {
			t.Run(name+" "+string(action), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				known := w.memory("the train leaves at nine")
				d := idea{fact: fact("the train leaves at ten"), action: action, target: known}
				if action == schema.ActionAdd {
					d.target, d.offered = uuid.Nil, []uuid.UUID{known}
				}
				parent, r := w.source("a new timetable", d)
				change(w, known)
				before := w.snapshot()
				require.Equal(t, schema.WriteCounts{Stale: 1}, w.write(r))
				after := w.snapshot()
				delete(before, "proposals")
				delete(after, "proposals")
				require.Equal(t, before, after, "a stale proposal is not applied")
				require.Equal(t, schema.WriteCounts{}, w.write(r), "not before it is decided again")
				require.Equal(t, schema.ProposalStale, w.outcomes(r)[0].State)

				// After a decision on the current version, it is written.
				due, err := w.LeaseDecide(ctx, r, w.now)
				require.NoError(t, err)
				require.Equal(t, []int{0}, due[0].Stale)
				w.decide(r, parent, idea{fact: d.fact, action: schema.ActionAdd})
				require.Equal(t, schema.WriteCounts{Added: 1}, w.write(r))
			})
		}
	}
}

func TestRepeatedlyStaleProposalsNeedReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.memory("the train leaves at nine")
	d := idea{fact: fact("the train leaves at ten"), action: schema.ActionUpdate, target: known}
	parent, r := w.source("a new timetable", d)
	for range 2 {
		w.touch(known)
		require.Equal(t, schema.WriteCounts{Stale: 1}, w.write(r))
		w.decide(r, parent, d)
	}
	w.touch(known)
	require.Equal(t, schema.WriteCounts{Blocked: 1}, w.write(r))
	out := w.outcomes(r)[0]
	require.Equal(t, schema.ProposalBlocked, out.State)
	require.True(t, out.ReviewNeeded)
	require.Equal(t, "candidates_changed", out.Skipped)
	require.Equal(t, schema.StatusActive, w.get(known).Status)
	h := w.history(parent)
	require.Equal(t, "candidates_changed", metadata(t, h[len(h)-1])["blockedReason"])
}

func TestProposalsOfOneChangeSeeEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.memory("the train leaves at nine")
	_, r := w.source("two timetables",
		idea{fact: fact("the train leaves at ten"), action: schema.ActionUpdate, target: known},
		idea{fact: fact("the train leaves at eleven"), action: schema.ActionUpdate, target: known},
		idea{fact: fact("the train leaves at about nine"), action: schema.ActionNone, target: known})
	require.Equal(t, schema.WriteCounts{Updated: 1, Stale: 2}, w.write(r),
		"the first changed the candidates of the others: they are decided again")
	require.Equal(t, schema.WriteCounts{}, w.write(r), "a second attempt has nothing to write")
	stale, err := w.StaleProposals(ctx, r)
	require.NoError(t, err)
	require.Equal(t, 2, stale, "and still returns what must be decided again")
	w.requireExactStats()
}

func TestNothingIsWrittenFromAForgottenSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.memory("the sea is calm")
	ideas := func(n int) []idea {
		return []idea{{fact: fact(fmt.Sprintf("fact number %d", n)), action: schema.ActionAdd},
			{fact: fact("other waves"), action: schema.ActionDelete, target: target}}
	}
	parent, r := w.source("a storm", ideas(1)...)
	w.forget(parent)
	before := w.snapshot()
	require.Equal(t, schema.WriteCounts{Skipped: 2}, w.write(r))
	after := w.snapshot()
	for table := range before {
		if table != "proposals" && table != "memory_history" {
			require.Equal(t, before[table], after[table], table)
		}
	}
	require.Equal(t, "parent_forgotten", w.outcomes(r)[0].Skipped)

	// Nothing is written either if the writing transaction itself forgets the source.
	ack, r := w.stage(say("first source", "second source")...)
	a, b := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1])
	w.decided(r, a, idea{fact: fact("unrelated words"), action: schema.ActionDelete, target: b})
	w.decided(r, b, idea{fact: fact("drawn from the second"), action: schema.ActionAdd})
	require.Equal(t, schema.WriteCounts{Deleted: 1, Skipped: 1}, w.write(r))
}

func TestSourcesAreEmbeddedWithTheWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("alpha words", "beta words", "gamma words")...)
	missing, err := w.Unembedded(ctx, r, hash)
	require.NoError(t, err)
	require.Len(t, missing, 3)
	sources := map[uuid.UUID]pg.Embedding{}
	for _, m := range missing {
		require.Nil(t, m.Vector)
		sources[m.MemoryID] = pg.Embedding{Model: hash, Vector: embed(t, m.Content)}
	}
	gone := uuid.MustParse(ack.MemoryIDs[2])
	w.forget(gone)
	_, err = w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now, Sources: sources})
	require.NoError(t, err)
	require.Equal(t, 2, w.count("memory_embeddings", "true"))
	require.Zero(t, w.count("memory_embeddings", "memory_id = $1", gone),
		"a memory forgotten meanwhile is not embedded")
	missing, err = w.Unembedded(ctx, r, hash)
	require.NoError(t, err)
	require.Empty(t, missing)
	missing, err = w.Unembedded(ctx, r, otherModel)
	require.NoError(t, err)
	require.Len(t, missing, 2, "per embedding space")

	// A fact that repeats its source uses the vector of the source.
	ack, r = w.stage(say("delta words")...)
	w.decided(r, uuid.MustParse(ack.MemoryIDs[0]),
		idea{fact: fact("delta words"), action: schema.ActionNone, vector: embed(t, "delta words")})
	missing, err = w.Unembedded(ctx, r, hash)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Len(t, missing[0].Vector, 384)
}
