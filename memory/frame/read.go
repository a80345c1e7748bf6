package frame

import (
	"slices"
	"strings"
)

// Frame is what one statement says.
type Frame struct {
	speaker string   // the speaker's first name; empty when unknown or a role such as "user"
	subject []string // stems of the subject's words; selfTerm and teamTerm stand for "I" and "we"
	topic   []string // stems of the content words, the subject's first, that say what is stated
	values  []Value  // what it is given
	old     []Value  // what the statement itself says that holds no longer
	holder  bool     // the value is who has a part: "Priya is on call"

	owner    []string // whose attribute it is: people, and things that have several attributes
	kin      bool     // the owner is someone whom another has: "my brother"
	bareName bool     // the subject is a name
	actor    string   // who carried out a change of something else

	cue       int      // one of the cue constants
	ended     bool     // it says that something is over
	negated   bool     // it denies
	past      bool     // it says how it was
	event     bool     // it tells of something that happened once
	hedged    bool     // the speaker is not sure
	copular   bool     // a form of "be" connects subject and value
	sentiment int      // +1 likes, -1 dislikes
	ifClause  bool     // it begins with the condition under which it holds
	condition []string // stems of "in staging", "on weekdays": where it holds

	said []string // the words of the topic as they were said

	unresolved  bool // the subject is a pronoun, and what it stands for is not known
	byPronoun   bool // the subject is a pronoun
	subjectless bool // it begins with its verb
}

// Pseudo words of subjects.
const (
	selfTerm = "@me"
	teamTerm = "@we"
)

// How strongly a statement says that something has changed.
const (
	cueNone   = iota
	cueNow    // now, these days: it holds, in contrast to before
	cueChange // moved, switched, correction: another value took the place of one
)

// Read returns the frames of the statements of a text. Speaker is who says "I", empty when unknown.
// Questions yield no frame here: see ReadQuestion.
func Read(text, speaker string) []Frame {
	var out []Frame
	for _, s := range sentences(text) {
		if strings.HasSuffix(strings.TrimRight(s, "\"'”’)]* "), "?") {
			continue
		}
		out = appendSentence(out, s, speaker)
	}
	return out
}

// appendSentence reads the clauses of a sentence. A clause takes its subject from the one before where it
// has none or a pronoun, and one that gives the value in place of what ended completes that one.
func appendSentence(out []Frame, s, speaker string) []Frame {
	whole := &reader{ts: tokenize(s)}
	whole.speaker = speakerKey(speaker)
	whole.leadIns()
	for i, clause := range splitClauses(whole.ts) {
		r := &reader{ts: clause}
		r.speaker = whole.speaker
		if i == 0 {
			r.cue = whole.cue
		}
		if len(out) > 0 && r.elliptic(&out[len(out)-1]) {
			continue
		}
		if !r.read() {
			continue
		}
		if len(out) > 0 {
			r.inherit(out[len(out)-1], i > 0)
		}
		if n := len(out); n > 0 && completes(out[n-1], r.Frame, i > 0 || r.byPronoun) {
			out[n-1] = joined(out[n-1], r.Frame)
			continue
		}
		out = append(out, r.Frame)
	}
	return out
}

// splitClauses cuts a sentence where another statement begins.
func splitClauses(ts []token) [][]token {
	var out [][]token
	start, verbs := 0, 0
	for i := range ts {
		if isVerb(ts[i]) {
			verbs++
		}
		if i-start < 2 || i+2 >= len(ts) || verbs == 0 {
			continue
		}
		next := i + 1
		if i+2 < len(ts) && ts[next].low == "and" && (ts[i+2].low == "nolonger" || ts[i+2].low == "not" || ts[i+2].low == "never") {
			out = append(out, ts[start:i+1])
			start, verbs = next+1, 0
			continue
		}
		and := ts[next].low == "and" || ts[next].low == "but" && !hasNegation(ts[start:next])
		if and {
			next++
		}
		if next+1 >= len(ts) {
			continue
		}
		end := ts[i].end
		begins := false
		switch {
		case end == ';' || end == '–' && verbs > 0:
			begins = hasVerb(ts[next:min(len(ts), next+5)])
		case end == ',' || and:
			t := ts[next]
			begins = (pronouns[t.low] || selfWords[t.low]) && !(t.low == "the") && hasVerb(ts[next+1:min(len(ts), next+3)]) ||
				(possessives[t.low] || t.cap && end == ',' || articles[t.low] && end == ',') && hasAux(ts[next+1:min(len(ts), next+5)]) ||
				and && isVerb(t) && !articles[ts[next-1].low] && (pastTense(t) || isAux(t) || strings.HasSuffix(t.low, "s") || selfStart(ts[start])) && !isNounHere(ts, next)
		}
		if begins {
			out = append(out, ts[start:i+1])
			start, verbs = next, 0
		}
	}
	return append(out, ts[start:])
}

func selfStart(t token) bool { return selfWords[t.low] || teamWords[t.low] }

// isNounHere reports whether a word that may be a verb is hardly one: nothing follows that it could govern.
func isNounHere(ts []token, i int) bool { return i+1 >= len(ts) || ts[i].end != 0 }

func hasVerb(ts []token) bool { return slices.ContainsFunc(ts, isVerb) }
func hasAux(ts []token) bool  { return slices.ContainsFunc(ts, isAux) }

func hasNegation(ts []token) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return t.low == "not" || t.low == "nolonger" || t.low == "never" })
}

// elliptic reads "Kofi is." after "Priya is no longer on call": the name alone is the value.
func (r *reader) elliptic(prev *Frame) bool {
	n := len(r.ts)
	if n < 2 || n > 4 || !isAux(r.ts[n-1]) && !(isAux(r.ts[n-2]) && nowCues[r.ts[n-1].low]) || !r.ts[0].cap || selfWords[r.ts[0].low] || !prev.ended && !prev.negated {
		return false
	}
	r.taken = make([]bool, n)
	end := n - 1
	for end > 0 && (isAux(r.ts[end]) || nowCues[r.ts[end].low]) {
		end--
	}
	v, ok := r.value(0, end+1)
	if !ok {
		return false
	}
	v.Kind = KindName
	prev.old = append(prev.old, prev.values...)
	prev.values = []Value{v}
	prev.ended, prev.negated, prev.cue = false, false, cueChange
	return true
}

// inherit gives a clause the subject of the one before.
func (r *reader) inherit(prev Frame, sameSentence bool) {
	r.unresolved = r.unresolved && len(prev.subject) == 0
	if !r.byPronoun && !(sameSentence && r.subjectless) || len(prev.subject) == 0 {
		return
	}
	r.unresolved = false
	for _, t := range slices.Backward(prev.subject) {
		if !slices.Contains(r.topic, t) {
			r.topic = slices.Insert(r.topic, 0, t)
		}
		if !slices.Contains(r.subject, t) {
			r.subject = slices.Insert(r.subject, 0, t)
		}
	}
	r.bareName, r.kin = r.bareName || prev.bareName, r.kin || prev.kin
	for _, t := range prev.owner {
		if !slices.Contains(r.owner, t) {
			r.owner = append(r.owner, t)
		}
	}
}

// completes reports whether f gives what takes the place of what prev says is over.
func completes(prev, f Frame, close bool) bool {
	if !close || len(f.values) == 0 || f.ended || f.negated || !prev.ended && !prev.negated && prev.cue < cueChange {
		return false
	}
	if len(prev.values) > 0 && !prev.ended && !prev.negated {
		return false // it has a value of its own
	}
	m := match(prev, f)
	return !m.strangers
}

func joined(prev, f Frame) Frame {
	out := prev
	out.old = append(slices.Clone(prev.old), prev.values...)
	out.values = f.values
	out.topic = slices.Clone(prev.topic)
	for _, t := range f.topic {
		if !slices.Contains(out.topic, t) {
			out.topic = append(out.topic, t)
		}
	}
	out.ended, out.negated, out.event, out.cue = false, false, false, cueChange
	out.copular = prev.copular || f.copular
	return out
}

// roles are speakers that have a part instead of a name.
var roles = words("user assistant agent human customer operator system developer admin caller client")

func speakerKey(speaker string) string {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(speaker)), " ")
	if roles[first] {
		return ""
	}
	return stemOf(first)
}

// reader is one sentence at work.
type reader struct {
	Frame
	ts    []token
	taken []bool // tokens of values and cues
	verb  int    // index of the main verb, len(ts) when there is none
}

// read fills the frame in; false when there is too little to read.
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
	return true
}

// but reads "not at 9 but at 10" and "no longer with Acme but with Globex": what stands before "but" is over.
func (r *reader) but() {
	at := slices.IndexFunc(r.ts, func(t token) bool { return t.low == "but" })
	if at <= 0 || at+1 >= len(r.ts) {
		return
	}
	not := -1
	for i, t := range r.ts[:at] {
		if t.low == "not" || t.low == "nolonger" || t.low == "anymore" {
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
	for i := at - 1; i > not; i-- { // the last phrase before "but"
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

// leadIns drops what introduces the statement, and notes that it corrects another.
func (r *reader) leadIns() {
	r.label()
	for len(r.ts) > 2 {
		t := r.ts[0]
		switch {
		case correctionCues[t.low] && (t.end != 0 || t.low == "actually" || t.low == "scratchthat" || t.low == "turnsout" || t.low == "changeofplan"):
			r.cue = max(r.cue, cueChange)
		case leadIns[t.low] && (t.end != 0 || t.low == "and" || t.low == "but" || t.low == "so" || t.low == "also" || t.low == "fyi" || t.low == "btw" || t.low == "then"):
		case leadIns[t.low] && leadIns[r.ts[1].low]:
		case t.low == "it" && r.ts[1].low == "turnsout":
		case t.low == "that" && r.cue == cueChange && !isVerb(r.ts[1]):
		case t.low == "by" && r.ts[1].low == "the" && r.ts[2].low == "way":
			r.ts = r.ts[2:]
		case t.low == "heads" && r.ts[1].low == "up":
			r.ts = r.ts[1:]
		case (t.low == "good" || t.low == "quick" || t.low == "small" || t.low == "big") && (r.ts[1].low == "news" || r.ts[1].low == "update" || r.ts[1].low == "change" || r.ts[1].low == "correction") && r.ts[1].end != 0:
			r.cue = max(r.cue, cueChange)
			r.ts = r.ts[1:]
		default:
			r.leadingTime()
			return
		}
		r.ts = r.ts[1:]
	}
	r.leadingTime()
}

// label drops "Quick note:" and "One more thing:" from the front. What names an attribute stays: "Deadline: …".
func (r *reader) label() {
	for i := 0; i < min(5, len(r.ts)-2); i++ {
		t := r.ts[i]
		if t.end == ':' {
			if !hasVerb(r.ts[:i+1]) && hasVerb(r.ts[i+1:]) {
				r.ts = r.ts[i+1:]
			}
			return
		}
		if concepts[t.stem] != nil && !correctionCues[t.low] && t.low != "note" && t.low != "record" {
			return
		}
		if correctionCues[t.low] {
			r.cue = max(r.cue, cueChange)
		}
	}
}

// leadingTime drops "As of June 1," and "Last month," from the front.
func (r *reader) leadingTime() {
	if len(r.ts) < 4 {
		return
	}
	first := r.ts[0]
	at := func(n int) { // n tokens are the adverbial
		if n > 0 && n < len(r.ts)-1 {
			r.ts = r.ts[n:]
		}
	}
	comma := -1
	for i := 0; i < min(len(r.ts)-1, 7); i++ {
		if r.ts[i].end == ',' {
			comma = i
			break
		}
	}
	starts := first.low == "asof" || first.low == "since" || first.low == "starting" || first.low == "effective" || first.low == "beginning" || first.low == "fromnowon"
	switch {
	case starts:
		r.cue = max(r.cue, cueNow)
		if comma >= 0 {
			at(comma + 1)
			return
		}
		n := 1
		if v, k := dateAt(r.ts, 1); k > 0 && v.Kind == KindDate {
			n += k
		} else if len(r.ts) > 2 && (fillers[r.ts[1].low] || nowCues[r.ts[1].low]) {
			n = 2
			if units[r.ts[2].stem] {
				n = 3
			}
		}
		at(n)
	case nowCues[first.low] && first.low != "instead":
		r.cue = max(r.cue, cueNow)
		at(1)
	case comma >= 0 && comma < 5 && (first.low == "last" || first.low == "this" || first.low == "yesterday" || first.low == "today" || first.low == "next" ||
		(prepositions[first.low] && (first.low == "after" || first.low == "before" || first.low == "until" || first.low == "from" || first.low == "by"))):
		if first.low == "from" {
			r.cue = max(r.cue, cueNow)
		}
		at(comma + 1)
	}
}

// clauses cuts what explains the statement, and keeps where it holds.
func (r *reader) clauses() {
	r.leadingPlace()
	if first := r.ts[0].low; first == "if" || first == "when" || first == "whenever" || first == "unless" || first == "while" {
		r.ifClause = true
		return
	}
	for i := 2; i < len(r.ts); i++ {
		low := r.ts[i].low
		switch {
		case low == "if" || low == "when" || low == "whenever" || low == "unless":
			r.condition = append(r.condition, contentStems(r.ts[i+1:])...)
			r.ts = r.ts[:i]
		case low == "since" || low == "asof" || low == "starting" || low == "effective":
			r.cue = max(r.cue, cueNow)
			r.ts = r.ts[:i]
		case clauseBreaks[low] && low != "due" && !(low == "given"):
			r.ts = r.ts[:i]
		case low == "due" && i+1 < len(r.ts) && r.ts[i+1].low == "to" && i > 3:
			r.ts = r.ts[:i]
		default:
			continue
		}
		return
	}
}

// environments are places that a statement holds in, and not in others.
var environments = stems("staging production prod dev development sandbox test testing qa preprod weekday weekdays weekend weekends summer winter holidays vacation")

// leadingPlace moves "In staging," and "For schema changes" from the front to the condition.
func (r *reader) leadingPlace() {
	switch r.ts[0].low {
	case "in", "on", "for", "at", "during", "under", "within", "with":
	default:
		return
	}
	for i := 1; i < min(len(r.ts)-2, 7); i++ {
		next := r.ts[i+1]
		if r.ts[i].end == ',' || i > 0 && (articles[next.low] || possessives[next.low] || selfWords[next.low] || teamWords[next.low] || pronouns[next.low]) && !prepositions[r.ts[i].low] {
			if v, n := dateAt(r.ts, 1); n > 0 && v.Kind == KindDate && n >= i {
				r.ts = r.ts[i+1:] // "On Monday, …"
				return
			}
			r.condition = append(r.condition, contentStems(r.ts[1:i+1])...)
			r.ts = r.ts[i+1:]
			return
		}
	}
}

func contentStems(ts []token) []string {
	var out []string
	for _, t := range ts {
		if isContent(t) {
			out = append(out, t.stem)
		}
	}
	return out
}

func isContent(t token) bool {
	return !prepositions[t.low] && !articles[t.low] && !auxiliaries[t.low] && !conjunctions[t.low] && !fillers[t.low] && !pronouns[t.low] &&
		!possessives[t.low] && !lightVerbs[t.stem] && !nowCues[t.low] && !questionWords[t.low] && !negations[t.low] && t.low != ""
}

// verbs of every day that stand between a subject and its value.
var plainVerbs = stems(`live work reside own lead manage maintain head chair teach study learn speak play drive eat drink smoke wear weigh
	cost listen support depend require need store write run commute cycle belong attend visit meet train practice read watch cook
	report serve handle cover host build test format log track discuss talk communicate chat deploy ship release lock encrypt
	expire retain purge back review approve sign merge order subscribe bank shop rent lease park sleep wake exercise swim hike climb
	earn charge bill invoice count measure monitor alert page contain include offer last return respond answer connect expose prefer
	identify celebrate grow sing dance paint knit volunteer date allow tune cache index publish consume scale shard replicate mirror proxy
	land fly travel stay settle book stream contact email phone text`, "dating workas workout gotowork oncall wakeup reportto lookafter usedto nolonger bornin allergicto fanof cantstand")

func isVerb(t token) bool {
	switch t.low {
	case "be", "am", "is", "are", "was", "were", "have", "has", "had", "do", "does", "did", "will", "would", "can", "could", "must", "should", "may", "might", "shall", "get", "got":
		return true
	}
	return changeVerbs[t.stem] || endVerbs[t.stem] || startVerbs[t.stem] || lightVerbs[t.stem] || sentiments[t.stem] != 0 || plainVerbs[t.stem]
}

func isBe(t token) bool { return t.stem == "be" }

// isAux reports whether t is a verb in any place.
func isAux(t token) bool {
	return auxiliaries[t.low] && t.low != "to" && t.low != "not" && t.low != "never" && t.low != "need" && t.low != "let"
}

// findVerb finds the main verb: the first word that may be one where a verb may stand.
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
			if !isAux(t) && len(r.ts) > 1 && (isVerb(r.ts[1]) && !articles[r.ts[1].low] || prepositions[r.ts[1].low] && !changeVerbs[t.stem] && !endVerbs[t.stem] && !startVerbs[t.stem]) {
				continue // "Release moved to …", "Work on …"
			}
			r.verb = 0
			break
		}
		if isAux(t) || t.low == "nolonger" || t.low == "usedto" {
			r.verb = i
			break
		}
		prev := r.ts[i-1]
		if articles[prev.low] && prev.low != "that" || possessives[prev.low] || prev.poss || prepositions[prev.low] {
			continue // a noun: "the build", "my work"
		}
		if i+1 < len(r.ts) && t.end == 0 && (isAux(r.ts[i+1]) || isVerb(r.ts[i+1]) && strings.HasSuffix(r.ts[i+1].low, "ed")) {
			continue // "mobile release slipped"
		}
		r.verb = i
		break
	}
	// The auxiliary's verb is the main one: "was moved to", "is planned for", "has switched".
	for i := r.verb; i < len(r.ts); i++ {
		t := r.ts[i]
		if t.low == "nolonger" || t.low == "usedto" {
			r.verb = i
			continue
		}
		if !isAux(t) && !fillers[t.low] && !nowCues[t.low] && t.low != "to" && t.low != "not" && t.low != "never" {
			if isVerb(t) && i > r.verb && !isBe(t) && !articles[r.ts[i-1].low] && !possessives[r.ts[i-1].low] {
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

// main is the main verb; the zero token when there is none.
func (r *reader) main() token {
	if r.verb < len(r.ts) {
		return r.ts[r.verb]
	}
	return token{}
}

// cues notes by which words the statement says that something changed, ended or was.
func (r *reader) cues() {
	main := r.main()
	for i, t := range r.ts {
		switch {
		case t.low == "nolonger":
			r.ended, r.negated = true, true
			r.cue = cueChange
		case t.low == "anymore":
			r.ended = true
			r.cue = cueChange
		case t.low == "usedto", t.low == "inthepast":
			r.past = true
		case hedges[t.low] && (i == 0 || !t.cap):
			r.hedged = true
		case nowCues[t.low] && (t.low != "instead" || i > 0):
			r.cue = max(r.cue, cueNow)
			r.taken[i] = true
		case t.low == "insteadof", t.low == "ratherthan":
			r.cue = max(r.cue, cueNow)
		case t.low == "not" || t.low == "never" || t.low == "neither" || t.low == "no" && i < len(r.ts)-1 && !hasDigit(r.ts[i+1].low):
			if !r.contrast(i) {
				r.negated = true
			}
		case t.low == "back" && r.cue >= cueNow, t.low == "again":
			r.cue = max(r.cue, cueNow)
		case (t.low == "new" || t.low == "latest" || t.low == "updated" || t.low == "revised") && i < len(r.ts)-1 && i < r.verb+2:
			r.cue = max(r.cue, cueNow)
		case t.low == "over" && i == len(r.ts)-1 && isBe(main), t.low == "gone" && r.copular, t.low == "off" && i == len(r.ts)-1 && r.copular, t.low == "dead" && r.copular,
			t.low == "out" && i > 0 && isBe(r.ts[i-1]):
			r.ended = true
			r.cue = cueChange
		}
	}
	if r.verb < len(r.ts) {
		for i := r.verb; i < min(len(r.ts), r.verb+6); i++ {
			t := r.ts[i]
			if i > r.verb && (articles[r.ts[i-1].low] || possessives[r.ts[i-1].low] || prepositions[r.ts[i-1].low]) && t.low != "takeover" {
				continue
			}
			if i > r.verb && !(r.ts[i-1].low == "to" || conjunctions[r.ts[i-1].low] || isAux(r.ts[i-1])) {
				continue
			}
			switch {
			case changeVerbs[t.stem] && !r.past:
				r.cue = cueChange
			case endVerbs[t.stem] && !r.past:
				r.ended = true
				r.cue = cueChange
			case startVerbs[t.stem]:
				r.cue = max(r.cue, cueNow)
			}
		}
	}
	if s := sentiments[main.stem]; s != 0 {
		r.sentiment = s
		if r.negated || r.ended {
			r.sentiment = -1
		}
	}
	was := r.verb < len(r.ts) && slices.ContainsFunc(r.ts[:r.verb+1], func(t token) bool { return t.text == "was" || t.text == "were" || t.low == "had" })
	if was && isBe(main) && r.cue < cueChange {
		r.past = true
	}
	if main.stem == "get" || main.stem == stemOf("become") {
		r.cue = max(r.cue, cueNow)
	}
	if r.cue == cueNone && !r.copular && pastTense(main) {
		r.event = true
	}
}

// contrast reports whether a negation at i only sets one value against another: "Rex, not Max".
func (r *reader) contrast(i int) bool {
	if r.ts[i].low != "not" || i+1 >= len(r.ts) {
		return false
	}
	if i > 0 && (r.ts[i-1].end == ',' || r.ts[i-1].end == '–' || r.ts[i-1].low == "and") {
		return true // ", not Max"
	}
	return slices.ContainsFunc(r.ts[i+1:], func(t token) bool { return t.low == "but" }) // "not Max but Rex"
}

// pastTense reports whether a verb tells of something that happened.
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

// oldMarkers come before what holds no longer.
var oldMarkers = words("insteadof ratherthan moveoff getridof nolonger")

// replacers are verbs whose object is what holds no longer.
var replacers = stems("replace swap ditch drop retire deprecate sunset abandon leave quit scrap dump axe trade exchange kill remove supersede succeed", "getridof moveoff giveup shutdown")

// findOld marks what the statement says that holds no longer.
func (r *reader) findOld() {
	toward := slices.ContainsFunc(r.ts, func(t token) bool { return t.low == "to" || t.low == "into" || t.low == "onto" })
	main := r.main()
	for i := 0; i < len(r.ts); i++ {
		t := r.ts[i]
		from := -1
		switch {
		case t.low == "not" && r.contrast(i):
			from = i + 1
		case oldMarkers[t.low] && (t.low != "nolonger" || r.copular || i+1 < len(r.ts) && !isVerb(r.ts[i+1])):
			from = i + 1
		case t.low == "from" && (r.cue == cueChange || toward) && !isTimeOf(r.ts, i+1):
			from = i + 1
		case t.low == "over" && main.stem == stemOf("prefer") && i > r.verb:
			from = i + 1
		case i == r.verb && replacers[t.stem] && i+1 < len(r.ts) && strings.HasSuffix(r.ts[i+1].low, "ing"):
		case i == r.verb && replacers[t.stem] && i+1 < len(r.ts) && !prepositions[r.ts[i+1].low] && t.low != "shutdown":
			from = i + 1
		case i > r.verb && i > 0 && (r.ts[i-1].low == "and" || r.ts[i-1].low == "to" || isAux(r.ts[i-1])) && replacers[t.stem] && i+1 < len(r.ts) && !prepositions[r.ts[i+1].low]:
			from = i + 1
		case strings.HasSuffix(t.low, "ing") && len(t.low) > 4 && i > 0 && endVerbs[r.ts[i-1].stem] && i+1 < len(r.ts):
			from = i + 1 // "stopped using Jira", "gave up being a recruiter"
			for from < len(r.ts)-1 && (r.ts[from].low == "as" || r.ts[from].low == "to" || r.ts[from].low == "in" || r.ts[from].low == "on" || r.ts[from].low == "at" || r.ts[from].low == "by" || r.ts[from].low == "with") {
				from++
			}
		}
		if from < 0 || from >= len(r.ts) || t.end != 0 && !oldMarkers[t.low] {
			continue
		}
		if to := r.nounPhrase(from); to > from {
			if v, ok := r.value(from, to); ok {
				r.old = append(r.old, v)
				r.take(from, to)
				i = to - 1
			}
		}
	}
	r.oldSubject()
}

// oldSubject reads whose place was taken where the subject says it: "Jenkins was replaced by …",
// "Marek handed on-call over to Priya", "Jenkins is out".
func (r *reader) oldSubject() {
	main := r.main()
	passive := main.stem == stemOf("replace") && r.copular
	gave := main.low == "handover" || main.stem == stemOf("pass") || main.stem == "hand"
	out := r.copular && r.ended && r.verb > 0 && isBe(main)
	retired := replacers[main.stem] && r.copular
	if r.verb == 0 || r.verb >= len(r.ts) || !(passive || gave || out || retired) {
		return
	}
	to := r.verb
	for to > 0 && (isAux(r.ts[to-1]) || fillers[r.ts[to-1].low]) {
		to--
	}
	from := to // the name alone: "the Mistral team's chat tool Slack"
	for from > 0 && r.nameLike(from-1) && (from == to || r.ts[from-1].end == 0 && !r.ts[from-1].poss) {
		from--
	}
	if from == to {
		from = 0
	}
	if v, ok := r.value(from, to); ok && v.Kind != KindTerm && !r.isSelf(0, to) {
		r.old = append(r.old, v)
		r.take(from, to)
	}
}

func (r *reader) isSelf(from, to int) bool {
	return to-from == 1 && (selfWords[r.ts[from].low] || teamWords[r.ts[from].low] || pronouns[r.ts[from].low])
}

// isTimeOf reports whether a time or a date starts at i: "from Monday".
func isTimeOf(ts []token, i int) bool {
	if i >= len(ts) {
		return true
	}
	if fillers[ts[i].low] || nowCues[ts[i].low] {
		return true
	}
	_, n := dateAt(ts, i)
	if n == 0 {
		return false
	}
	// "from May 3 to June 10" gives an old date.
	return !slices.ContainsFunc(ts[i+n:], func(t token) bool { return t.low == "to" || t.low == "until" })
}

// nounPhrase returns where the noun phrase that starts at i ends.
func (r *reader) nounPhrase(i int) int {
	start := i
	if v, n := typedAt(r.ts, i); n > 0 && v.Kind != "" {
		i += n
		if r.ts[i-1].end != 0 {
			return i
		}
	}
	for i < len(r.ts) {
		t := r.ts[i]
		if i > start && (prepositions[t.low] || conjunctions[t.low] || isAux(t) || nowCues[t.low] || pronouns[t.low] && !t.cap || clauseBreaks[t.low] || oldMarkers[t.low] || t.low == "anymore" || t.low == "not" || t.low == "last" || t.low == "this") {
			break
		}
		if i == start && prepositions[t.low] {
			break
		}
		i++
		if t.end != 0 {
			break
		}
	}
	return i
}

// value makes a value of the tokens, without articles and fillers around them.
func (r *reader) value(from, to int) (Value, bool) {
	for from < to && (articles[r.ts[from].low] || possessives[r.ts[from].low] || fillers[r.ts[from].low] || nowCues[r.ts[from].low]) {
		from++
	}
	for to > from && (fillers[r.ts[to-1].low] || nowCues[r.ts[to-1].low] || r.ts[to-1].low == "anymore") {
		to--
	}
	if from >= to {
		return Value{}, false
	}
	if v, n := typedAt(r.ts, from); n > 0 && from+n >= to {
		v.from, v.to, v.Text = from, from+n, textOf(r.ts[from:from+n])
		return v, true
	}
	span := r.ts[from:to]
	v := Value{Kind: KindTerm, Text: textOf(span), from: from, to: to}
	keys := make([]string, 0, len(span))
	for _, t := range span {
		if t.cap && (from > 0 || properShape(span)) || isIdentifier(t.text) {
			v.Kind = KindName
		}
		for w := range strings.FieldsSeq(t.low) {
			if w != "the" && w != "of" {
				keys = append(keys, stemOf(w))
			}
		}
	}
	v.key = strings.Join(keys, " ")
	v.category = categoryOf(span)
	if v.category != "" && v.Kind == KindTerm && categoryIsName(v.category) {
		v.Kind = KindName
	}
	if hasDigit(v.Text) && v.Kind == KindName {
		if last := span[len(span)-1].low; numberPattern.MatchString(last) || versionPattern.MatchString(last) {
			v.Kind = KindVersion // "Postgres 16"
		}
	}
	return v, len(keys) > 0
}

// properShape reports whether the words at the start of a sentence are a name.
func properShape(span []token) bool {
	first := span[0]
	return !articles[first.low] && !possessives[first.low] && !pronouns[first.low] && concepts[first.stem] == nil
}

func categoryOf(span []token) string {
	if c := categories[textOfLow(span)]; c != "" {
		return c
	}
	for i := len(span) - 1; i >= 0; i-- {
		if c := categories[span[i].low]; c != "" {
			return c
		}
	}
	return ""
}

// categoryIsName reports whether the members of a category are names even in small letters.
func categoryIsName(c string) bool {
	switch c {
	case "DRINK", "DIET", "DAYPART", "COLOR", "SEASON", "COMMUTE", "INSTRUMENT", "SPORT", "THEME", "FREQUENCY", "STYLE", "MERGE":
		return false
	}
	return true
}

// isIdentifier reports whether a word is written as a technical name: eu-west-1, gRPC, k8s, #builds.
func isIdentifier(s string) bool {
	if len(s) < 2 || numberPattern.MatchString(strings.ToLower(s)) {
		return false
	}
	upper, letter := false, false
	for i, c := range s {
		if c >= 'A' && c <= 'Z' && i > 0 {
			upper = true
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			letter = true
		}
	}
	return letter && (upper || hasDigit(s) || strings.ContainsAny(s, "/_") && len(s) > 3)
}

func (r *reader) take(from, to int) {
	for i := from; i < to && i < len(r.taken); i++ {
		r.taken[i] = true
	}
}
