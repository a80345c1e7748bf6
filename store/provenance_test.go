package store_test

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// A candidate without references has its own id and its event as provenance, and a fact extracted from it lists its
// evidence in the payload.
func TestEveryMemoryHasProvenance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, r := w.stage(
		schema.Candidate{Content: "Ana lives in Lisbon since May", SourceKind: schema.SourceUserInput},
		schema.Candidate{Content: "Trips need an approval", SourceKind: schema.SourceMemory},
		schema.Candidate{Content: "Bo likes figs", SourceKind: schema.SourceToolOutput,
			Refs: []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}})
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
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "candidate:" + said.String(), Timestamp: &utc},
		{Kind: "event", Ref: "ledger:" + event.String(), Timestamp: &utc}},
		at(w.get(said).Provenance.Sources))
	own := []schema.Ref{{Kind: "human", Ref: "candidate:" + stated.String(), Timestamp: &utc}}
	require.Equal(t, own, at(w.get(stated).Provenance.Sources), "an explicit memory has no event")
	require.Equal(t, own, at(proposals.PayloadEvidence(w.get(stated).Payload)))
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "call-7"}}, w.get(called).Provenance.Sources)

	w.decided(r, said, idea{fact: lives("Ana lives in Lisbon.", "Ana", "Lisbon"), action: schema.ActionAdd})
	w.decided(r, called, idea{fact: fact("Bo likes figs a lot."), action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	drawn := w.facts(said)
	require.Len(t, drawn, 1)
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "memory:" + said.String(), Timestamp: &utc}},
		at(proposals.PayloadEvidence(drawn[0].Payload)))
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "call-7"}},
		proposals.PayloadEvidence(w.facts(called)[0].Payload))
}

// A record written by a revision has the evidence of the request, unless it has its own.
func TestARevisedFactHasTheEvidenceOfItsRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.created(likes(t, "", "go", always))
	next := record(t, `{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "Ana",
		"predicate": "prefers_language", "object": "rust", "validity": {"mode": "global"}}}`)
	r := w.applied(w.revision(schema.ReviseSupersede, &next, schema.Target{ID: old.String(), IfVersion: 1}))
	require.Equal(t, heard, proposals.PayloadEvidence(w.get(uuid.MustParse(r.Created[0])).Payload))
}

// The candidate of a memory is no evidence for it: the number of sources that are compared does not change.
func TestACandidateIsNoSource(t *testing.T) {
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

// The history of each proposal names its fact by the position in the source and by a hash, which is removed with the
// text.
func TestHistorySaysWhichFact(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("Tea is served at noon")
	source, r := w.source("a talk about tea", idea{fact: fact("Figs are sweet"), action: schema.ActionAdd},
		idea{fact: fact("Tea is not served at noon"), action: schema.ActionUpdate, target: target},
		idea{fact: fact("Tea is served at noon sharp"), action: schema.ActionUpdate, target: target})
	require.Equal(t, 2, w.write(r).Blocked)
	hash := func(text string) string { return hex.EncodeToString(normalize.Normalize(text).Hash) }
	texts := []string{"Figs are sweet", "Tea is not served at noon", "Tea is served at noon sharp"}
	said := func() map[float64][]string {
		out := map[float64][]string{}
		for _, h := range w.history(source) {
			if m := metadata(t, h); m["proposalId"] != nil {
				require.Contains(t, m, "candidateId")
				of, _ := m["factOrdinal"].(float64)
				out[of] = append(out[of], fmt.Sprint(m["factHash"]))
			}
		}
		return out
	}
	require.Equal(t, map[float64][]string{0: {hash(texts[0])}, 1: {hash(texts[1])}, 2: {hash(texts[2])}}, said())

	// The same for a decision, and for a proposal that expired without one.
	_, err := w.OpenReview(ctx, "t", r.BatchID, time.Hour, w.now)
	require.NoError(t, err)
	for _, item := range w.reviews(pipeline.ReviewFilter{}) {
		if item.Fact == texts[1] {
			require.Equal(t, schema.ReviewApplied, w.settle(item, schema.DecisionApprove).Status)
		}
	}
	_, err = w.expire(r, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, map[float64][]string{0: {hash(texts[0])}, 1: {hash(texts[1]), hash(texts[1])},
		2: {hash(texts[2]), hash(texts[2])}}, said())

	var figs uuid.UUID
	for _, m := range w.facts(source) {
		if m.Content == texts[0] {
			figs = uuid.MustParse(m.ID)
		}
	}
	require.Equal(t, hash(texts[0]), hex.EncodeToString(w.hashOf(figs)), "the hash of the memory that it became")
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(figs)))
	require.Equal(t, []string{"<nil>"}, said()[0], "a hash can be guessed")
	require.Zero(t, w.count("memory_history", "metadata::text LIKE '%' || $1 || '%'", hash(texts[0])))
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(source)))
	require.Zero(t, w.count("memory_history", "memory_id = $1 AND metadata ? 'factHash'", source))
	testkit.CheckInvariants(t, w.owner)
}

func (w *world) hashOf(id uuid.UUID) (hash []byte) {
	w.t.Helper()
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT content_hash FROM memories WHERE id = $1`, id).Scan(&hash))
	return hash
}
