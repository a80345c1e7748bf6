package frame

import (
	"cmp"
	"slices"
	"strings"
)

// findValues finds the values of the statement: words with the form of a value, names or, if there are none, the words
// after the verb.
func (r *reader) findValues() {
	for _, v := range typedValues(r.ts) {
		if r.taken[v.from] || v.from < r.verb && r.verb < len(r.ts) || r.modifies(v) {
			continue
		}
		r.addValue(v)
	}
	r.productVersions()
	r.noneLeft()
	inverted := r.invert()
	if !inverted {
		r.names()
	}
	if len(r.values) == 0 {
		r.tail()
	}
	r.dropAdverbialDates()
}

// noneLeft reads a statement without a verb: "No sugar in my coffee any more".
func (r *reader) noneLeft() {
	if r.verb < len(r.ts) || len(r.ts) < 3 || r.ts[0].low != "no" || !r.ended && r.ts[1].low != "more" {
		return
	}
	if v, ok := r.value(1, r.nounPhrase(1)); ok {
		r.ended, r.negated, r.cue = true, true, cueChange
		r.addValue(v)
	}
}

// modifies reports whether a date or a time belongs to the word after it: "the Q3 budget".
func (r *reader) modifies(v Value) bool {
	if v.Kind != KindDate && v.Kind != KindTime || v.from == 0 || v.to >= len(r.ts) || r.ts[v.to-1].end != 0 {
		return false
	}
	next := r.ts[v.to]
	prev := r.ts[v.from-1]
	return (articles[prev.low] || possessives[prev.low] || prev.poss) && isContent(next) && !isVerb(next)
}

func (r *reader) addValue(v Value) {
	r.values = append(r.values, v)
	r.take(v.from, v.to)
}

// productVersions joins a name with the number after it: "Postgres 16", "Go 1.25".
func (r *reader) productVersions() {
	for i := range r.values {
		v := &r.values[i]
		if v.Kind != KindNumber && v.Kind != KindVersion || v.from == 0 {
			continue
		}
		p := v.from - 1
		if t := r.ts[p]; p > r.verb && t.end == 0 && !r.taken[p] && (t.cap || categories[t.low] != "") && !t.poss &&
			month(t) == 0 {
			v.Kind, v.Text, v.from = KindVersion, t.text+" "+v.Text, p
			v.category = t.low // versions of one product exclude each other
			r.taken[p] = true
		}
	}
}

// names takes the capitalised words and known products after the verb as values.
func (r *reader) names() {
	start := r.verb + 1
	if r.verb >= len(r.ts) {
		start = 0
		for i, t := range r.ts {
			if t.end == ':' || t.end == '–' || t.low == "now" {
				start = i + 1
				break
			}
		}
		if start == 0 {
			return
		}
	}
	for i := start; i < len(r.ts); {
		if r.taken[i] || !r.nameLike(i) {
			i++
			continue
		}
		j := i + 1
		for j < len(r.ts) && !r.taken[j] && r.ts[j-1].end == 0 && !r.ts[j-1].poss && r.nameLike(j) {
			j++
		}
		if r.ts[j-1].poss {
			i = j // an owner: part of the topic
			continue
		}
		if v, ok := r.value(i, j); ok {
			if v.Kind == KindTerm {
				v.Kind = KindName
			}
			r.addValue(v)
		}
		i = j
	}
}

// everyday has names of products that are common words, too. They are names only with a capital.
var everyday = words("fish mint arch bamboo drone")

func (r *reader) nameLike(i int) bool {
	t := r.ts[i]
	if r.speaker != "" && t.low == r.speaker || t.low == "i" {
		return false
	}
	if c := categories[t.low]; c != "" && categoryIsName(c) && !lightVerbs[t.stem] &&
		(t.cap || !everyday[t.low] && concepts[t.stem] == nil && !plainVerbs[t.stem]) {
		return true
	}
	if t.cap && (month(t) > 0 || weekdays[t.low] > 0 || i == 0) || quarterPattern.MatchString(t.low) {
		return false
	}
	return t.cap && !selfWords[t.low] || isIdentifier(t.text)
}

// invert reads statements whose subject is the value: "Priya is on call", "Tom is my manager",
// "Dana owns the ledger", "Jenkins is our CI", "Priya took over on-call from Marek".
func (r *reader) invert() bool {
	main := r.main()
	if r.verb <= 0 || r.verb >= len(r.ts) {
		return false
	}
	end := r.verb
	for end > 0 && (isAux(r.ts[end-1]) || fillers[r.ts[end-1].low] || nowCues[r.ts[end-1].low] ||
		r.ts[end-1].low == "nolonger") {
		end--
	}
	if end == 0 || r.taken[0] {
		return false
	}
	person := r.personSubject(end)
	rest := r.ts[r.verb+1:]
	skip := 0
	for skip < len(rest) && (fillers[rest[skip].low] || nowCues[rest[skip].low] || rest[skip].low == "not") {
		skip++
	}
	rest = rest[skip:]
	if main.low == "handover" || main.stem == "hand" || main.stem == stemOf("pass") {
		r.holder = true
		return false // the new value follows "to"
	}
	took := main.low == "takeover" || main.stem == stemOf("replace") && !r.copular &&
		!slices.ContainsFunc(rest, func(t token) bool { return t.is("with", "by", "for") }) ||
		main.stem == stemOf("succeed") || main.stem == stemOf("become") && person && len(rest) > 0 &&
		(articles[rest[0].low] && rest[0].low == "the" || possessives[rest[0].low])
	took = took || startVerbs[main.stem] && person && len(rest) > 1 && rest[0].low == "as" &&
		(possessives[rest[1].low] || rest[1].low == "the") // "Rosa started as my cleaner"
	holds := main.low == "oncall"
	if len(rest) > 0 {
		possessed := possessives[rest[0].low] || rest[0].low == "the" || rest[0].poss
		switch {
		case main.is("lookafter", "reportto"):
			holds = main.low == "lookafter" && person // in "I report to Priya", the value is Priya
		case isBe(main) && rest[0].low == "oncall":
			holds = true
		case isBe(main) && possessed && person && !r.isSelf(0, end):
			holds = true
		case isBe(main) && rest[0].low == "in" && len(rest) > 1 && rest[1].stem == stemOf("charge"):
			holds = true
		case hasConcept(main.stem, holderConcepts) && person &&
			(possessed || rest[0].cap || len(rest) > 1 || pronouns[rest[0].low]) && rest[0].low != "a" &&
			rest[0].low != "an" && !prepositions[rest[0].low]:
			holds = true
		case main.low == "does" && person && !r.isSelf(0, end) && len(rest) > 1 && possessed:
			holds = true // "Dario does the testing"
		}
	}
	if !took && !holds {
		return false
	}
	if !person {
		return false
	}
	var v Value
	if r.isSelf(0, end) {
		key := SelfTerm
		if teamWords[r.ts[0].low] {
			key = TeamTerm
		} else if r.speaker != "" {
			key = r.speaker
		}
		v = Value{Kind: KindName, Text: r.ts[0].text, key: key, from: 0, to: end}
	} else {
		var ok bool
		if v, ok = r.value(0, end); !ok {
			return false
		}
		v.Kind = KindName
	}
	r.holder = true
	r.addValue(v)
	return true
}

// personSubject reports whether the subject is only a name, or the speaker.
func (r *reader) personSubject(end int) bool {
	if r.isSelf(0, end) {
		return selfWords[r.ts[0].low] || teamWords[r.ts[0].low]
	}
	if end > 4 {
		return false
	}
	for i, t := range r.ts[:end] {
		if t.poss || !(t.cap || isIdentifier(t.text) || t.low == "and" || categories[t.low] != "") ||
			articles[t.low] || possessives[t.low] || pronouns[t.low] {
			return false
		}
		if i == 0 && (concepts[t.stem] != nil || verbLike(t)) && categories[t.low] == "" {
			return false // "Standup", "Deployment"
		}
	}
	return true
}

func verbLike(t token) bool { return lightVerbs[t.stem] || auxiliaries[t.low] }

func hasConcept(stem string, set wordSet) bool {
	return slices.ContainsFunc(concepts[stem], func(c string) bool { return set[c] })
}

// tail takes the words after the verb as the value, if no value was found by its form or name.
func (r *reader) tail() {
	if r.verb >= len(r.ts) {
		for i, t := range r.ts {
			if (t.end == ':' || t.end == '–') && i+1 < len(r.ts) {
				if v, ok := r.value(i+1, r.nounPhrase(i+1)); ok {
					r.addValue(v)
				}
				return
			}
		}
		return
	}
	if main := r.main(); r.copular && opposites[main.stem] != "" {
		r.addValue(Value{Kind: KindTerm, Text: main.text, key: main.stem, from: r.verb, to: r.verb + 1})
		return
	}
	from := r.verb + 1
	to := -1
	if r.cue == cueChange { // find the new value
		for i := from; i < len(r.ts); i++ {
			if l := r.ts[i].low; (l == "to" || l == "into" || l == "with" || l == "for" || l == "infavor" ||
				l == "onto" || l == "by") && !r.taken[i] && i+1 < len(r.ts) &&
				!(l == "to" && lightVerbs[r.ts[i-1].stem] && isVerb(r.ts[i+1])) { // "want to study law"
				to = i
				break
			}
		}
		if to >= 0 {
			from = to + 1
		}
	}
	for from < len(r.ts) && (r.taken[from] || isAux(r.ts[from]) || fillers[r.ts[from].low] ||
		nowCues[r.ts[from].low] || prepositions[r.ts[from].low] ||
		negations[r.ts[from].low] || r.ts[from].low == "to" ||
		from > r.verb && to < 0 && isVerb(r.ts[from]) && r.ts[from].stem != stemOf("test")) {
		if articles[r.ts[from].low] {
			break
		}
		from++
	}
	if from >= len(r.ts) {
		return
	}
	end := r.nounPhrase(from)
	if to < 0 && changeVerbs[r.main().stem] && !r.copular {
		return // an object without "to": the topic
	}
	if v, ok := r.value(from, end); ok {
		r.addValue(v)
	}
}

// dropAdverbialDates keeps only the first value: a date, or a value to which the later dates only add a time.
func (r *reader) dropAdverbialDates() {
	if len(r.values) < 2 {
		return
	}
	times := func(v Value) bool { return v.Kind == KindDate || v.Kind == KindTime || v.Kind == KindDuration }
	slices.SortStableFunc(r.values, func(a, b Value) int { return a.from - b.from })
	start := r.values[0].from
	r.values = slices.DeleteFunc(r.values, func(v Value) bool { return v.Kind == KindOften && v.from > start })
	first := times(r.values[0])
	if head := r.values[0]; head.Kind != KindName && head.Kind != KindTerm { // "v1.2.4 for Windows": a condition
		r.values = slices.DeleteFunc(r.values, func(v Value) bool {
			qualifies := (v.Kind == KindName || v.Kind == KindTerm) && v.from > head.to &&
				prepositions[r.ts[v.from-1].low]
			if qualifies {
				for i := v.from; i < v.to; i++ {
					r.taken[i] = false
				}
			}
			return qualifies
		})
	}
	clock := r.values[0].Kind == KindTime
	r.values = slices.DeleteFunc(r.values, func(v Value) bool {
		if clock && v.Kind == KindDate && v.from > 0 && r.ts[v.from-1].low == "on" { // "at 9 on Mondays"
			r.condition = append(r.condition, v.key)
			return true
		}
		return times(v) != first
	})
}

// findTopic collects the topic: the subject's words and the other content words.
func (r *reader) findTopic() {
	main := r.main()
	actor := r.verb
	for actor > 0 && actor < len(r.ts) && (isAux(r.ts[actor-1]) || fillers[r.ts[actor-1].low] ||
		nowCues[r.ts[actor-1].low] || negations[r.ts[actor-1].low] || r.ts[actor-1].low == "nolonger") {
		actor--
	}
	agent := r.agent(actor, main)
	if agent {
		r.actor = r.actorKey(actor)
	}
	r.subjectless = actor == 0 || r.verb >= len(r.ts)
	if first := r.ts[0].low; actor > 0 && !agent && !r.taken[0] {
		switch first {
		case "he", "she", "it", "they", "his", "her", "its", "their":
			r.byPronoun, r.unresolved = true, true
		}
	}
	aside := false // after a comma that follows the verb
	for i, t := range r.ts {
		subject := i < actor && r.verb < len(r.ts)
		switch {
		case aside && !isVerb(main):
		case r.taken[i], aside:
		case subject && t.is("before", "after", "without"):
			r.condition = append(r.condition, t.low)
		case i > r.verb && environments[t.stem] && prepositions[r.ts[i-1].low]:
			r.condition = append(r.condition, t.stem)
		case subject && agent:
		case selfWords[t.low]:
			r.addTerm(subject, cmp.Or(r.speaker, SelfTerm))
		case t.low == "user" && (i == 0 || r.ts[i-1].low == "the"):
			r.addTerm(subject, SelfTerm)
		case teamWords[t.low] || t.low == "our":
			r.addTerm(subject, TeamTerm)
		case t.low == "my":
			r.addTerm(subject || agent && i == r.verb+1, cmp.Or(r.speaker, SelfTerm))
		case !isContent(t) && !(t.cap && i > 0 && lightVerbs[t.stem]) &&
			!(concepts[t.stem] != nil && !auxiliaries[t.low] && !prepositions[t.low] && !fillers[t.low]):
		case t.stem == r.mover && i >= actor:
		case (changeVerbs[t.stem] || endVerbs[t.stem] && concepts[t.stem] == nil && !endsAt(r.ts, i)) &&
			i >= actor && i <= r.verb+1:
		case i >= actor && isMarker(t):
		case i == r.verb && t.is("starts", "begins", "start", "begin") && r.isWhen():
		case isAdverb(t):
		default:
			for w := range strings.FieldsSeq(t.stem) {
				r.addTerm(subject, w)
			}
			r.said = append(r.said, t.text)
		}
		if t.end == ',' && i > r.verb && len(r.values) > 0 {
			aside = true
		}
	}
	if actor > 0 && actor < len(r.ts) && !agent && r.verb < len(r.ts) {
		r.bareName = r.personSubject(actor) && !r.isSelf(0, actor)
	}
	r.findOwner(actor, agent)
	r.implied(main)
	for _, v := range r.values {
		if v.category != "" && v.Kind != KindVersion {
			r.addTerm(false, "@"+v.category)
		} else if words := strings.Fields(v.key); len(words) > 1 && v.Kind == KindName {
			for _, c := range concepts[words[len(words)-1]] { // "Lindenhof School"
				r.addTerm(false, "@"+c)
			}
		}
	}
	if r.sentiment > 0 && slices.ContainsFunc(r.ts, func(t token) bool { return t.is("best", "most") }) {
		r.addTerm(false, stemOf("favorite"))
	}
}

// actorKey returns the name of the person who makes a change.
func (r *reader) actorKey(actor int) string {
	switch low := r.ts[0].low; {
	case teamWords[low]:
		return TeamTerm
	case selfWords[low]:
		return cmp.Or(r.speaker, SelfTerm)
	case pronouns[low]:
		return "they"
	case actor == 1:
		return r.ts[0].stem
	}
	return ""
}

// implied adds the attribute that a verb or a value implies to the topic.
func (r *reader) implied(main token) {
	person := len(r.subject) > 0
	switch {
	case main.stem == stemOf("join"), main.stem == stemOf("start") && r.followed("at") ||
		main.stem == stemOf("start") && r.followed("with"):
		if len(r.values) > 0 && r.values[0].Kind != KindName && r.values[0].Kind != KindTerm {
			return // "the lesson starts at four"
		}
		r.topic = append(r.topic, stemOf("employer"))
	case main.stem == stemOf("move") && person && len(r.values) > 0 && r.values[0].Kind == KindName &&
		r.values[0].category == "" && r.moversOnly():
		r.topic = append(r.topic, stemOf("home"))
	}
}

// isWhen reports whether the first value is a date or a time, so that "starts" says no more than "is".
func (r *reader) isWhen() bool {
	return len(r.values) > 0 && (r.values[0].Kind == KindDate || r.values[0].Kind == KindTime)
}

// moversOnly reports whether the statement names only people who move, which means that they move home.
func (r *reader) moversOnly() bool {
	return !r.copular && !slices.ContainsFunc(r.topic, func(t string) bool {
		return !slices.Contains(r.owner, t) && t != SelfTerm && t != TeamTerm &&
			!(r.kin && slices.Contains(r.subject, t)) // "my sister"
	})
}

func (r *reader) followed(low string) bool {
	return r.verb+1 < len(r.ts) && r.ts[r.verb+1].low == low
}

// isAdverb reports whether a word is an adverb of manner, which does not tell the topic: "directly".
func isAdverb(t token) bool {
	return len(t.low) > 5 && strings.HasSuffix(t.low, "ly") && !t.cap && concepts[t.stem] == nil &&
		categories[t.low] == "" && opposites[t.stem] == "" && !nounsInLy[t.low]
}

var nounsInLy = words("family supply reply assembly butterfly jelly belly bully anomaly monopoly monthly weekly daily")

func isMarker(t token) bool {
	return t.is("anymore", "nolonger", "usedto", "insteadof", "ratherthan", "back") ||
		oldMarkers[t.low] || correctionCues[t.low]
}

// agent reports whether the subject only makes a change to something else: "We moved the standup to 10".
func (r *reader) agent(actor int, main token) bool {
	if actor == 0 || actor >= len(r.ts) || r.copular || r.holder {
		return false
	}
	doer := r.isSelf(0, actor) || actor == 1 && r.ts[0].cap && concepts[r.ts[0].stem] == nil
	if !doer || !(changeVerbs[main.stem] || endVerbs[main.stem] || starts(main) || main.stem == r.mover) {
		return false
	}
	if r.verb+1 >= len(r.ts) {
		return false
	}
	if !changeVerbs[main.stem] && !endVerbs[main.stem] && main.stem != r.mover && main.low != "takeover" &&
		strings.HasSuffix(main.text, "s") {
		return false // "Zelda takes the tram": a habit has its subject
	}
	next := r.ts[r.verb+1]
	// An object follows, which is not a value: "the standup", "my phone number".
	if prepositions[next.low] || r.taken[r.verb+1] || nowCues[next.low] {
		return false
	}
	if strings.HasSuffix(next.low, "ing") && !articles[next.low] && concepts[next.stem] == nil ||
		endVerbs[main.stem] && strings.HasSuffix(next.low, "ing") {
		return false
	}
	return articles[next.low] || possessives[next.low] || isContent(next) && !next.cap
}

func (r *reader) addTerm(subject bool, term string) {
	if term == "" || slices.Contains(r.topic, term) {
		return
	}
	r.topic = append(r.topic, term)
	if subject {
		r.subject = append(r.subject, term)
	}
}
