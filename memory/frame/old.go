package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// findOld marks the values that the statement declares outdated.
func (r *reader) findOld() {
	toward := slices.ContainsFunc(r.ts, func(t english.Token) bool { return t.Is("to", "into", "onto") })
	main := r.main()
	for i := 0; i < len(r.ts); i++ {
		t := r.ts[i]
		from := -1
		switch {
		case t.Low == "not" && r.contrast(i):
			from = i + 1
			for from < len(r.ts)-1 && english.Prepositions[r.ts[from].Low] {
				from++ // "not in Metabase"
			}
		case t.Low == "nolonger" && r.leaves(i):
		case english.OldMarkers[t.Low] && (t.Low != "nolonger" || r.Copular || i+1 < len(r.ts) &&
			!english.IsVerb(r.ts[i+1])):
			from = i + 1
			for from < len(r.ts)-1 && english.Prepositions[r.ts[from].Low] && r.ts[from].End == 0 {
				from++ // "instead of at the Blue Swan"
			}
		case t.Low == "from" && (r.Cue == CueChange && r.changes() || toward) && !isTimeOf(r.ts, i+1):
			from = i + 1
			if _, n := typedAt(r.ts, i+1); n > 0 && toward && main.Is("went", "gone") {
				r.Cue, r.Event = CueChange, false // "the limit went from 25 MB to 1 GB"
			}
		case t.Low == "from" && i > r.verb && r.ts[i-1].Is("back", "home") && !isTimeOf(r.ts, i+1):
			from = i + 1 // "is back from leave"
			r.Ended, r.Cue, r.Event, r.Past, r.Returned = true, CueChange, false, false, true
		case t.Low == "over" && main.Stem == english.StemOf("prefer") && i > r.verb:
			from = i + 1
		case english.Replacers[t.Stem] && r.onlyLeaves(i):
		case r.closesOwn(i):
			from = i + 1
		case i == r.verb && english.Replacers[t.Stem] && i+1 < len(r.ts) && strings.HasSuffix(r.ts[i+1].Low, "ing"):
		case i == r.verb && english.Replacers[t.Stem] && i+1 < len(r.ts) && !english.Prepositions[r.ts[i+1].Low] &&
			t.Low != "shutdown":
			from = i + 1
		case i > r.verb && i > 0 && (r.ts[i-1].Is("and", "to") || english.IsAux(r.ts[i-1])) &&
			english.Replacers[t.Stem] &&
			i+1 < len(r.ts) && !english.Prepositions[r.ts[i+1].Low]:
			from = i + 1
		case strings.HasSuffix(t.Low, "ing") && len(t.Low) > 4 && i > 0 && english.EndVerbs[r.ts[i-1].Stem] &&
			i+1 < len(r.ts):
			from = i + 1 // "stopped using Jira", "gave up being a recruiter"
			r.EndedDeed = t.Stem
			for from < len(r.ts)-1 && r.ts[from].Is("as", "to", "in", "on", "at", "by", "with") {
				from++
			}
		}
		if from < 0 || from >= len(r.ts) || t.End != 0 && !english.OldMarkers[t.Low] {
			continue
		}
		if to := r.nounPhrase(from); to > from {
			if v, ok := r.value(from, to); ok {
				r.Old = append(r.Old, v)
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
	for start > 0 && english.IsAux(r.ts[start-1]) {
		start--
	}
	if !r.Copular || start == 0 || i+2 >= len(r.ts) || !r.personSubject(start) || r.isSelf(0, start) {
		return false
	}
	next := r.ts[i+1]
	if next.Low != "the" && !english.Possessives[next.Low] && !next.Poss {
		return false
	}
	v, ok := r.value(0, start)
	if !ok {
		return false
	}
	v.Kind = KindName
	r.Old, r.Holder = append(r.Old, v), true
	r.take(0, start)
	return true
}

// changes reports whether the main verb describes a change, so that the value after "from" is outdated.
func (r *reader) changes() bool {
	main := r.main()
	return main.Low == "" || english.ChangeVerbs[main.Stem] || english.EndVerbs[main.Stem] ||
		english.StartVerbs[main.Stem] || main.Stem == "go"
}

// oldSubject marks the subject as the outdated value if it is the replaced one: "Jenkins was replaced by …", "Marek
// handed on-call over to Priya", "Jenkins is out".
func (r *reader) oldSubject() {
	main := r.main()
	passive := main.Stem == english.StemOf("replace") && r.Copular
	gave := main.Low == "handover" || (main.Stem == english.StemOf("pass") || main.Stem == "hand") && r.followed("to")
	out := r.Copular && r.Ended && r.verb > 0 && english.IsBe(main)
	retired := english.Replacers[main.Stem] && r.Copular
	if r.verb == 0 || r.verb >= len(r.ts) || !(passive || gave || out || retired) {
		return
	}
	to := r.verb
	for to > 0 && (english.IsAux(r.ts[to-1]) || english.Fillers[r.ts[to-1].Low]) {
		to--
	}
	from := to // the name alone: "the Mistral team's chat tool Slack"
	for from > 0 && r.nameLike(from-1) && (from == to || r.ts[from-1].End == 0 && !r.ts[from-1].Poss) {
		from--
	}
	if from == to {
		from = 0
	}
	if v, ok := r.value(from, to); ok && v.Kind != KindTerm && !r.isSelf(0, to) {
		r.Old = append(r.Old, v)
		r.take(from, to)
	}
}

func (r *reader) isSelf(from, to int) bool {
	return to-from == 1 && (english.SelfWords[r.ts[from].Low] || english.TeamWords[r.ts[from].Low] ||
		english.Pronouns[r.ts[from].Low])
}

// isTimeOf reports whether a time or a date starts at i: "from Monday".
func isTimeOf(ts []english.Token, i int) bool {
	if i >= len(ts) {
		return true
	}
	if english.Fillers[ts[i].Low] || english.NowCues[ts[i].Low] {
		return true
	}
	_, n := dateAt(ts, i)
	if n == 0 {
		return false
	}
	// "from May 3 to June 10" gives an old date.
	return !slices.ContainsFunc(ts[i+n:], func(t english.Token) bool { return t.Is("to", "until") })
}
