package frame

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
)

// findValues finds the values of the statement: words with the form of a value, names or, if there are none, the words
// after the verb.
func (r *reader) findValues() {
	for _, v := range TypedValues(r.ts) {
		if r.taken[v.From] || v.From < r.verb && r.verb < len(r.ts) || r.modifies(v) || r.isDifference(v) {
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
	if len(r.Values) == 0 {
		r.tail()
	}
	r.dropExamples()
	r.dropAdverbialDates()
}

// dropExamples drops the values after "like" or "such as", which are examples: "my accounts, like Netflix".
func (r *reader) dropExamples() {
	for i := r.verb + 2; i < len(r.ts); i++ {
		prev := r.ts[i-1]
		if !r.ts[i].Is("like", "including") && !(r.ts[i].Low == "as" && prev.Low == "such") ||
			english.IsVerb(prev) || english.IsAux(prev) || english.Negations[prev.Low] || prev.Low == "to" {
			continue
		}
		r.Values = slices.DeleteFunc(r.Values, func(v Value) bool { return v.From > i })
		return
	}
}

// isDifference reports whether a value is the size of a change: "reduced the costs by 40%".
func (r *reader) isDifference(v Value) bool {
	return v.Kind != KindDate && v.Kind != KindTime && v.From > r.verb && r.ts[v.From-1].Low == "by" &&
		english.ChangeVerbs[r.main().Stem]
}

// sizeOfChange reports whether the token at i is "by" before the size of a change.
func (r *reader) sizeOfChange(i int) bool {
	if r.ts[i].Low != "by" || i+1 >= len(r.ts) {
		return false
	}
	v, n := typedAt(r.ts, i+1)
	v.From = i + 1
	return n > 0 && r.isDifference(v)
}

// noneLeft reads a statement without a verb: "No sugar in my coffee any more".
func (r *reader) noneLeft() {
	if r.verb < len(r.ts) || len(r.ts) < 3 || r.ts[0].Low != "no" || !r.Ended && r.ts[1].Low != "more" {
		return
	}
	if v, ok := r.value(1, r.nounPhrase(1)); ok {
		r.Ended, r.Negated, r.Cue = true, true, CueChange
		r.addValue(v)
	}
}

// modifies reports whether a date or a time belongs to the word after it: "the Q3 budget".
func (r *reader) modifies(v Value) bool {
	if v.Kind != KindDate && v.Kind != KindTime || v.From == 0 || v.To >= len(r.ts) || r.ts[v.To-1].End != 0 {
		return false
	}
	next := r.ts[v.To]
	prev := r.ts[v.From-1]
	return (english.Articles[prev.Low] || english.Possessives[prev.Low] || prev.Poss) && english.IsContent(next) &&
		!english.IsVerb(next)
}

func (r *reader) addValue(v Value) {
	r.Values = append(r.Values, v)
	r.take(v.From, v.To)
}

// productVersions joins a name with the number after it: "Postgres 16", "Go 1.25".
func (r *reader) productVersions() {
	for i := range r.Values {
		v := &r.Values[i]
		if v.Kind != KindNumber && v.Kind != KindVersion || v.From == 0 {
			continue
		}
		p := v.From - 1
		if t := r.ts[p]; p > r.verb && t.End == 0 && !r.taken[p] && (t.Cap || english.Categories[t.Low] != "") &&
			!t.Poss &&
			Month(t) == 0 {
			v.Kind, v.Text, v.From = KindVersion, t.Text+" "+v.Text, p
			v.Category = t.Low // versions of one product exclude each other
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
			if t.End == ':' || t.End == '–' || t.Low == "now" {
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
		for j < len(r.ts) && !r.taken[j] && r.ts[j-1].End == 0 && !r.ts[j-1].Poss && r.nameLike(j) {
			j++
		}
		if r.ts[j-1].Poss {
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
var everyday = english.Words("fish mint arch bamboo drone")

func (r *reader) nameLike(i int) bool {
	t := r.ts[i]
	if r.Speaker != "" && english.StemOf(t.Low) == r.Speaker || t.Low == "i" || r.ofSubject(t) {
		return false
	}
	if c := english.Categories[t.Low]; c != "" && categoryIsName(c) && !english.LightVerbs[t.Stem] &&
		(t.Cap || !everyday[t.Low] && english.Concepts[t.Stem] == nil && !english.PlainVerbs[t.Stem]) {
		return true
	}
	if t.Cap && (Month(t) > 0 || english.Weekdays[t.Low] > 0 || i == 0) || quarterPattern.MatchString(t.Low) {
		return false
	}
	return t.Cap && !english.SelfWords[t.Low] || isIdentifier(t.Text)
}

// ofSubject reports whether a word after the verb names the subject again: "Ines is working on what Ines likes".
func (r *reader) ofSubject(t english.Token) bool {
	speaker := r.Speaker != "" && english.StemOf(t.Low) == r.Speaker
	return r.verb < len(r.ts) && (t.Cap || speaker) && slices.ContainsFunc(r.ts[:r.verb], func(o english.Token) bool {
		return t.Cap && o.Cap && o.Low == t.Low || speaker && (english.SelfWords[o.Low] || o.Low == "my")
	})
}

// invert reads statements whose subject is the value: "Priya is on call", "Tom is my manager",
// "Dana owns the ledger", "Jenkins is our CI", "Priya took over on-call from Marek".
func (r *reader) invert() bool {
	main := r.main()
	if r.verb <= 0 || r.verb >= len(r.ts) {
		return false
	}
	end := r.verb
	for end > 0 && (english.IsAux(r.ts[end-1]) || english.Fillers[r.ts[end-1].Low] ||
		english.NowCues[r.ts[end-1].Low] ||
		r.ts[end-1].Low == "nolonger") {
		end--
	}
	if end == 0 || r.taken[0] {
		return false
	}
	person := r.personSubject(end)
	rest := r.ts[r.verb+1:]
	skip := 0
	for skip < len(rest) && (english.Fillers[rest[skip].Low] || english.NowCues[rest[skip].Low] ||
		rest[skip].Low == "not") {
		skip++
	}
	rest = rest[skip:]
	if main.Low == "handover" || main.Stem == "hand" || main.Stem == english.StemOf("pass") {
		r.Holder = true
		return false // the new value follows "to"
	}
	took := main.Low == "takeover" || main.Stem == english.StemOf("replace") && !r.Copular &&
		!slices.ContainsFunc(rest, func(t english.Token) bool { return t.Is("with", "by", "for") }) ||
		main.Stem == english.StemOf("succeed") || main.Stem == english.StemOf("become") && person && len(rest) > 0 &&
		(english.Articles[rest[0].Low] && rest[0].Low == "the" || english.Possessives[rest[0].Low])
	took = took || english.StartVerbs[main.Stem] && person && len(rest) > 1 && rest[0].Low == "as" &&
		(english.Possessives[rest[1].Low] || rest[1].Low == "the") // "Rosa started as my cleaner"
	holds := main.Low == "oncall"
	if len(rest) > 0 {
		possessed := english.Possessives[rest[0].Low] || rest[0].Low == "the" || rest[0].Poss
		switch {
		case main.Is("lookafter", "reportto"):
			holds = main.Low == "lookafter" && person // in "I report to Priya", the value is Priya
		case english.IsBe(main) && rest[0].Low == "oncall":
			holds = true
		case english.IsBe(main) && possessed && person && !r.isSelf(0, end):
			holds = true
		case english.IsBe(main) && rest[0].Low == "in" && len(rest) > 1 && rest[1].Stem == english.StemOf("charge"):
			holds = true
		case english.HasConcept(main.Stem, english.HolderConcepts) && person &&
			(possessed || rest[0].Cap || len(rest) > 1 || english.Pronouns[rest[0].Low]) && rest[0].Low != "a" &&
			rest[0].Low != "an" && !english.Prepositions[rest[0].Low]:
			holds = true
		case main.Low == "does" && person && !r.isSelf(0, end) && len(rest) > 1 && possessed:
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
		key := english.SelfTerm
		if english.TeamWords[r.ts[0].Low] {
			key = english.TeamTerm
		} else if r.Speaker != "" {
			key = r.Speaker
		}
		v = Value{Kind: KindName, Text: r.ts[0].Text, Key: key, From: 0, To: end}
	} else {
		var ok bool
		if v, ok = r.value(0, end); !ok {
			return false
		}
		v.Kind = KindName
	}
	r.Holder = true
	r.addValue(v)
	return true
}

// personSubject reports whether the subject is only a name, or the speaker.
func (r *reader) personSubject(end int) bool {
	if r.isSelf(0, end) {
		return english.SelfWords[r.ts[0].Low] || english.TeamWords[r.ts[0].Low]
	}
	if end > 4 {
		return false
	}
	for i, t := range r.ts[:end] {
		if t.Poss || !(t.Cap || isIdentifier(t.Text) || t.Low == "and" || english.Categories[t.Low] != "") ||
			english.Articles[t.Low] || english.Possessives[t.Low] || english.Pronouns[t.Low] {
			return false
		}
		if i == 0 && (english.Concepts[t.Stem] != nil || verbLike(t)) && english.Categories[t.Low] == "" {
			return false // "Standup", "Deployment"
		}
	}
	return true
}

// isScheduled reports whether the statement says of a single word only when it is: "Yoga is on Tuesdays", "Yoga was
// moved to 5 pm". The word is a thing, although it has the form of a name where it begins the sentence.
func (r *reader) isScheduled() bool {
	if len(r.Values) == 0 || r.Values[0].Kind != KindDate && r.Values[0].Kind != KindTime {
		return false
	}
	between := r.Values[0].From - r.verb - 1 // at most a preposition
	switch {
	case between < 0 || between > 1 || between == 1 && !english.Prepositions[r.ts[r.verb+1].Low]:
		return false
	case english.IsBe(r.main()):
		return r.verb == 1
	}
	return r.verb == 2 && (english.IsBe(r.ts[1]) || r.ts[1].Stem == "get")
}

func verbLike(t english.Token) bool { return english.LightVerbs[t.Stem] || english.Auxiliaries[t.Low] }

// tail takes the words after the verb as the value, if no value was found by its form or name.
func (r *reader) tail() {
	if r.verb >= len(r.ts) {
		for i, t := range r.ts {
			if (t.End == ':' || t.End == '–') && i+1 < len(r.ts) {
				if v, ok := r.value(i+1, r.nounPhrase(i+1)); ok {
					r.addValue(v)
				}
				return
			}
		}
		return
	}
	if main := r.main(); r.Copular && english.Opposites[main.Stem] != "" && !r.undergoes(r.verb) {
		r.addValue(Value{Kind: KindTerm, Text: main.Text, Key: main.Stem, From: r.verb, To: r.verb + 1})
		return
	}
	from := r.verb + 1
	to := -1
	if r.Cue == CueChange { // find the new value
		for i := from; i < len(r.ts); i++ {
			if r.sizeOfChange(i) {
				continue
			}
			if l := r.ts[i].Low; (l == "to" || l == "into" || l == "with" || l == "for" || l == "infavor" ||
				l == "onto" || l == "by") && !r.taken[i] && i+1 < len(r.ts) &&
				!(l == "to" && english.LightVerbs[r.ts[i-1].Stem] && english.IsVerb(r.ts[i+1])) { // "want to study law"
				to = i
				break
			}
		}
		if to >= 0 {
			from = to + 1
		}
	}
	for from < len(r.ts) && (r.taken[from] || english.IsAux(r.ts[from]) || english.Fillers[r.ts[from].Low] ||
		english.NowCues[r.ts[from].Low] || english.Prepositions[r.ts[from].Low] ||
		english.Negations[r.ts[from].Low] || r.ts[from].Low == "to" ||
		from > r.verb && to < 0 && english.IsVerb(r.ts[from]) && r.ts[from].Stem != english.StemOf("test")) {
		if english.Articles[r.ts[from].Low] {
			break
		}
		from++
	}
	if from >= len(r.ts) {
		return
	}
	end := r.nounPhrase(from)
	if to < 0 && english.ChangeVerbs[r.main().Stem] && !r.Copular {
		return // an object without "to": the topic
	}
	if v, ok := r.value(from, end); ok {
		r.addValue(v)
	}
}

// dropAdverbialDates drops values that only say when, how often or under which condition the first value holds.
func (r *reader) dropAdverbialDates() {
	if len(r.Values) < 2 {
		return
	}
	times := func(v Value) bool { return v.Kind == KindDate || v.Kind == KindTime || v.Kind == KindDuration }
	slices.SortStableFunc(r.Values, func(a, b Value) int { return a.From - b.From })
	start := r.Values[0].From
	r.Values = slices.DeleteFunc(r.Values, func(v Value) bool { return v.Kind == KindOften && v.From > start })
	first := times(r.Values[0])
	if head := r.Values[0]; head.Kind != KindName && head.Kind != KindTerm { // "v1.2.4 for Windows": a condition
		r.Values = slices.DeleteFunc(r.Values, func(v Value) bool {
			qualifies := (v.Kind == KindName || v.Kind == KindTerm) && v.From > head.To &&
				english.Prepositions[r.ts[v.From-1].Low]
			if qualifies {
				for i := v.From; i < v.To; i++ {
					r.taken[i] = false
				}
			}
			return qualifies
		})
	}
	clock := r.Values[0].Kind == KindTime
	r.Values = slices.DeleteFunc(r.Values, func(v Value) bool {
		if clock && v.Kind == KindDate && v.From > 0 && r.ts[v.From-1].Low == "on" { // "at 9 on Mondays"
			r.Condition = append(r.Condition, v.Key)
			return true
		}
		return times(v) != first
	})
}
