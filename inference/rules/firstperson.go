package rules

import "strings"

// resolution is a sentence in which the speaker has replaced the first person.
type resolution struct {
	words   []word
	changed bool
	// certain is false if the words may be another person's, or if the sentence would be wrong. Then the sentence is
	// kept unchanged.
	certain bool
}

// resolveFirstPerson replaces "I", "me", "my" and their contractions by the speaker, and changes the verbs to the
// third person: "I've moved and I don't cook" → "Caroline has moved and Caroline doesn't cook". Quoted words are not
// changed, because they are another person's. "We" and "our" become "they" and "their" after "Ana and I". Elsewhere
// it is not known who "we" are, and a sentence with both "I" and "we" is not certain.
func resolveFirstPerson(ws []word, s speaker) resolution {
	if !s.known() || !speaksOfSelf(ws) {
		return resolution{words: ws, certain: true}
	}
	if quotesOther(ws) {
		return resolution{words: ws, changed: true}
	}
	r := resolver{s: s, in: ws, last: -1, out: make([]word, 0, len(ws)+4)}
	r.habitual = hasWord(ws, habits)
	for i := 0; i < len(ws); {
		i += r.step(i)
	}
	r.joinTogether()
	return resolution{words: r.out, changed: true, certain: !r.doubt && r.consistent()}
}

// speaksOfSelf reports whether an unquoted word means the speaker.
func speaksOfSelf(ws []word) bool {
	for i, w := range ws {
		if !w.quoted && selfWords.has(w.low) && !(w.low == "i" && romanNumeral(ws, i)) && !foreignMe(ws, i) {
			return true
		}
	}
	return false
}

var (
	afterMe = set(`and or too either neither personally`)
	// beforeForeignMe are words of other languages that are frequent before "me".
	beforeForeignMe = set(`no não nao que se eu je tu te ya y e il elle ça ci ne`)
)

// foreignMe reports whether the word at i is the "me" of Spanish, Portuguese, French or Italian: "Me gusta el café."
func foreignMe(ws []word, i int) bool {
	if ws[i].low != "me" {
		return false
	}
	begins := i == 0 || ws[i-1].ends()
	return begins && i+1 < len(ws) && !ws[i].ends() && ws[i].post == "" && !afterMe.has(ws[i+1].low) ||
		!begins && beforeForeignMe.has(ws[i-1].low)
}

// romanNumeral reports whether the "I" at i is a number: World War I.
func romanNumeral(ws []word, i int) bool {
	return ws[i].core == "I" && i > 0 && numbered.has(ws[i-1].low)
}

// chain says how a verb after "and" may continue the statement about the speaker.
type chain int

const (
	noChain      chain = iota
	clauseChain        // in a separate clause: the subject is not certain
	butChain           // negated: only "but" continues
	pastChain          // in the past tense, so that a base form is another tense
	presentChain       // in the present tense
)

// resolver rewrites one sentence.
type resolver struct {
	s        speaker
	in, out  []word
	due      bool // the verb of "I" has not been read yet
	plural   bool // of "Ana and I"
	chain    chain
	last     int  // the position of the last verb of the chain that was changed
	habitual bool // the sentence describes a habit
	together bool // "Ana and I" was said: "we" are they
	doubt    bool
}

func (r *resolver) put(w word, text string) {
	w.core, w.low = text, fold(text)
	r.out = append(r.out, w)
}

// name returns the speaker's name as a subject or an object at this position.
func (r *resolver) name() string {
	if len(r.out) == 0 {
		return r.s.first
	}
	return r.s.mid
}

// step rewrites the words at i and returns how many words it has read.
func (r *resolver) step(i int) int {
	w := r.in[i]
	if w.quoted {
		r.out = append(r.out, w)
		r.due = false
		return 1
	}
	if n := r.self(i); n > 0 {
		return n
	}
	if r.due {
		if n := adverbialAt(r.in[i:]); n > 0 {
			r.out = append(r.out, r.in[i:i+n]...)
			return n
		}
		r.due = false
		if r.plural {
			r.chain = noChain
		} else {
			r.verb(w)
			r.last = i
			return 1
		}
	} else if r.goesOn(i) {
		r.put(w, singularVerbOf(w))
		r.chain, r.last = presentChain, i
		return 1
	}
	r.breaks(i)
	r.out = append(r.out, w)
	return 1
}

// self rewrites a word that means the speaker, with its verb if they are one word ("I'm").
func (r *resolver) self(i int) int {
	w := r.in[i]
	contracted := func(verb string, c chain) int {
		r.put(word{pre: w.pre}, r.separate(i))
		r.put(word{post: w.post}, verb)
		r.due, r.chain = false, c
		return 1
	}
	switch w.low {
	case "i":
		if romanNumeral(r.in, i) {
			return 0
		}
		return r.subject(i)
	case "i'm", "im":
		return contracted("is", presentChain)
	case "i've", "ive":
		return contracted("has", presentChain)
	case "i'll":
		return contracted("will", noChain)
	case "i'd":
		next := i + 1
		for next < len(r.in) && adverb(r.in[next].low) {
			next++
		}
		if next < len(r.in) && (r.in[next].low == "better" || r.in[next].low == "been" || participle(r.in[next].low)) {
			return contracted("had", pastChain)
		}
		return contracted("would", noChain)
	case "my":
		r.put(w, r.name()+"'s")
	case "me":
		r.put(w, r.name())
	case "myself":
		r.put(w, "themselves")
	case "mine":
		if i > 0 && !beforeMine.has(r.in[i-1].low) {
			return 0
		}
		r.put(w, r.name()+"'s")
	default:
		return 0
	}
	return 1
}

// separate returns the name to write at i. If the previous word is the name too, it inserts "that": "told me I am".
func (r *resolver) separate(i int) string {
	name := r.name()
	if n := len(r.out); n > 0 && r.out[n-1].core == name && r.out[n-1].post == "" {
		if i > 1 && r.in[i-1].low == "me" && tellers.has(r.in[i-2].low) {
			r.put(word{}, "that")
		} else {
			r.doubt = true
		}
	}
	return name
}

// subject rewrites "I" and the words between commas after it: "I, Noor, …", "I, for one, …".
func (r *resolver) subject(i int) int {
	w := r.in[i]
	r.plural = i > 0 && r.in[i-1].low == "and" && !clauseBefore(r.in[:i-1])
	r.together = r.together || r.plural
	r.put(w, r.separate(i))
	n := 1
	if w.post == "" && i+2 < len(r.in) && dash(r.in[i+1]) {
		for end := i + 2; end < len(r.in) && end <= i+7; end++ {
			if dash(r.in[end]) {
				r.out = append(r.out, r.in[i+1:end+1]...)
				n = end - i + 1
				break
			}
		}
	}
	if strings.Contains(w.post, ",") {
		for end := i + 1; end < len(r.in) && end <= i+6; end++ {
			if !strings.Contains(r.in[end].post, ",") {
				continue
			}
			last := &r.out[len(r.out)-1]
			if inserted := r.in[i+1 : end+1]; sameName(coreText(inserted), r.s.name) {
				last.post = ""
			} else {
				r.out = append(r.out, inserted...)
			}
			n, w.post = end-i+1, ""
			break
		}
	}
	r.due = !w.ends()
	if i > 0 && inverting.has(r.in[i-1].low) && (i == 1 || !capital(r.in[i-1].core)) { // not the month of May
		r.due = false
		_, present := thirdPerson(r.in[i-1].core, r.in[i-1].low)
		r.doubt = r.doubt || present || r.in[i-1].low == "don't" // "nor do I"
	}
	r.chain = noChain
	return n
}

// verb changes the verb of "I" to the third person.
func (r *resolver) verb(w word) {
	switch {
	case unchanging.has(w.low):
		if r.habitual {
			r.put(w, singularForm(w.core))
			r.chain = presentChain
			return
		}
		r.chain = pastChain
	case w.low == "had" || w.low == "was" || w.low == "wasn't" || pastTense(w.low):
		r.chain = pastChain
	case modals.has(w.low):
		r.chain = noChain
	default:
		form, present := thirdPerson(w.core, w.low)
		r.chain = butChain
		if present {
			r.chain = presentChain
		}
		r.put(w, form)
		return
	}
	r.out = append(r.out, w)
}

// goesOn reports whether the verb at i follows "and" or a comma and still has the speaker as its subject.
func (r *resolver) goesOn(i int) bool {
	if r.chain == noChain || i == 0 {
		return false
	}
	before := i - 1
	for before > 0 && adverb(r.in[before].low) && r.in[before].post == "" {
		before--
	}
	joint := r.in[before]
	bare := r.last == before || r.last == before-1 && joiningWords.has(joint.low) // "I sing and dance"
	if !coordinated(r.in[i:], bare) {
		return false
	}
	low := r.in[i].low
	switch {
	case r.chain == butChain:
		return joint.low == "but"
	case joiningWords.has(joint.low):
	case strings.HasSuffix(joint.post, ","):
		if !r.listGoesOn(i, bare) {
			return false
		}
	default:
		return false
	}
	switch r.chain {
	case clauseChain:
		r.doubt = r.doubt || !nounVerbs.has(low)
		return false
	case pastChain:
		return !unchanging.has(low) && (!nounVerbs.has(low) || low == "work")
	}
	return true
}

// coordinated reports whether ws seems to start with a verb in its base form. Directly after another verb (bare), any
// word that may be a verb counts as one.
func coordinated(ws []word, bare bool) bool {
	switch low := ws[0].low; {
	case low == "am" || low == "don't" || low == "dont" || low == "haven't":
		return true
	case ws[0].core != low || !verbs.has(low):
		return false
	case nounVerbs.has(low) && !bare:
		return complementNext(ws)
	}
	return true
}

// listGoesOn reports whether another verb follows the one at i after "and": "I sing, dance, and act".
func (r *resolver) listGoesOn(i int, bare bool) bool {
	for k := i + 1; k+1 < len(r.in); k++ {
		switch low := r.in[k].low; {
		case low == "and" || low == "or" || low == "but":
			next := k + 1
			for next+1 < len(r.in) && adverb(r.in[next].low) {
				next++
			}
			return coordinated(r.in[next:], bare)
		case newSubject.has(low) || firstPerson(low):
			return false
		}
	}
	return false
}

// breaks ends the chain if another subject or an infinitive begins at i.
func (r *resolver) breaks(i int) {
	if r.chain == noChain {
		return
	}
	low := r.in[i].low
	switch {
	case low == "to" && i+1 < len(r.in) && verbs.has(r.in[i+1].low):
		if !(i > 0 && motion.has(r.in[i-1].low) && nounVerbs.has(r.in[i+1].low)) {
			r.chain = noChain // "wants to sing and write songs"
		}
	case newSubject.has(low):
		r.chain = clauseChain // "people who sing and write songs"
	case low == "and" || low == "but" || strings.HasSuffix(r.in[i].post, ","):
		if r.newClause(i + 1) {
			r.chain = noChain
		}
	case verbs.has(low) && !nounVerbs.has(low):
		for k := len(r.out) - 1; k > 0 && k >= len(r.out)-5; k-- {
			if causatives.has(r.out[k].low) {
				r.chain = clauseChain // "lets the kids choose and buy"
			}
		}
	}
}

// newClause reports whether a subject and its verb begin at i: "and my parents live in Braga".
func (r *resolver) newClause(i int) bool {
	if i < len(r.in) && (r.in[i].low == "and" || r.in[i].low == "but" || r.in[i].low == "or") {
		i++
	}
	if i < len(r.in) && (coordinated(r.in[i:], false) || verbs.has(r.in[i].low) || adverb(r.in[i].low)) {
		return false
	}
	for k := i + 1; k < len(r.in) && k <= i+4; k++ {
		low := r.in[k].low
		if low == "and" || low == "or" || r.in[k-1].ends() || low == "to" {
			return false
		}
		if auxiliaries.has(low) || (singularVerb(low) || verbs.has(low)) &&
			!nounVerbs.has(strings.TrimSuffix(low, "s")) {
			return true
		}
	}
	return false
}

// joinTogether replaces "we" by "they" if "Ana and I" said who they are.
func (r *resolver) joinTogether() {
	if !r.together {
		return
	}
	for _, w := range r.in {
		if thirdPlural.has(w.low) {
			return
		}
	}
	for i, w := range r.out {
		if they, ok := wePronouns[w.low]; ok && !w.quoted && w.core != "US" {
			if capital(w.core) && i > 0 && r.out[i-1].ends() {
				they = capitalize(they)
			}
			r.out[i].core, r.out[i].low = they, they
		}
	}
}

// consistent reports whether no word of the first person is left outside quotes, and no name is repeated for the same
// person.
func (r *resolver) consistent() bool {
	for i, w := range r.out {
		if w.quoted {
			continue
		}
		if selfWords.has(w.low) && w.low != "mine" && !(w.low == "i" && romanNumeral(r.out, i)) {
			return false
		}
		if wePronouns[w.low] != "" && w.core != "US" {
			return false
		}
		if w.core == "am" && !(i > 0 && hasDigit(r.out[i-1].low)) {
			return false
		}
		if w.core != r.s.first && w.core != r.s.mid {
			continue
		}
		for k := i + 1; k < len(r.out) && k <= i+2; k++ {
			other, owner := stripPossessive(r.out[k].core)
			if other != r.s.first && other != r.s.mid {
				continue
			}
			if k == i+1 && (w.post == "" || !owner) || k == i+2 && !owner && doublers.has(r.out[i+1].low) {
				return false
			}
		}
	}
	return true
}

var (
	selfWords    = set("i i'm im i've ive i'll i'd my me myself mine")
	joiningWords = set("and or but nor then")
	doublers     = set("and is or")
	tellers      = set("told tells tell telling reminded reminds informed assured promised")

	// wePronouns are the pronouns of the first person plural, with those of the third.
	wePronouns = map[string]string{
		"we": "they", "we're": "they're", "we've": "they've", "we'll": "they'll", "we'd": "they'd",
		"our": "their", "ours": "theirs", "us": "them", "ourselves": "themselves",
	}
	thirdPlural = set("they they're they've they'll they'd them their theirs")

	numbered = set(`war part phase type chapter class section volume stage tier act grade level
		appendix title`)
	inverting = set(`do did does am was have had can could will would shall should may might must nor
		don't didn't can't`)
	beforeMine = set("of is was are were than like")

	newSubject = set(`you we they he she it that how who which what when while because if where whose`)
)

// singularVerbOf is the form of a coordinated verb that goes with a name.
func singularVerbOf(w word) string {
	if w.low == "don't" || w.low == "dont" || w.low == "haven't" {
		form, _ := thirdPerson(w.core, w.low)
		return form
	}
	return singularForm(w.core)
}

// clauseBefore reports whether ws, the words before "and", have a verb. Then "and I" begins a new clause instead of
// joining two subjects.
func clauseBefore(ws []word) bool {
	if len(ws) == 0 {
		return true // "And I …"
	}
	if ws[len(ws)-1].ends() || len(ws) > 4 {
		return true
	}
	for i, w := range ws {
		base := strings.TrimSuffix(w.low, "s")
		if selfWords.has(w.low) && w.low != "my" && w.low != "me" || copulas.has(w.low) || modals.has(w.low) ||
			pastTense(w.low) || i > 0 && verbs.has(base) && !nounVerbs.has(base) {
			return true
		}
	}
	return false
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
