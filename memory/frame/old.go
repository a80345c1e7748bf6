package frame

import (
	"slices"
	"strings"
)

// oldMarkers has words that precede an outdated value.
var oldMarkers = words("insteadof ratherthan moveoff getridof nolonger")

// replacers has verbs whose object is an outdated value.
var replacers = stems(`replace swap ditch drop retire deprecate sunset abandon leave quit scrap dump axe trade
	exchange kill remove supersede succeed`, "getridof moveoff giveup shutdown")

// findOld marks the values that the statement declares outdated.
func (r *reader) findOld() {
	toward := slices.ContainsFunc(r.ts, func(t token) bool { return t.is("to", "into", "onto") })
	main := r.main()
	for i := 0; i < len(r.ts); i++ {
		t := r.ts[i]
		from := -1
		switch {
		case t.low == "not" && r.contrast(i):
			from = i + 1
			for from < len(r.ts)-1 && prepositions[r.ts[from].low] {
				from++ // "not in Metabase"
			}
		case t.low == "nolonger" && r.leaves(i):
		case oldMarkers[t.low] && (t.low != "nolonger" || r.copular || i+1 < len(r.ts) && !isVerb(r.ts[i+1])):
			from = i + 1
			for from < len(r.ts)-1 && prepositions[r.ts[from].low] && r.ts[from].end == 0 {
				from++ // "instead of at the Blue Swan"
			}
		case t.low == "from" && (r.cue == cueChange && r.changes() || toward) && !isTimeOf(r.ts, i+1):
			from = i + 1
			if _, n := typedAt(r.ts, i+1); n > 0 && toward && main.is("went", "gone") {
				r.cue, r.event = cueChange, false // "the limit went from 25 MB to 1 GB"
			}
		case t.low == "from" && i > r.verb && r.ts[i-1].is("back", "home") && !isTimeOf(r.ts, i+1):
			from = i + 1 // "is back from leave"
			r.ended, r.cue, r.event, r.past = true, cueChange, false, false
		case t.low == "over" && main.stem == stemOf("prefer") && i > r.verb:
			from = i + 1
		case i == r.verb && replacers[t.stem] && i+1 < len(r.ts) && strings.HasSuffix(r.ts[i+1].low, "ing"):
		case i == r.verb && replacers[t.stem] && i+1 < len(r.ts) && !prepositions[r.ts[i+1].low] && t.low != "shutdown":
			from = i + 1
		case i > r.verb && i > 0 && (r.ts[i-1].is("and", "to") || isAux(r.ts[i-1])) && replacers[t.stem] &&
			i+1 < len(r.ts) && !prepositions[r.ts[i+1].low]:
			from = i + 1
		case strings.HasSuffix(t.low, "ing") && len(t.low) > 4 && i > 0 && endVerbs[r.ts[i-1].stem] && i+1 < len(r.ts):
			from = i + 1 // "stopped using Jira", "gave up being a recruiter"
			for from < len(r.ts)-1 && r.ts[from].is("as", "to", "in", "on", "at", "by", "with") {
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

// leaves reads "Oliver is no longer the team's scrum master", with "no longer" at i: the outdated value is the person.
func (r *reader) leaves(i int) bool {
	start := i
	for start > 0 && isAux(r.ts[start-1]) {
		start--
	}
	if !r.copular || start == 0 || i+2 >= len(r.ts) || !r.personSubject(start) || r.isSelf(0, start) {
		return false
	}
	next := r.ts[i+1]
	if next.low != "the" && !possessives[next.low] && !next.poss {
		return false
	}
	v, ok := r.value(0, start)
	if !ok {
		return false
	}
	v.Kind = KindName
	r.old, r.holder = append(r.old, v), true
	r.take(0, start)
	return true
}

// changes reports whether the main verb describes a change, so that the value after "from" is outdated.
func (r *reader) changes() bool {
	main := r.main()
	return main.low == "" || changeVerbs[main.stem] || endVerbs[main.stem] || startVerbs[main.stem] || main.stem == "go"
}

// oldSubject marks the subject as the outdated value if it is the replaced one: "Jenkins was replaced by …", "Marek
// handed on-call over to Priya", "Jenkins is out".
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
	return !slices.ContainsFunc(ts[i+n:], func(t token) bool { return t.is("to", "until") })
}
