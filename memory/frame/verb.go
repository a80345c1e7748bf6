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
		if i+1 < len(r.ts) && t.End == 0 && (english.IsAux(r.ts[i+1]) ||
			english.IsVerb(r.ts[i+1]) && strings.HasSuffix(r.ts[i+1].Low, "ed")) {
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
		if t.Is("nolonger", "usedto") {
			r.verb = i
			continue
		}
		if !english.IsAux(t) && !english.Fillers[t.Low] && !english.NowCues[t.Low] && t.Low != "to" &&
			t.Low != "not" && t.Low != "never" {
			if (english.IsVerb(t) || r.progressive(i) || r.bare(i)) && i > r.verb && !english.IsBe(t) &&
				!english.ThirdPerson(t.Low) &&
				!english.Articles[r.ts[i-1].Low] && !english.Possessives[r.ts[i-1].Low] {
				r.verb = i
			}
			break
		}
	}
	r.withoutLead()
	if r.verb < len(r.ts) {
		for _, t := range r.ts[:r.verb+1] {
			if english.IsBe(t) {
				r.Copular = true
			}
		}
	}
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
		object := english.Articles[next.Low] || english.Possessives[next.Low] || next.Is("me", "us", "him", "them") ||
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

// progressive reports whether the word at i is the verb after a form of "be": "Robert is saving up for a campervan".
func (r *reader) progressive(i int) bool {
	t := r.ts[i]
	return english.EndsGerund(t) && t.End == 0 && i+2 < len(r.ts) && r.verb < i && english.IsBe(r.ts[r.verb]) &&
		(english.Prepositions[r.ts[i+1].Low] || english.Articles[r.ts[i+1].Low] || english.Possessives[r.ts[i+1].Low])
}
