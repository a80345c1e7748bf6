package frame

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
)

// LeadIns drops the introduction of a statement, and records whether it marks the statement as a correction.
func (r *reader) leadIns() {
	r.label()
	for len(r.ts) > 2 {
		t := r.ts[0]
		switch {
		case english.CorrectionCues[t.Low] && (t.End != 0 ||
			t.Is("actually", "scratchthat", "turnsout", "changeofplan")):
			r.Cue, r.Corrects = max(r.Cue, CueChange), true
		case english.LeadIns[t.Low] && (t.End != 0 || t.Is("and", "but", "so", "also", "fyi", "btw", "then")):
		case english.LeadIns[t.Low] && english.LeadIns[r.ts[1].Low]:
		case t.Low == "it" && r.ts[1].Low == "turnsout":
		case t.Low == "that" && r.Cue == CueChange && !english.IsVerb(r.ts[1]):
		case t.Low == "by" && r.ts[1].Low == "the" && r.ts[2].Low == "way":
			r.ts = r.ts[2:]
		case t.Low == "heads" && r.ts[1].Low == "up":
			r.ts = r.ts[1:]
		case t.Is("good", "quick", "small", "big") && r.ts[1].Is("news", "update", "change", "correction") &&
			r.ts[1].End != 0:
			r.Cue = max(r.Cue, CueChange)
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
		if t.End == ':' {
			if (!hasVerb(r.ts[:i+1]) || t.Low == "know") && hasVerb(r.ts[i+1:]) {
				r.ts = r.ts[i+1:]
			}
			return
		}
		if english.Concepts[t.Stem] != nil && !english.CorrectionCues[t.Low] && t.Low != "note" && t.Low != "record" {
			return
		}
		if english.CorrectionCues[t.Low] {
			r.Cue, r.Corrects = max(r.Cue, CueChange), true
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
	if n := r.leadingReason(); n > 0 {
		at(n)
		return
	}
	comma := -1
	for i := 0; i < min(len(r.ts)-1, 7); i++ {
		if r.ts[i].End == ',' {
			comma = i
			break
		}
	}
	if comma < 0 && first.Is("after", "since", "until", "from") {
		if n := r.leadingDate(); n > 0 {
			r.Cue = max(r.Cue, CueNow)
			at(n) // "Since Monday I report to Anders", "From September lessons start at six"
			return
		}
	}
	if comma < 0 && first.Is("after", "since", "until") {
		if n := r.adverbial(2); n > 0 {
			r.Cue = max(r.Cue, CueNow)
			at(n) // "After the trial the team decided on Zoho"
		}
		return
	}
	starts := first.Is("asof", "since", "starting", "effective", "beginning", "fromnowon")
	switch {
	case starts:
		r.Cue = max(r.Cue, CueNow)
		if comma >= 0 {
			at(comma + 1)
			return
		}
		n := 1
		if v, k := dateAt(r.ts, 1); k > 0 && v.Kind == KindDate {
			n += k
		} else if len(r.ts) > 2 && (english.Fillers[r.ts[1].Low] || english.NowCues[r.ts[1].Low]) {
			n = 2
			if units[r.ts[2].Stem] {
				n = 3
			}
		}
		if k := r.adverbial(n); k > n {
			n = k
		}
		at(n)
	case english.NowCues[first.Low] && first.Low != "instead":
		r.Cue = max(r.Cue, CueNow)
		at(1)
	case comma >= 0 && comma < 5 && (first.Is("last", "this", "yesterday", "today", "next") ||
		(english.Prepositions[first.Low] && first.Is("after", "before", "until", "from", "by"))):
		if first.Low == "from" {
			r.Cue = max(r.Cue, CueNow)
		}
		at(comma + 1)
	}
}

// leadingReason returns where the reason in front of a statement ends: "Because of the storm,". It returns 0 if there
// is none.
func (r *reader) leadingReason() int {
	first, second := r.ts[0], r.ts[1]
	if !first.Is("because", "due", "thanks", "owing", "despite") || first.Low != "despite" && !second.Is("of", "to") {
		return 0
	}
	for i := 2; i < min(len(r.ts)-2, 9); i++ {
		if r.ts[i].End == ',' {
			return i + 1
		}
	}
	return 0
}

// causative drops who made someone do something from the front: "Legal made us rename the project", "Aylin asked Bo to
// run the standup from now on". A wish counts only if the statement says that it holds from now on.
func (r *reader) causative() {
	for i := 1; i+3 < min(len(r.ts), 6); i++ {
		t, whom, next := r.ts[i], r.ts[i+1], r.ts[i+2]
		asks := t.Is("asked", "told") && next.Low == "to" && slices.ContainsFunc(r.ts[i:], func(w english.Token) bool {
			return w.Is("fromnowon", "now", "instead")
		})
		if !asks && !t.Is("made", "let", "had", "got") || t.End != 0 || whom.End != 0 ||
			!whom.Is("me", "us") && !(whom.Cap && !whom.Poss) {
			continue
		}
		verb := i + 2
		if next.Low == "to" {
			verb++
			next = r.ts[verb]
		}
		if english.IsVerb(next) && !english.PastTense(next) && !english.ThirdPerson(next.Low) && !english.IsAux(next) &&
			!english.EndsGerund(next) {
			r.ts = slices.Concat(r.ts[i+1:i+2], r.ts[verb:])
			r.Cue = max(r.Cue, CueNow)
			return
		}
	}
}

// leadingDate returns where the date after the first word ends, if the subject of the statement follows it. Otherwise
// it returns 0.
func (r *reader) leadingDate() int {
	n := 0
	if v, k := dateAt(r.ts, 1); k > 0 && v.Kind == KindDate {
		n = 1 + k
	} else if english.Categories[r.ts[1].Low] == "SEASON" {
		n = 2
	}
	if n == 0 || n >= len(r.ts)-1 || r.ts[n-1].End != 0 {
		return 0
	}
	if t := r.ts[n]; english.Prepositions[t.Low] || english.Conjunctions[t.Low] || english.IsAux(t) {
		return 0 // "from Monday to Friday"
	}
	return n
}

// adverbial returns where the phrase after "as of" ends, "this release" or "the last review", if the subject of the
// statement follows it. Otherwise it returns 0.
func (r *reader) adverbial(from int) int {
	i := 1
	if !english.Articles[r.ts[i].Low] && !english.Possessives[r.ts[i].Low] && !r.ts[i].Is("last", "next") {
		return 0
	}
	for i < len(r.ts) && (english.Articles[r.ts[i].Low] || english.Possessives[r.ts[i].Low] ||
		english.Fillers[r.ts[i].Low]) {
		i++
	}
	for i = max(i, from); i < min(len(r.ts)-2, 5); i++ {
		next := r.ts[i]
		if english.Articles[next.Low] || english.Possessives[next.Low] || english.SelfWords[next.Low] ||
			english.TeamWords[next.Low] ||
			english.Pronouns[next.Low] || next.Cap {
			return i
		}
	}
	return 0
}

// clauses removes explanations from the statement, and keeps the conditions under which it is true.
func (r *reader) clauses() {
	r.leadingPlace()
	r.causative()
	if first := r.ts[0].Low; first == "if" || first == "when" || first == "whenever" || first == "unless" ||
		first == "while" ||
		(first == "should" || first == "had" || first == "were") && len(r.ts) > 2 && r.ts[1].End == 0 {
		r.IfClause = true
		return
	}
	for i := 2; i < len(r.ts); i++ {
		low := r.ts[i].Low
		switch {
		case low == "when" && slices.ContainsFunc(r.ts[i+1:], func(t english.Token) bool {
			return t.Is("was", "were") || english.PastTense(t) && !english.IsBe(t)
		}):
			r.ts = r.ts[:i] // "when he left": once
		case low == "if" || low == "when" || low == "whenever" || low == "unless":
			r.Condition = append(r.Condition, contentStems(r.ts[i+1:])...)
			r.ts = r.ts[:i]
		case low == "since" || low == "asof" || low == "starting" || low == "effective":
			r.Cue = max(r.Cue, CueNow)
			r.ts = r.ts[:i]
		case english.ClauseBreaks[low] && low != "due" && !(low == "given"):
			r.ts = r.ts[:i]
		case low == "due" && i+1 < len(r.ts) && r.ts[i+1].Low == "to" && i > 3:
			r.ts = r.ts[:i]
		default:
			continue
		}
		return
	}
}

// leadingPlace moves "In staging," and "For schema changes" from the front to the condition.
func (r *reader) leadingPlace() {
	switch r.ts[0].Low {
	case "in", "on", "for", "at", "during", "under", "within", "with":
	default:
		return
	}
	for i := 1; i < min(len(r.ts)-2, 7); i++ {
		next := r.ts[i+1]
		if r.ts[i].End == ',' || i > 0 && (english.Articles[next.Low] || english.Possessives[next.Low] ||
			english.SelfWords[next.Low] ||
			english.TeamWords[next.Low] || english.Pronouns[next.Low]) && !english.Prepositions[r.ts[i].Low] {
			if v, n := dateAt(r.ts, 1); n > 0 && v.Kind == KindDate && n >= i {
				r.ts = r.ts[i+1:] // "On Monday, …"
				return
			}
			r.Condition = append(r.Condition, contentStems(r.ts[1:i+1])...)
			r.Owned = slices.ContainsFunc(r.ts[1:i+1],
				func(t english.Token) bool { return english.Possessives[t.Low] || t.Poss })
			r.ts = r.ts[i+1:]
			return
		}
	}
}
