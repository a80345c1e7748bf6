package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// nounPhrase returns where the noun phrase that starts at i ends.
func (r *reader) nounPhrase(i int) int {
	start := i
	if v, n := typedAt(r.ts, i); n > 0 && v.Kind != "" {
		i += n
		if r.ts[i-1].End != 0 {
			return i
		}
	}
	for i < len(r.ts) {
		t := r.ts[i]
		if i > start && (english.Prepositions[t.Low] || english.Conjunctions[t.Low] || english.IsAux(t) ||
			english.NowCues[t.Low] ||
			english.Pronouns[t.Low] && !t.Cap || english.ClauseBreaks[t.Low] || english.OldMarkers[t.Low] ||
			t.Is("anymore", "not", "last", "this")) {
			break
		}
		if i == start && english.Prepositions[t.Low] {
			break
		}
		i++
		if t.End != 0 {
			break
		}
	}
	return i
}

// Value makes a value from the tokens, without the articles and fillers around them.
func (r *reader) value(from, to int) (Value, bool) {
	for from < to && (english.Articles[r.ts[from].Low] || english.Possessives[r.ts[from].Low] ||
		english.Fillers[r.ts[from].Low] ||
		english.NowCues[r.ts[from].Low]) {
		from++
	}
	for from > r.verb && from+1 < to && r.ts[from].Poss && r.ofSubject(r.ts[from]) {
		from++ // "Ines's best"
	}
	for to > from && (english.Fillers[r.ts[to-1].Low] || english.NowCues[r.ts[to-1].Low] ||
		r.ts[to-1].Low == "anymore") {
		to--
	}
	if from >= to {
		return Value{}, false
	}
	if v, n := typedAt(r.ts, from); n > 0 && from+n >= to {
		v.From, v.To, v.Text = from, from+n, textOf(r.ts[from:from+n])
		return v, true
	}
	span := r.ts[from:to]
	if from > r.verb && len(span) == 1 && r.ofSubject(span[0]) {
		return Value{}, false
	}
	v := Value{Kind: KindTerm, Text: textOf(span), From: from, To: to}
	keys := make([]string, 0, len(span))
	for _, t := range span {
		if t.Cap && (from > 0 || properShape(span)) || isIdentifier(t.Text) {
			v.Kind = KindName
		}
		for w := range strings.FieldsSeq(t.Low) {
			if w != "the" && w != "of" {
				keys = append(keys, english.StemOf(w))
			}
		}
	}
	v.Key = strings.Join(keys, " ")
	v.Category = categoryOf(span)
	if v.Category != "" && v.Kind == KindTerm && categoryIsName(v.Category) {
		v.Kind = KindName
	}
	if english.HasDigit(v.Text) && v.Kind == KindName {
		if last := span[len(span)-1].Low; numberPattern.MatchString(last) || versionPattern.MatchString(last) {
			v.Kind = KindVersion // "Postgres 16"
		}
	}
	return v, len(keys) > 0 && !(v.Kind == KindTerm && vague(span))
}

// vague reports whether words name nothing: "it", "something", "the same thing".
func vague(span []english.Token) bool {
	return !slices.ContainsFunc(span, func(t english.Token) bool {
		return !english.Vague[t.Low] && !english.Fillers[t.Low]
	})
}

// properShape reports whether the words at the start of a sentence are a name.
func properShape(span []english.Token) bool {
	first := span[0]
	return !english.Articles[first.Low] && !english.Possessives[first.Low] && !english.Pronouns[first.Low] &&
		english.Concepts[first.Stem] == nil
}

func categoryOf(span []english.Token) string {
	if c := english.Categories[textOfLow(span)]; c != "" {
		return c
	}
	for i := len(span) - 1; i >= 0; i-- {
		if c := english.Categories[span[i].Low]; c != "" {
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
	return letter && (upper || english.HasDigit(s) || strings.ContainsAny(s, "/_") && len(s) > 3)
}

func (r *reader) take(from, to int) {
	for i := from; i < to && i < len(r.taken); i++ {
		r.taken[i] = true
	}
}

func contentStems(ts []english.Token) []string {
	var out []string
	for _, t := range ts {
		if english.IsContent(t) {
			out = append(out, t.Stem)
		}
	}
	return out
}
