package question

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/lexicon"
)

// What a question asks for may be in a text without its word: a profession, an address, what happens on a day.

// asOccupation reads "what does Dana do?" as a question about her occupation. "What did Dana do?" is about an event,
// "what do I do?" asks for advice.
func asOccupation(ts []english.Token) {
	n := len(ts)
	if n < 4 || !ts[0].Is("what") || !ts[1].Is("do", "does") || ts[n-1].Low != "do" {
		return
	}
	subject := ts[n-2]
	if named := subject.Cap && !english.SelfWords[subject.Low] && english.Categories[subject.Low] == ""; named ||
		english.People[subject.Stem] {
		ts[n-1].Text, ts[n-1].Low, ts[n-1].Stem = "work as", occupation, english.StemOf(occupation)
	}
}

// occupation is the token of "work as", "for a living" and the like. It asks for a profession, as "job" does.
const occupation = "workas"

// wordOf returns the content word at i of a question, and its parts: a phrase has several.
func wordOf(ts []english.Token, i int) (content, []string) {
	t := ts[i]
	parts := strings.Fields(strings.ToLower(t.Text))
	var c content
	switch {
	case t.Low == occupation:
		c = contentOf(t.Low, t.Stem)
		c.kind, c.place = true, lexicon.PlaceOf("job")
		return c, parts
	case len(parts) > 1: // a phrase: "work out"
		c = contentOf(t.Low, t.Stem)
		c.place = lexicon.PlaceOf(parts[len(parts)-1])
	default:
		c = contentOf(parts[0], english.StemOf(parts[0]))
	}
	c.kind = namesKind(ts, i)
	return c, parts
}

// nounOfVerb reports whether the word at i has the stem of a light verb, but names the kind of the answer: "which books
// does", "what is my plan?"
func nounOfVerb(ts []english.Token, i int) bool {
	return english.LightVerbs[ts[i].Stem] && (i+1 == len(ts) || english.IsAux(ts[i+1])) && namesKind(ts, i)
}

// classifies reports whether the word at i only says what a name is: "the Kestrel project".
func classifies(ts []english.Token, i int) bool {
	return i > 1 && ts[i-1].Cap && !ts[i-1].Poss && english.SystemHeads[ts[i].Stem] && !ts[i].Cap
}

// contactWords are words for what a contact value may be, by its form.
var contactWords = map[string]map[string]bool{
	"address": english.Stems("email e-mail mail address contact"),
	"number":  english.Stems("phone telephone mobile number contact phonenumber"),
	"link":    english.Stems("url link website site homepage page address"),
	"path":    english.Stems("path folder directory file location"),
	"channel": english.Stems("channel room"),
}

// formOf returns the form of a contact value.
func formOf(key string) string {
	switch {
	case strings.Contains(key, "://"), strings.HasPrefix(key, "www."):
		return "link"
	case strings.Contains(key, "@"):
		return "address"
	case strings.HasPrefix(key, "#"):
		return "channel"
	case strings.ContainsAny(key, `/\`):
		return "path"
	case strings.Trim(key, "+0123456789 -/().") == "":
		return "number"
	}
	return "link" // a host
}

// givesContact reports whether a text has a value of the kind that a word names: an address for "email".
func (t *Text) givesContact(stem string) bool {
	return slices.ContainsFunc(t.typed[frame.KindContact], func(key string) bool {
		return contactWords[formOf(key)][stem]
	})
}

// agenda has words of questions about what is planned for a day. Verbs such as "happen" are no content words.
var agenda = english.Stems("calendar agenda event appointment")

// readDates notes the days that a question names. They are what it asks about if it has no other words.
func (q *Question) readDates(values []frame.Value) {
	if slices.ContainsFunc(q.words, func(c content) bool { return !agenda[c.stem] }) || q.kind != askedThing {
		return
	}
	for _, v := range values {
		if v.Kind == frame.KindDate {
			q.dates = append(q.dates, v.Key)
		}
	}
}

// onDay is the relevance of a text that names the day that a question asks about.
const onDay = 0.5

// sameDay reports whether the question is about days, and the text names each of them and each owner in the question.
func (q Question) sameDay(t Text) bool {
	for _, key := range q.dates {
		if !slices.Contains(t.typed[frame.KindDate], key) {
			return false
		}
	}
	return len(q.dates) > 0 && !slices.ContainsFunc(q.Terms, func(term Term) bool {
		return term.Owner && t.vocabulary.covers(term) == 0
	})
}
