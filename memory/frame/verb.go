package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// findVerb finds the main verb: the first word that may be a verb, in a position where a verb may be.
func (r *reader) findVerb() {
	r.verb = len(r.ts)
	for i := range r.ts {
		t := r.ts[i]
		if i > 0 && r.ts[i-1].End == ':' {
			return // "Deadline: June 10"
		}
		if i == 0 && r.verbAfterPronoun() {
			break
		}
		if i == 0 && r.continues && len(r.ts) > 2 && english.ThirdPerson(t.Low) && !t.Cap && t.End == 0 &&
			(english.Articles[r.ts[1].Low] || english.Possessives[r.ts[1].Low]) {
			r.verb = 0 // "and rides the bus"
			break
		}
		if !english.IsVerb(t) && !(i > 0 && strings.HasSuffix(t.Low, "ed") && len(t.Low) > 4) || t.Poss {
			continue
		}
		if i == 0 {
			if !english.IsAux(t) && !r.continues && len(r.ts) > 1 && (english.IsVerb(r.ts[1]) &&
				!english.Articles[r.ts[1].Low] ||
				english.Prepositions[r.ts[1].Low] && !english.ChangeVerbs[t.Stem] && !english.EndVerbs[t.Stem] &&
					!english.StartVerbs[t.Stem]) {
				continue // "Release moved to …", "Work on …"
			}
			if !english.IsAux(t) && compound(r.ts) {
				continue // "Travel requests go to …"
			}
			r.verb = 0
			break
		}
		if english.IsAux(t) || t.Is("nolonger", "usedto") {
			r.verb = i
			break
		}
		prev := r.ts[i-1]
		if strings.HasSuffix(t.Low, "ing") && len(t.Low) > 4 && hasAux(r.ts[i+1:]) {
			continue // "the quarterly meeting is …"
		}
		if english.Articles[prev.Low] && prev.Low != "that" || english.Possessives[prev.Low] || prev.Poss ||
			english.Prepositions[prev.Low] {
			continue // a noun: "the build", "my work"
		}
		if i+1 < len(r.ts) && t.End == 0 && (english.IsAux(r.ts[i+1]) || happened[r.ts[i+1].Low] ||
			english.IsVerb(r.ts[i+1]) && strings.HasSuffix(r.ts[i+1].Low, "ed")) {
			continue // "mobile release slipped", "phone plan went up"
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
		if t.Is("nolonger", "usedto") {
			r.verb = i
			continue
		}
		if i == r.verb && t.Is("get", "gets") && i+1 < len(r.ts) && r.undergoes(i+1) {
			continue
		}
		if !english.IsAux(t) && !english.Fillers[t.Low] && !english.NowCues[t.Low] && t.Low != "to" &&
			t.Low != "not" && t.Low != "never" {
			if (english.IsVerb(t) || r.progressive(i) || r.bare(i) || r.undergoes(i)) && i > r.verb && !english.IsBe(t) &&
				!english.ThirdPerson(t.Low) &&
				!english.Articles[r.ts[i-1].Low] && !english.Possessives[r.ts[i-1].Low] {
				r.verb = i
			}
			break
		}
	}
	r.withoutLead()
	r.turned()
	if r.verb < len(r.ts) {
		for _, t := range r.ts[:r.verb+1] {
			if english.IsBe(t) {
				r.Copular = true
			}
		}
	}
}

// caused reads what someone had done as what happened to the thing: "We had the house painted green" as "the house was
// painted green", "I've set the heating to come on at 5" as "the heating comes on at 5".
func (r *reader) caused() {
	first := r.ts[0]
	if !first.Is("i", "we", "they", "he", "she") && (!first.Cap || english.Articles[first.Low]) {
		return
	}
	at := 1
	for at+1 < len(r.ts) && (english.Fillers[r.ts[at].Low] ||
		r.ts[at].Is("have", "has") && !english.Articles[r.ts[at+1].Low] && !english.Possessives[r.ts[at+1].Low]) {
		at++
	}
	noun := at + 1
	if len(r.ts) < noun+3 || r.ts[at].End != 0 || r.ts[noun].Is("a", "an") ||
		!english.Articles[r.ts[noun].Low] && !english.Possessives[r.ts[noun].Low] {
		return
	}
	for i := noun + 2; i < min(len(r.ts), noun+5) && r.ts[i-1].End == 0; i++ {
		switch t := r.ts[i]; {
		case r.ts[at].Is("had", "got") && english.Participle(t) && english.IsContent(r.ts[i-1]):
			be := english.Token{Text: "was", Low: "be", Stem: "be"}
			r.ts = slices.Concat(r.ts[noun:i], []english.Token{be}, r.ts[i:])
		case setters[r.ts[at].Stem] && t.Low == "to" && i+1 < len(r.ts) && english.IsVerb(r.ts[i+1]):
			r.ts = slices.Concat(r.ts[noun:i], r.ts[i+1:])
		default:
			continue
		}
		r.Cue = CueChange
		return
	}
}

// setters has verbs that tell a thing what to do.
var setters = english.Stems("set programme program configure adjust change")

// turned reads "went vegan in March" and "became a nurse" as what is so since then, if the word is one of a category.
func (r *reader) turned() {
	main := r.main()
	at := r.verb + 1
	if main.End != 0 || !main.Is("went", "gone", "become", "becomes", "became") {
		return
	}
	if at < len(r.ts) && r.ts[at].Is("a", "an") {
		at++
	}
	if at >= len(r.ts) || english.Categories[r.ts[at].Low] == "" || r.ts[at].Cap ||
		r.ts[at].End == 0 && at+1 < len(r.ts) && english.IsContent(r.ts[at+1]) {
		return
	}
	r.ts = slices.Clone(r.ts)
	r.ts[r.verb] = english.Token{Text: main.Text, Low: "be", Stem: "be"}
	if at+2 < len(r.ts) && r.ts[at+1].Is("in", "on") {
		if v, n := typedAt(r.ts, at+2); n > 0 && v.Kind == KindDate && at+2+n == len(r.ts) {
			r.ts, r.taken = r.ts[:at+1], r.taken[:at+1]
		}
	}
	r.Cue = CueChange
}

// happened has past forms that follow a noun and seldom another verb.
var happened = english.Words("went came rose fell got began became ran grew")

// verbAfterPronoun takes the word after "I", "we" or another person as the main verb, also if it is in no list, unless
// it may be another part of speech.
func (r *reader) verbAfterPronoun() bool {
	if !r.ts[0].Is("i", "we", "they", "he", "she") || r.ts[0].End != 0 {
		return false
	}
	at := 1
	for at < len(r.ts) && (english.Fillers[r.ts[at].Low] || english.NowCues[r.ts[at].Low] ||
		english.IsAdverb(r.ts[at])) {
		at++
	}
	if at+1 >= len(r.ts) {
		return false
	}
	t := r.ts[at]
	if !english.IsContent(t) || t.Cap || t.Poss || t.End != 0 || english.HasDigit(t.Low) || english.IsVerb(t) ||
		english.EndsGerund(t) || english.IsVerb(r.ts[at+1]) || english.Attitudes[t.Stem] || hasAux(r.ts[at+1:]) {
		return false // "I wish our car were red", "I heard that Tom has moved"
	}
	r.verb = at
	return true
}

// main returns the main verb, or the zero token if there is none.
func (r *reader) main() english.Token {
	if r.verb < len(r.ts) {
		return r.ts[r.verb]
	}
	return english.Token{}
}

// withoutLead drops a main verb that only leads to the verb that says something: "finished" in "we finished rewriting
// the backend", "grown to" in "I've grown to love olives".
func (r *reader) withoutLead() {
	if r.verb+2 >= len(r.ts) || r.ts[r.verb].End != 0 {
		return
	}
	n := 0
	switch main, next := r.ts[r.verb], r.ts[r.verb+1]; {
	case main.Is("finished", "completed") && english.EndsGerund(next) && english.ChangeVerbs[next.Stem]:
		n = 1
	case main.Is("grown", "grew", "come", "came", "learned", "learnt", "started", "begun", "began") &&
		next.Low == "to" &&
		english.Sentiments[r.ts[r.verb+2].Stem] != 0:
		n, r.Cue = 2, max(r.Cue, CueNow)
	case main.Is("started", "begun", "began", "resumed") && english.EndsGerund(next) && next.End == 0:
		n, r.Cue = 1, max(r.Cue, CueNow) // "started eating meat again"
	case main.Is("decided", "agreed", "chose") && next.Low == "to" && english.PlainVerbs[r.ts[r.verb+2].Stem]:
		n, r.Cue = 2, max(r.Cue, CueNow) // "decided to fly to Spain"
	default:
		return
	}
	r.ts = slices.Concat(r.ts[:r.verb], r.ts[r.verb+n:])
	r.taken = make([]bool, len(r.ts))
}

// compound reports whether a clause begins with two nouns and a verb, although the first word may be a verb, too.
func compound(ts []english.Token) bool {
	if len(ts) < 4 || !english.IsContent(ts[1]) || ts[0].End != 0 || ts[1].End != 0 || ts[1].Cap {
		return false
	}
	if !strings.HasSuffix(ts[1].Low, "s") { // "Book club meets on Mondays"
		return ts[2].Is("is", "was", "has", "will") || english.IsVerb(ts[2]) && (english.ThirdPerson(ts[2].Low) ||
			english.PastTense(ts[2]))
	}
	return english.IsAux(ts[2]) || english.IsVerb(ts[2]) && !english.Prepositions[ts[2].Low]
}

// guessVerb takes a word that is in no list as the main verb if it is in the position of a verb: after "I" and other
// pronouns or, in the third person, after a name or a noun with a possessive ("my sister runs").
func (r *reader) guessVerb() {
	for i := 2; i < len(r.ts) && (english.Possessives[r.ts[0].Low] || r.ts[0].Low == "the"); i++ {
		if noun := r.ts[i-1]; english.IrregularPast(r.ts[i]) && english.IsContent(noun) && !noun.Poss && noun.End == 0 {
			r.verb = i // "the kettle broke this morning"
			return
		}
	}
	if n := len(r.ts); n > 1 && n < 6 && (english.Possessives[r.ts[0].Low] || r.ts[0].Low == "the") {
		// "my knee hurts"
		last, noun := r.ts[n-1], r.ts[n-2]
		if n > 2 && english.IsContent(last) && !last.Cap && english.IsContent(noun) && !noun.Poss && noun.End == 0 &&
			(english.ThirdPerson(last.Low) && !strings.HasSuffix(noun.Low, "s") && n == 3) {
			r.verb = n - 1
			return
		}
	}
	if len(r.ts) < 3 {
		return
	}
	at := 1
	first := r.ts[0]
	subject := first.Is("i", "we", "you", "they", "he", "she", "it")
	for at < len(r.ts)-1 && (english.Fillers[r.ts[at].Low] || english.NowCues[r.ts[at].Low]) {
		at++
	}
	if subject {
		if t := r.ts[at]; first.End == 0 && t.End == 0 && english.IsContent(t) && !t.Cap && !english.HasDigit(t.Low) {
			r.verb = at
		}
		return
	}
	for i := 1; i < len(r.ts)-1; i++ {
		t, prev, next := r.ts[i], r.ts[i-1], r.ts[i+1]
		if prev.End != 0 {
			return
		}
		if i == 1 && first.Cap && t.End == 0 && english.IrregularPast(t) && !english.Articles[first.Low] &&
			!english.Possessives[first.Low] {
			r.verb = i // "Max won 50 euros"
			return
		}
		if !english.IsContent(t) || t.Cap || t.Poss || t.End != 0 || !english.ThirdPerson(t.Low) ||
			english.HasDigit(prev.Low) ||
			english.Articles[prev.Low] ||
			english.Possessives[prev.Low] || prev.Poss || english.Prepositions[prev.Low] ||
			strings.HasSuffix(prev.Low, "s") && !prev.Cap {
			continue
		}
		name := i == 1 && first.Cap && english.Concepts[first.Stem] == nil && !english.Articles[first.Low] &&
			!english.Possessives[first.Low]
		object := english.Articles[next.Low] || english.Possessives[next.Low] ||
			next.Is("me", "us", "him", "them", "next", "close", "because") || english.HasDigit(next.Low) ||
			english.Prepositions[next.Low] && !next.Is("of") || next.Cap
		if name || object {
			r.verb = i
			return
		}
	}
}

// bare reports whether the word at i is the verb after "do not", "will" or "can", also if it is in no list: "my knee
// does not hurt".
func (r *reader) bare(i int) bool {
	t := r.ts[i]
	modal := slices.ContainsFunc(r.ts[r.verb:i], func(t english.Token) bool {
		return t.Is("do", "does", "did", "will", "can", "could", "would", "should", "must")
	})
	perfect := slices.ContainsFunc(r.ts[r.verb:i], func(t english.Token) bool { return t.Is("has", "have", "had") }) &&
		english.Participle(t)
	return (modal || perfect) && english.IsContent(t) && !t.Cap && !strings.HasSuffix(t.Low, "ing") &&
		!slices.ContainsFunc(r.ts[:i], english.IsBe)
}

// undergoes reports whether the word at i is the verb after a form of "be" or "get" that says who does it or where it
// goes: "the benefit is paid to my wife", "the lawn gets mown by a robot".
func (r *reader) undergoes(i int) bool {
	t := r.ts[i]
	return english.Participle(t) && t.End == 0 && i+1 < len(r.ts) && r.ts[i+1].Is("by", "to", "into", "onto") &&
		slices.ContainsFunc(r.ts[max(0, i-3):i], func(t english.Token) bool {
			return english.IsBe(t) || t.Is("get", "gets", "got")
		})
}

// progressive reports whether the word at i is the verb after a form of "be": "Robert is saving up for a campervan".
func (r *reader) progressive(i int) bool {
	t := r.ts[i]
	return english.EndsGerund(t) && t.End == 0 && i+2 < len(r.ts) && r.verb < i && english.IsBe(r.ts[r.verb]) &&
		(english.Prepositions[r.ts[i+1].Low] || english.Articles[r.ts[i+1].Low] || english.Possessives[r.ts[i+1].Low])
}
