package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// Certainty is the certainty that a later statement changes an earlier one.
type Certainty int

// Degrees of certainty.
const (
	Unrelated Certainty = iota // both may hold, or they are about different things
	Doubt                      // they answer the same question with different values
	Likely                     // the later one probably replaces the earlier one
	Sure                       // the later one replaces the earlier one
)

// Change is the effect of a later statement on an earlier one.
type Change string

// Changes.
const (
	Restates Change = "restates" // the same statement again
	Updates  Change = "updates"  // another value
	Ends     Change = "ends"     // the earlier statement is no longer true, and none replaces it
)

// Relation is the result of Compare. The zero Relation means that both statements may hold.
type Relation struct {
	Certainty Certainty
	Change    Change
	Why       string // the rule, never content
}

// Reasons of relations.
const (
	WhyNamed     = "names the value that it replaces"
	WhyEnded     = "says that it holds no longer"
	WhyOpposite  = "says the opposite of the same"
	WhySingle    = "another value of what has one at a time"
	WhyCue       = "another value, in words that say it changed"
	WhyRestated  = "another value in the same words"
	WhyAmbiguous = "another value; not certain that it is of the same thing"
)

// Compare returns how a later statement changes an earlier one. It does not judge whether they are true. The caller
// must consider the speakers and the times.
func Compare(earlier, later frame.Frame) Relation {
	a, b := earlier, later
	if a.IfClause || b.IfClause || a.Past || a.Event && a.Cue < frame.CueChange || a.Ended && len(a.Values) == 0 {
		return Relation{}
	}
	m := match(a, b)
	if m.conditions {
		return Relation{}
	}
	if m.strangers {
		return surest(handed(a, b), repaired(a, b), placed(a, b), removed(a, b), installed(a, b), cancelled(a, b),
			separated(a, b))
	}
	if otherModifier(a, b) || otherOne(a, b) {
		return Relation{}
	}
	r := compare(a, b, m)
	if opposite := without(a, b); opposite.Certainty > Unrelated {
		return opposite
	}
	if r.Certainty < Likely {
		r = surest(r, handed(a, b), recovered(a, b), moved(a, b), equated(a, b), replaced(a, b), arrived(a, b),
			repaired(a, b), over(a, b), placed(a, b), removed(a, b), installed(a, b), unable(a, b), parallel(a, b),
			recolored(a, b), dropped(a, b), cancelled(a, b), movedHouse(a, b), conveyed(a, b), separated(a, b),
			outgrown(a, b))
	}
	if a.Hedged || b.Hedged || b.Undecided || r.Why == WhyCue && otherSense(a, b) {
		r.Certainty = min(r.Certainty, Doubt)
	}
	return r
}

// otherOne reports whether both statements introduce a thing: "a photo of a wall", "a photo of a bridge" may be two.
func otherOne(a, b frame.Frame) bool {
	one := func(f frame.Frame) bool {
		return len(f.Outline.Parts) > 0 && f.Outline.Parts[0].Role == frame.RoleAgent && f.Outline.Parts[0].One
	}
	return one(a) && one(b)
}

// surest returns the first of the most certain relations.
func surest(of ...Relation) Relation {
	return slices.MaxFunc(of, func(x, y Relation) int { return cmp.Compare(x.Certainty, y.Certainty) })
}

func compare(a, b frame.Frame, m alignment) Relation {
	if r := named(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if r := ended(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if r := flipped(a, b, m); r.Certainty > Unrelated {
		return r
	}
	if b.Past || b.Event && b.Cue < frame.CueChange || b.Negated || b.Ended && len(b.Values) == 0 {
		return Relation{}
	}
	return substituted(a, b, m)
}

// alignment describes how well the topics of two statements match.
type alignment struct {
	shared     []string // terms of both, subjects included
	partner    []string // for each shared term, the term that it matches in the other statement
	restA      []string // terms that only one has
	restB      []string
	strangers  bool // about different subjects
	conditions bool // under different conditions
	hearsay    bool // one speaker speaks about themselves, the other about them
}

func match(a, b frame.Frame) alignment {
	var m alignment
	usedA, usedB := make([]bool, len(a.Topic)), make([]bool, len(b.Topic))
	pair := func(same func(x, y string) bool) {
		for i, x := range a.Topic {
			for j, y := range b.Topic {
				if !usedA[i] && !usedB[j] && same(x, y) {
					usedA[i], usedB[j] = true, true
					m.shared = append(m.shared, x)
					m.partner = append(m.partner, y)
				}
			}
		}
	}
	pair(func(x, y string) bool { return x == y && !frame.IsSpeaker(a, x) || frame.SamePerson(a, b, x, y) })
	pair(english.SameTerm)
	m.restA, m.restB = unmatched(a, usedA, b), unmatched(b, usedB, a)
	m.strangers = frame.Strangers(a, b)
	m.restA, m.restB = withoutTeam(m.restA), withoutTeam(m.restB)
	m.conditions = len(a.Condition) > 0 && len(b.Condition) > 0 && !slices.Equal(a.Condition, b.Condition) ||
		len(b.Condition) > 0 && len(a.Condition) == 0 && !about(b, a) ||
		len(a.Condition) > 0 && len(b.Condition) == 0 && b.Cue < frame.CueChange && !about(a, b) &&
			(b.Cue < frame.CueNow || slices.ContainsFunc(a.Condition,
				func(t string) bool { return english.Environments[t] }))
	m.hearsay = a.Speaker != "" && slices.Contains(a.Topic, a.Speaker) && b.Speaker != a.Speaker && b.Speaker != ""
	return m
}

// about reports whether the other statement f has the words of a condition, so that they are not a condition but say
// what both statements are about: "For maps we use …", "we use … for maps".
func about(limited, f frame.Frame) bool {
	return !limited.Owned && !slices.ContainsFunc(limited.Condition, func(t string) bool {
		return !slices.Contains(f.Topic, t) || english.Environments[t]
	})
}

// unmatched returns the terms of f that the other frame lacks. A term is not missing if the other frame has one with
// the same meaning.
func unmatched(f frame.Frame, used []bool, other frame.Frame) []string {
	var out []string
	for i, t := range f.Topic {
		if used[i] || english.SoftTerms[t] || strings.HasPrefix(t, "@") && t != english.SelfTerm &&
			t != english.TeamTerm {
			continue
		}
		if conceptsMeet(t, other) && !slices.Contains(f.Subject, t) {
			continue
		}
		out = append(out, t)
	}
	return withoutValues(out, other) // "from Go 1.24" and "written in Go 1.24"
}

// conceptsMeet reports whether a term and a topic share a concept that counts in comparisons.
func conceptsMeet(t string, f frame.Frame) bool {
	return slices.ContainsFunc(f.Topic, func(o string) bool { return english.SameTerm(t, o) })
}

func withoutTeam(terms []string) []string {
	return slices.DeleteFunc(terms, func(t string) bool { return t == english.TeamTerm })
}

func withoutValues(terms []string, f frame.Frame) []string {
	return slices.DeleteFunc(terms, func(t string) bool {
		return frame.InValues(f, t)
	})
}

// attributes returns the shared terms that do not only name the subject.
func (m alignment) attributes(a, b frame.Frame) []string {
	return slices.DeleteFunc(slices.Clone(m.shared), func(t string) bool {
		return t == english.SelfTerm || t == english.TeamTerm || t == a.Speaker || t == b.Speaker ||
			english.SoftTerms[t] ||
			slices.Contains(a.Owners, t) && slices.Contains(b.Owners, t)
	})
}

// named compares with a statement that names the value that it replaces: "from Lyon to Oslo", "not Max".
func named(a, b frame.Frame, m alignment) Relation {
	if otherDeed(a, b) {
		return Relation{}
	}
	if len(b.Old) == 0 || a.Sentiment != 0 && b.Sentiment == 0 && !b.Ended && !isFavorite(b) {
		return Relation{}
	}
	hit, swapped := false, false
	for _, o := range b.Old {
		for _, v := range a.Values {
			hit = hit || o.Same(v) && (!b.Returned || endsSame(o, v, a)) ||
				v.Kind == frame.KindName && o.Kind == frame.KindName && partOf(o.Key, v.Key)
		}
		if !hit && (len(a.Values) == 0 || a.Values[0].Kind == frame.KindOften) {
			hit = english.Subset(strings.Fields(o.Key), a.Topic)
		}
		// "My laptop is a ThinkPad", "they swapped my laptop for a MacBook"
		swapped = swapped || a.Copular && len(b.Values) > 0 && english.Replacers[b.MainVerb] &&
			o.Kind == frame.KindTerm &&
			english.Subset(strings.Fields(o.Key), a.Subject) && allNames(a.Values) && allNames(b.Values)
	}
	if swapped {
		return Relation{Certainty: Likely, Change: Updates, Why: WhyNamed}
	}
	within := !hit && sharesSubject(m) && len(b.Values) > 0 && slices.ContainsFunc(b.Old, func(o frame.Value) bool {
		return slices.ContainsFunc(a.Outline.Parts, func(p frame.Part) bool {
			return (p.Role != frame.RoleAgent || len(m.attributes(a, b)) > 0) && isPart(o, p, b)
		})
	})
	if within && !exclusive(a, b) && a.Sentiment == 0 {
		// "I put money aside for a car", "I'm saving up for a boat instead of a car"
		return Relation{Certainty: Likely, Change: Updates, Why: WhyNamed}
	}
	if !hit || exclusive(a, b) {
		return Relation{}
	}
	// The statements must have something in common other than the value, unless the later one says that the thing
	// was disposed of and another one acquired: "we sold the Honda and bought a Kia".
	disposed := english.EndVerbs[b.MainVerb] && len(b.Values) > 0 && a.OfSpeaker() &&
		(b.Actor == english.TeamTerm || b.Actor == a.Speaker) && allNames(b.Old)
	if len(m.shared) == 0 && !(a.Holder && b.Holder) && !disposed && (len(m.restA) > 0 && len(m.restB) > 0) {
		return Relation{}
	}
	out := Relation{Certainty: Sure, Change: Updates, Why: WhyNamed}
	if len(b.Values) == 0 {
		out.Change = Ends
	}
	switch {
	case disposed && parted(a, b):
		// it is gone
	case onlyCategory(m) && len(m.restA) > 0 && english.Subset(b.Subject, m.restB) && len(b.Subject) > 0, ofPart(a, b):
		out.Certainty = Doubt
	case m.hearsay && b.Cue < frame.CueChange:
		out.Certainty = Likely
	case len(m.restA) == 1 && len(m.restB) == 1 && b.Cue < frame.CueChange && frame.Personal(a) && frame.Personal(b) &&
		allNames(a.Values):
		out.Certainty = Likely // "I browse with Firefox instead of Edge"
	case len(m.restA) > 0 && len(m.restB) > 0 && b.Cue == frame.CueNow && len(m.shared) > 0 && len(b.Values) > 0 &&
		(len(m.attributes(a, b)) > 0 || slices.ContainsFunc(b.Old, func(o frame.Value) bool {
			return slices.ContainsFunc(a.Values, func(v frame.Value) bool { return v.Key == o.Key })
		})) && // not "St Martin's" and "Martin"
		!slices.ContainsFunc(a.Values, func(v frame.Value) bool {
			return v.Kind == frame.KindNumber ||
				v.Kind == frame.KindTerm
		}):
		out.Certainty = Likely // "instead of Freshsales"
	case len(m.restA) > 0 && len(m.restB) > 0 && b.Cue < frame.CueChange, len(m.shared) == 0 && b.Cue < frame.CueChange:
		out.Certainty = Doubt
	case len(m.shared) == 0, len(m.restA) > 1 && len(m.restB) > 1:
		out.Certainty = Likely
	}
	return out
}

// onlyCategory reports whether two statements share only the category of their values: "we use Jenkins for the
// backend", "the frontend builds with Drone".
func onlyCategory(m alignment) bool {
	return len(m.shared) > 0 && !slices.ContainsFunc(m.shared, func(t string) bool {
		return !strings.HasPrefix(t, "@") || t == english.SelfTerm || t == english.TeamTerm
	})
}

// ofPart reports whether the later statement rejects only a part of what it names, for something of another category:
// "it does not use Kubernetes secrets, it reads them from Vault".
func ofPart(a, b frame.Frame) bool {
	told := b.Telling()
	return told != nil && len(b.Values) > 0 && slices.ContainsFunc(b.Old, func(o frame.Value) bool {
		return english.Subset(strings.Fields(o.Key), told.Parts) && o.Category != b.Values[0].Category
	})
}

// parted reports whether the earlier statement says no more than that a person has or uses a thing, and the later one
// that they gave it away for good: "I drive a Honda", "I sold the Honda and bought a Kia".
func parted(a, b frame.Frame) bool {
	if !disposing[b.MainVerb] || len(a.Values) != 1 || a.Sentiment != 0 || a.Negated || a.Hedged || b.Hedged {
		return false
	}
	for _, t := range a.Topic {
		if !frame.IsSpeaker(a, t) && !holding[t] && !slices.Contains(english.Concepts[t], vehicle) {
			return false
		}
	}
	v := a.Values[0]
	return (holding[a.MainVerb] || a.Copular && len(a.Topic) > 1) && slices.ContainsFunc(b.Old, func(o frame.Value) bool {
		return o.Key == v.Key || partOf(o.Key, v.Key)
	})
}

// vehicle is the concept of things to drive.
const vehicle = "VEHICLE"

var (
	disposing = english.Stems("sell scrap")
	holding   = english.Stems("own have keep drive ride wear play sail fly")
)

// endsSame reports whether what ended is the value v of a. If it has more words, the others are in the topic of a: to
// be back from a Bach concert does not end a love of Bach.
func endsSame(old, v frame.Value, a frame.Frame) bool {
	if !old.Same(v) {
		return false
	}
	words := strings.Fields(v.Key)
	return !slices.ContainsFunc(strings.Fields(old.Key), func(w string) bool {
		return !slices.Contains(words, w) && !slices.Contains(a.Topic, w) && !english.SoftTerms[w] && !holdings[w]
	})
}

// holdings has words for what one has with a provider.
var holdings = english.Stems("account subscription membership contract licence license board")

// otherDeed reports whether the later statement ends another deed than the earlier one tells: "I live in Oslo", "I quit
// smoking in Oslo".
func otherDeed(a, b frame.Frame) bool {
	deed := b.EndedDeed
	if deed == "" || english.LightVerbs[deed] || a.MainVerb == "" || english.LightVerbs[a.MainVerb] {
		return false
	}
	return !slices.ContainsFunc(a.Topic, func(t string) bool { return english.SameTerm(t, deed) })
}

// isPart reports whether an outdated value is a phrase of the earlier statement, or the end of one whose other words
// the later statement b has too: "we give Grandpa a book", "we give Grandpa a scarf instead of a book".
func isPart(old frame.Value, p frame.Part, b frame.Frame) bool {
	if frame.SingleKind(old.Kind) {
		return slices.Contains(p.Stems, string(old.Kind)+":"+old.Key)
	}
	words := strings.Fields(old.Key)
	if !english.Subset(words, p.Stems) {
		return false
	}
	return english.Subset(p.Stems, words) || len(words) > 0 && p.Head == words[len(words)-1] &&
		!slices.ContainsFunc(p.Stems, func(t string) bool {
			return !slices.Contains(words, t) && !slices.Contains(b.Topic, t) && !frame.InValues(b, t)
		})
}

// partOf reports whether short is the first word of the name long: "the Honda" is the Honda Fit.
func partOf(short, long string) bool {
	words := strings.Fields(long)
	return len(words) > 1 && words[0] == short
}

// exclusive reports whether the statements are about attributes that exclude each other.
func exclusive(a, b frame.Frame) bool {
	birth := func(f frame.Frame) bool {
		return slices.ContainsFunc(f.Topic, func(t string) bool {
			return slices.Contains(english.Concepts[t], english.ConceptBirth) && t != birthday || t == hometown
		})
	}
	return birth(a) != birth(b)
}

var birthday, hometown = english.StemOf("birthday"), english.StemOf("hometown")

// ended handles "no longer", "cancelled", "gave up".
func ended(a, b frame.Frame, m alignment) Relation {
	if !b.Ended && !(b.Past && !b.Copular) {
		return Relation{}
	}
	if a.Ended || a.Negated {
		return Relation{}
	}
	if otherDeed(a, b) {
		return Relation{}
	}
	values := true // what ended is what the earlier statement gives
	for _, v := range b.Values {
		values = values && slices.ContainsFunc(a.Values, func(o frame.Value) bool { return endsSame(v, o, a) })
	}
	thing := !frame.Personal(a) && slices.ContainsFunc(m.shared, func(t string) bool { return !frame.IsSpeaker(a, t) })
	aligned := (len(m.attributes(a, b)) > 0 || thing) && (len(m.restA) == 0 || len(m.restB) == 0)
	sameValue := len(b.Values) > 0 && values && len(a.Values) > 0
	switch {
	case sameValue && (aligned || len(m.shared) > 0 && len(m.restA)+len(m.restB) <= 1):
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	case sameValue && len(m.shared) > 0 && len(m.restB) == 0 && b.Sentiment == 0 && allNames(b.Values):
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded} // "I don't have the Steam Deck any more"
	case len(b.Values) == 0 && len(b.Old) == 0 && !b.Past && !b.Negated && len(a.Values) == 1 && len(m.restA) == 0 &&
		english.Subset(strings.Fields(a.Values[0].Key), b.Subject) && len(m.shared) > 0 && len(m.restB) == 0:
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded} // "is under warranty", "the warranty ran out"
	case len(b.Values) == 0 && len(b.Old) == 0 && aligned && len(m.restB) == 0 && !b.Past:
		if len(m.restA) > 0 {
			return Relation{Certainty: Likely, Change: Ends, Why: WhyEnded}
		}
		return Relation{Certainty: Sure, Change: Ends, Why: WhyEnded}
	}
	return Relation{}
}

func allNames(values []frame.Value) bool {
	return !slices.ContainsFunc(values, func(v frame.Value) bool { return v.Kind != frame.KindName })
}

// flipped compares opposites: love and hate, enabled and disabled, is and is not.
func flipped(a, b frame.Frame, m alignment) Relation {
	sure := Relation{Certainty: Sure, Change: Updates, Why: WhyOpposite}
	if b.NeverDone {
		sure.Certainty = Likely // one of both is wrong, or the earlier one is a plan
	}
	same := len(a.Values) > 0 && len(a.Values) == len(b.Values)
	for _, v := range a.Values {
		same = same && slices.ContainsFunc(b.Values, func(o frame.Value) bool { return o.Key == v.Key })
	}
	aligned := len(m.restA) == 0 && len(m.restB) == 0
	if a.Sentiment*b.Sentiment < 0 && same && sharesSubject(m) {
		return sure
	}
	if a.Sentiment*b.Sentiment < 0 && len(a.Values) > 0 && len(b.Values) > 0 && sharesSubject(m) &&
		a.Values[0].Same(b.Values[0]) {
		return sure
	}
	if a.Negated != b.Negated && same && aligned && len(m.shared) > 0 && !a.Ended && !b.Ended {
		return sure
	}
	onlyVerb := func(rest []string, f frame.Frame) bool {
		return len(rest) == 0 || len(rest) == 1 && rest[0] == f.MainVerb
	}
	if len(a.Values) == 1 && len(b.Values) == 1 && sharesSubject(m) &&
		(aligned || b.Cue >= frame.CueNow && onlyVerb(m.restA, a) && onlyVerb(m.restB, b)) &&
		english.Opposite(a.Values[0].Key, b.Values[0].Key) && !a.Negated && !b.Negated {
		return sure
	}
	return Relation{}
}

func sharesSubject(m alignment) bool { return len(m.shared) > 0 }
