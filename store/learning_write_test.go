package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// An update may make a procedure equal to another one of its owner. The index would refuse that again and again, and
// with it every later run over the scope.
func TestAnUpdateThatRepeatsAnotherProcedureIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.procedure("first"), w.procedure("second")
	group := uuid.New()
	w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, kind, attempts, updated_at)
		VALUES ('t', $1, 'a', 'error', 3, now())`, group)
	sc := learning.Scope{Tenant: "t", Agent: "a"}
	kept, err := w.Learning.SaveDraft(ctx, sc, learning.Draft{Group: group, Kind: schema.TypeCompetence, Attempts: 3,
		Deltas: []learning.Delta{{Action: learning.Update, Target: one.String(), IfVersion: 1, Key: "error:x",
			Payload: w.get(other).Payload, Confidence: 0.9, Hash: "h", Why: "more evidence"}}}, w.now)
	require.NoError(t, err)
	require.True(t, kept)
	w.exec(`UPDATE memories SET content = (SELECT content FROM memories WHERE id = $2),
		normalized_content = (SELECT normalized_content FROM memories WHERE id = $2) WHERE id = $1`, one, other)
	before := w.get(one)
	written, err := w.Learning.WriteDraft(ctx, learning.WriteInput{Scope: sc, Group: group, Kind: schema.TypeCompetence,
		Policy: w.policy, Now: w.now})
	require.NoError(t, err)
	require.Equal(t, learning.Written{Refused: map[string]int{"duplicate_content_hash": 1}}, written)
	require.True(t, json.Valid(before.Payload))
	require.Equal(t, before, w.get(one))
	require.Zero(t, w.count("learning_drafts", "true"))
	require.Equal(t, 1, w.count("learning_groups", "procedures = 3"), "the group is decided: nothing is left to write")
}

// Two runs over one scope decide on the same group, and each found nothing that was known. The second one does not add
// the procedure again.
func TestTwoRunsAddAProcedureOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := uuid.New()
	w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, kind, attempts, updated_at)
		VALUES ('t', $1, 'a', 'error', 3, now())`, group)
	sc := learning.Scope{Tenant: "t", Agent: "a"}
	add := func(step string, known ...string) learning.Written {
		t.Helper()
		payload := fmt.Appendf(nil, `{"kind":"competence","skill_name":"fix","triggers":[{"signal":"error: x"}],
			"recipe":[{"step":"%s"}]}`, step)
		kept, err := w.Learning.SaveDraft(ctx, sc, learning.Draft{Group: group, Kind: schema.TypeCompetence,
			Attempts: 3, Deltas: []learning.Delta{{Action: learning.Add, Key: "error:x", Payload: payload,
				Confidence: 0.9, Hash: "h " + step, Why: "a solution that is not known",
				Known: append([]string{}, known...)}}}, w.now)
		require.NoError(t, err)
		require.True(t, kept)
		written, err := w.Learning.WriteDraft(ctx, learning.WriteInput{Scope: sc, Group: group,
			Kind: schema.TypeCompetence, Policy: w.policy, Now: w.now})
		require.NoError(t, err)
		return written
	}
	require.Equal(t, 1, add("clear the cache").Added)
	require.Equal(t, learning.Written{Dropped: 1, Refused: map[string]int{}}, add("clear the cache first"))
	require.Equal(t, 1, w.count("memories", "type = 'competence' AND live"))
	require.Zero(t, w.count("learning_drafts", "true"))

	var first string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT memory_id::text FROM learned`).Scan(&first))
	require.Equal(t, 1, add("reinstall", first).Added, "a decision that knew the first one")
}
