package change

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// substituted compares statements with different values of the same attribute.
func substituted(a, b frame.Frame, m alignment) Relation {
	va, vb, ok := valuePair(a, b)
	if !ok && len(a.Values) == 1 && len(b.Values) == 1 && allNames(a.Values) && allNames(b.Values) &&
		b.Cue >= frame.CueNow && len(m.restB) == 0 {
		va, vb, ok = a.Values[0], b.Values[0], true // of two categories, but in the same place
	}
	if !ok || otherOld(va, b) || a.Outline.Able && b.Outline.Able {
		return Relation{}
	}
	attributes := m.attributes(a, b)
	if head := sharedHead(va, vb); len(attributes) == 0 && head != "" && va.Key != vb.Key {
		attributes = []string{head} // "a low-carb diet" and "a keto diet"
	}
	if len(attributes) == 0 && len(m.restB) == 0 && b.Cue == frame.CueChange && len(m.restA) == 1 &&
		len(m.shared) > 0 && slices.Contains(english.Concepts[m.restA[0]], english.ConceptName) {
		attributes = m.restA // "the project is called Nightingale", "it's Kestrel now"
	}
	if a.Negated && !b.Negated && !va.Same(vb) {
		return Relation{} // the earlier one only excludes another value
	}
	category := va.Category != "" && va.Category == vb.Category
	concept := sharedConcept(a, b, m)
	if concept == "DIET" && (va.Category == concept) != (vb.Category == concept) {
		return Relation{} // "I'm vegetarian", "I eat cheese again": see outgrown
	}
	if (concept == "HOME" || concept == "EMPLOYER") &&
		(!whereabouts(a, va) || !whereabouts(b, vb) || exclusive(a, b) || ofRelative(a, m)) {
		return Relation{}
	}
	exact := len(m.restA) == 0 && len(m.restB) == 0 || otherVerb(a, b, m, va, vb)
	if va.Same(vb) && len(m.restA) == 1 && len(m.restB) == 1 && !restInSubject(a, b, m) &&
		english.Opposite(m.restA[0], m.restB[0]) {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
	}
	often := va.Often() && vb.Often()
	if len(attributes) == 0 && exact && (frame.SingleKind(va.Kind) || often) && len(m.shared) > 0 &&
		!frame.Personal(a) {
		attributes = m.shared // "the demo": the thing itself is scheduled
	}
	if len(attributes) == 0 && !category && sameSlot(a, b, va, vb) && exact && sharesSubject(m) &&
		b.Cue >= frame.CueNow {
		out := Relation{Certainty: Likely, Change: Updates, Why: WhyCue}
		if b.Corrects {
			out.Certainty = Sure
		}
		return out
	}
	if len(attributes) == 0 && !category {
		return Relation{}
	}
	if va.Same(vb) {
		switch {
		case !exact || a.Negated != b.Negated:
			return Relation{}
		case va.Key != vb.Key && b.Cue >= frame.CueNow: // "a half marathon", "a marathon instead"
			return Relation{Certainty: Doubt, Change: Updates, Why: WhyRestated}
		}
		return Relation{Certainty: Sure, Change: Restates}
	}
	plural := english.PluralConcepts[concept] || (a.Sentiment != 0 || manyOf(a) || manyOf(b)) &&
		!(isFavorite(a) && isFavorite(b))
	// The later statement may name only the thing: "we moved the search service to Stockholm".
	if len(m.restB) == 0 && b.Cue == frame.CueChange && len(m.restA) == 1 {
		for _, c := range english.Concepts[m.restA[0]] {
			if english.SingleConcepts[c] {
				concept = c
			}
		}
	}
	single := !plural && (frame.SingleKind(va.Kind) || often || english.SingleConcepts[concept] &&
		!paidFor(concept, va) && !(concept == "RETENTION" && va.Preposition+vb.Preposition == "") ||
		a.Holder && b.Holder && english.HolderConcepts[concept] || isFavorite(a) && isFavorite(b) ||
		definite(a, b, va, vb, category))
	usual := english.UsualConcepts[concept]
	if a.Sentiment > 0 && b.Sentiment > 0 && b.Cue >= frame.CueNow &&
		(category || english.Opposite(va.Key, vb.Key) || shareHead(va, vb)) && exact {
		return Relation{Certainty: Sure, Change: Updates, Why: WhyCue}
	}
	out := Relation{Change: Updates}
	switch {
	case plural && exact && b.Cue >= frame.CueNow && a.Sentiment == 0:
		out.Certainty, out.Why = Likely, WhyCue
	case plural:
		return Relation{}
	case exact && usual && !category && b.Cue == frame.CueNone && va.Kind == frame.KindTerm &&
		vb.Kind == frame.KindTerm && a.MainVerb != b.MainVerb &&
		(va.Preposition == "" || va.Preposition != vb.Preposition):
		out.Certainty, out.Why = Doubt, WhyRestated // "I was busy at work", "work can be tough"
	case exact && (single || usual) && b.Cue == frame.CueNone && usual && !frame.SingleKind(va.Kind):
		out.Certainty, out.Why = Likely, WhyRestated // some have two
	case exact && single:
		out.Certainty, out.Why = Sure, WhySingle
	case exact && b.Cue == frame.CueNow && forNow(a, b) && !category:
		out.Certainty, out.Why = Doubt, WhyRestated
	case exact && b.Cue >= frame.CueNow:
		out.Certainty, out.Why = Sure, WhyCue
	case exact && category, exact && va.Kind == frame.KindName && vb.Kind == frame.KindName && len(attributes) > 0:
		out.Certainty, out.Why = Doubt, WhyRestated
	case exact && wordy(va) && wordy(vb) && va.Preposition == vb.Preposition &&
		a.MainVerb != "be" && a.MainVerb == b.MainVerb && !conjoined(a) && !conjoined(b):
		out.Certainty, out.Why = Doubt, WhyRestated // "he studies law", "he studies medicine"
	case exact:
		return Relation{}
	// the later one is shorter and refers back
	case len(m.restB) == 0 && b.Cue == frame.CueChange && (single || category):
		out.Certainty, out.Why = Sure, WhyCue
	case sameButVerb(a, b, m) && b.Cue >= frame.CueNow && va.Kind == frame.KindName && vb.Kind == frame.KindName &&
		len(attributes) > 0 && !conjoined(a) && !conjoined(b):
		out.Certainty, out.Why = Likely, WhyCue
	case len(m.restB) == 0 && b.Cue == frame.CueChange && len(m.restA) < 3 && va.Kind == frame.KindName &&
		vb.Kind == frame.KindName &&
		len(attributes) > 0 && len(a.Values) == 1 && !b.Ended && len(b.Old) == 0 && covered(b, a):
		out.Certainty, out.Why = Likely, WhyCue
	case len(m.restA) == 0 && b.Cue == frame.CueChange && (single || category):
		out.Certainty, out.Why = Sure, WhyCue
	case len(m.restB) > 0 && allIn(m.restB, b.Subject) && b.Cue < frame.CueChange:
		return Relation{} // "the bins", "the glass bin": one of them, or another
	case (len(m.restA) == 0 || len(m.restB) == 0) && b.Cue >= frame.CueNow && (single || category):
		out.Certainty, out.Why = Likely, WhyCue
	case (len(m.restA) == 0 || len(m.restB) == 0) && single && !restInSubject(a, b, m):
		out.Certainty, out.Why = Doubt, WhyAmbiguous
	case b.Cue == frame.CueChange && sharedHead(va, vb) != "" && frame.Personal(a) && len(m.restB) <= 1 &&
		(len(m.restA) == 0 || len(m.restA) == 1 && m.restA[0] == a.MainVerb):
		// "I sit on the third floor", "they moved my desk to the fifth floor"
		out.Certainty, out.Why = Likely, WhyCue
	default:
		return Relation{}
	}
	if m.hearsay && out.Certainty == Sure && b.Cue < frame.CueChange {
		out.Certainty = Likely
	}
	return out
}

// whereabouts reports whether a value of a statement about a home or an employer is one: not so in "I live with Tom",
// "my house has a red door", "my home office is in the attic", "I moved to Team Orca", "I joined the chess club".
func whereabouts(f frame.Frame, v frame.Value) bool {
	switch {
	case ofGroup(v):
		return false
	case v.Preposition == "":
		return v.Kind != frame.KindTerm
	case v.Kind == frame.KindTerm:
		return placing[v.Preposition] && (f.MainVerb != "be" || f.Cue >= frame.CueNow)
	}
	return placing[v.Preposition]
}

// ofRelative reports whether the earlier statement is about a relative whom the later does not name: "the house of my
// parents".
func ofRelative(a frame.Frame, m alignment) bool {
	owner := func(t string) bool { return slices.Contains(a.Owners, t) && !frame.IsSpeaker(a, t) }
	return !slices.ContainsFunc(m.shared, owner) &&
		slices.ContainsFunc(a.Owners, func(t string) bool { return owner(t) && english.People[t] })
}

// placing has prepositions before a home or an employer.
var placing = english.Words("in at to from for into")

// ofGroup reports whether a value names a group that one can join or move to, no home and no employer.
func ofGroup(v frame.Value) bool {
	return slices.ContainsFunc(strings.Fields(v.Key), func(w string) bool { return groups[w] })
}

var groups = english.Stems("team club gym group choir band party union class course squad society association league")

// wordy reports whether a value is a name or another word, not a date, an amount or the like.
func wordy(v frame.Value) bool { return v.Kind == frame.KindName || v.Kind == frame.KindTerm }

// forNow reports whether the earlier statement is of a habit, and the later one of what is going on: "she plays the
// cello", "she is currently playing chess".
func forNow(a, b frame.Frame) bool {
	return b.Copular && !a.Copular && a.MainVerb == b.MainVerb && a.MainVerb != "" && !english.LightVerbs[a.MainVerb]
}

// bothStart reports whether both statements tell what someone began: "she started a course", "she started running".
func bothStart(a, b frame.Frame) bool {
	return a.MainVerb == b.MainVerb && english.StartVerbs[a.MainVerb]
}

// sameButVerb reports whether only one of two statements has a verb that says something: "the dashboards are in
// Superset", "we build the dashboards in Looker".
func sameButVerb(a, b frame.Frame, m alignment) bool {
	only := func(rest []string, f, g frame.Frame) bool {
		return len(rest) == 0 || len(rest) == 1 && rest[0] == f.MainVerb &&
			(g.MainVerb == "be" || english.LightVerbs[g.MainVerb])
	}
	return only(m.restA, a, b) && only(m.restB, b, a)
}

func allIn(words, of []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(of, w) })
}

// covered reports whether each word of the topic of b is in a, as such or as another form of it.
func covered(b, a frame.Frame) bool {
	return !slices.ContainsFunc(b.Topic, func(t string) bool {
		return !strings.HasPrefix(t, "@") && !english.SoftTerms[t] && !frame.IsSpeaker(b, t) &&
			!slices.ContainsFunc(a.Topic, func(o string) bool { return english.SameDeed(t, o) })
	})
}

// otherOld reports whether the later statement names the value that it replaces, and that is not the earlier value v.
func otherOld(v frame.Value, b frame.Frame) bool {
	return len(b.Old) > 0 && !slices.ContainsFunc(b.Old, func(o frame.Value) bool {
		return !interchangeable(o, v) || o.Same(v) || partOf(o.Key, v.Key)
	})
}

// paidFor reports whether a value is the thing that is paid for, not the amount. People pay for many things at a time.
func paidFor(concept string, v frame.Value) bool {
	return (concept == "PRICE" || concept == "SALARY") && v.Preposition == "for"
}

// sameSlot reports whether two names are in the same position in statements about one thing, after the same verb and
// preposition. "The maps come from OpenStreetMap", "the maps now come from Mapbox".
func sameSlot(a, b frame.Frame, va, vb frame.Value) bool {
	return va.Kind == frame.KindName && vb.Kind == frame.KindName && !va.Same(vb) && !frame.Personal(a) &&
		slices.ContainsFunc(a.Subject, func(t string) bool { return !frame.IsSpeaker(a, t) }) &&
		(a.MainVerb == b.MainVerb && va.Preposition == vb.Preposition || english.ChangeVerbs[b.MainVerb] &&
			vb.Preposition == "to")
}

// otherVerb reports whether two statements about one thing differ only in their verbs and values: "we track our leads
// in Salesforce", "we keep our leads in SugarCRM". The values follow the same preposition.
func otherVerb(a, b frame.Frame, m alignment, va, vb frame.Value) bool {
	return len(m.restA) == 1 && len(m.restB) == 1 && m.restA[0] == a.MainVerb && m.restB[0] == b.MainVerb &&
		va.Kind == frame.KindName && vb.Kind == frame.KindName && va.Preposition != "" &&
		va.Preposition == vb.Preposition &&
		len(m.attributes(a, b)) > 0
}

// valuePair returns the values of two statements if one could replace the other.
func valuePair(a, b frame.Frame) (va, vb frame.Value, ok bool) {
	if !within(b.Values, a.Values) {
		for _, x := range a.Values {
			for _, y := range b.Values {
				if interchangeable(x, y) && !x.Same(y) {
					return x, y, true
				}
			}
		}
	}
	for _, x := range a.Values {
		for _, y := range b.Values {
			if interchangeable(x, y) {
				return x, y, true
			}
		}
	}
	return va, vb, false
}

// within reports whether several values are all among others.
func within(values, of []frame.Value) bool {
	return len(values) > 1 && !slices.ContainsFunc(values, func(v frame.Value) bool {
		return !slices.ContainsFunc(of, v.Same)
	})
}

func interchangeable(x, y frame.Value) bool {
	words := func(k frame.Kind) bool { return k == frame.KindName || k == frame.KindTerm }
	amounts := func(k frame.Kind) bool { return k == frame.KindAmount || k == frame.KindNumber }
	switch {
	case x.Kind == frame.KindVersion && y.Kind == frame.KindVersion:
		return x.Category == "" || y.Category == "" || x.Category == y.Category ||
			english.Categories[x.Category] == english.Categories[y.Category]
	case x.Kind == y.Kind && !words(x.Kind), x.Often() && y.Often():
		return true
	case amounts(x.Kind) && amounts(y.Kind):
		return true
	case words(x.Kind) && words(y.Kind):
		return x.Category == y.Category || x.Category == "" || y.Category == ""
	case x.Kind == frame.KindVersion && words(y.Kind), y.Kind == frame.KindVersion && words(x.Kind):
		return categoryName(x) != "" && categoryName(x) == categoryName(y)
	}
	return false
}

func categoryName(v frame.Value) string {
	if v.Kind == frame.KindVersion {
		return english.Categories[v.Category]
	}
	return v.Category
}

// sharedConcept returns the first concept that both topics have and that counts in comparisons.
func sharedConcept(a, b frame.Frame, m alignment) string {
	first := ""
	for i, t := range m.shared {
		o := m.partner[i]
		for _, c := range english.Concepts[t] {
			if !slices.Contains(english.Concepts[o], c) {
				continue
			}
			if c == english.ConceptName {
				return c
			}
			if first == "" || !decides(first) && decides(c) {
				first = c
			}
		}
	}
	return first
}

func decides(c string) bool {
	return english.SingleConcepts[c] || english.PluralConcepts[c] || english.HolderConcepts[c]
}

// isFavorite reports whether the statement is about the favourite of something.
func isFavorite(f frame.Frame) bool {
	return slices.Contains(f.Topic, english.StemOf("favorite"))
}

// manyOf reports whether the attribute of a statement may have many values: the statement is about likes or dislikes.
func manyOf(f frame.Frame) bool { return f.Sentiment != 0 && f.Cue < frame.CueNow }

// definite reports whether both statements identify a thing that exists once: "our CI is …".
func definite(a, b frame.Frame, va, vb frame.Value, category bool) bool {
	if !a.Copular || !b.Copular || a.Holder != b.Holder && !category {
		return a.Holder != b.Holder && va.Kind == frame.KindName && vb.Kind == frame.KindName && (a.Copular ||
			b.Copular)
	}
	return category || va.Kind == frame.KindName && vb.Kind == frame.KindName
}

// conjoined reports whether a statement gives several values.
func conjoined(f frame.Frame) bool { return len(f.Values) > 1 }

func shareHead(x, y frame.Value) bool { return sharedHead(x, y) != "" }

// sharedHead returns the last word of two values of several words, if it is the same.
func sharedHead(x, y frame.Value) string {
	a, b := strings.Fields(x.Key), strings.Fields(y.Key)
	if len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] {
		return a[len(a)-1]
	}
	return ""
}

func restInSubject(a, b frame.Frame, m alignment) bool {
	return slices.ContainsFunc(m.restA, func(t string) bool { return slices.Contains(a.Subject, t) }) ||
		slices.ContainsFunc(m.restB, func(t string) bool { return slices.Contains(b.Subject, t) })
}
