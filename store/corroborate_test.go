package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// planned is a fact in the same words as its source.
const planned = "The launch is planned for May 3."

// said stages an observation and takes it through the pipeline. It returns the source and the lasting record of the
// fact.
func (w *world) said(c schema.Candidate, i idea) (source, record uuid.UUID) {
	w.t.Helper()
	ack, r := w.stage(c)
	require.Empty(w.t, ack.Deduped)
	source = uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, source, i)
	w.write(r)
	return source, uuid.MustParse(w.outcomes(r)[0].MemoryID)
}

func evidenceOf(m schema.MemoryRecord) []string {
	var out []string
	for _, ref := range m.Provenance.Sources {
		out = append(out, ref.Kind+" "+ref.Ref)
	}
	return out
}

func TestFactInTheWordsOfItsSourceIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, record := w.said(schema.Candidate{Content: planned, Speaker: "Maya", Session: "s1"},
		idea{fact: fact(planned), action: schema.ActionAdd})
	require.NotEqual(t, source, record)
	m := w.get(record)
	require.Equal(t, schema.TypeSemantic, m.Type)
	require.Equal(t, schema.TierPersistent, m.Tier)
	require.Equal(t, planned, m.Content)
	require.Equal(t, "Maya", m.Who)
	require.Equal(t, []schema.Relation{{Predicate: "derived_from", TargetID: source.String(), Weight: 1}}, m.Relations)
	require.Equal(t, []string{"observation memory:" + source.String()}, evidenceOf(m),
		"it keeps its provenance when the source is removed")
	require.True(t, w.now.Equal(*m.Provenance.Sources[0].Timestamp))
	require.Equal(t, schema.TypeEpisodic, w.get(source).Type)
	require.Equal(t, 2, w.count("memories", "live AND content = $1", planned))
	w.requireExactStats()
	testkit.CheckInvariants(t, w.owner)
}

func TestTheSourcesReferencesAreTheFactsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refs := []schema.Ref{{Kind: "event", Ref: "chat:17"}}
	_, record := w.said(schema.Candidate{Content: planned, Refs: refs},
		idea{fact: fact(planned), action: schema.ActionAdd})
	require.Equal(t, refs, w.get(record).Provenance.Sources)
}

func TestPinAppliesToTheRecordOfTheFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, record := w.said(schema.Candidate{Content: "critical: " + planned},
		idea{fact: fact(planned), action: schema.ActionAdd})
	m := w.get(record)
	require.True(t, m.Lifecycle.Pinned)
	require.Equal(t, schema.DeleteManualOnly, m.Lifecycle.DeletionPolicy)
	require.InDelta(t, 1, m.Importance, 1e-9)
	testkit.CheckInvariants(t, w.owner)
}

// When a known fact is stated again, the new source is added to the record's evidence, and the record is reinforced.
func TestRestatedFactGetsAnotherSource(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(record uuid.UUID) idea{
		"known": func(record uuid.UUID) idea {
			return idea{fact: fact(planned), action: schema.ActionNone, target: record}
		},
		"duplicate": func(uuid.UUID) idea { return idea{fact: fact(planned), action: schema.ActionAdd} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first, record := w.said(schema.Candidate{Content: planned},
				idea{fact: fact(planned), action: schema.ActionAdd})
			w.now = w.now.Add(90 * 24 * time.Hour)
			ack, r := w.stage(schema.Candidate{Content: "As I said, the launch is planned for May 3.", Session: "s2",
				Refs: []schema.Ref{{Kind: "event", Ref: "chat:99"}}})
			second := uuid.MustParse(ack.MemoryIDs[0])
			i := again(record)
			w.decided(r, second, i, i) // stated twice in one text
			require.Equal(t, schema.WriteCounts{Skipped: 2}, w.write(r))
			w.write(r) // delivered again

			m := w.get(record)
			require.ElementsMatch(t, []schema.Relation{{Predicate: "derived_from", TargetID: first.String(), Weight: 1},
				{Predicate: "derived_from", TargetID: second.String(), Weight: 1}}, m.Relations)
			require.Equal(t, []string{"observation memory:" + first.String(), "event chat:99"}, evidenceOf(m))
			require.Equal(t, 1, m.Version, "the content is unchanged")
			require.InDelta(t, 0.6, m.Salience, 1e-9, "half after one half-life, plus the gain of one success")
			require.True(t, w.now.Equal(m.SalienceAt) && w.now.Equal(m.Lifecycle.LastReinforcedAt))
			h := w.history(record)
			require.Len(t, h, 2)
			require.Equal(t, schema.AuditReinforce, h[1].Action)
			require.Equal(t, second.String(), metadata(t, h[1])["parentId"])
			require.InDelta(t, 0.5, metadata(t, h[1])["salience_before"], 1e-9)
			require.Equal(t, 2, w.count("memories", "live AND content = $1", planned),
				"the record and its first source only")
			w.requireExactDue()
			w.requireExactStats()
			testkit.CheckInvariants(t, w.owner)
		})
	}
}

// In shadow mode and with frozen mutations, no source is added either.
func TestFrozenPipelineAddsNoSource(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.WriteMode{schema.ModeShadow, schema.ModeFrozen} {
		w := newWorld(t)
		_, record := w.said(schema.Candidate{Content: planned}, idea{fact: fact(planned), action: schema.ActionAdd})
		before := w.get(record)
		w.policy.Mode = mode
		w.now = w.now.Add(time.Hour)
		_, r := w.source("As I said, the launch is planned for May 3.",
			idea{fact: fact(planned), action: schema.ActionNone, target: record})
		w.write(r)
		require.Equal(t, proposals.ReasonAlreadyKnown, w.outcomes(r)[0].Skipped)
		require.Equal(t, before, w.get(record), mode)
	}
}

// A source that is trusted less does not lower a record that has other sources: it restates the record.
func TestLessTrustedSourceRestatesTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, record := w.said(schema.Candidate{Content: planned}, idea{fact: fact(planned), action: schema.ActionAdd})
	ack, r := w.stage(schema.Candidate{Content: "The launch is on May 3, a tool says.",
		SourceKind: schema.SourceToolOutput, Sensitivity: schema.SensitivityHigh})
	lesser := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, lesser, idea{fact: fact(planned), action: schema.ActionNone, target: record})
	w.write(r)
	require.Len(t, w.get(record).Relations, 1)
	require.Len(t, w.get(record).Provenance.Sources, 1,
		"a more sensitive source is not listed to readers with a lower limit")
	require.Equal(t, []schema.Relation{{Predicate: proposals.RelationRestates, TargetID: record.String(), Weight: 1}},
		w.get(lesser).Relations)
	testkit.CheckInvariants(t, w.owner)
}

func TestOneRecordHasABoundedNumberOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, record := w.said(schema.Candidate{Content: planned}, idea{fact: fact(planned), action: schema.ActionAdd})
	var texts []string
	for i := range 250 {
		texts = append(texts, fmt.Sprintf("Note %d: the launch is planned for May 3.", i))
	}
	ack, r := w.stage(say(texts...)...)
	for _, id := range ack.MemoryIDs {
		w.decided(r, uuid.MustParse(id), idea{fact: fact(planned), action: schema.ActionNone, target: record})
	}
	w.write(r)
	m := w.get(record)
	require.Len(t, m.Relations, 200)
	require.LessOrEqual(t, len(m.Provenance.Sources), 200)
	require.Equal(t, 51, w.count("memory_links", "target_id = $1 AND predicate = 'restates'", record))
	encoded, err := json.Marshal(m)
	require.NoError(t, err)
	var back schema.MemoryRecord
	require.NoError(t, json.Unmarshal(encoded, &back))
}

// When a fact is superseded, all records of the fact are marked, from any source.
func TestEverySourceOfASupersededRecordIsMarked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prefers := fact("Maya prefers Python.")
	first, record := w.said(schema.Candidate{Content: "I prefer Python.", Speaker: "Maya", Session: "s1"},
		idea{fact: prefers, action: schema.ActionAdd})
	second, _ := w.said(schema.Candidate{Content: "I really prefer Python.", Speaker: "Maya", Session: "s2"},
		idea{fact: prefers, action: schema.ActionNone, target: record})
	secret, _ := w.said(schema.Candidate{Content: "Python is what I prefer.", Speaker: "Maya", Session: "s3",
		Sensitivity: schema.SensitivityMedium},
		idea{fact: prefers, action: schema.ActionNone, target: record})
	all := []uuid.UUID{first, second, secret}
	marks := func() map[uuid.UUID]schema.Currentness {
		found, err := w.Supersessions(ctx, pg.Filter{Principal: w.p}, all)
		require.NoError(t, err)
		out := map[uuid.UUID]schema.Currentness{}
		for id, s := range found {
			out[id] = s.Currentness(schema.StatusActive)
		}
		return out
	}
	require.Empty(t, marks())
	fourth, item := w.proposed("Maya: I prefer Go now.",
		idea{fact: fact("Maya prefers Go now."), action: schema.ActionUpdate, target: record})
	require.Equal(t, proposals.ReasonRevisionPolicy, item.Outcome, "three sources against one")
	result := w.settle(item, schema.DecisionApprove)
	require.Equal(t, result.MemoryID, w.get(record).SupersededBy)
	require.Equal(t, map[uuid.UUID]schema.Currentness{first: schema.CurrentnessSuperseded,
		second: schema.CurrentnessSuperseded, secret: schema.CurrentnessSuperseded}, marks())
	require.NotContains(t, marks(), fourth)
}

// If a lasting record has the content of an episode, the record is the neighbour to decide on, and the episode is
// not.
func TestEpisodesWithARecordAreNoNeighbours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, record := w.said(schema.Candidate{Content: planned}, idea{fact: fact(planned), action: schema.ActionAdd})
	bare := w.memory("Rain fell on Tuesday.")
	ids := func(content string) []string {
		found, err := w.Neighbors(ctx, w.p, []search.NeighborQuery{{Fact: fact(content), At: w.now}})
		require.NoError(t, err)
		var out []string
		for _, n := range found[0] {
			out = append(out, n.ID)
		}
		return out
	}
	require.Equal(t, []string{record.String()}, ids(planned))
	require.Equal(t, []string{bare.String()}, ids("Rain fell on Tuesday."), "no record has its content")
	w.said(schema.Candidate{Content: "It is planned for June 10."},
		idea{fact: fact("The launch is planned for June 10."), action: schema.ActionUpdate, target: record})
	require.Equal(t, schema.StatusSuperseded, w.get(record).Status)
	require.NotContains(t, ids(planned), source.String(), "the source's fact was replaced with the record")
	w.forget(record)
	require.Contains(t, ids(planned), source.String(), "no other memory has this content")
}

// A text may repeat a fact and then change it. The fact is related to it all the same, so that the text is known as a
// source of what is no longer current, but what has just been superseded is not reinforced.
func TestATextThatRepeatsAndChangesAFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rome := w.claimed("Ana lives in Rome", "Ana", "Rome")
	before := w.get(rome)
	w.now = w.now.Add(time.Hour)
	source, r := w.source("I lived in Rome, and I live in Oslo now",
		idea{fact: fact("Ana lives in Rome."), action: schema.ActionNone, target: rome},
		idea{fact: lives("Ana lives in Oslo", "Ana", "Oslo"), action: schema.ActionUpdate,
			change: memory.ChangeSupersede, target: rome})
	require.Equal(t, schema.WriteCounts{Updated: 1, Skipped: 1}, w.write(r))
	m := w.get(rome)
	require.Equal(t, schema.StatusSuperseded, m.Status)
	require.Equal(t, before.Salience, m.Salience)
	require.Equal(t, 1, w.count("memory_links",
		"source_id = $1 AND predicate = 'derived_from' AND target_id = $2", rome, source))
	testkit.CheckInvariants(t, w.owner)
}
