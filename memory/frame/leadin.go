package frame

import "slices"

// leadIns drops the introduction of a statement, and records whether it marks the statement as a correction.
func (r *reader) leadIns() {
	r.label()
	for len(r.ts) > 2 {
		t := r.ts[0]
		switch {
		case correctionCues[t.low] && (t.end != 0 || t.is("actually", "scratchthat", "turnsout", "changeofplan")):
			r.cue, r.corrects = max(r.cue, cueChange), true
		case leadIns[t.low] && (t.end != 0 || t.is("and", "but", "so", "also", "fyi", "btw", "then")):
		case leadIns[t.low] && leadIns[r.ts[1].low]:
		case t.low == "it" && r.ts[1].low == "turnsout":
		case t.low == "that" && r.cue == cueChange && !isVerb(r.ts[1]):
		case t.low == "by" && r.ts[1].low == "the" && r.ts[2].low == "way":
			r.ts = r.ts[2:]
		case t.low == "heads" && r.ts[1].low == "up":
			r.ts = r.ts[1:]
		case t.is("good", "quick", "small", "big") && r.ts[1].is("news", "update", "change", "correction") &&
			r.ts[1].end != 0:
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

// label drops "Quick note:" and "One more thing:" from the front. It keeps a label that names an attribute:
// "Deadline: …".
func (r *reader) label() {
	for i := 0; i < min(5, len(r.ts)-2); i++ {
		t := r.ts[i]
		if t.end == ':' {
			if (!hasVerb(r.ts[:i+1]) || t.low == "know") && hasVerb(r.ts[i+1:]) {
				r.ts = r.ts[i+1:]
			}
			return
		}
		if concepts[t.stem] != nil && !correctionCues[t.low] && t.low != "note" && t.low != "record" {
			return
		}
		if correctionCues[t.low] {
			r.cue, r.corrects = max(r.cue, cueChange), true
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
	if comma < 0 && first.is("after", "since", "until") {
		if n := r.adverbial(2); n > 0 {
			r.cue = max(r.cue, cueNow)
			at(n) // "After the trial the team decided on Zoho"
		}
		return
	}
	starts := first.is("asof", "since", "starting", "effective", "beginning", "fromnowon")
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
		if k := r.adverbial(n); k > n {
			n = k
		}
		at(n)
	case nowCues[first.low] && first.low != "instead":
		r.cue = max(r.cue, cueNow)
		at(1)
	case comma >= 0 && comma < 5 && (first.is("last", "this", "yesterday", "today", "next") ||
		(prepositions[first.low] && first.is("after", "before", "until", "from", "by"))):
		if first.low == "from" {
			r.cue = max(r.cue, cueNow)
		}
		at(comma + 1)
	}
}

// adverbial returns where the phrase after "as of" ends, "this release" or "the last review", if the subject of the
// statement follows it. Otherwise it returns 0.
func (r *reader) adverbial(from int) int {
	i := 1
	if !articles[r.ts[i].low] && !possessives[r.ts[i].low] && !r.ts[i].is("last", "next") {
		return 0
	}
	for i < len(r.ts) && (articles[r.ts[i].low] || possessives[r.ts[i].low] || fillers[r.ts[i].low]) {
		i++
	}
	for i = max(i, from); i < min(len(r.ts)-2, 5); i++ {
		next := r.ts[i]
		if articles[next.low] || possessives[next.low] || selfWords[next.low] || teamWords[next.low] ||
			pronouns[next.low] || next.cap {
			return i
		}
	}
	return 0
}

// clauses removes explanations from the statement, and keeps the conditions under which it is true.
func (r *reader) clauses() {
	r.leadingPlace()
	if first := r.ts[0].low; first == "if" || first == "when" || first == "whenever" || first == "unless" ||
		first == "while" ||
		(first == "should" || first == "had" || first == "were") && len(r.ts) > 2 && r.ts[1].end == 0 {
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

// environments has environments and seasons to which a statement may be limited.
var environments = stems(`staging production prod dev development sandbox test testing qa preprod weekday weekdays
	weekend weekends summer winter holidays vacation`)

// leadingPlace moves "In staging," and "For schema changes" from the front to the condition.
func (r *reader) leadingPlace() {
	switch r.ts[0].low {
	case "in", "on", "for", "at", "during", "under", "within", "with":
	default:
		return
	}
	for i := 1; i < min(len(r.ts)-2, 7); i++ {
		next := r.ts[i+1]
		if r.ts[i].end == ',' || i > 0 && (articles[next.low] || possessives[next.low] || selfWords[next.low] ||
			teamWords[next.low] || pronouns[next.low]) && !prepositions[r.ts[i].low] {
			if v, n := dateAt(r.ts, 1); n > 0 && v.Kind == KindDate && n >= i {
				r.ts = r.ts[i+1:] // "On Monday, …"
				return
			}
			r.condition = append(r.condition, contentStems(r.ts[1:i+1])...)
			r.owned = slices.ContainsFunc(r.ts[1:i+1], func(t token) bool { return possessives[t.low] || t.poss })
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
	return !prepositions[t.low] && !articles[t.low] && !auxiliaries[t.low] && !conjunctions[t.low] &&
		!fillers[t.low] && !pronouns[t.low] &&
		!possessives[t.low] && !lightVerbs[t.stem] && !nowCues[t.low] && !questionWords[t.low] && !negations[t.low] &&
		t.low != ""
}
