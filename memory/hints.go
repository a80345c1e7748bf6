package memory

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/frame"
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

// Hint is a question that a memory answers, in words that it may not be told in itself. It is written
// with the memory (document 002 Phase 2, "Prospective hints").
type Hint struct {
	Text   string // MinHintLength to MaxHintLength characters, question-shaped
	Source HintSource
}

// CheckHints returns the first MaxHints of the texts that are hints: of the right length, one line, each
// once, and shaped as a question. A question without its mark gets one. What a model wrote that is not a
// question is dropped without a word: a hint is a help, and nothing is lost with it.
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
	text = strings.ReplaceAll(cleanLine(text, MaxHintLength+1), "\x00", "")
	stem := strings.TrimRight(text, "?!.,;: ")
	first, _, _ := strings.Cut(lower(stem), " ")
	first, _, _ = strings.Cut(strings.Trim(apostrophes.Replace(first), "'\"“”«»(¿"), "'") // "what's"
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
var questionWords = set(`who whom whose what when where which why how is are am was were do does did has have had can could will would
	should shall may might`)

// AllHints returns the hints of a fact: those that the model gave it, then those that follow from what it
// claims.
func (f Fact) AllHints() []Hint {
	out := joinHints(CheckHints(f.Hints), ClaimHints(f.Claim))
	for _, h := range attributeHints(f) {
		if len(out) < MaxHints {
			out = append(out, h)
		}
	}
	return out
}

// joinHints marks where hints come from and keeps the first MaxHints.
func joinHints(model, rules []string) []Hint {
	var out []Hint
	add := func(texts []string, source HintSource) {
		for _, text := range texts {
			if len(out) < MaxHints && !slices.ContainsFunc(out, func(h Hint) bool { return strings.EqualFold(h.Text, text) }) {
				out = append(out, Hint{Text: text, Source: source})
			}
		}
	}
	add(model, HintModel)
	add(rules, HintRules)
	return out
}

// RuleHints returns the hints that rules write for a text that somebody said or saved, and for what it
// claims.
func RuleHints(text, who string, claim Claim) []Hint {
	return joinHints(nil, CheckHints(append(ClaimHints(claim), topicHints(text, who)...)))
}

// ClaimHints returns the questions that a claim answers. They say the relation in the words that people
// ask for it with: whoever asks for a home or an address means lives_in.
func ClaimHints(c Claim) []string {
	if c.IsZero() || c.Predicate == schema.PredicateStates || utf8.RuneCountInString(c.Subject) > MaxEntityLength {
		return nil
	}
	var out []string
	for _, form := range claimQuestions[c.Predicate] {
		out = append(out, strings.ReplaceAll(form, "$", c.Subject))
	}
	if topic, ok := strings.CutPrefix(c.Predicate, "prefers_for_"); ok {
		out = append(out, "What is the favourite choice of "+c.Subject+" for "+predicateWords(topic)+"?")
	}
	return CheckHints(out)
}

// predicateWords reads a predicate as words.
func predicateWords(predicate string) string { return strings.ReplaceAll(predicate, "_", " ") }

// claimQuestions are the questions that claims of a predicate answer; $ is the subject. Only words count
// that the claim itself would hardly hold: its own are found as they stand. A predicate that is not here
// gets no hint.
var claimQuestions = map[string][]string{
	"lives_in":       {"Where is the home, residence or address of $, in which city, town, state or country is $ based?"},
	"born_on":        {"When is the birthday of $, how old is $, what is the age and date of birth of $?"},
	"born_in":        {"Where does $ come from, what is the birthplace, hometown or origin of $, how old is $?"},
	"from":           {"Where does $ come from, what is the home country, hometown, origin or nationality of $?"},
	"works_at":       {"What is the job of $, who is the employer of $, at which company is $ employed?"},
	"works_as":       {"What is the job, profession, occupation, role or career of $, what does $ do for a living?"},
	"is_a":           {"What is the role, occupation or kind of $?"},
	"married_to":     {"Who is the husband, wife, spouse or partner of $, what is the relationship status of $, is $ single?"},
	"allergic_to":    {"What allergies, intolerances or health problems does $ have, what should $ avoid to eat?"},
	"likes":          {"What are the interests, hobbies and favourite things of $, what does $ enjoy, prefer or love?"},
	"loves":          {"What are the interests, hobbies and favourite things of $, what does $ enjoy, prefer or like?"},
	"enjoys":         {"What are the interests, hobbies and favourite activities of $, what does $ like, prefer or love?"},
	"dislikes":       {"What does $ hate, avoid or not like?"},
	"hates":          {"What does $ dislike, avoid or not like?"},
	"wants":          {"What are the goals, wishes, plans and dreams of $?"},
	"prefers":        {"What is the preference or favourite of $, which option does $ like best?"},
	"uses":           {"Which tool, product, software or technology is $ working with, what did $ choose?"},
	"decided_to_use": {"Which decision was made, what choice, tool or option was chosen, picked or selected by $?"},
	"switched_to":    {"What does $ use now, what did $ migrate to, change to or replace the old one with?"},
	"moved_to":       {"Where does $ live now, what is the new home, residence, city or address of $?"},
	"speaks":         {"Which language is $ fluent in?"},
	"plays":          {"Which sport, game or musical instrument does $ practise, what are the hobbies of $?"},
	"studies":        {"What is the education, degree, major, field or course of $, what does $ learn at school, college or university?"},
	"owns":           {"What does $ have, what are the possessions or pets of $?"},
	"manages":        {"Who is responsible, in charge, the owner, lead, boss or manager of what $ does?"},
	"depends_on":     {"What does $ need or require, what breaks $, what are the dependencies of $?"},
	"requires":       {"What does $ need, what are the requirements and dependencies of $?"},
	"stores_in":      {"Where does $ keep or save its data, which database or storage is used by $?"},
	"written_in":     {"Which programming language is $ implemented in?"},
	"located_in":     {"Where is $, what is the place, location or address of $?"},
	"runs_on":        {"Where is $ hosted or deployed, which platform, server or operating system is used by $?"},
	"listens_on":     {"Which port, address or endpoint is $ reached at?"},
	"port":           {"Which port number does $ listen on, at which address or endpoint is $ reached?"},
	"deadline":       {"When is $ due, by which date must $ be finished, delivered or ready?"},
	"version":        {"Which release of $ is current?"},
	"name":           {"What is $ called?"},
}

// topic is something that people ask about in a general word and talk about in particular ones.
type topic struct {
	said     map[string]bool // words of which a text holds at least one
	question string          // $ is who said it
}

// topics are what turns of a conversation get hints from: few and common, each with words that hardly
// mean anything else.
var topics = []topic{
	{set("husband wife fiancé fiance fiancée fiancee boyfriend girlfriend spouse married engaged wedding divorce divorced"),
		"What is the relationship status of $, is $ single or married, who is the partner of $?"},
	{set("son daughter kids kid toddler newborn stepson stepdaughter"), "Does $ have children, what about the family of $?"},
	{set("puppy kitten puppies kittens dog dogs cat cats hamster parrot goldfish"), "Which pets or animals does $ have?"},
	{set("guitar piano violin cello drums flute clarinet saxophone trumpet ukulele"), "Which musical instrument does $ play?"},
	{set("hired promoted promotion salary boss coworker coworkers colleagues resigned"), "What is the job, work, career or profession of $?"},
	{set("diagnosed surgery injury injured allergic allergies migraine asthma diabetes"), "What health problems or illness does $ have?"},
	{set("graduated diploma semester thesis professor tuition scholarship"), "What about the education, studies, school, university or degree of $?"},
}

// HintVocabulary is the text of all questions that rules ask.
var HintVocabulary = func() string {
	var out []string
	for _, forms := range claimQuestions {
		out = append(out, forms...)
	}
	for _, t := range topics {
		out = append(out, t.question)
	}
	slices.Sort(out)
	return strings.ReplaceAll(strings.Join(out, " ")+" "+frame.ConceptVocabulary, "$", "")
}()

// vocabularyShare is the share of a corpus that is taken to have a hint with a given word of the rules.
const vocabularyShare = 0.05

// PlanHints plans the search of a query among hints. Hints have no statistics of their own: words are taken
// to be as rare as in the memories' texts, and as rare as can be where no text has them, except for those
// that rules ask with, which stand in many. So the name of what is asked for chooses, and the rest ranks.
func PlanHints(query, vocabulary []Lexeme, corpus Corpus) TextPlan {
	common := map[string]bool{}
	for _, l := range vocabulary {
		common[l.Text] = true
	}
	out := slices.Clone(query)
	for i := range out {
		out[i].Docs = max(1, out[i].Docs)
		if common[out[i].Text] {
			out[i].Docs = max(out[i].Docs, int64(vocabularyShare*float64(corpus.Docs)))
		}
	}
	return PlanText(out, corpus, ShortSearch)
}

// topicHints returns the hints of a text by the topics that it touches, at most two.
func topicHints(text, who string) []string {
	if who == "" {
		return nil
	}
	var out []string
	said := words(text, "")
	for _, t := range topics {
		if len(out) < 2 && slices.ContainsFunc(said, func(w string) bool { return t.said[w] }) {
			out = append(out, strings.ReplaceAll(t.question, "$", who))
		}
	}
	return out
}

// hintCap is the most that a hint counts by itself: what was generated rescues a memory, and does not
// stand above what the memory says itself (document 002 Phase 2; notes on recall constants).
const hintCap = 0.75

// ClaimScore is the evidence of a memory one of whose claims holds a share of the query's weight, in [0,1]
// (notes on recall constants, "structured claims"). The notes count matched words; weighed by their rarity,
// as full text weighs them, they compare with it: counted, the name of one whom every claim is about was
// worth as much as any word, and multi-hop questions lost by it (docs/recall.md).
func ClaimScore(share, importance, confidence float64) float64 {
	return min(1, share*(0.55+0.3*importance+0.15*confidence))
}
