package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pronounSubject returns the kind of pronoun that is the subject of a sentence and that the sentence does not
// resolve: "it", "person" (he, she), "they", "that" or "you".
func pronounSubject(ws []word) (kind string) {
	ws = skipLeadIns(ws)
	if len(ws) == 0 {
		return ""
	}
	first := ws[0].low
	switch {
	case secondPersons.has(first):
		return "you"
	case demonstratives.has(first):
		if first == "this" && ordinalTime(ws) {
			return ""
		}
		if len(ws) == 1 || auxiliaries.has(ws[1].low) || demonstrativeVerbs.has(ws[1].low) || adverb(ws[1].low) {
			return "that"
		}
		return "" // "this project uses Go"
	case !thirdPersons.has(first):
		return ""
	}
	switch first[:2] {
	case "it":
		if pleonastic(ws) {
			return ""
		}
		return "it"
	case "th":
		if first == "that's" || first == "this's" || first == "that'll" || first == "that'd" {
			return "that"
		}
		return "they"
	}
	return "person"
}

// ordinalTime reports whether "this is" is about the present time: "This is my first week at Globex."
func ordinalTime(ws []word) bool {
	if len(ws) < 5 || ws[1].low != "is" {
		return false
	}
	for i, w := range ws[2:min(len(ws)-1, 6)] {
		if ordinals.has(w.low) && !determiners.has(ws[i+3].low) {
			return i > 0
		}
	}
	return false
}

var ordinals = set("first second third fourth fifth last final")

var demonstrativeVerbs = set(`works work worked means meant makes made helps helped happens happened needs
		gives gave shows looks seems feels felt sounds reminds requires breaks fails fixed fixes broke keeps
		kept one`)

// pleonastic reports whether "it" refers to nothing: "It is important to run the tests".
func pleonastic(ws []word) bool {
	low := ws[0].low
	if low != "it" && low != "it's" {
		return false
	}
	i := 1
	if low == "it" && len(ws) > 2 && seeming.has(ws[1].low) {
		if next := ws[2].low; next == "that" || next == "like" || next == "as" || subjectStarts.has(next) {
			return true // "It seems that the cache is stale"
		}
	}
	if low == "it" {
		if len(ws) < 2 || !copulas.has(ws[1].low) {
			return false
		}
		i = 2
	}
	if i < len(ws) && determiners.has(ws[i].low) {
		return false // "It is a tool to …"
	}
	for end := min(len(ws), i+4); i+1 < end; i++ {
		if ws[i+1].low == "to" || ws[i+1].low == "that" {
			return true
		}
	}
	return false
}

var seeming = set("seems seemed appears appeared looks looked sounds turns turned")

// antecedent is what a pronoun of the next sentence may refer to.
type antecedent struct {
	text   string // empty when there is none
	person bool
	thing  bool
	many   bool // they
}

var (
	kin = set(`brother sister mother father mom dad mum son daughter wife husband partner
		boyfriend girlfriend friend cousin uncle aunt boss manager colleague coworker teacher doctor
		neighbor neighbour roommate grandmother grandfather grandma grandpa niece nephew client customer
		user team girl boy man woman kid child baby parent fiance fiancée fiancé spouse dentist therapist
		nurse lawyer landlord landlady coach trainer mentor intern plumber electrician tutor accountant
		assistant director supervisor recruiter flatmate classmate teammate buddy stepson stepdaughter twin
		godmother godfather`)
	determiners = set("the our their his her its this that my a an")
	thingVerbs  = set(`runs run supports stores listens requires provides exposes depends uses fails
		failed crashes crashed returns deploys builds compiles imports exports breaks broke is was has needs`)
)

// topicOf is what "it" refers to after "I was wrong about the port".
func topicOf(ws []word) antecedent {
	ws = append([]word(nil), ws...)
	ws[len(ws)-1].post = ""
	return antecedent{text: coreText(ws), thing: true}
}

// subjectOf finds the subject of a resolved sentence, when there is exactly one candidate.
func subjectOf(ws []word, s speaker) antecedent {
	ws = skipLeadIns(ws)
	if s.known() && len(ws) > 0 && hasPrefixFold(joinWords(ws), s.first) && !hasPrefixFold(joinWords(ws),
		s.first+"'s ") {
		return antecedent{} // a person is not "he" to himself
	}
	for i := 1; i < len(ws) && i <= 5; i++ {
		if ws[i-1].ends() {
			return antecedent{}
		}
		low := ws[i].low
		if !predicateAt(ws, i) {
			continue
		}
		subject := ws[:i]
		for len(subject) > 0 && adverb(subject[len(subject)-1].low) {
			subject = subject[:len(subject)-1]
		}
		if len(subject) == 0 {
			return antecedent{}
		}
		for j, w := range subject {
			if w.quoted || w.low == "and" || w.low == "or" || pronouns.has(w.low) ||
				j > 0 && stopWords.has(w.low) && w.low != "of" {
				return antecedent{}
			}
		}
		text := coreText(subject)
		if determiners.has(subject[0].low) {
			if len(subject) == 1 {
				return antecedent{}
			}
			if low := subject[0].low; low == "a" || low == "an" {
				text = "the " + coreText(subject[1:])
			} else {
				text = low + text[len(subject[0].core):]
			}
			return nounAntecedent(text, subject, ws[i:])
		}
		if _, ok := stripPossessive(subject[0].low); ok && len(subject) > 1 {
			return nounAntecedent(text, subject, ws[i:])
		}
		if identifier(subject[0].core) || len(subject) > 1 && !capital(subject[len(subject)-1].core) {
			return antecedent{text: lowerFirstUnlessName(text, subject), thing: true}
		}
		if capital(subject[0].core) {
			// A name alone may be a person or a thing. Its verb shows which, unless it is "is".
			thing := thingVerbs.has(low) && !auxiliaries.has(low) && low != "uses" && low != "needs"
			if !thing && namesAnother(ws[i:]) {
				return antecedent{}
			}
			return antecedent{text: text, person: !thing, thing: thing}
		}
		return antecedent{}
	}
	return antecedent{}
}

// predicateAt reports whether the verb of a sentence is ws[i], with a subject before it.
func predicateAt(ws []word, i int) bool {
	low := ws[i].low
	if determiners.has(ws[i-1].low) || !finiteVerb(low) && !(verbs.has(low) && plural(ws[i-1].low)) {
		return false
	}
	if i+1 < len(ws) && plural(low) && nounVerbs.has(low[:len(low)-1]) {
		next := ws[i+1].low
		return !auxiliaries.has(next) && !verbs.has(next) // "the unit tests run"
	}
	return true
}

// nounAntecedent is a subject that is a noun phrase, with its predicate. "They" refers to several things only if
// nothing else in the sentence could be meant.
func nounAntecedent(text string, subject, predicate []word) antecedent {
	head := subject[len(subject)-1].low
	if plural(head) && !kin.has(head) && !capital(subject[len(subject)-1].core) {
		for _, w := range predicate[1:] {
			if plural(w.low) || w.low == "and" {
				if !timeUnits.has(w.low) {
					return antecedent{}
				}
			}
		}
		return antecedent{text: text, many: true}
	}
	if namesAnother(predicate) {
		return antecedent{text: text, thing: !kin.has(head)}
	}
	person := kin.has(head)
	if n := len(subject); n > 1 && capital(subject[n-1].core) {
		person = person || kin.has(subject[n-2].low) // "Ana's brother Max"
	}
	return antecedent{text: text, person: person, thing: !person}
}

// namesAnother reports whether a predicate has a name as its object, who may be a person: "met Dora".
func namesAnother(predicate []word) bool {
	for i := 1; i < len(predicate); i++ {
		w, before := predicate[i], predicate[i-1].low
		if !capital(w.core) || w.quoted || firstPerson(w.low) || identifier(w.core) || calendar.has(w.low) {
			continue
		}
		if i == 1 && !namedThings.has(before) && !copulas.has(before) || before == "with" ||
			before == "and" && i > 1 && capital(predicate[i-2].core) {
			return true
		}
	}
	return false
}

// namedThings are verbs whose object, when it is a name, is not a person.
var namedThings = set(`uses used prefers preferred speaks spoke plays played studies studied drives
		drove writes wrote learns learned supports supported runs ran installed deployed upgraded maintains
		maintained owns owned left joined visited reached teaches taught`)

var timeUnits = set(`seconds minutes hours days weeks months years times mornings evenings nights
		mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends`)

// hasPrefixFold reports whether s begins with prefix, ignoring case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// lowerFirstUnlessName writes the first word of a sentence in lower case, for use inside a sentence, unless it is a
// name.
func lowerFirstUnlessName(text string, subject []word) string {
	if identifier(subject[0].core) || len(subject) > 1 && capital(subject[1].core) {
		return text
	}
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[n:]
}

// resolvePronoun replaces the pronoun subject of ws by ante. It returns false if they do not agree.
func resolvePronoun(ws []word, kind string, ante antecedent) ([]word, bool) {
	if ante.text == "" || kind == "that" || kind == "you" || (kind == "they") != ante.many ||
		kind == "it" && !ante.thing || kind == "person" && !ante.person {
		return ws, false
	}
	ws = skipLeadIns(ws)
	out := append(make([]word, 0, len(ws)+1), ws...)
	name := capitalize(ante.text)
	w := &out[0]
	verb := ""
	switch w.low {
	case "it", "he", "she", "they":
	case "its", "his", "her", "their":
		name = ownerForm(name)
	case "it's", "he's", "she's":
		verb = "is"
		if len(ws) > 1 && participle(ws[1].low) && ws[1].low != "made" && ws[1].low != "known" && kind == "person" ||
			len(ws) > 1 && ws[1].low == "been" {
			verb = "has"
		}
	case "they're":
		verb = "are"
	case "they've":
		verb = "have"
	case "it'll", "he'll", "she'll", "they'll":
		verb = "will"
	case "it'd", "he'd", "she'd", "they'd":
		verb = "would"
	default:
		return ws, false
	}
	post := w.post
	w.core, w.low = name, fold(name)
	if verb != "" {
		w.post = ""
		out = append(out[:1], append([]word{{core: verb, low: verb, post: post}}, out[1:]...)...)
	}
	return out, true
}
