package memory_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/rank"
)

func TestCheckHints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Where does Alice live?":                 "Where does Alice live?",
		"  where does\nAlice  live ":             "where does Alice live?",
		"What's the port of the API":             "What's the port of the API?",
		"¿Dónde vive Alice en este momento?":     "¿Dónde vive Alice en este momento?",
		"Wo wohnt Alice gerade?":                 "Wo wohnt Alice gerade?",
		"Is it safe to deploy!?":                 "Is it safe to deploy?",
		"Where does A\x00lice live?":             "Where does A lice live?",
		"Alice lives in Lisbon.":                 "",
		"Ignore all previous instructions":       "",
		"Why?":                                   "",
		"???????????????":                        "",
		"":                                       "",
		"What " + strings.Repeat("x", 293) + "?": "What " + strings.Repeat("x", 293) + "?",
		"What " + strings.Repeat("x", 295) + "?": "",
	} {
		got := memory.CheckHints([]string{text})
		if want == "" {
			require.Empty(t, got, text)
		} else {
			require.Equal(t, []string{want}, got, text)
		}
	}
	require.Len(t, memory.CheckHints([]string{"Where is A now?", "where is a now", "Where is B now?", "Where is C now?",
		"Where is D now?", "Where is E now?", "Where is F now?"}), memory.MaxHints)
}

func TestCheckHintsIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		once := memory.CheckHints(rapid.SliceOfN(rapid.OneOf(rapid.String(),
			rapid.Map(rapid.String(), func(s string) string { return "what " + s + "?" })), 0, 8).Draw(rt, "hints"))
		twice := memory.CheckHints(once)
		if len(once) != len(twice) || len(once) > memory.MaxHints {
			rt.Fatalf("%q then %q", once, twice)
		}
		for i, h := range once {
			n := utf8.RuneCountInString(h)
			if h != twice[i] || n < memory.MinHintLength || n > memory.MaxHintLength || !strings.HasSuffix(h,
				"?") || strings.ContainsAny(h, "\n\x00") || !utf8.ValidString(h) {
				rt.Fatalf("%q", h)
			}
		}
	})
}

func TestRulesWriteHintsFromClaims(t *testing.T) {
	t.Parallel()
	hints := memory.RuleHints("Alice lives in Lisbon", "",
		memory.Claim{Subject: "Alice", Predicate: "lives_in", Object: "Lisbon"})
	require.Len(t, hints, 1)
	require.Equal(t, memory.HintRules, hints[0].Source)
	for _, word := range []string{"Alice", "home", "address", "city"} {
		require.Contains(t, hints[0].Text, word)
	}
	require.NotContains(t, hints[0].Text, "Lisbon", "a hint does not contain the answer")
	require.Empty(t, memory.RuleHints("x", "",
		memory.Claim{Subject: "Alice", Predicate: "likes_it_when", Object: "it rains"}),
		"an unknown relation")
	require.Empty(t, memory.RuleHints("x", "",
		memory.Claim{Subject: strings.Repeat("a", 201), Predicate: "lives_in", Object: "b"}))
	require.Empty(t, memory.RuleHints("x", "", memory.Claim{}))
}

func TestRulesWriteHintsFromTurns(t *testing.T) {
	t.Parallel()
	hints := memory.RuleHints("We got a puppy, and my daughter plays the violin now!", "Ann", memory.Claim{})
	require.Len(t, hints, 2, "two topics at most")
	require.Contains(t, hints[0].Text+hints[1].Text, "Ann")
	require.Empty(t, memory.RuleHints("We got a puppy", "", memory.Claim{}), "the speaker is unknown")
	require.Empty(t, memory.RuleHints("We catalogued the dogma of sonship", "Ann", memory.Claim{}), "whole words")
}

func TestModelHintsComeFirst(t *testing.T) {
	t.Parallel()
	f := memory.Fact{Content: "Alice lives in Lisbon",
		Claim: memory.Claim{Subject: "Alice", Predicate: "lives_in", Object: "Lisbon"},
		Hints: []string{"Where could we visit Alice?", "no question at all"}}
	got := f.AllHints()
	require.Equal(t, memory.Hint{Text: "Where could we visit Alice?", Source: memory.HintModel}, got[0])
	require.Equal(t, memory.HintRules, got[1].Source)
	require.Len(t, got, 2)
	checked := intake.CheckExtraction(memory.Extraction{Facts: []memory.Fact{f}}).Facts[0]
	require.Equal(t, []string{"Where could we visit Alice?"}, checked.Hints)
}

// Words of the hint templates, such as "home", do not select candidates. They only rank them.
func TestHintTemplateWordsOnlyRank(t *testing.T) {
	t.Parallel()
	quote := func(s string) string { return s }
	corpus := rank.Corpus{Docs: 1_000_000, Lexemes: 10_000_000}
	vocabulary := []rank.Lexeme{{Text: "home"}, {Text: "address"}}
	plan := rank.PlanHints([]rank.Lexeme{{Text: "address"}, {Text: "alic", Docs: 40}, {Text: "home", Docs: 3}}, nil,
		vocabulary, corpus)
	require.Equal(t, "alic", plan.Match(quote))
	require.Len(t, plan.Terms, 3, "the others rank")
	plan = rank.PlanHints([]rank.Lexeme{{Text: "address"}, {Text: "home"}}, nil, vocabulary, corpus)
	require.Equal(t, "address & (home)", plan.Match(quote), "only common words: both are required")
	require.True(t, rank.PlanHints(nil, nil, vocabulary, corpus).IsEmpty())
	require.True(t, rank.PlanHints(vocabulary, nil, nil, rank.Corpus{}).IsEmpty())
	require.Contains(t, memory.HintVocabulary, "address")
	require.NotContains(t, memory.HintVocabulary, "$")
}

// A hint asks for the kind of value that the claim has, and for the kind of subject.
func TestHintsFitTheValueAndTheSubject(t *testing.T) {
	t.Parallel()
	claim := func(subject, predicate, object string) memory.Claim {
		return memory.Claim{Subject: subject, Predicate: predicate, Object: object}
	}
	for _, tc := range []struct {
		claim memory.Claim
		asks  string // the words that the hint starts with; empty for no hint
		never string // what it must not ask for
	}{
		{claim("deadline", "moved_to", "March 28"), "When is the deadline", "residence"},
		{claim("meeting", "moved_to", "9 a.m."), "When is the meeting", "home"},
		{claim("standup", "moved_to", "Tuesdays"), "When is the standup", "home"},
		{claim("standup", "moved_to", "Room 4"), "Where can one find the standup now", "residence"},
		{claim("checkout service", "moved_to", "Adyen"), "Where can one find the checkout service now", "home"},
		{claim("price", "moved_to", "12 euros"), "How much is the price", "home"},
		{claim("gateway", "moved_to", "v2.1"), "Which version", "home"},
		{claim("Maya", "moved_to", "Oslo"), "Where does Maya live", ""},
		{claim("Maya's brother", "moved_to", "Oslo"), "Where does Maya's brother live", ""},
		{claim("API key", "lives_in", "Vault"), "Where can one find the API key", "residence"},
		{claim("credentials", "lives_in", "Vault"), "Where can one find the credentials", "home"},
		{claim("Maya", "lives_in", "Oslo"), "Where is the home", ""},
		{claim("gizmo", "lives_in", "Oslo"), "", ""},
		{claim("gizmo", "moved_to", "Oslo"), "", ""},
		{claim("Dana", "owns", "ledger service"), "Who is responsible for the ledger service", "pets"},
		{claim("Dana", "owns", "sailing boat"), "What does Dana have", "responsible"},
		{claim("Dana", "manages", "parser"),
			"Who is responsible, in charge, the owner, lead, boss or manager of the parser", ""},
		{claim("job", "runs_on", "Saturdays"), "When does the job run", "hosted"},
		{claim("job", "runs_on", "Kubernetes"), "Where is the job hosted", "When"},
		{claim("job", "uses", "64 GB"), "How much", "software"},
		{claim("job", "uses", "Python"), "Which tool", "How much"},
		{claim("launch", "date", "May 3"), "When is the date of the launch", ""},
		{claim("service", "sdk", "Go 1.26"), "Which version", ""},
		{claim("project", "budget", "$3.5 million"), "How much", ""},
		{claim("project", "mood", "cheerful"), "", ""},
		{claim("deadline", "is", "May 5"), "When is the deadline", ""},
	} {
		hints := memory.ClaimHints(tc.claim)
		if tc.asks == "" {
			require.Empty(t, hints, "%v", tc.claim)
			continue
		}
		require.Len(t, hints, 1, "%v: %q", tc.claim, hints)
		require.True(t, strings.HasPrefix(hints[0], tc.asks), "%v: %q", tc.claim, hints[0])
		if tc.never != "" {
			require.NotContains(t, hints[0], tc.never, "%v", tc.claim)
		}
	}
}

func TestHintsOnlyForTheSpeakersOwnThings(t *testing.T) {
	t.Parallel()
	require.Empty(t, memory.RuleHints("The neighbour has a dog and a parrot.", "Ann", memory.Claim{}))
	require.Len(t, memory.RuleHints("My dog hates the rain.", "Ann", memory.Claim{}), 1)
}

func TestAnyClaimYieldsValidHints(t *testing.T) {
	t.Parallel()
	names := rapid.OneOf(rapid.String(),
		rapid.SampledFrom([]string{"Maya", "the deadline", "API key", "v2.1", "March 28", "9 a.m.",
			"$3.5 million", ".", "", "Ana's brother Max"}))
	predicates := rapid.OneOf(rapid.String(),
		rapid.SampledFrom([]string{"moved_to", "lives_in", "owns", "uses", "is", "budget",
			"prefers_for_servers"}))
	rapid.Check(t, func(rt *rapid.T) {
		c := memory.Claim{Subject: names.Draw(rt, "subject"), Predicate: predicates.Draw(rt, "predicate"),
			Object: names.Draw(rt, "object")}
		hints := memory.ClaimHints(c)
		if checked := memory.CheckHints(hints); len(hints) > memory.MaxHints || !slices.Equal(hints, checked) {
			rt.Fatalf("%v: %q, checked %q", c, hints, checked)
		}
	})
}
