package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// What is handed in without references rests on its candidate and the event of the ledger, and a fact drawn from
// it says in its payload what it rests on.
func TestEveryMemoryHasProvenance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(
		schema.Candidate{Content: "Ana lives in Lisbon since May", SourceKind: schema.SourceUserInput},
		schema.Candidate{Content: "Trips need an approval", SourceKind: schema.SourceMemory},
		schema.Candidate{Content: "Bo likes figs", SourceKind: schema.SourceToolOutput, Refs: []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}})
	said, stated, called := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1]), uuid.MustParse(ack.MemoryIDs[2])
	var event uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT id FROM events WHERE candidate_id = $1`, said).Scan(&event))

	utc := w.now.UTC()
	at := func(refs []schema.Ref) []schema.Ref {
		for i := range refs {
			*refs[i].Timestamp = refs[i].Timestamp.UTC()
		}
		return refs
	}
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "candidate:" + said.String(), Timestamp: &utc}, {Kind: "event", Ref: "ledger:" + event.String(), Timestamp: &utc}},
		at(w.get(said).Provenance.Sources))
	own := []schema.Ref{{Kind: "human", Ref: "candidate:" + stated.String(), Timestamp: &utc}}
	require.Equal(t, own, at(w.get(stated).Provenance.Sources), "what is stated as a memory is no event")
	require.Equal(t, own, at(memory.PayloadEvidence(w.get(stated).Payload)))
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}, w.get(called).Provenance.Sources)

	w.decided(r, said, idea{fact: lives("Ana lives in Lisbon.", "Ana", "Lisbon"), action: schema.ActionAdd})
	w.decided(r, called, idea{fact: fact("Bo likes figs a lot."), action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	drawn := w.facts(said)
	require.Len(t, drawn, 1)
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "memory:" + said.String(), Timestamp: &utc}}, at(memory.PayloadEvidence(drawn[0].Payload)))
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}, memory.PayloadEvidence(w.facts(called)[0].Payload))
}

// How a memory was handed in says nothing for it: the sources that are weighed against each other stay the same.
func TestBeingHandedInIsNoFurtherSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, _ := w.stage(schema.Candidate{Content: "Ana lives in Lisbon", SourceKind: schema.SourceMemory})
	id := uuid.MustParse(ack.MemoryIDs[0])
	require.Equal(t, 1, w.count("memory_provenance", "memory_id = $1", id))
	reconciled := func(town string) schema.ReviseResult {
		next := claims("Ana", town, "")
		next.Content = "Ana never lives in Lisbon"
		return w.revise(w.revision(schema.ReviseReconcile, &next, schema.Target{ID: id.String(), IfVersion: 1}))
	}
	r := reconciled("Faro")
	require.Equal(t, schema.ReviseApplied, r.Status, r.Why)
	require.Equal(t, schema.StatusSuperseded, w.get(id).Status, "one source against none")
}
