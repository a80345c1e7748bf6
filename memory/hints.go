package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/schema"
)

// Limits of prospective hints (notes on recall constants, "hints"). Lengths are in characters.
const (
	MaxHints      = 5 // of one memory
	MinHintLength = 10
	MaxHintLength = 300
)

// HintSource says who wrote a hint.
type HintSource string

// Who writes hints.
const (
	HintRules HintSource = "rules"
	HintModel HintSource = "model"
)

// Hint is a question that a memory answers, often in other words than the memory. It is written with the memory
// (document 002 Phase 2, "Prospective hints").
type Hint struct {
	Text   string // MinHintLength to MaxHintLength characters, question-shaped
	Source HintSource
}

// CheckHints returns the first MaxHints valid hints: questions of the right length, in one line, without duplicates. A
// question without a question mark gets one. Other texts are dropped without a warning, because a memory does not
// depend on its hints.
func CheckHints(texts []string) []string {
	var out []string
	for _, text := range texts {
		if len(out) == MaxHints {
			break
		}
		hint, ok := checkHint(text)
		if ok && !slices.ContainsFunc(out, func(h string) bool { return strings.EqualFold(h, hint) }) {
			out = append(out, hint)
		}
	}
	return out
}

func checkHint(text string) (string, bool) {
	text = strings.ReplaceAll(normalize.CleanLine(text, MaxHintLength+1), "\x00", "")
	stem := strings.TrimRight(text, "?!.,;: ")
	first, _, _ := strings.Cut(normalize.Lower(stem), " ")
	first, _, _ = strings.Cut(strings.Trim(normalize.Apostrophes.Replace(first), "'\"“”«»(¿"), "'") // "what's"
	if !strings.HasSuffix(text, "?") && !questionWords[first] {
		return "", false
	}
	hint := stem + "?"
	if n := utf8.RuneCountInString(hint); n < MinHintLength || n > MaxHintLength {
		return "", false
	}
	return hint, true
}

// questionWords begin a question.
var questionWords = normalize.Set(
	`who whom whose what when where which why how is are am was were do does did has have had can could will would
	should shall may might`,
)

// AllHints returns the hints of a fact: the model's first, then those that follow from its claim.
func (f Fact) AllHints() []Hint {
	out := JoinHints(CheckHints(f.Hints), ClaimHints(f.Claim))
	for _, h := range attributeHints(f) {
		if len(out) < MaxHints {
			out = append(out, h)
		}
	}
	return out
}

// JoinHints marks hints with their source and returns the first MaxHints.
func JoinHints(model, rules []string) []Hint {
	var out []Hint
	add := func(texts []string, source HintSource) {
		for _, text := range texts {
			if len(out) < MaxHints && !slices.ContainsFunc(out, func(h Hint) bool {
				return strings.EqualFold(h.Text, text)
			}) {
				out = append(out, Hint{Text: text, Source: source})
			}
		}
	}
	add(model, HintModel)
	add(rules, HintRules)
	return out
}

// RuleHints returns the hints that rules write for a text that who said or saved, and for its claim.
func RuleHints(text, who string, claim Claim) []Hint {
	return JoinHints(nil, CheckHints(append(ClaimHints(claim), topicHints(text, who)...)))
}

// ClaimHints returns the questions that a claim answers, in the words that people use: someone who asks for a home or
// an address means lives_in. The questions depend on the kinds of the subject and of the value: a date answers when, a
// person answers who, a person's place answers where they live. If the kinds are unclear, the claim gets no hint.
func ClaimHints(c Claim) []string {
	if c.IsZero() || c.Predicate == schema.PredicateStates || utf8.RuneCountInString(c.Subject) > MaxEntityLength {
		return nil
	}
	who, value := subjectOf(c.Subject), answerOf(c.Object)
	var out []string
	known := false
	for _, q := range claimQuestions[c.Predicate] {
		known = true
		if q.fits(who, value, c.Object) {
			out = append(out, q.about(c))
		}
	}
	topic, prefers := strings.CutPrefix(c.Predicate, "prefers_for_")
	if prefers {
		out = append(out, "What is the favourite choice of "+c.Subject+" for "+predicateWords(topic)+"?")
	}
	if form := valueQuestions[value]; !known && !prefers && form != "" {
		out = append(out, strings.NewReplacer("$", withArticle(c.Subject), "%",
			predicateWords(c.Predicate)).Replace(form))
	}
	return CheckHints(out)
}

// predicateWords returns a predicate as words.
func predicateWords(predicate string) string { return strings.ReplaceAll(predicate, "_", " ") }

// question is a question that a claim answers if its subject and value have the right kinds. In form, $ is the subject
// and @ the object.
type question struct {
	form   string
	who    subject  // subjectUnknown for any
	values []answer // any when empty
	duty   bool     // the object is something that people are responsible for
	goods  bool     // the object is not something that people are responsible for
}

func (q question) fits(who subject, value answer, object string) bool {
	switch {
	case q.who != subjectUnknown && q.who != who,
		len(q.values) > 0 && !slices.Contains(q.values, value),
		q.duty && subjectOf(object) != subjectThing,
		q.goods && subjectOf(object) == subjectThing:
		return false
	}
	return true
}

func (q question) about(c Claim) string {
	return strings.NewReplacer("$", withArticle(c.Subject), "@", withArticle(c.Object)).Replace(q.form)
}

// withArticle returns a name with the article that a sentence needs, because claims omit the article of a thing.
func withArticle(name string) string {
	last := name[strings.LastIndexByte(name, ' ')+1:]
	if subjectOf(name) == subjectThing && !startsUpper(last) && !strings.Contains(name, "'") {
		return "the " + name
	}
	return name
}

// of returns a question about any subject and value, ofPerson a question about a person.
func of(form string) question       { return question{form: form} }
func ofPerson(form string) question { return question{form: form, who: subjectPerson} }

// with limits a question to kinds of values. A question about a person also fits a claim without a value.
func (q question) with(values ...answer) question {
	q.values = values
	if q.who == subjectPerson {
		q.values = append(slices.Clip(values), answerNone)
	}
	return q
}

var (
	whenIsIt  = of("When is $, on which date, day or weekday and at what time?").with(answerTime)
	howMuch   = of("How much is $ now, how many are there?").with(answerAmount)
	whichOne  = of("Which version or release of $ is current?").with(answerVersion)
	interests = "What are the interests, hobbies and favourite things of $, what does $ enjoy, prefer or "
)

// claimQuestions has the questions that claims answer, by predicate. They add words that the claim itself rarely
// contains, because search finds the claim by its own words anyway. Claims of other predicates get hints only by their
// value (valueQuestions).
var claimQuestions = map[string][]question{
	"lives_in": {
		ofPerson("Where is the home, residence or address of $, in which city, town, state or country is $ based?"),
		{form: "Where can one find $, at which place or location?", who: subjectThing},
	},
	"born_on": {of("When is the birthday of $, how old is $, what is the age and date of birth of $?")},
	"born_in": {of("Where does $ come from, what is the birthplace, hometown or origin of $, how old is $?").
		with(answerName, answerOther, answerNone),
		of("When was $ born, how old is $, what is the age and birthday of $?").with(answerTime, answerAmount)},
	"from":     {ofPerson("Where does $ come from, what is the home country, hometown, origin or nationality of $?")},
	"works_at": {ofPerson("What is the job of $, who is the employer of $, at which company is $ employed?")},
	"works_as": {
		ofPerson("What is the job, profession, occupation, role or career of $, what does $ do for a living?"),
	},
	"is_a": {
		ofPerson("What is the role, occupation or kind of $?"),
		{form: "What kind of thing is $?", who: subjectThing},
	},
	"married_to": {
		of("Who is the husband, wife, spouse or partner of $, what is the relationship status of $, is $ single?"),
	},
	"allergic_to": {of("What allergies, intolerances or health problems does $ have, what should $ avoid to eat?")},
	"likes":       {of(interests + "love?")},
	"loves":       {of(interests + "like?")},
	"enjoys": {
		of("What are the interests, hobbies and favourite activities of $, what does $ like, prefer or love?"),
	},
	"dislikes": {of("What does $ hate, avoid or not like?")},
	"hates":    {of("What does $ dislike, avoid or not like?")},
	"wants":    {ofPerson("What are the goals, wishes, plans and dreams of $?")},
	"prefers":  {of("What is the preference or favourite of $, which option does $ like best?")},
	"uses": {of("Which tool, product, software or technology is $ working with, what did $ choose?").
		with(answerName, answerOther, answerVersion, answerNone),
		of("How much or how many does $ need, take or consume?").with(answerAmount)},
	"decided_to_use": {of("Which decision was made, what choice, tool or option was chosen, picked or selected by $?")},
	"switched_to": {of("What does $ use now, what did $ migrate to, change to or replace the old one with?").
		with(answerName, answerOther, answerVersion, answerNone),
		whenIsIt},
	"moved_to": {
		ofPerson("Where does $ live now, what is the new home, residence, city or address of $?").with(answerName),
		{form: "Where can one find $ now, what has it changed to?", who: subjectThing, values: []answer{answerName}},
		whenIsIt,
		howMuch,
		whichOne,
	},
	"speaks": {of("Which language is $ fluent in?")},
	"plays":  {ofPerson("Which sport, game or musical instrument does $ practise, what are the hobbies of $?")},
	"studies": {ofPerson("What is the education, degree, major, field or course of $, " +
		"what does $ learn at school, college or university?")},
	"owns": {{form: "Who is responsible for @, in charge of it, its owner, lead or maintainer?", duty: true},
		{form: "What does $ have, what are the possessions or pets of $?", goods: true, who: subjectPerson}},
	"manages": {of("Who is responsible, in charge, the owner, lead, boss or manager of @?").
		with(answerName, answerOther, answerVersion)},
	"depends_on": {of("What does $ need or require, what breaks $, what are the dependencies of $?")},
	"requires": {{form: "What does $ need, what are the requirements and dependencies of $?", who: subjectThing},
		ofPerson("What does $ need or require?").with(answerName, answerOther)},
	"stores_in":  {of("Where does $ keep or save its data, which database or storage is used by $?")},
	"written_in": {of("Which programming language is $ implemented in?")},
	"located_in": {of("Where is $, what is the place, location or address of $?")},
	"runs_on": {of("Where is $ hosted or deployed, which platform, server or operating system is used by $?").
		with(answerName, answerOther, answerVersion, answerNone),
		of("When does $ run, on which day and how often?").with(answerTime)},
	"listens_on": {of("Which port, address or endpoint is $ reached at?")},
	"port":       {of("Which port number does $ listen on, at which address or endpoint is $ reached?")},
	"deadline": {
		of("When is $ due, by which date must $ be finished, delivered or ready?").with(answerTime, answerNone),
	},
	"version": {of("Which release of $ is current?")},
	"name":    {of("What is $ called?")},
	"has":     {},
	"is":      {whenIsIt, whichOne},
}

// valueQuestions has the questions for claims whose predicate (%) is not in claimQuestions, by the kind of the value.
var valueQuestions = map[answer]string{
	answerTime:    "When is the % of $, on which date, day or weekday and at what time?",
	answerVersion: "Which version or release is the % of $?",
	answerAmount:  "How much or how many is the % of $?",
}

// topic is a subject that people ask about with a general word and talk about with specific ones.
type topic struct {
	said     map[string]bool // a text holds at least one of these words
	question string          // $ is who said it
}

// topics has the topics from which turns of a conversation get hints: a few common ones, each with words that rarely
// mean anything else.
var topics = []topic{
	{
		normalize.Set(
			"husband wife fiancé fiance fiancée fiancee boyfriend girlfriend spouse married engaged wedding " +
				"divorce divorced",
		),
		"What is the relationship status of $, is $ single or married, who is the partner of $?",
	},
	{
		normalize.Set("son daughter kids kid toddler newborn stepson stepdaughter"),
		"Does $ have children, what about the family of $?",
	},
	{
		normalize.Set("puppy kitten puppies kittens dog dogs cat cats hamster parrot goldfish"),
		"Which pets or animals does $ have?",
	},
	{
		normalize.Set("guitar piano violin cello drums flute clarinet saxophone trumpet ukulele"),
		"Which musical instrument does $ play?",
	},
	{
		normalize.Set("hired promoted promotion salary boss coworker coworkers colleagues resigned"),
		"What is the job, work, career or profession of $?",
	},
	{
		normalize.Set("diagnosed surgery injury injured allergic allergies migraine asthma diabetes"),
		"What health problems or illness does $ have?",
	},
	{
		normalize.Set("graduated diploma semester thesis professor tuition scholarship"),
		"What about the education, studies, school, university or degree of $?",
	},
}

// HintVocabulary is the text of all questions that rules write.
var HintVocabulary = func() string {
	var out []string
	for _, questions := range claimQuestions {
		for _, q := range questions {
			out = append(out, q.form)
		}
	}
	for _, form := range valueQuestions {
		out = append(out, form)
	}
	for _, t := range topics {
		out = append(out, t.question)
	}
	slices.Sort(out)
	return strings.NewReplacer("$", "", "@", "", "%",
		"").Replace(strings.Join(out, " ") + " " + frame.ConceptVocabulary)
}()

// topicHints returns the hints of a text by its topics, at most two.
func topicHints(text, who string) []string {
	if who == "" {
		return nil
	}
	var out []string
	said := normalize.Words(text, "")
	if !slices.ContainsFunc(said, func(w string) bool { return ownWords[w] }) {
		return nil // the text does not say whose puppy it is
	}
	for _, t := range topics {
		if len(out) < 2 && slices.ContainsFunc(said, func(w string) bool { return t.said[w] }) {
			out = append(out, strings.ReplaceAll(t.question, "$", who))
		}
	}
	return out
}

// ownWords has the words that people use about themselves and their possessions.
var ownWords = normalize.Set("i my me we our us mine ours")

// attributeHints returns the hints of a fact by its attribute, in the words that people use to ask for it.
func attributeHints(f Fact) []Hint {
	if len(f.Content) > MaxLatestChars || len(ClaimHints(f.Claim)) > 0 {
		return nil // the claim already gives hints, or the text is too long
	}
	for _, said := range parsed.Statements(f.Content, f.Speaker) {
		if asked := said.AskedBy(); asked != "" {
			return JoinHints(
				nil,
				CheckHints([]string{"What is the " + asked + " of " + cmp.Or(said.Owner(), f.Speaker, "this") + "?"}),
			)
		}
	}
	return nil
}
