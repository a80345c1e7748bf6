package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// splitClauses splits a sentence where a new statement begins.
func splitClauses(ts []english.Token) [][]english.Token {
	var out [][]english.Token
	start, verbs := 0, 0
	for i := range ts {
		if english.IsVerb(ts[i]) || i > start && english.PastTense(ts[i]) {
			verbs++
		}
		if n := soClause(ts, i); n > 0 && i > start {
			out = append(out, ts[start:i+1])
			start, verbs = n, 0
			continue
		}
		if i-start < 1 || i+2 >= len(ts) || verbs == 0 {
			continue
		}
		next := i + 1
		if i+2 < len(ts) && ts[next].Low == "and" && ts[i+2].Is("nolonger", "not", "never") &&
			hasVerb(ts[i+3:]) {
			out = append(out, ts[start:i+1])
			start, verbs = next+1, 0
			continue
		}
		and := ts[next].Low == "and" || ts[next].Low == "but" &&
			(!hasNegation(ts[start:next]) || startsClause(ts[next+1:]))
		if and {
			next++
		}
		if next+1 >= len(ts) {
			continue
		}
		end := ts[i].End
		begins := false
		switch {
		case end == ';' || end == '–' && verbs > 0:
			begins = hasVerb(ts[next:min(len(ts), next+5)])
		case end == ',' || and:
			t := ts[next]
			begins = and && t.Cap && english.IsAux(ts[next+1]) && !english.Pronouns[t.Low] ||
				and && t.Cap && states(ts, next) ||
				and && english.NowCues[t.Low] && t.End == 0 && english.IsVerb(ts[next+1]) &&
					(english.ThirdPerson(ts[next+1].Low) || english.PastTense(ts[next+1])) ||
				(english.Pronouns[t.Low] || english.SelfWords[t.Low]) && !(t.Low == "the") &&
					hasVerb(ts[next+1:min(len(ts), next+3)]) ||
				(english.Possessives[t.Low] || t.Cap && end == ',' || english.Articles[t.Low] && end == ',') &&
					hasAux(ts[next+1:min(len(ts), next+5)]) ||
				end == ',' && !and && states(ts, next) ||
				and && english.IsVerb(t) && !english.Articles[ts[next-1].Low] &&
					(english.PastTense(t) || english.IsAux(t) || strings.HasSuffix(t.Low, "s") ||
						selfStart(ts[start])) &&
					!isNounHere(ts, next) ||
				and && verbs > 0 && english.ThirdPerson(t.Low) && !t.Cap && t.End == 0 && end == 0 &&
					ts[next-1].Low == "and" && !selfStart(ts[start]) && next+2 < len(ts) &&
					(english.Articles[ts[next+1].Low] || english.Possessives[ts[next+1].Low])
		}
		if begins {
			out = append(out, ts[start:i+1])
			start, verbs = next, 0
		}
	}
	return append(out, ts[start:])
}

// states reports whether a noun phrase and its verb begin at i: "all our tickets live in Linear", "Tobias leads the
// team".
func states(ts []english.Token, i int) bool {
	first := ts[i]
	if first.Low == "all" && i+1 < len(ts) {
		i++
		first = ts[i]
	}
	if !english.Articles[first.Low] && !english.Possessives[first.Low] && !first.Cap || first.End != 0 {
		return false
	}
	for k := i + 1; k < min(len(ts)-1, i+5); k++ {
		t, prev, next := ts[k], ts[k-1], ts[k+1]
		switch {
		case prev.End != 0, english.Prepositions[t.Low], english.Conjunctions[t.Low]:
			return false
		case t.Cap, t.End != 0, t.Poss, !english.IsVerb(t), english.Articles[prev.Low], english.Possessives[prev.Low],
			prev.Poss:
			continue
		}
		finite := english.ThirdPerson(t.Low) || english.PastTense(t) || strings.Contains(t.Text, " ") ||
			strings.HasSuffix(prev.Low, "s") && !prev.Cap // "tickets live"
		if finite && !hasDigit(next) && (english.Prepositions[next.Low] || english.Articles[next.Low] ||
			english.Possessives[next.Low] || english.Pronouns[next.Low] || english.NowCues[next.Low] || next.Cap) {
			return true
		}
	}
	return false
}

func hasDigit(t english.Token) bool { return english.HasDigit(t.Low) }

// soClause returns where the clause after "so" begins, if the clause before it ends at i: "Ewa left, so my cleaner is
// Bianca". It returns 0 if there is none.
func soClause(ts []english.Token, i int) int {
	next := i + 1
	if next+3 >= len(ts) || ts[next].Low != "so" || ts[next].End != 0 ||
		ts[i].End == 0 && (english.IsVerb(ts[i]) || english.IsAux(ts[i])) { // "the colors are so bright"
		return 0
	}
	next++
	if t := ts[next]; t.Is("that", "far", "much", "many", "long") ||
		!t.Is("i", "we", "he", "she", "they") && !hasVerb(ts[next:min(len(ts), next+6)]) {
		return 0
	}
	return next
}

// startsClause reports whether the words begin with a subject and its verb: "I love tea".
func startsClause(ts []english.Token) bool {
	if len(ts) < 3 || ts[0].End != 0 {
		return false
	}
	t := ts[0]
	subject := (english.Pronouns[t.Low] || english.SelfWords[t.Low] || t.Cap) && !english.Articles[t.Low]
	return subject && (english.IsAux(ts[1]) || english.IsVerb(ts[1]) && !ts[1].Cap ||
		english.Fillers[ts[1].Low] && english.IsVerb(ts[2]))
}

func selfStart(t english.Token) bool { return english.SelfWords[t.Low] || english.TeamWords[t.Low] }

// isNounHere reports whether a word that may be a verb is probably a noun, because nothing follows that could be its
// object.
func isNounHere(ts []english.Token, i int) bool { return i+1 >= len(ts) || ts[i].End != 0 }

func hasVerb(ts []english.Token) bool { return slices.ContainsFunc(ts, english.IsVerb) }

func hasAux(ts []english.Token) bool { return slices.ContainsFunc(ts, english.IsAux) }

func hasNegation(ts []english.Token) bool {
	return slices.ContainsFunc(ts, func(t english.Token) bool { return t.Is("not", "nolonger", "never") })
}

// elliptic reads a clause such as "Kofi is." after "Priya is no longer on call", whose value is the name.
func (r *reader) elliptic(prev *Frame) bool {
	n := len(r.ts)
	if n < 2 || n > 4 || !english.IsAux(r.ts[n-1]) && !(english.IsAux(r.ts[n-2]) && english.NowCues[r.ts[n-1].Low]) ||
		!r.ts[0].Cap ||
		english.SelfWords[r.ts[0].Low] || !prev.Ended && !prev.Negated {
		return false
	}
	r.taken = make([]bool, n)
	end := n - 1
	for end > 0 && (english.IsAux(r.ts[end]) || english.NowCues[r.ts[end].Low]) {
		end--
	}
	v, ok := r.value(0, end+1)
	if !ok {
		return false
	}
	v.Kind = KindName
	if parts := prev.Outline.Parts; !prev.Holder && len(prev.Old) == 0 && prev.BareName && len(parts) > 1 &&
		parts[0].Role == RoleAgent {
		// "Samir does not write it any more, Jule does": someone else does the same
		parts[0].Stems, prev.Owners = strings.Fields(v.Key), strings.Fields(v.Key)
		prev.Topic = append(slices.DeleteFunc(slices.Clone(prev.Topic), func(t string) bool {
			return slices.Contains(prev.Subject, t)
		}), prev.Owners...)
		prev.Subject = prev.Owners
		prev.Ended, prev.Negated, prev.Cue = false, false, CueChange
		return true
	}
	for _, old := range prev.Values {
		if len(prev.Old) > 0 && old.Kind == KindTerm { // "Oliver is not our lead any more, Tomasz is"
			prev.Topic = append(prev.Topic, strings.Fields(old.Key)...)
		} else {
			prev.Old = append(prev.Old, old)
		}
	}
	prev.Values = []Value{v}
	prev.Ended, prev.Negated, prev.Cue = false, false, CueChange
	return true
}

// inherit gives a clause without its own subject that of the clause before.
func (r *reader) inherit(prev Frame, sameSentence bool) {
	r.unresolved = r.unresolved && len(prev.Subject) == 0
	if sameSentence && r.byPronoun && prev.Actor != "" && len(prev.Subject) == 0 && prev.Cue == CueChange {
		r.unresolved = false // "I changed my dentist, it is Dr. Roth now": completes joins them
		return
	}
	if !r.byPronoun && !(sameSentence && r.subjectless) || len(prev.Subject) == 0 {
		return
	}
	r.unresolved = false
	for _, t := range slices.Backward(prev.Subject) {
		if !slices.Contains(r.Topic, t) {
			r.Topic = slices.Insert(r.Topic, 0, t)
		}
		if !slices.Contains(r.Subject, t) {
			r.Subject = slices.Insert(r.Subject, 0, t)
		}
	}
	r.BareName, r.Kin = r.BareName || prev.BareName, r.Kin || prev.Kin
	for _, t := range prev.Owners {
		if !slices.Contains(r.Owners, t) {
			r.Owners = append(r.Owners, t)
		}
	}
}

// completes reports whether f has the new value for prev, which only says that the old one ended.
func completes(prev, f Frame, close bool) bool {
	if !close || f.comment || prev.NeverDone || len(f.Values) == 0 || f.Ended || f.Negated ||
		!prev.Ended && !prev.Negated && prev.Cue < CueChange {
		return false
	}
	if len(prev.Values) > 0 && !prev.Ended && !prev.Negated {
		return false // it has its own value
	}
	if f.byPronoun && prev.Actor != "" && len(prev.Subject) == 0 {
		return true // "I changed my dentist, it is Dr. Roth now"
	}
	if f.byPronoun && f.Copular && len(f.Topic) == 0 && prev.Holder && prev.Ended && f.Values[0].Kind == KindName {
		return true // "Maria is no longer my cleaner. It's Agnes."
	}
	return !Strangers(prev, f)
}

func joined(prev, f Frame) Frame {
	out := prev
	out.Old = append(slices.Clone(prev.Old), prev.Values...)
	out.Values = f.Values
	out.Topic = slices.Clone(prev.Topic)
	if prev.Holder && len(prev.Old) > 0 { // what the old holder was: "my cleaner"
		out.Old = prev.Old
		for _, v := range prev.Values {
			out.Topic = append(out.Topic, strings.Fields(v.Key)...)
		}
	}
	for _, t := range f.Topic {
		if !slices.Contains(out.Topic, t) {
			out.Topic = append(out.Topic, t)
		}
	}
	out.Ended, out.Negated, out.Event, out.Cue = false, false, false, CueChange
	out.Copular = prev.Copular || f.Copular
	out.Outline = Outline{}
	return out
}

// withoutCleft turns "it is Wordbank that translates our texts" into "Wordbank translates our texts", and "port 8080 is
// what the API listens on" into "the API listens on port 8080".
func withoutCleft(ts []english.Token) []english.Token {
	if len(ts) < 5 {
		return ts
	}
	if ts[0].Low != "it" || !english.IsBe(ts[1]) {
		return withoutWhat(ts)
	}
	for k := 3; k < min(len(ts)-2, 6); k++ {
		if ts[k].Is("that", "who", "which") && ts[k-1].End == 0 && !english.Fillers[ts[2].Low] &&
			!english.IsVerb(ts[2]) {
			return slices.Concat(ts[2:k], ts[k+1:])
		}
	}
	return ts
}

// withoutWhat puts the value before "is what" after the verb or the preposition that ends the sentence.
func withoutWhat(ts []english.Token) []english.Token {
	is := slices.IndexFunc(ts, english.IsBe)
	last := len(ts)
	if last > 0 && english.NowCues[ts[last-1].Low] {
		last-- // "Rust is what we write now"
	}
	if is < 1 || is > 4 || is+4 > last || ts[is+1].Low != "what" || english.Pronouns[ts[0].Low] ||
		ts[0].Is("this", "that", "these", "those", "what") ||
		!english.Prepositions[ts[last-1].Low] && !english.IsVerb(ts[last-1]) ||
		slices.ContainsFunc(ts[:len(ts)-1], func(t english.Token) bool { return t.End != 0 }) {
		return ts
	}
	value := slices.Clone(ts[:is])
	if is > 1 && !value[1].Cap { // "Port 8080": the capital only begins the sentence
		value[0].Text, value[0].Cap = value[0].Low, false
	}
	out := slices.Concat(ts[is+2:last], value, ts[last:])
	out[len(out)-1].End = ts[len(ts)-1].End
	if last == len(ts) {
		out[last-is-3].End = 0
	}
	return out
}

// elections has the verbs that give someone a role.
var elections = english.Stems("elect appoint")

// newHolder has the words that say who has a role now.
var newHolder = english.Tokenize("is the new")

// withoutElection turns "Ada was elected treasurer of the club" into "Ada is the new treasurer of the club".
func withoutElection(ts []english.Token) []english.Token {
	for k := 1; k+2 < len(ts); k++ {
		if !elections[ts[k+1].Stem] || !english.IsBe(ts[k]) && ts[k].Stem != "get" || ts[k].End != 0 || ts[k+1].End != 0 {
			continue
		}
		role, from := k+2, k
		for role+1 < len(ts) && ts[role].Is("as", "the", "a", "our", "to", "be") {
			role++
		}
		if from > 1 && ts[from-1].Stem == "have" {
			from-- // "has been elected"
		}
		if !english.IsContent(ts[role]) || english.Prepositions[ts[role].Low] {
			return ts
		}
		return slices.Concat(ts[nameAt(ts, from):from], newHolder, ts[role:])
	}
	return ts
}

// nameAt returns the start of the name that ends before a position, if a phrase with a preposition introduces it: of
// Ada in "at the meeting Ada was elected". Otherwise it returns 0.
func nameAt(ts []english.Token, end int) int {
	from := end
	for from > 0 && ts[from-1].Cap {
		from--
	}
	if from == end || from == 0 || !english.Prepositions[ts[0].Low] {
		return 0
	}
	return from
}
