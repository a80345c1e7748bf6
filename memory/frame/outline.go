package frame

import (
	"cmp"
	"slices"
	"strings"
)

// outline is the structure of a clause: its verb and its phrases with their roles. It does not say which phrase is the
// value. Two outlines that differ in one phrase show where the value is.
type outline struct {
	verb    string // stem of the main verb; empty if it is only a form of "be"
	passive bool
	able    bool // it says what one can do, which may be several things
	parts   []part
}

// part is a phrase of a clause.
type part struct {
	role     string   // roleAgent, roleObject, roleIs or a preposition
	stems    []string // of its content words; a date, a number or the like is one word
	head     string   // the noun that its other words describe
	kinds    []Kind   // of its dates, numbers and so on
	name     bool     // it has a name
	definite bool     // it begins with "the", a possessive or a name
	one      bool     // it begins with "a"
	list     bool     // it joins several things with "and" or "or"
}

// Roles of parts. The subject of a passive verb has the role of an object.
const (
	roleAgent  = "@agent"
	roleObject = "@object"
	roleWhen   = "@when"
	roleIs     = "@is" // what the subject of "be" is
)

// outlineOf parses the clause after read.
func (r *reader) outlineOf() outline {
	if r.verb >= len(r.ts) || r.verb == 0 || len(r.ts) > maxOutline {
		return outline{}
	}
	var out outline
	start := r.verb // the end of the subject
	for start > 0 && (isAux(r.ts[start-1]) || fillers[r.ts[start-1].low] || nowCues[r.ts[start-1].low] ||
		negations[r.ts[start-1].low] || r.ts[start-1].low == "nolonger") {
		start--
	}
	verb := r.verb
	for r.copular && verb+1 < len(r.ts) && (isBe(r.ts[verb]) || fillers[r.ts[verb].low] || nowCues[r.ts[verb].low]) &&
		r.ts[verb].end == 0 && !isBe(r.ts[verb+1]) {
		if next := r.ts[verb+1]; participle(next) {
			verb++
			break
		} else if !fillers[next.low] && !nowCues[next.low] {
			break
		}
		verb++
	}
	if !participle(r.ts[verb]) || !r.copular {
		verb = r.verb
	}
	out.passive = r.copular && verb > start && participle(r.ts[verb]) && !endsGerund(r.ts[verb])
	if !isBe(r.ts[verb]) {
		out.verb = r.ts[verb].stem
	}
	out.able = slices.ContainsFunc(r.ts[start:verb], func(t token) bool { return t.is("can", "may", "could") })
	subject, object := roleAgent, roleObject
	if out.passive {
		subject = roleObject
	} else if out.verb == "" {
		object = roleIs
	}
	out.add(r, subject, 0, start, true)
	out.add(r, object, verb+1, len(r.ts), false)
	return out
}

// maxOutline is the number of words of the longest clause that gets an outline. Longer clauses say several things.
const maxOutline = 24

// participle reports whether a word may follow "be" in the passive: "checked", "run", "taken".
func participle(t token) bool {
	if t.cap || isBe(t) || t.low == "need" || endsGerund(t) {
		return false
	}
	base, known := irregular[t.low]
	return strings.HasSuffix(t.low, "ed") && len(t.low) > 4 ||
		known && !strings.HasSuffix(t.low, "s") && (base != t.low || isVerb(t) && concepts[t.stem] == nil)
}

// add adds the parts of the words from from to to. A prepositional phrase in the subject belongs to the subject, and
// "of" and 's continue a phrase.
func (o *outline) add(r *reader, role string, from, to int, whole bool) {
	p := part{role: role}
	headed := false
	head := func() {
		if n := len(p.stems); n > 0 && !headed {
			p.head, headed = p.stems[n-1], true
		}
	}
	done := func(next string) {
		head()
		if len(p.stems) > 0 {
			o.parts = append(o.parts, p)
		}
		p, headed = part{role: next}, false
	}
	typed := typedValues(r.ts[from:to])
	for i := from; i < to; i++ {
		t := r.ts[i]
		if len(typed) > 0 && typed[0].from+from == i {
			if k := typed[0].Kind; len(p.stems) > 0 && (k == KindOften || k == KindDate) {
				done(roleWhen)
			}
			p.stems, p.kinds = append(p.stems, string(typed[0].Kind)+":"+typed[0].key), append(p.kinds, typed[0].Kind)
			i = typed[0].to + from - 1
			typed = typed[1:]
			continue
		}
		if t.is("this", "last", "next") && i+1 < to && (units[r.ts[i+1].stem] || dayparts[r.ts[i+1].low]) {
			i++
			continue
		}
		if t.is("every", "each") && i+1 < to && (units[r.ts[i+1].stem] || dayparts[r.ts[i+1].low]) {
			done(roleWhen)
			p.stems, p.kinds = []string{"every " + r.ts[i+1].stem}, []Kind{KindOften}
			i++
			continue
		}
		switch {
		case t.low == "of" && len(p.stems) > 0:
			head()
		case prepositions[t.low] && t.low != "back" && !whole:
			if len(p.stems) == 0 && p.role != role {
				p.role = t.low // "out of order"
			} else {
				done(t.low)
			}
		case prepositions[t.low]:
			head()
		case t.is("a", "an", "another"):
			p.one = p.one || len(p.stems) == 0
		case conjunctions[t.low]:
			p.list = true
		case t.low == "the" || possessives[t.low]:
			p.definite = p.definite || len(p.stems) == 0
		case selfWords[t.low]:
			p.stems = append(p.stems, cmp.Or(r.speaker, SelfTerm))
		case teamWords[t.low]:
			p.stems = append(p.stems, TeamTerm)
		case isMarker(t), isAdverb(t), changeVerbs[t.stem] && i < r.verb+2:
		case isContent(t), t.cap && i > 0 && !selfWords[t.low] && !fillers[t.low], hasOpposite(t):
			if len(p.stems) == 0 && t.cap {
				p.definite = true
			}
			p.name = p.name || t.cap && i > 0 || isIdentifier(t.text) || t.cap && r.nameFirst(i)
			for w := range strings.FieldsSeq(t.stem) {
				p.stems = append(p.stems, w)
			}
		}
		if t.end == ',' || t.end == '–' || t.end == ';' {
			p.list = p.list || i+1 < to
		}
	}
	done("")
}

func hasOpposite(t token) bool { return opposites[t.stem] != "" && !isAux(t) && !prepositions[t.low] }

// nameFirst reports whether the clause begins with the name of a person or a thing.
func (r *reader) nameFirst(i int) bool {
	return i == 0 && !articles[r.ts[0].low] && !possessives[r.ts[0].low] && !pronouns[r.ts[0].low] &&
		concepts[r.ts[0].stem] == nil
}

// content returns the content words of a part that do not only stand for the speaker.
func (p part) content(f Frame) []string {
	return slices.DeleteFunc(slices.Clone(p.stems), func(t string) bool { return isPerson(f, t) })
}
