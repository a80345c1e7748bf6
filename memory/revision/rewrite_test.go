package revision_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// tripleOf returns a semantic record with a triple. The object is JSON.
func tripleOf(content, subject, predicate, object string) schema.MemoryRecord {
	payload, err := json.Marshal(schema.SemanticPayload{Kind: schema.TypeSemantic, Subject: subject,
		Predicate: predicate, Object: json.RawMessage(object),
		Validity: schema.Validity{Mode: schema.ValidGlobal}})
	if err != nil {
		panic(err)
	}
	return schema.MemoryRecord{Type: schema.TypeSemantic, Content: content, Payload: payload}
}

func sentenceOf(content string) schema.MemoryRecord {
	object, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return tripleOf(content, "Maya", "states", string(object))
}

func objectOf(t testing.TB, m schema.MemoryRecord) string {
	t.Helper()
	var p schema.SemanticPayload
	require.NoError(t, json.Unmarshal(m.Payload, &p))
	return string(p.Object)
}

func TestRewrittenRecord(t *testing.T) {
	t.Parallel()
	const lyon = "Maya lives in Lyon and works at Acme."
	for name, c := range map[string]struct {
		target, record schema.MemoryRecord
		replace        string
		text, object   string // expected in the new record
		problem        string
	}{
		"a value within a sentence": {tripleOf(lyon, "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "maya", "lives_in", `"Oslo"`), "",
			"Maya lives in Oslo and works at Acme.", `"Oslo"`, ""},
		"in another case": {tripleOf("Maya lives in lyon and works at Acme.", "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Oslo"`), "",
			"Maya lives in Oslo and works at Acme.", `"Oslo"`, ""},
		"a number": {tripleOf("Ben is 41 and lives in Rome.", "Ben", "age", `41`), tripleOf("", "Ben", "age", `42`), "",
			"Ben is 42 and lives in Rome.", `42`, ""},
		"a sentence that says no more than its triple": {tripleOf("Maya lives in Lyon.", "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Oslo"`), "", "", `"Oslo"`, ""},
		"the same value on another ground": {tripleOf(lyon, "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Lyon"`), "", lyon, `"Lyon"`, ""},
		"a value that does not occur": {tripleOf("Maya has left Paris for good.", "Maya", "lives_in",
			`"Lyon"`), tripleOf("", "Maya", "lives_in", `"Oslo"`), "", "", "", "does not occur"},
		"a value that occurs twice": {tripleOf("Maya lives in Lyon, and Lyon is nice.", "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Oslo"`), "", "", "",
			"more than once"},
		"a value that is part of a name": {tripleOf("Maya lives near Lyon-Perrache station.", "Maya", "lives_in",
			`"Lyon"`), tripleOf("", "Maya", "lives_in", `"Oslo"`), "", "", "", "longer word"},
		"a value that is part of a word": {tripleOf("Maya lives in Lyonnais country.", "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Oslo"`), "", "", "", "does not occur"},
		"the value is named": {tripleOf("Maya lives in Lyon, in the old town of Lyon.", "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "lives_in", `"Oslo"`), "Lyon, in the old town of Lyon",
			"Maya lives in Oslo.", `"Oslo"`, ""},
		"a structure": {tripleOf("Maya lives in Lyon, we think.", "Maya", "lives_in", `{"city": "Lyon"}`),
			tripleOf("", "Maya", "lives_in", `{"city": "Oslo"}`), "", "", "", "not text"},

		"its own text": {tripleOf(lyon, "Maya", "lives_in", `"Lyon"`),
			tripleOf("Oslo it is.", "Maya", "lives_in", `"Oslo"`), "", "Oslo it is.", `"Oslo"`, ""},
		"another predicate": {tripleOf(lyon, "Maya", "lives_in", `"Lyon"`),
			tripleOf("", "Maya", "works_in", `"Oslo"`), "", "", `"Oslo"`, ""},
		"text, and what to find": {tripleOf(lyon, "Maya", "lives_in", `"Lyon"`),
			tripleOf("Oslo it is.", "Maya", "lives_in", `"Oslo"`), "Lyon", "", "", "subject and predicate"},

		// The statement also names an employer, which the new value would drop.
		"one value for a sentence": {sentenceOf(lyon), tripleOf("", "Maya", "states", `"Oslo"`), "", "", "",
			"without a separate value"},
		"a value that another subject states": {sentenceOf(lyon), tripleOf("", "Ben", "states", `"Oslo"`), "", "", "",
			"without a separate value"},
		"a number for a sentence": {sentenceOf(lyon), tripleOf("", "Maya", "states", `7`), "", "", "",
			"without a separate value"},
		"a value within a statement": {sentenceOf(lyon), tripleOf("", "Maya", "states", `"Oslo"`), "Lyon",
			"Maya lives in Oslo and works at Acme.", `"Maya lives in Oslo and works at Acme."`, ""},
		"not in the statement": {sentenceOf(lyon), tripleOf("", "Maya", "states", `"Oslo"`), "Paris", "",
			"", "does not occur"},
		"twice in the statement": {sentenceOf("Lyon or Lyon"), tripleOf("", "Maya", "states", `"Oslo"`),
			"Lyon", "", "", "more than once"},
		"a sentence for a sentence": {sentenceOf(lyon), sentenceOf("Maya has moved to Oslo."), "",
			"Maya has moved to Oslo.", `"Maya has moved to Oslo."`, ""},
		"a sentence without its text": {sentenceOf(lyon),
			tripleOf("", "Maya", "states", `"Maya has moved to Oslo."`), "", "", `"Maya has moved to Oslo."`, ""},
		"a short one for a short one": {sentenceOf("Maya sings"), tripleOf("", "Maya", "states", `"Maya dances"`),
			"", "", `"Maya dances"`, ""},
		"a procedure": {schema.MemoryRecord{Type: schema.TypeCompetence, Content: "x"},
			schema.MemoryRecord{Type: schema.TypeCompetence, Payload: json.RawMessage(`{"object": 1}`)}, "",
			"", "1", ""},
		"a value within a procedure": {schema.MemoryRecord{Type: schema.TypeCompetence, Content: "x"},
			schema.MemoryRecord{Type: schema.TypeCompetence, Payload: json.RawMessage(`{}`)}, "x",
			"", "", "semantic"},
	} {
		got, err := revision.RewrittenRecord(c.record, c.target, c.replace)
		if c.problem != "" {
			var refused *revision.RewriteError
			require.ErrorAs(t, err, &refused, name)
			require.ErrorContains(t, err, c.problem, name)
			require.NotContains(t, err.Error(), "Lyon", "no content in errors")
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, []string{c.text, c.object}, []string{got.Content, objectOf(t, got)}, name)
	}
}

func TestReplaceValue(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"Max's manager is Eva.", "Max", "Ben", "Ben's manager is Eva."},
		{"We run v1.2 (for now).", "v1.2", "v2.0", "We run v2.0 (for now)."},
		{"We run 1.2.3.", "1.2", "2.0", "!longer word"},
		{"Costs: 5.50 EUR", "5", "6", "!longer word"},
		{"It costs $5, or 5% more.", "$5", "$6", "It costs $6, or 5% more."},
		{"C++ is what Maya writes.", "C", "Go", "!longer word"},
		{"C++ is what Maya writes.", "C++", "Go", "Go is what Maya writes."},
		{"Launch is on May 3, or May 30.", "May 3", "June 10", "Launch is on June 10, or May 30."},
		{"Mail goes to maya@lyon.example.", "lyon", "oslo", "!longer word"},
		{"Elle habite à Orléans.", "orléans", "Besançon", "Elle habite à Besançon."},
		{"a (b", "(b", "c", "a c"},
		{"a b", "", "c", "!does not occur"},
		{"two  words here", "two words", "one", "one here"},
	} {
		got, err := revision.ReplaceValue(c[0], c[1], c[2])
		if problem, refused := strings.CutPrefix(c[3], "!"); refused {
			require.ErrorContains(t, err, problem, c[0])
			continue
		}
		require.NoError(t, err, c[0])
		require.Equal(t, c[3], got)
	}
}

// The rewritten text keeps all words except the old value, and rewriting back restores the old sentence.
func TestReplaceValueKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"Maya", "lives", "in", "Lyon", "and", "works", "Oslo", "c++",
			"v1.2"}), 1, 8).Draw(t, "words")
		old := rapid.SampledFrom(words).Draw(t, "old")
		sentence := strings.Join(words, " ")
		got, err := revision.ReplaceValue(sentence, old, "Zürich")
		n := 0
		for _, w := range words {
			if w == old {
				n++
			}
		}
		if n != 1 {
			var refused *revision.RewriteError
			require.True(t, errors.As(err, &refused))
			return
		}
		require.NoError(t, err)
		back, err := revision.ReplaceValue(got, "Zürich", old)
		require.NoError(t, err)
		require.Equal(t, sentence, back)
	})
}
