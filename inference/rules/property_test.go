package rules

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/intake"
)

// thirdForms maps verbs in the first person to the third person. They are listed here so that the test does not
// depend on the rules.
var thirdForms = map[string]string{
	"live in Lyon": "lives in Lyon", "work at Acme": "works at Acme", "own a boat": "owns a boat",
	"have two cats": "has two cats",
	"do yoga":       "does yoga", "go to the gym": "goes to the gym", "watch birds": "watches birds",
	"wash the car": "washes the car",
	"fix bikes":    "fixes bikes", "study physics": "studies physics", "play chess": "plays chess",
	"miss the sea": "misses the sea",
	"fly to Rome":  "flies to Rome", "don't eat meat": "doesn't eat meat", "haven't slept": "hasn't slept",
	"am a nurse": "is a nurse",
	"can swim":   "can swim", "will move": "will move", "moved to Oslo": "moved to Oslo", "was ill": "was ill",
	"had a dog":     "had a dog",
	"used to smoke": "used to smoke", "need glasses": "needs glasses", "teach yoga": "teaches yoga",
	"carry an umbrella": "carries an umbrella",
	"prefer tea":        "prefers tea", "write poems": "writes poems", "cook dinner": "cooks dinner",
	"try to sleep": "tries to sleep",
}

var (
	predicates = rapid.SampledFrom(sortedKeys(thirdForms))
	between    = rapid.SampledFrom([]string{"", "", "always ", "no longer ", "hardly ever ", "now ", "really ",
		"also still ", "usually ", "kind of "})
	speakers = rapid.SampledFrom([]string{"Maya", "James", "Ed Sheeran", "Anne-Marie", "maya", "user"})

	// presentVerbs can be joined by "and", because none of them takes another verb.
	presentVerbs = rapid.SampledFrom([]string{"live in Lyon", "own a boat", "have two cats", "do yoga", "watch birds",
		"fix bikes", "study physics",
		"teach yoga", "carry an umbrella", "prefer tea", "write poems", "play chess"})

	// leadsWithCues maps lead-ins to the cue that a fact keeps.
	leadsWithCues = map[string]string{
		"Actually, ": "actually", "Actually ": "actually", "Correction: ": "correction", "FYI, ": "",
		"By the way, ": "", "So, ": "", "So ": "",
		"Well, ": "", "Oh, and ": "", "Yeah, ": "", "Hey Sam, ": "", "Hi all! ": "", "Scratch that, ": "scratch that",
		"No, ": "no", "Wait, ": "wait",
		"On second thought, ": "on second thought", "Update: ": "update", "To be honest, ": "", "Anyway, ": "",
		"Also, ": "", "In fact, ": "",
		"Turns out ": "turns out", "Turns out that ": "turns out that", "Okay, so ": "", "Sorry, ": "sorry",
		"My mistake: ":       "my mistake",
		"Just so you know, ": "", "Heads up: ": "", "Note that ": "", "Remember that ": "",
		"Well, actually, ": "actually", "But ": "", "And ": "",
		"I forgot to mention that ": "", "As I said, ": "", "Good news: ": "", "That's wrong: ": "that's wrong",
		"I changed my mind: ": "i changed my mind",
		"Actually – ":         "actually", "Oops, ": "oops", "P.S. ": "", "Reminder: ": "",
		"As it turns out, ": "as it turns out",
	}
	leadTexts = rapid.SampledFrom(sortedKeys(leadsWithCues))

	// plainStatements have no lead-in and can be understood alone.
	plainStatements = rapid.SampledFrom([]string{"the port is 8080.", "we deploy with Argo.", "my dog is a beagle.",
		"I live in Lyon.", "I don't eat meat.",
		"my sister works at Acme.", "the deadline moved to March 28.", "I own the ledger service.", "there is no lift.",
		"our office is in Graz.",
		"I no longer work at Acme.", "my flight leaves at 9 a.m. on Friday.", "I'm allergic to nuts.",
		"the plan costs 1.250 EUR per month.",
		"I switched from Jira to Linear.", "Priya owns the parser.", "I've moved to Oslo."})
)

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestVerbsAgreeWithTheSpeaker(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		speaker, verb, adverb := speakers.Draw(r, "speaker"), predicates.Draw(r, "verb"), between.Draw(r, "adverb")
		name := newSpeaker(speaker).first
		got := contents(extractFrom(r, said(speaker, "I "+adverb+verb+" these days.")))
		require.Equal(r, []string{name + " " + adverb + thirdForms[verb] + " these days."}, got)
	})
}

func TestCoordinatedVerbsAgreeWithTheSpeaker(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		speaker := speakers.Draw(r, "speaker")
		a, b, c := presentVerbs.Draw(r, "a"), presentVerbs.Draw(r, "b"), presentVerbs.Draw(r, "c")
		name := newSpeaker(speaker).first
		form := func(v string) string { return thirdForms[v] }
		require.Equal(r, []string{name + " " + form(a) + " and " + form(b) + "."},
			contents(extractFrom(r, said(speaker, "I "+a+" and "+b+"."))))
		require.Equal(r, []string{name + " " + form(a) + ", " + form(b) + ", and " + form(c) + "."},
			contents(extractFrom(r, said(speaker, "I "+a+", "+b+", and "+c+"."))))
		require.Equal(r, []string{name + " " + form(a) + " but " + form("don't eat meat") + "."},
			contents(extractFrom(r, said(speaker, "I "+a+" but don't eat meat."))))
		require.Equal(r, []string{name + " wants to " + a + " and " + b + "."},
			contents(extractFrom(r, said(speaker, "I want to "+a+" and "+b+"."))), "infinitives stay")
		require.Equal(r, []string{name + " can " + a + " and " + b + "."},
			contents(extractFrom(r, said(speaker, "I can "+a+" and "+b+"."))))
	})
}

func TestNoLeadInIsLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		speaker, text, lead := speakers.Draw(r, "speaker"), plainStatements.Draw(r, "statement"), leadTexts.Draw(r,
			"lead")
		plain := extractFrom(r, said(speaker, capitalize(text)))
		if strings.ContainsAny(lead, "!") {
			text = capitalize(text)
		}
		led := extractFrom(r, said(speaker, lead+text))
		require.Len(r, plain.Facts, 1)
		require.Equal(r, contents(plain), contents(led), "%s%s", lead, text)
		require.Empty(r, plain.Facts[0].Cue)
		require.Equal(r, leadsWithCues[lead], led.Facts[0].Cue, "%s%s", lead, text)
		require.Equal(r, plain.Facts[0].Claim, led.Facts[0].Claim)

		if strings.HasSuffix(lead, "that ") {
			return // another lead-in, not a statement
		}
		second := leadTexts.Filter(func(s string) bool { return !strings.ContainsAny(s, "!.") }).Draw(r, "second lead")
		both := extractFrom(r, said(speaker, lead+strings.ToLower(second[:1])+second[1:]+text))
		require.Equal(r, contents(plain), contents(both), "%s%s%s", lead, second, text)
	})
}

func TestExtractedFactsAreExtractedUnchanged(t *testing.T) {
	corpus := readCorpus(t)
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.SampledFrom(corpus).Draw(r, "sentence")
		src := s.source()
		for _, f := range extractFrom(r, src).Facts {
			if f.Retracts {
				continue // "What Maya said about Kafka" is not a sentence
			}
			again := src
			again.Content = f.Content
			require.Equal(r, []string{f.Content}, contents(extractFrom(r, again)), "from %q", s.Input)
		}
	})
}

// unquoted returns a text without its quoted parts.
func unquoted(s string) string { return quotedText.ReplaceAllString(s, " ") }

var (
	quotedText = regexp.MustCompile("\"[^\"]*\"|“[^”]*”|`[^`]*`|‘[^’]*’")
	ofSelf     = regexp.MustCompile(`(?i)(^|[^\p{L}\d'])(i|i'm|i've|i'll|i'd|me|my|myself)($|[^\p{L}\d'])`)
	doubled    = regexp.MustCompile(`(?i)(\bMaya Maya\b|\bMaya is Maya\b([^']|$)|\bMaya, Maya\b([^']|$)|\bMaya and Maya\b([^']|$))`)
)

func TestRewrittenSentencesHaveNoFirstPerson(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields(`I I I'm I've I'd I'll my my me myself mine we our us Tom Maya said says told that my the car dog is was
		live own have like work in at Oslo Acme and and but or to not don't never "quoted" it because when if , . ; and, I, Tom, also now no longer
		thinks asked if 'single' am do went put read every day May from here this`))
	rapid.Check(t, func(r *rapid.T) {
		text := strings.ReplaceAll(strings.Join(rapid.SliceOfN(word, 2, 14).Draw(r, "words"), " "), " ,", ",")
		ex := extractFrom(r, said("Maya", text))
		for _, f := range ex.Facts {
			require.True(r, utf8.ValidString(f.Content))
			if doubled.MatchString(f.Content) {
				require.True(r, doubled.MatchString(text) || strings.Contains(text, f.Content[1:]), "%q from %q",
					f.Content, text)
			}
			rewritten := strings.Count(f.Content, "Maya") > strings.Count(text, "Maya")
			if rewritten && ofSelf.MatchString(unquoted(f.Content)) {
				r.Fatalf("%q from %q", f.Content, text)
			}
		}
	})
}

func TestAnyTextYieldsValidFacts(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), leadTexts, plainStatements, predicates,
		rapid.SampledFrom([]string{"Forget that ", "I never said ", "It is not true that ", "Scratch that.", "I'm Maya",
			", ", " – ",
			"\xff", "“", "'", "’s", "No, ", "I, "}))
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(r, "pieces"),
			rapid.SampledFrom([]string{"", " ", "\n"}).Draw(r, "between"))
		for _, f := range extractFrom(r, said(speakers.Draw(r, "speaker"), text)).Facts {
			require.True(r, utf8.ValidString(f.Content) && utf8.ValidString(f.Cue), "%q", f)
			require.LessOrEqual(r, utf8.RuneCountInString(f.Cue), intake.MaxCueLength)
		}
	})
}
