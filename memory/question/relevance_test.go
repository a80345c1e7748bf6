package question

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The answer is more relevant than a text that shares only its owner or its attribute.
func TestAnswerIsMostRelevant(t *testing.T) {
	for _, c := range []struct{ question, answer, other string }{
		{"Where do I live?", "I live in Lyon.", "I work for Nokia."},
		{"Where does Dana live?", "Dana lives in Lyon.", "Tom lives in Oslo."},
		{"Which doctor does Dana see?", "Dana's physician is Dr. Roth.", "Dana's car is a Skoda."},
		{"Who is Leon in a relationship with?", "Leon is married to Carla.", "Leon speaks Portuguese."},
		{"How much does the gym cost?", "The gym is 40 euros a month.", "The gym is next to the station."},
		{"What car does my brother drive?", "My brother drives a Skoda.", "I drive a Volvo."},
		{"Which car does my aunt drive?", "My aunt drives a Saab.", "I drive a Volvo."},
		{"Where do I work out?", "I train at Gym Nine.", "I work on the third floor."},
	} {
		q := Read(c.question)
		answer, other := q.Relevance(ReadText(c.answer, "")), q.Relevance(ReadText(c.other, ""))
		if answer <= other {
			t.Errorf("%s %q %.2f, %q %.2f", c.question, c.answer, answer, c.other, other)
		}
	}
}

// A question who someone is asks for that person, and is not about that person's things.
func TestQuestionsWhoSomeoneIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, answer, other string }{
		{"Who is our landlord?", "Gareth is our landlord.", "Rolf asked the landlord for a rack."},
		{"Who is my girlfriend now?", "Marit is my girlfriend.", "Tom's girlfriend is Ines."},
		{"Who is my boss?", "I report to Ines.", "Tom reports to Olga."},
		{"Who is my sister married to?", "My sister is married to Tom.", "I am married to Ana."},
	} {
		q := Read(c.question)
		answer, other := q.Relevance(ReadText(c.answer, "")), q.Relevance(ReadText(c.other, ""))
		require.GreaterOrEqual(t, answer, 0.2, c.question)
		require.Greater(t, answer, other, c.question)
	}
}

// "Run" and "book" say nothing of their own in "runs on port 80" and "is booked for May". As nouns they do.
func TestNounsWithTheFormOfALightVerb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, answer, other string }{
		{"Do I like running?", "I hate running.", "I hate olives."},
		{"Do I like running?", "I enjoy running in the park.", "I enjoy the opera."},
		{"Where is my book?", "My book is on the balcony.", "My coat is in the hall."},
	} {
		q := Read(c.question)
		answer, other := q.Relevance(ReadText(c.answer, "")), q.Relevance(ReadText(c.other, ""))
		require.GreaterOrEqual(t, answer, 0.2, c.answer)
		require.Greater(t, answer, other, c.answer)
	}
}

// A fact about the asker does not answer a question about a relative.
func TestQuestionsAboutAnOccupation(t *testing.T) {
	t.Parallel()
	nurse := ReadText("My sister Ana works as a nurse at St. Mary's.", "")
	for _, asked := range []string{"What does Ana do for a living?", "What does Ana do?", "What does my sister do?",
		"How does Ana make a living?", "What is Ana by profession?"} {
		if got := Read(asked).Relevance(nurse); got < 0.2 {
			t.Errorf("%s %.2f", asked, got)
		}
	}
	for _, asked := range []string{"What did Ana do?", "What does Ana do on Sundays?", "What do I do?"} {
		if got := Read(asked).Relevance(nurse); got >= 0.2 {
			t.Errorf("%s %.2f", asked, got)
		}
	}
}

// A memory that answers a plain question is above the floor of recall, although it has other words.
func TestPlainQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	const floor = 0.2
	for _, c := range []struct {
		question, text string
		answered       bool
	}{
		{"What does Leo do?", "Leo is a carpenter.", true},
		{"What does my brother do?", "My brother is a pilot.", true},
		{"What does Leo do for a living?", "Leo is a carpenter.", true},
		{"What do I do for work?", "I am a nurse.", true},
		{"What does Leo do for a living?", "Leo is a vegetarian.", false},
		{"What does the scheduler do?", "The scheduler retries failed jobs every minute.", true},
		{"What does the scheduler do?", "The exporter retries failed uploads every minute.", false},

		{"What books does Ana like?", "Ana loves books about the sea.", true},
		{"What books does Ana like?", "Ana loves jazz.", false},
		{"What is the Kestrel project?", "Kestrel is our internal message bus.", true},
		{"What is the Kestrel project?", "Osprey is our internal message bus.", false},

		{"What's Ana's email?", "You can reach Ana at ana@example.org.", true},
		{"What's Ana's email?", "Ana lives at Elm Street 4.", false},
		{"What is Ana's phone number?", "Call Ana at 030-1234567.", true},
		{"What is Ana's phone number?", "Ana was born in 1990.", false},
		{"Which channel is for incidents?", "Incidents go to #ops.", true},
		{"What is the link to the wiki?", "The wiki is at https://wiki.example.org.", true},

		{"What happens on Friday?", "On Friday we release version 2.", true},
		{"What is the plan for Q3?", "In Q3 we rebuild search.", true},
		{"What is planned for March?", "In March we move the office to Ghent.", true},
		{"What's on my calendar for May 5?", "The offsite is on May 5.", true},
		{"What happens on Friday?", "On Thursday we release version 2.", false},
		{"What is the plan for Q3?", "In Q4 we rebuild search.", false},
		{"What is the weather on Friday?", "On Friday we release version 2.", false},
	} {
		got := Read(c.question).Relevance(ReadText(c.text, ""))
		if got >= floor != c.answered {
			t.Errorf("%s %q %.3f", c.question, c.text, got)
		}
	}
}

// An agent's notes name no owner, and its questions say "I" and "we" of anyone.
func TestQuestionsOfAgentsAreAnswered(t *testing.T) {
	t.Parallel()
	const floor = 0.2
	for _, c := range []struct {
		question, text string
		answered       bool
	}{
		{"How do I run only the unit tests?", "Run the unit tests with `pnpm test:unit`; `pnpm test` also starts docker.",
			true},
		{"How do I run only the unit tests?", "The user prefers small pull requests, below 300 lines.", false},
		{"Why do I get a 429?", "The API returns 429 after 100 requests a minute per key.", true},
		{"Where can I read the logs?", "Logs are in Grafana Loki, label app=payments.", true},
		{"Where can I read the logs?", "The user wants commit messages in the imperative mood with a ticket number.",
			false},
		{"How do I change a generated file?", "Never touch the generated files in gen/; edit proto/ and run buf.", true},
		{"Who owns the ledger service?", "The owners of services/ledger are Ines and Bo.", true},
		{"What does E-207 mean?", "The login page shows error E-207 when the clock of the device is wrong.", true},
		{"Is SPRING20 still valid?", "The voucher SPRING20 expired on April 30.", true},
		{"Is SPRING20 still valid?", "The voucher AUTUMN15 expired on April 30.", false},
		{"Where did I put my ski boots?", "My mother-in-law Greta turns 70 on 2 June; she wants no gifts.", false},
		{"Which editor does the user like?", "My favourite editor is Helix.", true},
	} {
		got := Read(c.question).Relevance(ReadText(c.text, ""))
		if got >= floor != c.answered {
			t.Errorf("%s %q %.3f", c.question, c.text, got)
		}
	}
}

func TestOwnersOfAQuestion(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]owners{
		"Where do I live?":                    {self: true},
		"Where does Dana live?":               {named: []string{"dana"}},
		"Which car does my sister drive?":     {named: []string{"sister"}},
		"When is my dentist appointment?":     {my: true},
		"What is the user's laptop?":          {my: true},
		"Does the user like tabs?":            {self: true},
		"How do I roll back?":                 {anyone: true},
		"Can we ship on Fridays?":             {anyone: true},
		"What breaks if I upgrade Node?":      {anyone: true},
		"Where do I find the logs?":           {anyone: true},
		"Do I need approval?":                 {anyone: true},
		"Tell me who runs the standup.":       {},
		"When did A-50917 go out?":            {},
		"How long is the warranty of a part?": {},
	} {
		got := Read(asked).owners
		require.Equal(t, want, got, asked)
	}
}

func TestPartsOfIdentifiers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"test_invoice_rounding": {"test", "invoice", "rounding"},
		"services/ledger":       {"services", "ledger"},
		"LedgerReconciler":      {"ledger", "reconciler"},
		"gen_proto.sh":          {"gen", "proto"},
		"ledger":                nil,
		"HTTP":                  nil,
		"called off":            nil,
		"naïveÉtude_x":          {"naïve", "étude"},
	} {
		require.Equal(t, want, identifierParts(text), text)
	}
}

func TestTheKindThatAQuestionAsksFor(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"Which sport does Ana play?":          true,
		"What kinds of sports does Ana play?": true,
		"What team sport does Ana play?":      true,
		"What kind of team sport is it?":      true,
		"What is Ana's sport?":                true,
		"What does Ana say of the sport?":     false,
		"Where is the sport on TV?":           false,
	} {
		got := slices.ContainsFunc(Read(question).words, func(c content) bool { return c.stem == "sport" && c.kind })
		if got != want {
			t.Errorf("%s %v", question, got)
		}
	}
}

func TestSpeakersInBothFormsOfAnAccentAreTheSame(t *testing.T) {
	t.Parallel()
	asked := Read("Where does Zo\u00eb live?")
	composed := asked.Relevance(ReadText("I live in Lyon.", "Zo\u00eb"))
	decomposed := asked.Relevance(ReadText("I live in Lyon.", "Zoe\u0308"))
	if composed != decomposed {
		t.Errorf("%v %v", composed, decomposed)
	}
}

func TestFactAboutAskerDoesNotAnswerForRelative(t *testing.T) {
	for _, c := range []struct{ question, text string }{
		{"What kind of boat does my cousin sail?", "My boat was stolen in the harbour."},
		{"Which paper does my uncle read in the morning?", "I'm reading the Guardian in the mornings."},
	} {
		if got := Read(c.question).Relevance(ReadText(c.text, "user")); got > 0.2 {
			t.Errorf("%s %q: %.2f", c.question, c.text, got)
		}
	}
}

func TestRelevanceIsAProbability(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{"where", "does", "Dana", "live", "in", "Oslo", "now", "not", "3",
		"May", "her", "car?", ""}))
	rapid.Check(t, func(t *rapid.T) {
		join := func(list []string) (out string) {
			for _, w := range list {
				out += w + " "
			}
			return out
		}
		q, text := Read(join(words.Draw(t, "question"))), ReadText(join(words.Draw(t, "text")), "Tom")
		if r := q.Relevance(text); !(r >= 0 && r <= 1) {
			t.Fatalf("relevance %v", r)
		}
	})
}

// If weights and measures differed in number, results would be wrong without an error.
func TestModelsHaveOneWeightPerMeasure(t *testing.T) {
	q := Read("Where does Dana live?")
	texts := []Text{ReadText("Dana lives in Lyon.", ""), ReadText("Dana moved to Oslo.", "")}
	if got := len(RelevanceMeasures(q, texts[0])); got != len(RelevanceNames()) {
		t.Errorf("relevance: %d measures, %d weights", got, len(RelevanceNames()))
	}
	calls := 0
	SuccessionMeasures(q, texts, func(i, j int) bool { return i < j }, func(_, _ int, measures []float64) {
		calls++
		if len(measures) != len(SuccessionNames()) {
			t.Errorf("succession: %d measures, %d weights", len(measures), len(SuccessionNames()))
		}
	})
	if calls != 1 {
		t.Errorf("%d pairs", calls)
	}
}

func TestSuccessions(t *testing.T) {
	for _, c := range []struct {
		question, earlier, later string
		want                     bool
	}{
		{"Where does Dana live?", "Dana lives in Lyon.", "Dana moved to Oslo.", true},
		{"Which doctor do I see?", "My dentist is Dr. Roth.", "I switched dentists, it's Dr. Lund now.", true},
		{"What do we use for CI?", "We use Jenkins for CI.", "We switched from Jenkins to GitHub Actions.", true},
		{"When is the standup?", "Our standup moved to 10:00.", "Our standup is at 10:00 every day, Berlin time.",
			false},
		{"When is the standup?", "Our standup is at 9:30.", "Our standup moved to 10:00.", true},
		{"Where does Dana's brother live?", "Dana's brother lives in Lyon.", "Dana's sister moved to Oslo.", false},
		{"Where does Dana live?", "Dana lives in Lyon.", "Tom lives in Oslo now.", false},
		{"When does the pool open on Sundays?", "The pool opens at 8:00 on Sundays.",
			"The pool opens at 7:00 on Mondays now.", false},
	} {
		texts := []Text{ReadText(c.earlier, ""), ReadText(c.later, "")}
		found := Read(c.question).Successions(texts, 0.5, func(i, j int) bool { return i < j })
		if got := len(found) == 1 && found[0].Older == 0 && found[0].Newer == 1; got != c.want {
			t.Errorf("%s %q, %q: %v", c.question, c.earlier, c.later, found)
		}
	}
}

func TestQuestionsAboutThePast(t *testing.T) {
	for question, want := range map[string]bool{
		"Where did Dana live before Oslo?":                 true,
		"Who taught my niece the violin before?":           true,
		"Which papers did I have until recently?":          true,
		"How long did I meditate at the beginning?":        true,
		"What sort of flat was Dana's last one?":           true,
		"Where does Dana live?":                            false,
		"What should I do before the release?":             false,
		"How expensive may it be before we need approval?": false,
	} {
		if got := Read(question).Past; got != want {
			t.Errorf("%s %v", question, got)
		}
	}
}

// The verb of change and the words of the question must be in one sentence.
func TestUpdatedBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, text string
		want           bool
	}{
		{"What is my monthly budget for books?", "I increased my book budget to $50. We went to the lake.", true},
		{"What is my monthly budget for books?", "The meeting was moved to noon. My book budget is $50.", false},
		{"What is my monthly budget for books?", "My book budget is $50.", false},
		{"When is the dentist appointment with Dana?", "I rescheduled the dentist appointment to 4 pm.", true},
		{"When is the dentist appointment with Dana?", "I upgraded my laptop, and Dana liked it.", false},
	} {
		require.Equal(t, c.want, Read(c.question).UpdatedBy(ReadText(c.text, "")), c.text)
	}
}

func TestClausesAreBounded(t *testing.T) {
	many := Clauses(strings.Repeat("what port and which city and ", 1000))
	if len(many) != maxClauses {
		t.Errorf("%d clauses", len(many))
	}
	if got := Clauses("which seat does she want, and which trips need approval?"); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
