package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

const lyonAndAcme = "Maya lives in Lyon and works at Acme."

// valueOnly is a record without a text, from a caller that knows only the new value.
func valueOnly(predicate, object string) *schema.MemoryRecord {
	m := semantic("", "Maya", predicate, object, always)
	return &m
}

func objectOf(t testing.TB, m schema.MemoryRecord) string {
	t.Helper()
	var p schema.SemanticPayload
	require.NoError(t, json.Unmarshal(m.Payload, &p))
	return string(p.Object)
}

// The new value replaces the old one within the sentence, and the rest of the sentence is kept.
func TestReviseKeepsTheRestOfTheSentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fact := w.keep(semantic(lyonAndAcme, "Maya", "lives_in", "Lyon", always))
	result := w.applied(w.revision(schema.ReviseSupersede, valueOnly("lives_in", "Oslo"), w.as(fact)...))
	m := w.get(uuid.MustParse(result.Created[0]))
	require.Equal(t, "Maya lives in Oslo and works at Acme.", m.Content)
	require.Equal(t, `"Oslo"`, objectOf(t, m))
	require.Contains(t, w.found("acme"), uuid.MustParse(m.ID))
	require.NotContains(t, w.found("lyon"), uuid.MustParse(m.ID))
	require.Equal(t, 1, w.count("entity_claims", "memory_id = $1 AND object = 'Oslo'", m.ID))

	// The same for facts of the pipeline, and for any action.
	claimed := w.claimed("Ben lives in Rome and loves it there", "Ben", "Rome")
	record := semantic("", "Ben", "lives_in", "Bari", always)
	m = w.get(uuid.MustParse(w.applied(w.revision(schema.ReviseContest, &record, w.as(claimed)...)).Created[0]))
	require.Equal(t, "Ben lives in Bari and loves it there", m.Content)
}

// A single value would replace a whole sentence, and with it the employer.
func TestReviseRefusesAValueForASentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sentence := w.explicit(lyonAndAcme)
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest} {
		r := w.refused(schema.ReviseInvalid, w.revision(action, valueOnly("states", "Oslo"), w.as(sentence)...))
		require.Contains(t, r.Why, "content")
		require.Contains(t, r.Why, "replace")
		require.NotContains(t, r.Why, "Lyon")
	}
	req := w.revision(schema.ReviseSupersede, valueOnly("states", "Oslo"), w.as(sentence)...)
	req.Replace = "Paris"
	w.refused(schema.ReviseInvalid, req)
	req.Replace = "Lyon"
	m := w.get(uuid.MustParse(w.applied(req).Created[0]))
	require.Equal(t, "Maya lives in Oslo and works at Acme.", m.Content)
	require.Equal(t, `"Maya lives in Oslo and works at Acme."`, objectOf(t, m))
	require.Equal(t, []uuid.UUID{uuid.MustParse(m.ID)}, w.found("acme"))
}

func TestReviseRefusesWhatItCannotRewrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twice := w.keep(semantic("Maya lives in Lyon, and Lyon is near.", "Maya", "lives_in", "Lyon", always))
	absent := w.keep(semantic("Maya has settled where the Rhone and the Saone meet.", "Maya", "works_in", "Lyon",
		always))
	for id, predicate := range map[uuid.UUID]string{twice: "lives_in", absent: "works_in"} {
		req := w.revision(schema.ReviseSupersede, valueOnly(predicate, "Oslo"), w.as(id)...)
		require.Contains(t, w.refused(schema.ReviseInvalid, req).Why, "content")
		// The first obstacle is reported first.
		req.Targets[0].IfVersion++
		w.refused(schema.ReviseVersionConflict, req)
		req.Targets[0].IfVersion--
		req.Record.Content = "Maya " + predicate + " Oslo."
		w.applied(req)
	}
	gone := w.revision(schema.ReviseSupersede, valueOnly("lives_in", "Bergen"), w.as(twice)...)
	w.refused(schema.ReviseNotLive, gone)
	gone.Targets[0].ID = uuid.NewString()
	w.refused(schema.ReviseNotFound, gone)
}

// A record needs no text if the text of its target follows from its triple. A text that is given is kept.
func TestReviseWritesTextFromTheTriple(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	golang := w.created(likes(t, "", "go", always))
	rust := uuid.MustParse(w.applied(w.revision(schema.ReviseSupersede, same(likes(t, "", "rust", always)),
		w.as(golang)...)).Created[0])
	require.Equal(t, "Ana prefers language rust", w.get(rust).Content)
	fact := w.keep(semantic(lyonAndAcme, "Maya", "lives_in", "Lyon", always))
	other := w.get(uuid.MustParse(w.applied(w.revision(schema.ReviseSupersede, valueOnly("moved_to", "Oslo"),
		w.as(fact)...)).Created[0]))
	require.Equal(t, "Maya moved to Oslo", other.Content)
}

func TestReplaceIsValidated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := schema.Target{ID: uuid.NewString(), IfVersion: 1}
	for name, req := range map[string]schema.ReviseRequest{
		"no record":     w.revision(schema.ReviseRetract, nil, target),
		"with content":  w.revision(schema.ReviseSupersede, same(claims("Ana", "Porto", "")), target),
		"named":         w.revision(schema.ReviseSupersede, &schema.MemoryRecord{ID: uuid.NewString()}, target),
		"a blank value": w.revision(schema.ReviseSupersede, valueOnly("lives_in", "Oslo"), target),
	} {
		require.NoError(t, req.Validate(), name)
		req.Replace = "Lyon"
		if name == "a blank value" {
			require.NoError(t, req.Validate(), name)
			req.Replace = " "
		}
		var invalid *schema.ValidationError
		require.ErrorAs(t, req.Validate(), &invalid, name)
		require.Equal(t, "replace", invalid.Fields[0].Field, name)
	}
}
