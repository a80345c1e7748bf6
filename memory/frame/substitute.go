package frame

import (
	"slices"
	"strings"
)

// substituted compares statements with different values of the same attribute.
func substituted(a, b Frame, m alignment) Relation {
	va, vb, ok := valuePair(a, b)
	if !ok && len(a.values) == 1 && len(b.values) == 1 && allNames(a.values) && allNames(b.values) &&
		b.cue >= cueNow && len(m.restB) == 0 {
		va, vb, ok = a.values[0], b.values[0], true // of two categories, but in the same place
	}
	if !ok || otherOld(va, b) || a.outline.able && b.outline.able {
		return Relation{}
	}
	attributes := m.attributes(a, b)
	if head := sharedHead(va, vb); len(attributes) == 0 && head != "" && va.key != vb.key {
		attributes = []string{head} // "a low-carb diet" and "a keto diet"
	}
	if a.negated && !b.negated && !va.Same(vb) {
		return Relation{} // the earlier one only excludes another value
	}
	category := va.category != "" && va.category == vb.category
	concept := sharedConcept(a, b, m)
	exact := len(m.restA) == 0 && len(m.restB) == 0 || otherVerb(a, b, m, va, vb)
	if va.Same(vb) && len(m.restA) == 1 && len(m.restB) == 1 && !restInSubject(a, b, m) &&
		opposite(m.restA[0], m.restB[0]) {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
	}
	if len(attributes) == 0 && exact && singleKind(va.Kind) && len(m.shared) > 0 && !personal(a) {
		attributes = m.shared // "the demo": the thing itself is scheduled
	}
	if len(attributes) == 0 && !category && sameSlot(a, b, va, vb) && exact && sharesSubject(m) && b.cue >= cueNow {
		out := Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
		if b.corrects {
			out.Certainty = Sure
		}
		return out
	}
	if len(attributes) == 0 && !category {
		return Relation{}
	}
	if va.Same(vb) {
		switch {
		case !exact || a.negated != b.negated:
			return Relation{}
		case va.key != vb.key && b.cue >= cueNow: // "a half marathon", "a marathon instead"
			return Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
		}
		return Relation{Certainty: Sure, Change: Restates}
	}
	plural := pluralConcepts[concept] || (a.sentiment != 0 || manyOf(a) || manyOf(b)) &&
		!(isFavorite(a) && isFavorite(b))
	// The later statement may name only the thing: "we moved the search service to Stockholm".
	if len(m.restB) == 0 && b.cue == cueChange && len(m.restA) == 1 {
		for _, c := range concepts[m.restA[0]] {
			if singleConcepts[c] {
				concept = c
			}
		}
	}
	single := !plural && (singleKind(va.Kind) || singleConcepts[concept] && !paidFor(concept, va) ||
		a.holder && b.holder && holderConcepts[concept] || isFavorite(a) && isFavorite(b) ||
		definite(a, b, va, vb, category))
	usual := usualConcepts[concept]
	if a.sentiment > 0 && b.sentiment > 0 && b.cue >= cueNow &&
		(category || opposite(va.key, vb.key) || shareHead(va, vb)) && exact {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	out := Relation{Change: Updates}
	switch {
	case plural && exact && b.cue >= cueNow && a.sentiment == 0:
		out.Certainty, out.Why = Likely, WhyCue
	case plural:
		return Relation{}
	case exact && (single || usual) && b.cue == cueNone && usual && !singleKind(va.Kind):
		out.Certainty, out.Why = Likely, WhyRestated // some have two
	case exact && single:
		out.Certainty, out.Why = Sure, WhySingle
	case exact && b.cue >= cueNow:
		out.Certainty, out.Why = Sure, WhyCue
	case exact && category, exact && va.Kind == KindName && vb.Kind == KindName && len(attributes) > 0:
		out.Certainty, out.Why = Doubt, WhyRestated
	case exact && va.Kind == KindTerm && vb.Kind == KindTerm && va.preposition == vb.preposition &&
		a.mainVerb != "be" && a.mainVerb == b.mainVerb && !conjoined(a) && !conjoined(b):
		out.Certainty, out.Why = Doubt, WhyRestated // "he studies law", "he studies medicine"
	case exact:
		return Relation{}
	case len(m.restB) == 0 && b.cue == cueChange && (single || category): // the later one is shorter and refers back
		out.Certainty, out.Why = Sure, WhyCue
	case sameButVerb(a, b, m) && b.cue >= cueNow && va.Kind == KindName && vb.Kind == KindName &&
		len(attributes) > 0 && !conjoined(a) && !conjoined(b):
		out.Certainty, out.Why = Likely, WhyCue
	case len(m.restB) == 0 && b.cue == cueChange && len(m.restA) < 3 && va.Kind == KindName && vb.Kind == KindName &&
		len(attributes) > 0 && len(a.values) == 1 && !b.ended && len(b.old) == 0 && covered(b, a):
		out.Certainty, out.Why = Likely, WhyCue
	case len(m.restA) == 0 && b.cue == cueChange && (single || category):
		out.Certainty, out.Why = Sure, WhyCue
	case len(m.restB) > 0 && allIn(m.restB, b.subject) && b.cue < cueChange:
		return Relation{} // "the bins", "the glass bin": one of them, or another
	case (len(m.restA) == 0 || len(m.restB) == 0) && b.cue >= cueNow && (single || category):
		out.Certainty, out.Why = Likely, WhyCue
	case (len(m.restA) == 0 || len(m.restB) == 0) && single && !restInSubject(a, b, m):
		out.Certainty, out.Why = Doubt, WhyAmbiguous
	default:
		return Relation{}
	}
	if m.hearsay && out.Certainty == Sure && b.cue < cueChange {
		out.Certainty = Likely
	}
	return out
}

// sameButVerb reports whether only one of two statements has a verb that says something: "the dashboards are in
// Superset", "we build the dashboards in Looker".
func sameButVerb(a, b Frame, m alignment) bool {
	only := func(rest []string, f, g Frame) bool {
		return len(rest) == 0 || len(rest) == 1 && rest[0] == f.mainVerb &&
			(g.mainVerb == "be" || lightVerbs[g.mainVerb])
	}
	return only(m.restA, a, b) && only(m.restB, b, a)
}

func allIn(words, of []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(of, w) })
}

// covered reports whether each word of the topic of b is in a, as such or as another form of it.
func covered(b, a Frame) bool {
	return !slices.ContainsFunc(b.topic, func(t string) bool {
		return !strings.HasPrefix(t, "@") && !softTerms[t] && !isPerson(b, t) &&
			!slices.ContainsFunc(a.topic, func(o string) bool { return sameDeed(t, o) })
	})
}

// otherOld reports whether the later statement names the value that it replaces, and that is not the earlier value v.
func otherOld(v Value, b Frame) bool {
	return len(b.old) > 0 && !slices.ContainsFunc(b.old, func(o Value) bool {
		return !interchangeable(o, v) || o.Same(v) || partOf(o.key, v.key)
	})
}

// paidFor reports whether a value is the thing that is paid for, not the amount. People pay for many things at a time.
func paidFor(concept string, v Value) bool {
	return (concept == "PRICE" || concept == "SALARY") && v.preposition == "for"
}

// sameSlot reports whether two names are in the same position in statements about one thing, after the same verb and
// preposition. "The maps come from OpenStreetMap", "the maps now come from Mapbox".
func sameSlot(a, b Frame, va, vb Value) bool {
	return va.Kind == KindName && vb.Kind == KindName && !va.Same(vb) && !personal(a) &&
		slices.ContainsFunc(a.subject, func(t string) bool { return !isPerson(a, t) }) &&
		(a.mainVerb == b.mainVerb && va.preposition == vb.preposition || changeVerbs[b.mainVerb] &&
			vb.preposition == "to")
}

// otherVerb reports whether two statements about one thing differ only in their verbs and values: "we track our leads
// in Salesforce", "we keep our leads in SugarCRM". The values follow the same preposition.
func otherVerb(a, b Frame, m alignment, va, vb Value) bool {
	return len(m.restA) == 1 && len(m.restB) == 1 && m.restA[0] == a.mainVerb && m.restB[0] == b.mainVerb &&
		va.Kind == KindName && vb.Kind == KindName && va.preposition != "" && va.preposition == vb.preposition &&
		len(m.attributes(a, b)) > 0
}

// valuePair returns the values of two statements if one could replace the other.
func valuePair(a, b Frame) (va, vb Value, ok bool) {
	for _, x := range a.values {
		for _, y := range b.values {
			if interchangeable(x, y) && !x.Same(y) {
				return x, y, true
			}
		}
	}
	for _, x := range a.values {
		for _, y := range b.values {
			if interchangeable(x, y) {
				return x, y, true
			}
		}
	}
	return va, vb, false
}

func interchangeable(x, y Value) bool {
	words := func(k Kind) bool { return k == KindName || k == KindTerm }
	amounts := func(k Kind) bool { return k == KindAmount || k == KindNumber }
	switch {
	case x.Kind == KindVersion && y.Kind == KindVersion:
		return x.category == "" || y.category == "" || x.category == y.category ||
			categories[x.category] == categories[y.category]
	case x.Kind == y.Kind && !words(x.Kind):
		return true
	case amounts(x.Kind) && amounts(y.Kind):
		return true
	case words(x.Kind) && words(y.Kind):
		return x.category == y.category || x.category == "" || y.category == ""
	case x.Kind == KindVersion && words(y.Kind), y.Kind == KindVersion && words(x.Kind):
		return categoryName(x) != "" && categoryName(x) == categoryName(y)
	}
	return false
}

func categoryName(v Value) string {
	if v.Kind == KindVersion {
		return categories[v.category]
	}
	return v.category
}

// singleKind reports whether a thing has only one value of this kind at a time.
func singleKind(k Kind) bool {
	switch k {
	case KindOften, KindDate, KindTime, KindDuration, KindAmount, KindPercent, KindNumber, KindVersion, KindContact:
		return true
	}
	return false
}

// sharedConcept returns the first concept that both topics have and that counts in comparisons.
func sharedConcept(a, b Frame, m alignment) string {
	first := ""
	for i, t := range m.shared {
		o := m.partner[i]
		for _, c := range concepts[t] {
			if !slices.Contains(concepts[o], c) {
				continue
			}
			if c == conceptName {
				return c
			}
			if first == "" || !decides(first) && decides(c) {
				first = c
			}
		}
	}
	return first
}

func decides(c string) bool { return singleConcepts[c] || pluralConcepts[c] || holderConcepts[c] }

// isFavorite reports whether the statement is about the favourite of something.
func isFavorite(f Frame) bool {
	return slices.Contains(f.topic, stemOf("favorite"))
}

// manyOf reports whether the attribute of a statement may have many values: the statement is about likes or dislikes.
func manyOf(f Frame) bool { return f.sentiment != 0 && f.cue < cueNow }

// definite reports whether both statements identify a thing that exists once: "our CI is …".
func definite(a, b Frame, va, vb Value, category bool) bool {
	if !a.copular || !b.copular || a.holder != b.holder && !category {
		return a.holder != b.holder && va.Kind == KindName && vb.Kind == KindName && (a.copular || b.copular)
	}
	return category || va.Kind == KindName && vb.Kind == KindName
}

// conjoined reports whether a statement gives several values.
func conjoined(f Frame) bool { return len(f.values) > 1 }

func shareHead(x, y Value) bool { return sharedHead(x, y) != "" }

// sharedHead returns the last word of two values of several words, if it is the same.
func sharedHead(x, y Value) string {
	a, b := strings.Fields(x.key), strings.Fields(y.key)
	if len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] {
		return a[len(a)-1]
	}
	return ""
}

func restInSubject(a, b Frame, m alignment) bool {
	return slices.ContainsFunc(m.restA, func(t string) bool { return slices.Contains(a.subject, t) }) ||
		slices.ContainsFunc(m.restB, func(t string) bool { return slices.Contains(b.subject, t) })
}
