package frame

import (
	"slices"
	"strings"
)

// Frame is a parsed statement.
type Frame struct {
	speaker string   // the speaker's first name; empty when unknown or a role such as "user"
	subject []string // stems of the subject's words; SelfTerm and TeamTerm stand for "I" and "we"
	topic   []string // stems of the content words other than values, the subject's first
	values  []Value  // values of the attribute
	old     []Value  // values that the statement itself declares outdated
	holder  bool     // the value is the person with a role: "Priya is on call"

	owner    []string // owners of the attribute: people, and things with several attributes
	kin      bool     // the owner is a relative of another: "my brother"
	bareName bool     // the subject is a name
	actor    string   // the person who made a change to something else

	mainVerb  string   // stem of the main verb
	cue       int      // one of the cue constants
	ended     bool     // it says that something is over
	negated   bool     // it has a negation
	past      bool     // it is about the past
	event     bool     // it describes something that happened once
	corrects  bool     // it says that another statement was wrong: "correction", "after all", "it turns out"
	hedged    bool     // the speaker is not sure
	copular   bool     // a form of "be" connects subject and value
	sentiment int      // +1 likes, -1 dislikes
	ifClause  bool     // it begins with a condition
	owned     bool     // such a phrase names an owner: "for my thyroid"
	condition []string // stems of the phrases that limit it: "in staging", "on weekdays"

	said []string // the words of the topic as in the text

	outline outline

	unresolved  bool // the subject is a pronoun with an unknown referent
	byPronoun   bool // the subject is a pronoun
	subjectless bool // it begins with its verb
}

// SelfTerm and TeamTerm are the stems of "I" and "we" in questions and statements.
const (
	SelfTerm = "@me"
	TeamTerm = "@we"
)

// How clearly a statement reports a change.
const (
	cueNone   = iota
	cueNow    // now, these days: true in contrast to before
	cueChange // moved, switched, correction: a value replaced another
)

// Read returns the frames of the statements in a text. The speaker is the person who says "I", or "" if unknown. Read
// skips questions: see ReadQuestion.
func Read(text, speaker string) []Frame {
	var out []Frame
	for _, s := range sentences(text) {
		if !endsAsking(s) {
			out = appendSentence(out, tokenize(s), speaker)
		}
	}
	return out
}

// endsAsking reports whether a sentence ends with a question mark.
func endsAsking(sentence string) bool {
	return strings.HasSuffix(strings.TrimRight(sentence, "\"'”’)]* "), "?")
}

// appendSentence parses the clauses of a sentence, and may change words. A clause whose subject is missing or a pronoun
// gets the subject of the clause before. If a clause says that a value ended and the next has the new value, both
// become one frame.
func appendSentence(out []Frame, words []token, speaker string) []Frame {
	whole := &reader{ts: words}
	whole.speaker = speakerKey(speaker)
	whole.leadIns()
	whole.ts = withoutCleft(whole.ts)
	for i, clause := range splitClauses(whole.ts) {
		r := &reader{ts: clause, continues: i > 0}
		r.speaker = whole.speaker
		if i == 0 {
			r.cue, r.corrects = whole.cue, whole.corrects
		}
		if i > 0 && slices.ContainsFunc(whole.ts[:min(3, len(whole.ts))], token.isChangeOfMind) {
			r.cue = cueChange // "I changed my mind, …"
		}
		if len(out) > 0 && r.elliptic(&out[len(out)-1]) {
			continue
		}
		if !r.read() || r.empty() {
			continue
		}
		if len(out) > 0 {
			r.inherit(out[len(out)-1], i > 0)
		}
		if n := len(out); i > 0 && n > 0 && follows(whole.ts, clause) {
			r.insteadOf(out[n-1])
			if len(r.old) > 0 {
				out[n-1] = r.Frame
				continue
			}
		}
		if n := len(out); n > 0 && completes(out[n-1], r.Frame, i > 0 || r.byPronoun) {
			out[n-1] = joined(out[n-1], r.Frame)
			continue
		}
		out = append(out, r.Frame)
	}
	return out
}

// follows reports whether a clause comes after "so".
func follows(whole, clause []token) bool {
	for i := 1; i < len(whole); i++ {
		if &whole[i] == &clause[0] {
			return whole[i-1].low == "so"
		}
	}
	return false
}

// insteadOf takes the subject of the clause before "so" as the outdated value: Carrefour in "Carrefour got too
// expensive, so I shop at Aldi".
func (r *reader) insteadOf(reason Frame) {
	if len(r.values) == 0 || r.ended || r.negated || len(reason.said) == 0 {
		return
	}
	var words []string
	for _, t := range reason.subject {
		if !isPerson(reason, t) && t != SelfTerm && t != TeamTerm && !slices.Contains(r.topic, t) {
			words = append(words, t)
		}
	}
	if len(words) == 0 {
		return
	}
	r.old = append(r.old, Value{Kind: KindName, Text: strings.Join(words, " "), key: strings.Join(words, " ")})
	r.cue = cueChange
}

// empty reports whether a clause states nothing: "Just saying."
func (f *Frame) empty() bool {
	return len(f.topic) == 0 && len(f.values) == 0 && len(f.old) == 0 && !f.ended
}

// roles has speaker names that are roles.
var roles = words("user assistant agent human customer operator system developer admin caller client")

func speakerKey(speaker string) string {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(speaker)), " ")
	if roles[first] {
		return ""
	}
	return stemOf(first)
}

// reader is the state of reading one sentence.
type reader struct {
	Frame
	ts        []token
	taken     []bool // tokens of values and cues
	verb      int    // index of the main verb, or len(ts) if there is none
	continues bool   // the clause may begin with its verb
	mover     string // stem of a main verb that only says that a date, a number or the like changed
}

// read fills in the frame. It returns false if the clause is too short.
func (r *reader) read() bool {
	if len(r.ts) < 2 {
		return false
	}
	r.clauses()
	if len(r.ts) == 0 {
		return false
	}
	r.taken = make([]bool, len(r.ts))
	r.findVerb()
	r.cues()
	r.but()
	r.findOld()
	r.findValues()
	r.findTopic()
	r.mainVerb = r.main().stem
	r.outline = r.outlineOf()
	for i := range r.values {
		v := &r.values[i]
		k := v.from - 1
		for k > 0 && (articles[r.ts[k].low] || possessives[r.ts[k].low]) {
			k--
		}
		if k >= 0 && prepositions[r.ts[k].low] {
			v.preposition = r.ts[k].low
		}
	}
	return true
}

// but reads "not at 9 but at 10" and "no longer with Acme but with Globex": the value before "but" is
// outdated.
func (r *reader) but() {
	at := slices.IndexFunc(r.ts, func(t token) bool { return t.low == "but" })
	if at < 0 { // "no longer until 18:00, only until 16:30"
		at = slices.IndexFunc(r.ts, func(t token) bool { return t.is("only", "just") })
		if at <= 0 || r.ts[at-1].end != ',' {
			return
		}
	}
	if at <= 0 || at+1 >= len(r.ts) {
		return
	}
	not := -1
	for i, t := range r.ts[:at] {
		if t.is("not", "nolonger", "anymore") {
			not = i
			break
		}
	}
	if not < 0 {
		return
	}
	if r.ts[not].low == "anymore" {
		not = min(r.verb, at-1)
	}
	r.negated, r.ended, r.cue = false, false, cueChange
	if typed := typedValues(r.ts[not+1 : at]); len(typed) > 0 {
		for _, v := range typed {
			v.from, v.to = v.from+not+1, v.to+not+1
			r.old = append(r.old, v)
			r.take(v.from, v.to)
		}
		return
	}
	from := not + 1
	if r.ts[at].low != "but" && not == r.verb { // "does not use Jira for bugs any more, only Linear"
		for from < at-1 && prepositions[r.ts[from].low] {
			from++
		}
		at = min(at, r.nounPhrase(from))
	}
	for i := at - 1; i > not && r.ts[at-1].end != ','; i-- { // the last phrase before "but"
		if prepositions[r.ts[i].low] || articles[r.ts[i].low] || isVerb(r.ts[i]) {
			from = i + 1
			break
		}
	}
	if v, ok := r.value(from, at); ok {
		r.old = append(r.old, v)
		r.take(v.from, v.to)
	}
}

// plainVerbs has common verbs between a subject and its value.
var plainVerbs = stems(`live work reside own lead manage maintain head chair teach study learn speak play drive eat
	drink smoke wear weigh cost listen support depend require need store write run commute cycle belong attend visit
	meet train practice read watch cook report serve handle cover host build test format log track discuss talk
	communicate chat deploy ship release lock encrypt expire retain purge back review approve sign merge order
	subscribe bank shop rent lease park sleep wake exercise swim hike climb earn charge bill invoice count measure
	monitor alert page contain include offer last return respond answer connect expose prefer identify celebrate grow
	sing dance paint knit volunteer date allow tune cache index publish consume scale shard replicate mirror proxy
	land fly travel stay settle book stream contact email phone text browse buy clean post share upload`,
	`dating workas workout gotowork oncall wakeup reportto lookafter usedto nolonger bornin allergicto fanof cantstand`)

func isVerb(t token) bool {
	switch t.low {
	case "be", "am", "is", "are", "was", "were", "have", "has", "had", "do", "does", "did", "will", "would", "can",
		"could", "must", "should", "may", "might", "shall", "get", "got":
		return true
	}
	return changeVerbs[t.stem] || endVerbs[t.stem] || startVerbs[t.stem] || lightVerbs[t.stem] ||
		sentiments[t.stem] != 0 || plainVerbs[t.stem]
}

func isBe(t token) bool { return t.stem == "be" }

// isAux reports whether t is an auxiliary that is a verb in any position.
func isAux(t token) bool {
	return auxiliaries[t.low] && t.low != "to" && t.low != "not" && t.low != "never" && t.low != "need" &&
		t.low != "let"
}

// findVerb finds the main verb: the first word that may be a verb, in a position where a verb may be.
func (r *reader) findVerb() {
	r.verb = len(r.ts)
	for i := range r.ts {
		t := r.ts[i]
		if i > 0 && r.ts[i-1].end == ':' {
			return // "Deadline: June 10"
		}
		if !isVerb(t) && !(i > 0 && strings.HasSuffix(t.low, "ed") && len(t.low) > 4) || t.poss {
			continue
		}
		if i == 0 {
			if !isAux(t) && !r.continues && len(r.ts) > 1 && (isVerb(r.ts[1]) && !articles[r.ts[1].low] ||
				prepositions[r.ts[1].low] && !changeVerbs[t.stem] && !endVerbs[t.stem] && !startVerbs[t.stem]) {
				continue // "Release moved to …", "Work on …"
			}
			if !isAux(t) && compound(r.ts) {
				continue // "Travel requests go to …"
			}
			r.verb = 0
			break
		}
		if isAux(t) || t.is("nolonger", "usedto") {
			r.verb = i
			break
		}
		prev := r.ts[i-1]
		if strings.HasSuffix(t.low, "ing") && len(t.low) > 4 && hasAux(r.ts[i+1:]) {
			continue // "the quarterly meeting is …"
		}
		if articles[prev.low] && prev.low != "that" || possessives[prev.low] || prev.poss || prepositions[prev.low] {
			continue // a noun: "the build", "my work"
		}
		if i+1 < len(r.ts) && t.end == 0 && (isAux(r.ts[i+1]) ||
			isVerb(r.ts[i+1]) && strings.HasSuffix(r.ts[i+1].low, "ed")) {
			continue // "mobile release slipped"
		}
		r.verb = i
		break
	}
	if r.verb == len(r.ts) {
		r.guessVerb()
	}
	// The verb after an auxiliary is the main one: "was moved to", "is planned for", "has switched".
	for i := r.verb; i < len(r.ts); i++ {
		t := r.ts[i]
		if t.is("nolonger", "usedto") {
			r.verb = i
			continue
		}
		if !isAux(t) && !fillers[t.low] && !nowCues[t.low] && t.low != "to" && t.low != "not" && t.low != "never" {
			if (isVerb(t) || r.progressive(i) || r.bare(i)) && i > r.verb && !isBe(t) && !thirdPerson(t.low) &&
				!articles[r.ts[i-1].low] && !possessives[r.ts[i-1].low] {
				r.verb = i
			}
			break
		}
	}
	if r.verb < len(r.ts) {
		for _, t := range r.ts[:r.verb+1] {
			if isBe(t) {
				r.copular = true
			}
		}
	}
}

// compound reports whether a clause begins with two nouns and a verb, although the first word may be a verb, too.
func compound(ts []token) bool {
	if len(ts) < 4 || !isContent(ts[1]) || ts[0].end != 0 || ts[1].end != 0 || ts[1].cap ||
		!strings.HasSuffix(ts[1].low, "s") {
		return false
	}
	return isAux(ts[2]) || isVerb(ts[2]) && !prepositions[ts[2].low]
}

// guessVerb takes a word that is in no list as the main verb if it is in the position of a verb: after "I" and other
// pronouns or, in the third person, after a name or a noun with a possessive ("my sister runs").
func (r *reader) guessVerb() {
	for i := 2; i < len(r.ts) && (possessives[r.ts[0].low] || r.ts[0].low == "the"); i++ {
		if noun := r.ts[i-1]; irregularPast(r.ts[i]) && isContent(noun) && !noun.poss && noun.end == 0 {
			r.verb = i // "the kettle broke this morning"
			return
		}
	}
	if n := len(r.ts); n > 1 && n < 6 && (possessives[r.ts[0].low] || r.ts[0].low == "the") {
		// "my knee hurts"
		last, noun := r.ts[n-1], r.ts[n-2]
		if n > 2 && isContent(last) && !last.cap && isContent(noun) && !noun.poss && noun.end == 0 &&
			(thirdPerson(last.low) && !strings.HasSuffix(noun.low, "s") && n == 3) {
			r.verb = n - 1
			return
		}
	}
	if len(r.ts) < 3 {
		return
	}
	at := 1
	first := r.ts[0]
	subject := first.is("i", "we", "you", "they", "he", "she", "it")
	for at < len(r.ts)-1 && (fillers[r.ts[at].low] || nowCues[r.ts[at].low]) {
		at++
	}
	if subject {
		if t := r.ts[at]; first.end == 0 && t.end == 0 && isContent(t) && !t.cap && !hasDigit(t.low) {
			r.verb = at
		}
		return
	}
	for i := 1; i < len(r.ts)-1; i++ {
		t, prev, next := r.ts[i], r.ts[i-1], r.ts[i+1]
		if prev.end != 0 {
			return
		}
		if i == 1 && first.cap && t.end == 0 && irregularPast(t) && !articles[first.low] && !possessives[first.low] {
			r.verb = i // "Max won 50 euros"
			return
		}
		if !isContent(t) || t.cap || t.poss || t.end != 0 || !thirdPerson(t.low) || hasDigit(prev.low) ||
			articles[prev.low] ||
			possessives[prev.low] || prev.poss || prepositions[prev.low] ||
			strings.HasSuffix(prev.low, "s") && !prev.cap {
			continue
		}
		name := i == 1 && first.cap && concepts[first.stem] == nil && !articles[first.low] && !possessives[first.low]
		object := articles[next.low] || possessives[next.low] || next.is("me", "us", "him", "them") ||
			prepositions[next.low] && !next.is("of") || next.cap
		if name || object {
			r.verb = i
			return
		}
	}
}

// thirdPerson reports whether a word has the ending of a verb in the third person.
func thirdPerson(low string) bool {
	return len(low) > 3 && strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") && !strings.HasSuffix(low, "us")
}

// main returns the main verb, or the zero token if there is none.
func (r *reader) main() token {
	if r.verb < len(r.ts) {
		return r.ts[r.verb]
	}
	return token{}
}

// irregularPast reports whether a word is the past of an irregular verb.
func irregularPast(t token) bool { return !strings.HasSuffix(t.low, "ed") && pastTense(t) }

// pastTense reports whether a verb is in the past tense.
func pastTense(t token) bool {
	base, known := irregular[t.low]
	switch {
	case t.low == "":
		return false
	case known && base != t.low && !strings.HasSuffix(t.low, "s") && !strings.HasSuffix(t.low, "ing"):
		return true
	}
	return strings.HasSuffix(t.low, "ed") && len(t.low) > 4 && t.low != "need"
}
