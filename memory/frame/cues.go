package frame

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
)

// cues records the words that report a change, an end or a past state.
func (r *reader) cues() {
	main := r.main()
	r.Undecided = r.undecided()
	for i, t := range r.ts {
		switch {
		case t.Low == "nolonger":
			r.Ended, r.Negated = true, true
			r.Cue = CueChange
		case t.Low == "anymore":
			r.Ended = true
			r.Cue = CueChange
		case t.Low == "usedto", t.Low == "inthepast":
			r.Past = true
		case t.Low == "afterall":
			r.Corrects = true
			r.Cue = max(r.Cue, CueNow)
			r.taken[i] = true
		case english.Hedges[t.Low] && (i == 0 || !t.Cap):
			r.Hedged = true
		case english.NowCues[t.Low] && (t.Low != "instead" || i > 0):
			r.Cue = max(r.Cue, CueNow)
			r.taken[i] = true
		case t.Low == "insteadof", t.Low == "ratherthan":
			r.Cue = max(r.Cue, CueNow)
		case t.Low == "not" || t.Low == "never" || t.Low == "neither" ||
			t.Low == "no" && i < len(r.ts)-1 && !english.HasDigit(r.ts[i+1].Low) && r.ts[i+1].Low != "doubt":
			if !r.contrast(i) {
				r.Negated = true
			}
		case t.Low == "back" && (r.Cue >= CueNow || i > 0 && english.IsBe(r.ts[i-1])), t.Low == "again":
			r.Cue = max(r.Cue, CueNow)
		case t.Is("new", "latest", "updated", "revised") && i < len(r.ts)-1 && i < r.verb+2:
			r.Cue = max(r.Cue, CueNow)
		case t.Low == "over" && i == len(r.ts)-1 && i > 0 && english.IsBe(main) && // not "we might go over"
			(english.IsBe(r.ts[i-1]) || !english.IsVerb(r.ts[i-1])),
			t.Low == "gone" && r.Copular, t.Low == "dead" && r.Copular, t.Low == "off" && i == len(r.ts)-1 && r.Copular,
			t.Low == "out" && i > 0 && english.IsBe(r.ts[i-1]) && (i+1 == len(r.ts) || r.ts[i+1].Low != "of"):
			r.Ended = true
			r.Cue = CueChange
		}
	}
	if r.verb < len(r.ts) {
		for i := r.verb; i < min(len(r.ts), r.verb+6); i++ {
			t := r.ts[i]
			if i > r.verb && (english.Articles[r.ts[i-1].Low] || english.Possessives[r.ts[i-1].Low] ||
				english.Prepositions[r.ts[i-1].Low]) &&
				t.Low != "takeover" {
				continue
			}
			if i > r.verb && !(r.ts[i-1].Low == "to" || english.Conjunctions[r.ts[i-1].Low] ||
				english.IsAux(r.ts[i-1])) {
				continue
			}
			switch {
			case english.ChangeVerbs[t.Stem] && !r.Past:
				r.Cue = CueChange
			case t.Is("ends", "end", "finishes", "finish", "stops") && endsAt(r.ts, i):
			case english.EndVerbs[t.Stem] && r.onlyLeaves(i):
			case english.EndVerbs[t.Stem] && r.deniedAt(i): // "I can't stop thinking about it"
			case (english.EndVerbs[t.Stem] || r.closesOwn(i)) && !r.Past:
				r.Ended = true
				r.Cue = CueChange
			case english.Starts(t) && !endsAt(r.ts, i):
				r.Cue = max(r.Cue, CueNow)
			}
		}
	}
	if s := english.Sentiments[main.Stem]; s != 0 {
		r.Sentiment = s
		if r.Negated || r.Ended {
			r.Sentiment = -1
		}
	}
	r.notBefore()
	r.movesTo()
	was := r.verb < len(r.ts) && slices.ContainsFunc(r.ts[:r.verb+1], func(t english.Token) bool {
		return t.Text == "was" ||
			t.Text == "were" || t.Low == "had"
	})
	if was && english.IsBe(main) && r.Cue < CueChange {
		r.Past = true
	}
	if main.Stem == "get" && main.Low != "getting" || main.Stem == english.StemOf("become") {
		r.Cue = max(r.Cue, CueNow)
	}
	if r.Cue == CueNone && !r.Copular && english.PastTense(main) {
		r.Event = true
	}
}

// deniedAt reports whether a negation comes right before the verb at i, or before its auxiliary.
func (r *reader) deniedAt(i int) bool {
	return slices.ContainsFunc(r.ts[max(0, i-2):i], func(t english.Token) bool { return t.Is("not", "never") })
}

// undecided reports whether the main verb says that a choice is open: "I'm deciding between Rome and Oslo", "we're
// thinking about moving".
func (r *reader) undecided() bool {
	for i := r.verb; i < min(len(r.ts)-1, r.verb+4); i++ {
		t, next := r.ts[i], r.ts[i+1]
		switch {
		case weighers[t.Stem] && (i == r.verb || english.IsAux(r.ts[i-1])):
			return true
		case t.Stem == "decid" && next.Is("between", "whether", "if"), t.Low == "thinking" && next.Is("about", "of"):
			return true
		}
	}
	return false
}

// weighers has verbs for weighing a choice.
var weighers = english.Stems("consider wonder debate contemplate")

// endsAt reports whether a time of day follows the verb at i: "the shift ends at 16:00", "the gate opens at 7".
func endsAt(ts []english.Token, i int) bool {
	if i+2 >= len(ts) || !ts[i+1].Is("at", "around") {
		return false
	}
	v, n := typedAt(ts, i+2)
	return n > 0 && v.Kind == KindTime
}

// notBefore reads "is not done before May 3" as the new date May 3.
func (r *reader) notBefore() {
	if !r.Negated || slices.ContainsFunc(r.ts, func(t english.Token) bool { return t.Low == "nolonger" }) {
		return
	}
	for i := r.verb; i+1 < len(r.ts); i++ {
		if !r.ts[i].Is("before", "until", "till") {
			continue
		}
		at := i + 1
		if english.Articles[r.ts[at].Low] && at+1 < len(r.ts) {
			at++
		}
		if v, n := typedAt(r.ts, at); n > 0 && (v.Kind == KindDate || v.Kind == KindTime) {
			r.Negated, r.Ended, r.Cue = false, false, max(r.Cue, CueNow)
			return
		}
	}
}

// movesTo reports a change if the main verb is in the past tense and a date, a number or the like follows "to": "the
// meeting was pushed to Friday", "I turned the heating down to 19 degrees".
func (r *reader) movesTo() {
	main := r.main()
	at := r.verb
	if upDown := at+1 < len(r.ts) && r.ts[at].End == 0 && r.ts[at+1].Is("up", "down"); upDown && !r.Past &&
		(english.IsBe(main) && !r.wasOnce() || main.Is("went", "gone", "came", "come")) {
		// "I'm down to 77 kilos", "the rent went up to 1,020 euros"
		for i := at + 2; i+1 < min(len(r.ts), at+4); i++ {
			if _, n := typedAt(r.ts, i+1); n > 0 && r.ts[i].Low == "to" {
				r.Cue = CueChange
				return
			}
		}
	}
	for i := at + 2; i+2 < len(r.ts) && raisers[main.Stem] && !r.Past; i++ {
		// "The doctor put my tablets up to 40 mg", but not "we bring up to 40 chairs"
		if _, n := typedAt(r.ts, i+2); n > 0 && r.ts[i].Is("up", "down") && r.ts[i+1].Low == "to" {
			r.Cue, r.Event, r.mover = CueChange, false, main.Stem
			return
		}
	}
	if english.IsBe(main) && at+1 < len(r.ts) && r.ts[at].End == 0 {
		at++
		main = r.ts[at]
	}
	if r.Past || !english.PastTense(main) && !english.PastAsPresent(main) || english.LightVerbs[main.Stem] ||
		english.PlainVerbs[main.Stem] ||
		english.Sentiments[main.Stem] != 0 {
		return
	}
	for i := at + 1; i+1 < len(r.ts); i++ {
		if _, n := typedAt(r.ts, i+1); n > 0 && r.ts[i].Low == "to" {
			r.Cue, r.mover = CueChange, main.Stem
			return
		}
	}
}

// raisers has verbs that tell of a change with "up to" or "down to" after their object.
var raisers = english.Stems("put bring turn take push pull get")

// wasOnce reports whether the form of "be" before the main verb is in the past.
func (r *reader) wasOnce() bool {
	return slices.ContainsFunc(r.ts[:r.verb+1], func(t english.Token) bool {
		return t.Text == "was" ||
			t.Text == "were"
	})
}

// closesOwn reports whether the verb at i ends something of the subject: "I closed my Nordea account".
func (r *reader) closesOwn(i int) bool {
	return i == r.verb && r.ts[i].Low == "closed" && !r.Copular && i+2 < len(r.ts) && english.Possessives[r.ts[i+1].Low]
}

// onlyLeaves reports whether the verb at i tells of one event and ends nothing: "I left the office early today", "I
// left my umbrella at the library", "I stopped at the bakery".
func (r *reader) onlyLeaves(i int) bool {
	t := r.ts[i]
	first := r.ts[0]
	named := first.Cap && !english.Articles[first.Low] && !english.Possessives[first.Low]
	person := r.verb > 0 && (r.isSelf(0, 1) || named || people(r.ts[:i]))
	switch t.Stem {
	case english.StemOf("stop"):
		return person && i+2 < len(r.ts) && r.ts[i+1].Is("at", "by", "near") && t.Low == "stopped"
	case english.StemOf("leave"):
	default:
		return false
	}
	if t.Low == "leaves" && !person {
		return true // "the ferry leaves every hour"
	}
	if t.Low != "left" || !person || i+1 >= len(r.ts) {
		return false
	}
	rest := r.ts[i+1:]
	if slices.ContainsFunc(rest, func(t english.Token) bool { return t.Is("for", "from") }) {
		return false // "left Acme for Globex"
	}
	for k := range rest {
		w := rest[k]
		if w.Is("early", "late") && (k+1 == len(rest) || w.End != 0 ||
			rest[k+1].Is("today", "yesterday", "this", "again")) {
			return true
		}
		if k == 0 || !english.Prepositions[w.Low] || k+1 >= len(rest) {
			continue
		}
		if v, n := typedAt(rest, k+1); n > 0 {
			if v.Kind == KindTime {
				return true // "left the meeting at four"
			}
			continue
		}
		// "left my umbrella at the library": what a person leaves somewhere
		if w.Is("at", "in", "on", "under", "behind") && (english.Possessives[rest[0].Low] || rest[0].Is("a", "an")) &&
			(english.Articles[rest[k+1].Low] || english.Possessives[rest[k+1].Low]) {
			return true
		}
	}
	return false
}

func people(ts []english.Token) bool {
	return slices.ContainsFunc(ts, func(t english.Token) bool { return english.People[t.Stem] })
}

// contrast reports whether the negation at i only contrasts two values: "Rex, not Max".
func (r *reader) contrast(i int) bool {
	if r.ts[i].Low != "not" || i+1 >= len(r.ts) {
		return false
	}
	if i > 0 && (r.ts[i-1].End == ',' || r.ts[i-1].End == '–' || r.ts[i-1].Low == "and") {
		return true // ", not Max"
	}
	return slices.ContainsFunc(r.ts[i+1:], func(t english.Token) bool { return t.Low == "but" }) // "not Max but Rex"
}
