package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// speaker is who says "I".
type speaker struct {
	name  string // as given; empty when unknown
	first string // at the start of a sentence
	mid   string // within one
}

// roles are speakers that have a part instead of a name: "the user prefers", not "user prefers".
var roles = set("user assistant agent human customer operator system developer admin caller client")

// newSpeaker reads a name. What does not look like one ("—", a name with a line break) is unknown.
func newSpeaker(name string) speaker {
	name = strings.Join(strings.Fields(name), " ")
	if utf8.RuneCountInString(name) > 64 || !strings.ContainsFunc(name, unicode.IsLetter) {
		return speaker{}
	}
	if low := strings.ToLower(name); roles.has(low) {
		return speaker{name: low, first: capitalize(low), mid: "the " + low}
	}
	return speaker{name: name, first: name, mid: name}
}

func (s speaker) known() bool { return s.name != "" }

// resolveFirstPerson puts the speaker in place of "I", "me", "my" and their contractions, with the
// verbs in agreement: "I've moved and I don't cook" → "Caroline has moved and Caroline doesn't cook".
// Quoted words are left alone: they are somebody else's. "We" and "our" stay: who else is meant is
// not known. It reports whether anything changed.
func resolveFirstPerson(ws []word, s speaker) ([]word, bool) {
	if !s.known() {
		return ws, false
	}
	out := make([]word, 0, len(ws)+4)
	changed := false
	verb, plural, simple := false, false, false // a verb is due; of "X and I"; the present tense goes on
	put := func(w word, text string) {
		w.core, w.low = text, fold(text)
		out = append(out, w)
	}
	name := func() string {
		if len(out) == 0 {
			return s.first
		}
		return s.mid
	}
	for i, w := range ws {
		if w.quoted {
			out = append(out, w)
			verb = false
			continue
		}
		low := w.low
		switch low {
		case "i":
			if w.core == "I" && i > 0 && numbered.has(ws[i-1].low) {
				break // World War I
			}
			put(w, name())
			changed = true
			plural = i > 0 && ws[i-1].low == "and" && !clauseBefore(ws[:i-1])
			verb = !w.ends() && !(i > 0 && inverting.has(ws[i-1].low))
			simple = false
			continue
		case "i'm", "im":
			put(word{pre: w.pre}, name())
			put(word{post: w.post}, "is")
			changed, verb, simple = true, false, true
			continue
		case "i've", "ive":
			put(word{pre: w.pre}, name())
			put(word{post: w.post}, "has")
			changed, verb, simple = true, false, false
			continue
		case "i'll":
			put(word{pre: w.pre}, name())
			put(word{post: w.post}, "will")
			changed, verb, simple = true, false, false
			continue
		case "i'd":
			aux := "would"
			if i+1 < len(ws) {
				if next := ws[i+1].low; next == "better" || next == "been" || participle(next) {
					aux = "had"
				}
			}
			put(word{pre: w.pre}, name())
			put(word{post: w.post}, aux)
			changed, verb, simple = true, false, false
			continue
		case "my":
			put(w, name()+"'s")
			changed = true
			continue
		case "me":
			put(w, name())
			changed = true
			continue
		case "myself":
			put(w, "themselves")
			changed = true
			continue
		case "mine":
			if i > 0 && beforeMine.has(ws[i-1].low) {
				put(w, s.mid+"'s")
				changed = true
				continue
			}
		case "am":
			if changed && !(i > 0 && hasDigit(ws[i-1].low)) {
				put(w, "is")
				verb, simple = false, true
				continue
			}
		}
		if verb {
			switch {
			case adverb(low):
			case plural:
				verb = false
			default:
				form, present := thirdPerson(w.core, low)
				put(w, form)
				verb, simple = false, present
				continue
			}
		} else if simple && i > 0 && (ws[i-1].low == "and" || ws[i-1].low == "or" || ws[i-1].low == "but") && joinedVerbs.has(low) {
			form, _ := thirdPerson(w.core, low)
			put(w, form)
			continue
		}
		if low == "to" || newSubject.has(low) {
			simple = false // "wants to sing and write", "how you write and sing"
		}
		out = append(out, w)
	}
	return out, changed
}

var (
	numbered   = set("war part phase type chapter class section volume stage tier act grade level appendix title")
	inverting  = set("do did does am was have had can could will would shall should may might must nor don't didn't can't")
	beforeMine = set("of is was are were than like")

	newSubject = set("you we they he she it that how who which what when while because if")

	// joinedVerbs are verbs that, behind "and", go on with the subject: unlikely to be nouns.
	joinedVerbs = set(`am have do prefer write go live know think believe want need eat drink sing teach learn read
		keep make get see like love hate enjoy own speak study run use play work try feel spend build
		sleep wear drive ride take give bring buy sell maintain manage avoid commute commit deploy`)

	// modals do not change with the person; the rest is past or base form that stays.
	modals = set(`can could will would shall should may might must can't cannot couldn't won't wouldn't shan't
		shouldn't mightn't mustn't didn't did had hadn't was wasn't were weren't used ought`)

	// pastForms are irregular past forms; those spelt like the present are left as they are too.
	pastForms = set(`went got made said saw took came knew thought felt found gave told left kept began ran wrote
		bought brought taught met lost built sent spent won ate drank grew drove fell broke chose spoke wore sang
		slept stood understood heard held led paid rode rose sold shot sat sought swam threw woke put cut hit let
		set hurt quit read cost shut became forgot forgave flew hid drew dealt dreamt caught fought hung laid lay
		lit meant proved rang sank shook slid stole stuck struck swore swept tore upset withdrew beat bet bit
		blew burst bent bound dug fed fled froze spread split stuck swung wound learnt burnt spelt redid undid
		rebuilt reran rewrote overcame been done gone seen known given taken written spoken eaten`)

	adverbs = set(`just also always never often only still even already not sometimes now then too ever once
		almost rather quite kinda sorta both all later soon first mostly maybe perhaps`)
	lyVerbs = set("apply rely reply supply multiply fly imply comply bully ally rally tally")
	edVerbs = set("need feed speed succeed proceed exceed embed bleed breed seed heed shed weed wed shred")
)

func adverb(low string) bool {
	return adverbs.has(low) || len(low) > 4 && strings.HasSuffix(low, "ly") && !lyVerbs.has(low)
}

func participle(low string) bool {
	return pastForms.has(low) && low != "put" && low != "cut" && low != "let" && low != "set" && low != "read" &&
		low != "quit" && low != "hit" && low != "cost" && low != "shut" && low != "hurt" && low != "bet" && low != "beat" ||
		strings.HasSuffix(low, "ed") && !edVerbs.has(low)
}

// clauseBefore reports whether ws, which an "and" follows, holds a verb: then "and I" begins a new
// clause instead of joining two subjects.
func clauseBefore(ws []word) bool {
	if len(ws) == 0 {
		return true // "And I …"
	}
	if ws[len(ws)-1].ends() || len(ws) > 4 {
		return true
	}
	for _, w := range ws {
		if copulas.has(w.low) || modals.has(w.low) || pastForms.has(w.low) || joinedVerbs.has(strings.TrimSuffix(w.low, "s")) || strings.HasSuffix(w.low, "ed") || w.low == "i" {
			return true
		}
	}
	return false
}

// thirdPerson is the form of a first-person verb that goes with a name, and whether it is present tense.
func thirdPerson(core, low string) (string, bool) {
	switch low {
	case "am":
		return "is", true
	case "have":
		return "has", true
	case "haven't":
		return "hasn't", false
	case "do":
		return "does", true
	case "don't":
		return "doesn't", false
	case "dont":
		return "doesn't", false
	case "ain't":
		return "isn't", false
	case "go":
		return "goes", true
	}
	if modals.has(low) || pastForms.has(low) || strings.HasSuffix(low, "ed") && !edVerbs.has(low) {
		return core, false
	}
	for i := range len(core) {
		if core[i] < 'a' || core[i] > 'z' {
			return core, false // not a plain verb
		}
	}
	if stopWords.has(low) || len(low) < 2 || strings.HasSuffix(low, "ing") && len(low) > 5 {
		return core, false
	}
	n := len(low)
	switch {
	case low[n-1] == 'y' && !isVowel(low[n-2]):
		return core[:n-1] + "ies", true
	case low[n-1] == 's', low[n-1] == 'x', low[n-1] == 'z', low[n-1] == 'o',
		strings.HasSuffix(low, "ch"), strings.HasSuffix(low, "sh"):
		return core + "es", true
	}
	return core + "s", true
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
