package frame

import (
	"slices"
	"strings"
)

// splitClauses splits a sentence where a new statement begins.
func splitClauses(ts []token) [][]token {
	var out [][]token
	start, verbs := 0, 0
	for i := range ts {
		if isVerb(ts[i]) {
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
		if i+2 < len(ts) && ts[next].low == "and" && ts[i+2].is("nolonger", "not", "never") {
			out = append(out, ts[start:i+1])
			start, verbs = next+1, 0
			continue
		}
		and := ts[next].low == "and" || ts[next].low == "but" && !hasNegation(ts[start:next])
		if and {
			next++
		}
		if next+1 >= len(ts) {
			continue
		}
		end := ts[i].end
		begins := false
		switch {
		case end == ';' || end == '–' && verbs > 0:
			begins = hasVerb(ts[next:min(len(ts), next+5)])
		case end == ',' || and:
			t := ts[next]
			begins = and && t.cap && isAux(ts[next+1]) && !pronouns[t.low] ||
				(pronouns[t.low] || selfWords[t.low]) && !(t.low == "the") &&
					hasVerb(ts[next+1:min(len(ts), next+3)]) ||
				(possessives[t.low] || t.cap && end == ',' || articles[t.low] && end == ',') &&
					hasAux(ts[next+1:min(len(ts), next+5)]) ||
				and && isVerb(t) && !articles[ts[next-1].low] &&
					(pastTense(t) || isAux(t) || strings.HasSuffix(t.low, "s") || selfStart(ts[start])) &&
					!isNounHere(ts, next)
		}
		if begins {
			out = append(out, ts[start:i+1])
			start, verbs = next, 0
		}
	}
	return append(out, ts[start:])
}

// soClause returns where the clause after "so" begins, if the clause before it ends at i: "Ewa left, so my cleaner is
// Bianca". It returns 0 if there is none.
func soClause(ts []token, i int) int {
	next := i + 1
	if next+3 >= len(ts) || ts[next].low != "so" || ts[next].end != 0 {
		return 0
	}
	next++
	if t := ts[next]; t.is("that", "far", "much", "many", "long") ||
		!t.is("i", "we", "he", "she", "they") && !hasVerb(ts[next:min(len(ts), next+6)]) {
		return 0
	}
	return next
}

func selfStart(t token) bool { return selfWords[t.low] || teamWords[t.low] }

// isNounHere reports whether a word that may be a verb is probably a noun, because nothing follows that could be its
// object.
func isNounHere(ts []token, i int) bool { return i+1 >= len(ts) || ts[i].end != 0 }

func hasVerb(ts []token) bool { return slices.ContainsFunc(ts, isVerb) }
func hasAux(ts []token) bool  { return slices.ContainsFunc(ts, isAux) }

func hasNegation(ts []token) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return t.is("not", "nolonger", "never") })
}

// elliptic reads a clause such as "Kofi is." after "Priya is no longer on call", whose value is the name.
func (r *reader) elliptic(prev *Frame) bool {
	n := len(r.ts)
	if n < 2 || n > 4 || !isAux(r.ts[n-1]) && !(isAux(r.ts[n-2]) && nowCues[r.ts[n-1].low]) || !r.ts[0].cap ||
		selfWords[r.ts[0].low] || !prev.ended && !prev.negated {
		return false
	}
	r.taken = make([]bool, n)
	end := n - 1
	for end > 0 && (isAux(r.ts[end]) || nowCues[r.ts[end].low]) {
		end--
	}
	v, ok := r.value(0, end+1)
	if !ok {
		return false
	}
	v.Kind = KindName
	if parts := prev.outline.parts; !prev.holder && len(prev.old) == 0 && prev.bareName && len(parts) > 1 &&
		parts[0].role == roleAgent {
		// "Samir does not write it any more, Jule does": someone else does the same
		parts[0].stems, prev.owner = strings.Fields(v.key), strings.Fields(v.key)
		prev.topic = append(slices.DeleteFunc(slices.Clone(prev.topic), func(t string) bool {
			return slices.Contains(prev.subject, t)
		}), prev.owner...)
		prev.subject = prev.owner
		prev.ended, prev.negated, prev.cue = false, false, cueChange
		return true
	}
	for _, old := range prev.values {
		if len(prev.old) > 0 && old.Kind == KindTerm { // "Oliver is not our lead any more, Tomasz is"
			prev.topic = append(prev.topic, strings.Fields(old.key)...)
		} else {
			prev.old = append(prev.old, old)
		}
	}
	prev.values = []Value{v}
	prev.ended, prev.negated, prev.cue = false, false, cueChange
	return true
}

// inherit gives a clause without its own subject that of the clause before.
func (r *reader) inherit(prev Frame, sameSentence bool) {
	r.unresolved = r.unresolved && len(prev.subject) == 0
	if sameSentence && r.byPronoun && prev.actor != "" && len(prev.subject) == 0 && prev.cue == cueChange {
		r.unresolved = false // "I changed my dentist, it is Dr. Roth now": completes joins them
		return
	}
	if !r.byPronoun && !(sameSentence && r.subjectless) || len(prev.subject) == 0 {
		return
	}
	r.unresolved = false
	for _, t := range slices.Backward(prev.subject) {
		if !slices.Contains(r.topic, t) {
			r.topic = slices.Insert(r.topic, 0, t)
		}
		if !slices.Contains(r.subject, t) {
			r.subject = slices.Insert(r.subject, 0, t)
		}
	}
	r.bareName, r.kin = r.bareName || prev.bareName, r.kin || prev.kin
	for _, t := range prev.owner {
		if !slices.Contains(r.owner, t) {
			r.owner = append(r.owner, t)
		}
	}
}

// completes reports whether f has the new value for prev, which only says that the old one ended.
func completes(prev, f Frame, close bool) bool {
	if !close || len(f.values) == 0 || f.ended || f.negated || !prev.ended && !prev.negated && prev.cue < cueChange {
		return false
	}
	if len(prev.values) > 0 && !prev.ended && !prev.negated {
		return false // it has its own value
	}
	if f.byPronoun && prev.actor != "" && len(prev.subject) == 0 {
		return true // "I changed my dentist, it is Dr. Roth now"
	}
	return !strangers(prev, f)
}

func joined(prev, f Frame) Frame {
	out := prev
	out.old = append(slices.Clone(prev.old), prev.values...)
	out.values = f.values
	out.topic = slices.Clone(prev.topic)
	for _, t := range f.topic {
		if !slices.Contains(out.topic, t) {
			out.topic = append(out.topic, t)
		}
	}
	out.ended, out.negated, out.event, out.cue = false, false, false, cueChange
	out.copular = prev.copular || f.copular
	out.outline = outline{}
	return out
}

// nounPhrase returns where the noun phrase that starts at i ends.
func (r *reader) nounPhrase(i int) int {
	start := i
	if v, n := typedAt(r.ts, i); n > 0 && v.Kind != "" {
		i += n
		if r.ts[i-1].end != 0 {
			return i
		}
	}
	for i < len(r.ts) {
		t := r.ts[i]
		if i > start && (prepositions[t.low] || conjunctions[t.low] || isAux(t) || nowCues[t.low] ||
			pronouns[t.low] && !t.cap || clauseBreaks[t.low] || oldMarkers[t.low] ||
			t.is("anymore", "not", "last", "this")) {
			break
		}
		if i == start && prepositions[t.low] {
			break
		}
		i++
		if t.end != 0 {
			break
		}
	}
	return i
}

// value makes a value from the tokens, without the articles and fillers around them.
func (r *reader) value(from, to int) (Value, bool) {
	for from < to && (articles[r.ts[from].low] || possessives[r.ts[from].low] || fillers[r.ts[from].low] ||
		nowCues[r.ts[from].low]) {
		from++
	}
	for to > from && (fillers[r.ts[to-1].low] || nowCues[r.ts[to-1].low] || r.ts[to-1].low == "anymore") {
		to--
	}
	if from >= to {
		return Value{}, false
	}
	if v, n := typedAt(r.ts, from); n > 0 && from+n >= to {
		v.from, v.to, v.Text = from, from+n, textOf(r.ts[from:from+n])
		return v, true
	}
	span := r.ts[from:to]
	v := Value{Kind: KindTerm, Text: textOf(span), from: from, to: to}
	keys := make([]string, 0, len(span))
	for _, t := range span {
		if t.cap && (from > 0 || properShape(span)) || isIdentifier(t.text) {
			v.Kind = KindName
		}
		for w := range strings.FieldsSeq(t.low) {
			if w != "the" && w != "of" {
				keys = append(keys, stemOf(w))
			}
		}
	}
	v.key = strings.Join(keys, " ")
	v.category = categoryOf(span)
	if v.category != "" && v.Kind == KindTerm && categoryIsName(v.category) {
		v.Kind = KindName
	}
	if hasDigit(v.Text) && v.Kind == KindName {
		if last := span[len(span)-1].low; numberPattern.MatchString(last) || versionPattern.MatchString(last) {
			v.Kind = KindVersion // "Postgres 16"
		}
	}
	return v, len(keys) > 0
}

// properShape reports whether the words at the start of a sentence are a name.
func properShape(span []token) bool {
	first := span[0]
	return !articles[first.low] && !possessives[first.low] && !pronouns[first.low] && concepts[first.stem] == nil
}

func categoryOf(span []token) string {
	if c := categories[textOfLow(span)]; c != "" {
		return c
	}
	for i := len(span) - 1; i >= 0; i-- {
		if c := categories[span[i].low]; c != "" {
			return c
		}
	}
	return ""
}

// categoryIsName reports whether the members of a category are names even in small letters.
func categoryIsName(c string) bool {
	switch c {
	case "DRINK",
		"DIET",
		"DAYPART",
		"COLOR",
		"SEASON",
		"COMMUTE",
		"INSTRUMENT",
		"SPORT",
		"THEME",
		"FREQUENCY",
		"STYLE",
		"MERGE":
		return false
	}
	return true
}

// isIdentifier reports whether a word is written as a technical name: eu-west-1, gRPC, k8s, #builds.
func isIdentifier(s string) bool {
	if len(s) < 2 || numberPattern.MatchString(strings.ToLower(s)) {
		return false
	}
	upper, letter := false, false
	for i, c := range s {
		if c >= 'A' && c <= 'Z' && i > 0 {
			upper = true
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			letter = true
		}
	}
	return letter && (upper || hasDigit(s) || strings.ContainsAny(s, "/_") && len(s) > 3)
}

func (r *reader) take(from, to int) {
	for i := from; i < to && i < len(r.taken); i++ {
		r.taken[i] = true
	}
}

// withoutCleft turns "it is Wordbank that translates our texts" into "Wordbank translates our texts".
func withoutCleft(ts []token) []token {
	if len(ts) < 6 || ts[0].low != "it" || !isBe(ts[1]) {
		return ts
	}
	for k := 3; k < min(len(ts)-2, 6); k++ {
		if ts[k].is("that", "who", "which") && ts[k-1].end == 0 && !fillers[ts[2].low] && !isVerb(ts[2]) {
			return slices.Concat(ts[2:k], ts[k+1:])
		}
	}
	return ts
}

// bare reports whether the word at i is the verb after "do not", "will" or "can", also if it is in no list: "my knee
// does not hurt".
func (r *reader) bare(i int) bool {
	t := r.ts[i]
	modal := slices.ContainsFunc(r.ts[r.verb:i], func(t token) bool {
		return t.is("do", "does", "did", "will", "can", "could", "would", "should", "must")
	})
	perfect := slices.ContainsFunc(r.ts[r.verb:i], func(t token) bool { return t.is("has", "have", "had") }) &&
		participle(t)
	return (modal || perfect) && isContent(t) && !t.cap && !strings.HasSuffix(t.low, "ing") && !slices.ContainsFunc(r.ts[:i], isBe)
}

// progressive reports whether the word at i is the verb after a form of "be": "Robert is saving up for a campervan".
func (r *reader) progressive(i int) bool {
	t := r.ts[i]
	return endsGerund(t) && t.end == 0 && i+2 < len(r.ts) && r.verb < i && isBe(r.ts[r.verb]) &&
		(prepositions[r.ts[i+1].low] || articles[r.ts[i+1].low] || possessives[r.ts[i+1].low])
}
