package frame

import (
	"slices"
)

// cues records the words that report a change, an end or a past state.
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
		case t.low == "afterall":
			r.corrects = true
			r.cue = max(r.cue, cueNow)
			r.taken[i] = true
		case hedges[t.low] && (i == 0 || !t.cap):
			r.hedged = true
		case nowCues[t.low] && (t.low != "instead" || i > 0):
			r.cue = max(r.cue, cueNow)
			r.taken[i] = true
		case t.low == "insteadof", t.low == "ratherthan":
			r.cue = max(r.cue, cueNow)
		case t.low == "not" || t.low == "never" || t.low == "neither" ||
			t.low == "no" && i < len(r.ts)-1 && !hasDigit(r.ts[i+1].low):
			if !r.contrast(i) {
				r.negated = true
			}
		case t.low == "back" && (r.cue >= cueNow || i > 0 && isBe(r.ts[i-1])), t.low == "again":
			r.cue = max(r.cue, cueNow)
		case t.is("new", "latest", "updated", "revised") && i < len(r.ts)-1 && i < r.verb+2:
			r.cue = max(r.cue, cueNow)
		case t.low == "over" && i == len(r.ts)-1 && isBe(main), t.low == "gone" && r.copular, t.low == "off" &&
			i == len(r.ts)-1 && r.copular, t.low == "dead" && r.copular,
			t.low == "out" && i > 0 && isBe(r.ts[i-1]) && (i+1 == len(r.ts) || r.ts[i+1].low != "of"):
			r.ended = true
			r.cue = cueChange
		}
	}
	if r.verb < len(r.ts) {
		for i := r.verb; i < min(len(r.ts), r.verb+6); i++ {
			t := r.ts[i]
			if i > r.verb && (articles[r.ts[i-1].low] || possessives[r.ts[i-1].low] || prepositions[r.ts[i-1].low]) &&
				t.low != "takeover" {
				continue
			}
			if i > r.verb && !(r.ts[i-1].low == "to" || conjunctions[r.ts[i-1].low] || isAux(r.ts[i-1])) {
				continue
			}
			switch {
			case changeVerbs[t.stem] && !r.past:
				r.cue = cueChange
			case t.is("ends", "end", "finishes", "finish", "stops") && endsAt(r.ts, i):
			case endVerbs[t.stem] && !r.past:
				r.ended = true
				r.cue = cueChange
			case starts(t):
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
	r.notBefore()
	r.movesTo()
	was := r.verb < len(r.ts) && slices.ContainsFunc(r.ts[:r.verb+1], func(t token) bool {
		return t.text == "was" ||
			t.text == "were" || t.low == "had"
	})
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

// endsAt reports whether a time of day follows the verb at i: "the shift ends at 16:00".
func endsAt(ts []token, i int) bool {
	if i+2 >= len(ts) || !ts[i+1].is("at", "around") {
		return false
	}
	v, n := typedAt(ts, i+2)
	return n > 0 && v.Kind == KindTime
}

// notBefore reads "is not done before May 3" as the new date May 3.
func (r *reader) notBefore() {
	if !r.negated || slices.ContainsFunc(r.ts, func(t token) bool { return t.low == "nolonger" }) {
		return
	}
	for i := r.verb; i+1 < len(r.ts); i++ {
		if !r.ts[i].is("before", "until", "till") {
			continue
		}
		at := i + 1
		if articles[r.ts[at].low] && at+1 < len(r.ts) {
			at++
		}
		if v, n := typedAt(r.ts, at); n > 0 && (v.Kind == KindDate || v.Kind == KindTime) {
			r.negated, r.ended, r.cue = false, false, max(r.cue, cueNow)
			return
		}
	}
}

// movesTo reports a change if the main verb is in the past tense and a date, a number or the like follows "to": "the
// meeting was pushed to Friday", "I turned the heating down to 19 degrees".
func (r *reader) movesTo() {
	main := r.main()
	at := r.verb
	if isBe(main) && at+1 < len(r.ts) && r.ts[at].end == 0 {
		at++
		main = r.ts[at]
	}
	if r.past || !pastTense(main) || lightVerbs[main.stem] || plainVerbs[main.stem] || sentiments[main.stem] != 0 {
		return
	}
	for i := at + 1; i+1 < len(r.ts); i++ {
		if _, n := typedAt(r.ts, i+1); n > 0 && r.ts[i].low == "to" {
			r.cue, r.mover = cueChange, main.stem
			return
		}
	}
}

// starts reports whether a verb reports a beginning. "I take the tram" tells of a habit.
func starts(t token) bool { return startVerbs[t.stem] && !t.is("take", "takes") }

// contrast reports whether the negation at i only contrasts two values: "Rex, not Max".
func (r *reader) contrast(i int) bool {
	if r.ts[i].low != "not" || i+1 >= len(r.ts) {
		return false
	}
	if i > 0 && (r.ts[i-1].end == ',' || r.ts[i-1].end == '–' || r.ts[i-1].low == "and") {
		return true // ", not Max"
	}
	return slices.ContainsFunc(r.ts[i+1:], func(t token) bool { return t.low == "but" }) // "not Max but Rex"
}
