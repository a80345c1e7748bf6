package proposals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

// spoken returns a statement of a speaker in an episode.
func spoken(speaker, content string) proposals.Statement {
	return proposals.Statement{Type: schema.TypeEpisodic, Speaker: speaker, Content: content,
		Hash: normalize.Normalize(content).Hash}
}

// statement returns a semantic memory without a triple.
func statement(content string) proposals.Statement {
	s := spoken("", content)
	s.Type = schema.TypeSemantic
	return s
}

// claimed returns a semantic memory with a triple.
func claimed(content, subject, predicate, object string) proposals.Statement {
	s := statement(content)
	s.Claim = memory.Claim{Subject: subject, Predicate: predicate, Object: object}
	return s
}

func TestSaysSame(t *testing.T) {
	t.Parallel()
	oslo := claimed("Maya lives in Oslo", "Maya", "lives_in", "Oslo")
	work := claimed("Maya lives in Oslo", "Maya", "lives_in", "Oslo")
	work.Validity = schema.Validity{Mode: schema.ValidConditional, Conditions: []byte(`{"season": "winter"}`)}
	summer := work
	summer.Validity.Conditions = []byte(`{"season": "summer"}`)
	skill := proposals.Statement{Type: schema.TypeCompetence, Content: "Fix the linker error", Hash: []byte{1}}
	other := skill
	other.Hash = []byte{2}
	for name, c := range map[string]struct {
		a, b proposals.Statement
		want bool
	}{
		"the same words": {statement("Deploys are on Friday."), spoken("Ben",
			"deploys are on Friday"), true},
		"speakers about themselves": {spoken("Maya", "I prefer Python."), statement("Maya prefers Python"), true},
		"the speaker's own things": {spoken("Maya", "My dog is called Rex."),
			statement("Maya's dog is called Rex"), true},
		"contractions": {spoken("Maya", "I'm allergic to nuts"),
			statement("Maya is allergic to nuts."), true},
		"a negation, either way": {spoken("Maya", "I don't eat meat."), statement("Maya does not eat meat"),
			true},
		"filler words": {spoken("Maya", "Well, I actually live in the Hague now!"),
			statement("Maya lives in Hague"), true},
		"two speakers": {spoken("Maya", "I prefer Python."), spoken("Ben", "I prefer Python."),
			false},
		"two speakers about a third thing": {spoken("Maya", "The build is red."), spoken("Ben",
			"The build is red."), true},
		"one of them unknown":           {spoken("Maya", "I prefer Python."), spoken("", "I prefer Python."), true},
		"an unknown speaker and a fact": {spoken("", "I prefer Python."), statement("Maya prefers Python"), false},
		"a negation":                    {statement("Maya likes tabs"), statement("Maya does not like tabs"), false},
		"another tense":                 {statement("Maya lives in Oslo"), statement("Maya lived in Oslo"), false},
		"roles reversed":                {statement("Ana manages Bo"), statement("Bo manages Ana"), false},
		"more content": {statement("Maya lives in Oslo"),
			statement("Maya lives in Oslo and works at Acme"), false},
		"no content": {statement(""), statement(""), false},
		"one triple in other words": {oslo, claimed("Oslo is where Maya lives", "maya", "lives_in", "Oslo"),
			true},
		"another object":      {oslo, claimed("Maya lives in Oslo", "Maya", "lives_in", "Bergen"), false},
		"another predicate":   {oslo, claimed("Maya works in Oslo", "Maya", "works_in", "Oslo"), false},
		"a triple and a turn": {oslo, spoken("Maya", "I live in Oslo."), true},
		"objects that are sentences": {claimed("x one two", "Maya", "states", "x one two"),
			claimed("x one three", "Maya", "states", "x one three"), false},
		"on a ground within the other":    {oslo, work, true},
		"on disjoint grounds":             {work, summer, false},
		"procedures that are equal":       {skill, skill, true},
		"procedures of one name":          {skill, other, false},
		"a procedure and a text about it": {skill, statement("Fix the linker error"), false},
		"plurals and the third person": {spoken("Maya", "I use buses and study flies"),
			statement("Maya uses buses and studies flies"), true},
	} {
		require.Equal(t, c.want, proposals.SaysSame(c.a, c.b), name)
		require.Equal(t, c.want, proposals.SaysSame(c.b, c.a), "%s, the other way round", name)
	}
}

func TestSays(t *testing.T) {
	t.Parallel()
	oslo := claimed("Maya lives in Oslo", "Maya", "lives_in", "Oslo")
	skill := proposals.Statement{Type: schema.TypeCompetence, Content: "Clear the cache", Hash: []byte{1}}
	for name, c := range map[string]struct {
		asked proposals.Statement
		tie   proposals.Tie
		other proposals.Statement
		want  bool
	}{
		"its source turn": {oslo, proposals.TieSource, spoken("Maya",
			"We left Lyon for Oslo, and Ben got a dog."), true},
		"its source sentence": {oslo, proposals.TieSource, statement("Maya moved to Oslo"), true},
		"the target of a fork": {oslo, proposals.TieSource, claimed("Maya lives in Lyon", "Maya",
			"lives_in", "Lyon"), false},
		"the target of a narrowing": {oslo, proposals.TieSource, oslo, true},
		"a fact merged into a sentence": {statement("Maya lives in Oslo and likes it"), proposals.TieSource, oslo,
			true},
		"a conclusion from it": {oslo, proposals.TieDerived, claimed("Maya is in CET", "Maya",
			"timezone", "CET"), true},
		"a summary": {oslo, proposals.TieDerived, statement("Maya's year in three lines"), true},
		"a fork of it": {oslo, proposals.TieDerived, claimed("Maya lives in Lyon", "Maya",
			"lives_in", "Lyon"), false},
		"a merger that names it": {oslo, proposals.TieDerived, claimed("Maya lives in Oslo and Lyon",
			"Maya", "lives_in", "Oslo and Lyon"), true},
		"a procedure learned from it": {spoken("Maya", "We cleared the cache."), proposals.TieDerived, skill,
			false},
		"an episode of a procedure": {skill, proposals.TieSource, spoken("Maya", "We cleared the cache."), false},
		"a sibling that has the same content": {oslo, proposals.TieSame, claimed("Maya's home is Oslo", "Maya",
			"lives_in", "Oslo"), true},
		"a sibling that says something else": {oslo, proposals.TieSame, claimed("Ben has a dog", "Ben", "has", "dog"),
			false},
	} {
		require.Equal(t, c.want, proposals.Says(c.asked, c.tie, c.other), name)
	}
}

// Other facts of a source, and other sources of a summary, are not reached.
func TestReached(t *testing.T) {
	t.Parallel()
	const same, source, derived = proposals.TieSame, proposals.TieSource, proposals.TieDerived
	for _, c := range []struct {
		by, from proposals.Tie
		same     bool
		want     proposals.Tie
		ok       bool
	}{
		{same, same, true, same, true}, {source, same, false, source, true}, {derived, same, false, derived, true},
		{derived, same, true, same, true},
		{same, source, true, source, true}, {source, source, false, source, true}, {derived, source, true, "", false},
		{same, derived, true, derived, true}, {derived, derived, false, derived, true}, {source, derived, true, "",
			false},
	} {
		tie, ok := proposals.Reached(c.by, c.from, c.same)
		require.Equal(t, []any{c.want, c.ok}, []any{tie, ok}, "%s of %s", c.by, c.from)
	}
}

func TestAlsoSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"I prefer Python.":                                  0,
		"Hi there! I prefer Python. Thanks!":                0,
		"I prefer Python. My sister is a nurse in Bergen.":  1,
		"I prefer Python v3.12 on api.example.org.":         0,
		"I live in Oslo\nI work at Acme\nI like long walks": 2,
		"": 0,
	} {
		require.Equal(t, want, proposals.AlsoSays(text, 0, false), text)
		require.Equal(t, max(want, 2), proposals.AlsoSays(text, 2, false), text)
		require.Equal(t, max(want, 1), proposals.AlsoSays(text, 0, true), text)
	}
}

func TestSaysMore(t *testing.T) {
	t.Parallel()
	python := claimed("Maya prefers Python.", "Maya", "prefers", "Python")
	for text, want := range map[string]bool{
		"I prefer Python.":                         false,
		"As I said, it is Python that I prefer!":   false,
		"Python is what I prefer":                  false,
		"I prefer Python and live in Oslo.":        true,
		"I prefer Python since my sister is ill":   true,
		"Maya prefers Python and lives in Oslo.":   true,
		"Ben and I prefer Python to the old stack": true,
	} {
		require.Equal(t, want, proposals.SaysMore(python, spoken("Maya", text)), text)
	}
	require.False(t, proposals.SaysMore(spoken("Maya", "I prefer Python and live in Oslo."), python))
}

// SaysSame is reflexive and symmetric for any statements.
func TestSaysSameIsReflexiveAndSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) proposals.Statement {
			s := spoken(rapid.SampledFrom([]string{"", "Maya", "Ben"}).Draw(t, "who"),
				rapid.StringMatching(`(I|Maya|the|likes|don't|isn't|dogs|Oslo|\?| ){1,8}`).Draw(t, "text"))
			if rapid.Bool().Draw(t, "semantic") {
				s.Type = schema.TypeSemantic
				s.Claim = memory.Claim{Subject: "Maya", Predicate: "likes",
					Object: rapid.SampledFrom([]string{"dogs", "Oslo"}).Draw(t, "object")}
			}
			if at := time.Date(2026, 1, rapid.IntRange(1, 3).Draw(t, "day"), 0, 0, 0, 0,
				time.UTC); rapid.Bool().Draw(t, "from") {
				s.Validity = schema.Validity{Mode: schema.ValidTimeboxed, Start: &at}
			}
			return s
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		require.Equal(t, proposals.SaysSame(a, b), proposals.SaysSame(b, a))
		require.True(t, a.Claim.IsZero() || proposals.SaysSame(a, a))
	})
}
