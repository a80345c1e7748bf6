package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

func TestAnActiveFunctionalFactIsNotContradicted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.source("first talk",
		idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	holder := w.outcomes(r)[0].MemoryID
	other := w.memory("Alice was seen in Rome")

	_, r = w.source("second talk",
		idea{fact: lives("Alice lives in Rome", "ALICE", "Rome"), action: schema.ActionAdd},
		idea{fact: lives("Bob lives in Rome", "Bob", "Rome"), action: schema.ActionAdd},
		idea{fact: lives("Bob lives in Oslo", "bob", "Oslo"), action: schema.ActionAdd},
		idea{fact: lives("Alice dwells in Rome", "Alice", "Rome"), action: schema.ActionUpdate, target: other})
	counts := w.write(r)
	out := w.outcomes(r)
	for i, want := range []schema.ProposalState{schema.ProposalBlocked, schema.ProposalApplied, schema.ProposalStale,
		schema.ProposalBlocked} {
		require.Equal(t, want, out[i].State, "%d", i)
		if want == schema.ProposalBlocked {
			require.Equal(t, "active_fact_exists", out[i].Skipped)
			require.True(t, out[i].ReviewNeeded)
			require.True(t, out[i].ContradictionRisk)
		}
	}
	require.Equal(t, holder, out[0].MemoryID, "the existing active fact")
	require.Equal(t, schema.WriteCounts{Added: 1, Blocked: 2, Stale: 1}, counts)
	require.Equal(t, schema.StatusActive, w.get(other).Status)

	// An update whose target is the active fact may replace it.
	_, r = w.source("third talk", idea{fact: lives("Alice lives in Rome", "Alice", "Rome"), action: schema.ActionUpdate,
		target: uuid.MustParse(holder)})
	require.Equal(t, schema.WriteCounts{Updated: 1}, w.write(r))
}

// A fact that adds a detail to the value of an active fact does not contradict it: both are kept, only the first makes
// the functional claim, and a new value replaces both.
func TestADetailOfAnActiveFactIsKept(t *testing.T) {
	t.Parallel()
	for _, detailed := range []bool{false, true} {
		w := newWorld(t)
		_, r := w.source("first talk",
			idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
		w.write(r)
		known := uuid.MustParse(w.outcomes(r)[0].MemoryID)
		_, r = w.source("second talk",
			idea{fact: lives("Alice lives in Paris near the river", "alice", "paris"), action: schema.ActionAdd})
		require.Equal(t, schema.WriteCounts{Added: 1}, w.write(r))
		detail := uuid.MustParse(w.outcomes(r)[0].MemoryID)
		require.Equal(t, 1, w.count("memories", "functional AND live AND status = 'active'"))
		require.Equal(t, 2, w.count("memories", "predicate = 'lives_in' AND live AND status = 'active'"))

		target := known
		if detailed {
			target = detail
		}
		_, r = w.source("third talk",
			idea{fact: lives("Alice lives in Oslo", "Alice", "Oslo"), action: schema.ActionUpdate, target: target})
		require.Equal(t, schema.WriteCounts{Updated: 1}, w.write(r))
		for _, id := range []uuid.UUID{known, detail} {
			require.Equal(t, schema.StatusSuperseded, w.get(id).Status)
		}
		require.Equal(t, 1, w.count("memories", "predicate = 'lives_in' AND live AND status = 'active'"))
		w.requireExactStats()
	}
}

func TestTheSameFactTwiceIsADuplicateNotAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(say("hey, Alice lives in Paris", "so Alice lives in Paris")...)
	f := lives("Alice lives in Paris", "Alice", "Paris")
	for _, id := range ack.MemoryIDs {
		w.decided(r, uuid.MustParse(id), idea{fact: f, action: schema.ActionAdd})
	}
	require.Equal(t, schema.WriteCounts{Added: 1, Skipped: 1}, w.write(r))
	_, late := w.source("well, Alice lives in Paris", idea{fact: f, action: schema.ActionAdd})
	require.Equal(t, schema.WriteCounts{Skipped: 1}, w.write(late))
	out := append(w.outcomes(r), w.outcomes(late)...)
	require.Equal(t, "duplicate_content_hash", out[1].Skipped)
	require.Equal(t, "duplicate_content_hash", out[2].Skipped)
	require.Equal(t, out[0].MemoryID, out[2].MemoryID)
}
