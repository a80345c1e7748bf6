package frame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// Outline is the structure of a clause: its verb and its phrases with their roles. It does not say which phrase is the
// value. Two outlines that differ in one phrase show where the value is.
type Outline struct {
	Verb    string // stem of the main verb; empty if it is only a form of "be"
	Passive bool
	Able    bool // it says what one can do, which may be several things
	Parts   []Part
}

// Part is a phrase of a clause.
type Part struct {
	Role     string   // RoleAgent, RoleObject, RoleIs or a preposition
	Stems    []string // of its content words; a date, a number or the like is one word
	Head     string   // the noun that its other words describe
	Kinds    []Kind   // of its dates, numbers and so on
	Name     bool     // it has a name
	Definite bool     // it begins with "the", a possessive or a name
	One      bool     // it begins with "a"
	OfOther  bool     // it begins with "his", "her" or "their"
	Own      bool     // it begins with "my" or "our"
	List     bool     // it joins several things with "and" or "or"
}

// Roles of parts. The subject of a passive verb has the role of an object.
const (
	RoleAgent  = "@agent"
	RoleObject = "@object"
	roleWhen   = "@when"
	RoleIs     = "@is" // what the subject of "be" is
)

// outlineOf parses the clause after read.
func (r *reader) outlineOf() Outline {
	if r.verb >= len(r.ts) || r.verb == 0 || len(r.ts) > maxOutline {
		return Outline{}
	}
	var out Outline
	start := r.verb // the end of the subject
	for start > 0 && (english.IsAux(r.ts[start-1]) || english.Fillers[r.ts[start-1].Low] ||
		english.NowCues[r.ts[start-1].Low] ||
		english.Negations[r.ts[start-1].Low] || r.ts[start-1].Low == "nolonger") {
		start--
	}
	verb := r.verb
	for r.Copular && verb+1 < len(r.ts) && (english.IsBe(r.ts[verb]) || english.Fillers[r.ts[verb].Low] ||
		english.NowCues[r.ts[verb].Low]) &&
		r.ts[verb].End == 0 && !english.IsBe(r.ts[verb+1]) {
		if next := r.ts[verb+1]; english.Participle(next) {
			verb++
			break
		} else if !english.Fillers[next.Low] && !english.NowCues[next.Low] {
			break
		}
		verb++
	}
	if !english.Participle(r.ts[verb]) || !r.Copular {
		verb = r.verb
	}
	out.Passive = r.Copular && verb > start && english.Participle(r.ts[verb]) && !english.EndsGerund(r.ts[verb])
	if !english.IsBe(r.ts[verb]) && !r.ts[verb].Is("will", "would") {
		out.Verb = r.ts[verb].Stem
	}
	out.Able = slices.ContainsFunc(r.ts[start:verb], func(t english.Token) bool { return t.Is("can", "may", "could") })
	subject, object := RoleAgent, RoleObject
	if out.Passive {
		subject = RoleObject
	} else if out.Verb == "" {
		object = RoleIs
	}
	out.add(r, subject, 0, start, true)
	out.add(r, object, verb+1, len(r.ts), false)
	return out
}

// maxOutline is the number of words of the longest clause that gets an outline. Longer clauses say several things.
const maxOutline = 24

// add adds the parts of the words from from to to. A prepositional phrase in the subject belongs to the subject, and
// "of" and 's continue a phrase.
func (o *Outline) add(r *reader, role string, from, to int, whole bool) {
	p := Part{Role: role}
	headed := false
	head := func() {
		if n := len(p.Stems); n > 0 && !headed {
			p.Head, headed = p.Stems[n-1], true
		}
	}
	done := func(next string) {
		head()
		if len(p.Stems) > 0 {
			o.Parts = append(o.Parts, p)
		}
		p, headed = Part{Role: next}, false
	}
	typed := TypedValues(r.ts[from:to])
	for i := from; i < to; i++ {
		t := r.ts[i]
		if len(typed) > 0 && typed[0].From+from == i {
			if k := typed[0].Kind; len(p.Stems) > 0 && (k == KindOften || k == KindDate) {
				done(roleWhen)
			}
			p.Stems, p.Kinds = append(p.Stems, string(typed[0].Kind)+":"+typed[0].Key), append(p.Kinds, typed[0].Kind)
			i = typed[0].To + from - 1
			typed = typed[1:]
			continue
		}
		if t.Is("this", "last", "next") && i+1 < to && (units[r.ts[i+1].Stem] || dayparts[r.ts[i+1].Low]) {
			i++
			continue
		}
		if t.Is("every", "each") && i+1 < to && (units[r.ts[i+1].Stem] || dayparts[r.ts[i+1].Low]) {
			done(roleWhen)
			p.Stems, p.Kinds = []string{"every " + r.ts[i+1].Stem}, []Kind{KindOften}
			i++
			continue
		}
		switch {
		case t.Low == "of" && len(p.Stems) > 0:
			head()
		case english.Prepositions[t.Low] && t.Low != "back" && !whole:
			if len(p.Stems) == 0 && p.Role != role {
				p.Role = t.Low // "out of order"
			} else {
				done(t.Low)
			}
		case english.Prepositions[t.Low]:
			head()
		case t.Is("a", "an", "another"):
			p.One = p.One || len(p.Stems) == 0
		case english.Conjunctions[t.Low]:
			p.List = true
		case t.Low == "the" || english.Possessives[t.Low]:
			p.Definite = p.Definite || len(p.Stems) == 0
			p.Own = p.Own || t.Is("my", "our")
			p.OfOther = p.OfOther || t.Is("his", "her", "their", "its")
		case english.SelfWords[t.Low]:
			p.Stems = append(p.Stems, cmp.Or(r.Speaker, english.SelfTerm))
		case english.TeamWords[t.Low]:
			p.Stems = append(p.Stems, english.TeamTerm)
		case english.IsMarker(t), english.IsAdverb(t), english.ChangeVerbs[t.Stem] && i < r.verb+2:
		case english.IsContent(t), t.Cap && i > 0 && !english.SelfWords[t.Low] &&
			!english.Fillers[t.Low], hasOpposite(t):
			if len(p.Stems) == 0 && t.Cap {
				p.Definite = true
			}
			p.Name = p.Name || t.Cap && i > 0 || isIdentifier(t.Text) || t.Cap && r.nameFirst(i)
			for w := range strings.FieldsSeq(t.Stem) {
				p.Stems = append(p.Stems, w)
			}
		}
		if t.End == ',' || t.End == '–' || t.End == ';' {
			p.List = p.List || i+1 < to
		}
	}
	done("")
}

func hasOpposite(t english.Token) bool {
	return english.Opposites[t.Stem] != "" && !english.IsAux(t) && !english.Prepositions[t.Low]
}

// nameFirst reports whether the clause begins with the name of a person or a thing.
func (r *reader) nameFirst(i int) bool {
	return i == 0 && !english.Articles[r.ts[0].Low] && !english.Possessives[r.ts[0].Low] &&
		!english.Pronouns[r.ts[0].Low] &&
		english.Concepts[r.ts[0].Stem] == nil
}

// Content returns the content words of a part that do not only stand for the speaker.
func (p Part) Content(f Frame) []string {
	return slices.DeleteFunc(slices.Clone(p.Stems), func(t string) bool { return IsSpeaker(f, t) })
}
