package frame

import "strings"

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

// value makes a value of the tokens, without articles and fillers around them.
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
	case "DRINK", "DIET", "DAYPART", "COLOR", "SEASON", "COMMUTE", "INSTRUMENT", "SPORT", "THEME", "FREQUENCY", "STYLE", "MERGE":
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
