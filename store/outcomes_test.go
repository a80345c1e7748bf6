package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// An outcome shows the content of its target if the owner of the batch may read it.
func TestOutcomesShowTheTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := w.claimed("Ana lives in Lyon.", "Ana", "Lyon")
	parent, r := w.source("Ana has moved.",
		idea{fact: lives("Ana lives in Oslo.", "Ana", "Oslo"), action: schema.ActionUpdate, target: held},
		idea{fact: fact("Ana has a bicycle."), action: schema.ActionAdd})
	require.Equal(t, schema.WriteCounts{Updated: 1, Added: 1}, w.write(r))
	out := w.outcomes(r)
	require.Equal(t, "Ana lives in Lyon.", out[0].Target)
	require.Equal(t, parent.String(), out[0].SourceID)
	require.NotEmpty(t, out[0].ProposalID)
	require.Empty(t, out[1].Target)
	require.False(t, out[0].Contested || out[0].Retracts || out[0].Withheld)

	// An outcome names the target of a waiting proposal, or the memory that has the claim.
	item := func(id string) schema.FactOutcome {
		w.policy.AllowUpdateDelete = false
		_, r := w.source("Ana moved again, it is said in "+id,
			idea{fact: lives("Ana lives in "+id, "Ana", id), action: schema.ActionAdd})
		require.Equal(t, schema.WriteCounts{Blocked: 1}, w.write(r))
		return w.outcomes(r)[0]
	}("Rome")
	require.Equal(t, "Ana lives in Oslo.", item.Target)
	require.Equal(t, item.ProposalID, w.review(item.ProposalID).ProposalID)

	// A target above the sensitivity limit or deleted is not shown.
	require.Equal(t, held.String(), w.outcomes(r)[0].TargetID)
	w.exec(`UPDATE memories SET sensitivity = 'high' WHERE id = $1`, held)
	require.Empty(t, w.outcomes(r)[0].Target)
	require.Empty(t, w.outcomes(r)[0].TargetID)
	w.exec(`UPDATE memories SET sensitivity = 'low', agent_id = 'another' WHERE id = $1`, held)
	require.Empty(t, w.outcomes(r)[0].TargetID+w.outcomes(r)[0].Reason)
	w.exec(`UPDATE memories SET agent_id = $2 WHERE id = $1`, held, w.p.Agent)
	w.exec(`UPDATE memories SET sensitivity = 'low', content = '' WHERE id = $1`, held)
	require.Empty(t, w.outcomes(r)[0].Target)
}

// A contested memory is reported with the memory that it contradicts.
func TestOutcomesOfContestedMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.source("Ana said so.", idea{fact: fact("The launch is on May 3."), action: schema.ActionAdd},
		idea{fact: fact("Two launches are planned."), action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	out := w.outcomes(r)
	w.exec(`UPDATE memories SET status = 'contested' WHERE id = ANY($1::uuid[])`,
		[]string{out[0].MemoryID, out[1].MemoryID})
	w.edge(uuid.MustParse(out[1].MemoryID), revision.RelationContradicts, uuid.MustParse(out[0].MemoryID), "two dates")
	out = w.outcomes(r)
	require.True(t, out[1].Contested)
	require.Equal(t, "The launch is on May 3.", out[1].Target)
}

// A fact that retracts a statement is reported as stored.
func TestOutcomesOfRetractions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := w.memory("Ana likes tabs.")
	_, r := w.source("Ana does not like tabs.",
		idea{fact: fact("Ana does not like tabs."), action: schema.ActionUpdate, target: held})
	w.exec(`UPDATE proposals SET fact = fact || '{"retracts": true}' WHERE batch_id = $1`, r.BatchID)
	require.True(t, w.outcomes(r)[0].Retracts)
}

// The outcome of a secret has its kind and none of its words.
func TestOutcomesWithholdSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const key = "AKIAIOSFODNN7EXAMPLQ"
	ack, r := w.stage(schema.Candidate{Content: "The key of the build is " + key},
		schema.Candidate{Content: "Tea is hot."}, schema.Candidate{Content: "Tea is hot."},
		schema.Candidate{Content: "Our salaries.", Sensitivity: schema.SensitivityHigh})
	parent := uuid.MustParse(ack.MemoryIDs[0])
	secret := fact("The build's key is " + key)
	w.decided(r, parent, idea{fact: secret, action: schema.ActionAdd})
	w.exec(`UPDATE proposals SET reason = 'it says ' || $1`, key)
	w.write(r)
	facts := w.outcomes(r)
	require.Len(t, facts, 1)
	require.True(t, facts[0].Withheld)
	require.Equal(t, []string{sensitive.DetectedAPIKey}, facts[0].Detected)
	require.Equal(t, schema.SensitivityHyper, facts[0].Sensitivity)
	require.NotEmpty(t, facts[0].MemoryID)

	candidates, err := w.CandidateOutcomes(ctx, w.p.Tenant, r.BatchID)
	require.NoError(t, err)
	encoded, err := json.Marshal(map[string]any{"facts": facts, "candidates": candidates})
	require.NoError(t, err)
	require.NotContains(t, string(encoded), key)
	require.Len(t, candidates, 4)
	require.Equal(t, []bool{true, false, false, true},
		[]bool{candidates[0].Withheld, candidates[1].Withheld, candidates[2].Withheld, candidates[3].Withheld})
	require.Equal(t, []bool{false, false, true, false},
		[]bool{candidates[0].Deduped, candidates[1].Deduped, candidates[2].Deduped, candidates[3].Deduped})
	require.Empty(t, candidates[3].Detected)
	require.True(t, candidates[0].Stored)

	// A rule decides what is a secret.
	w.exec(`UPDATE memories SET sensitivity = 'low'`)
	require.False(t, w.outcomes(r)[0].Withheld)
}
