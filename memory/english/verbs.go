package english

import (
	"strings"
)

// ChangeVerbs has verbs that report a new value.
var ChangeVerbs = Stems(
	`move switch rebook change migrate replace swap upgrade update downgrade bump raise increase lower
	reduce cut drop slip postpone delay defer reschedule shift relocate transfer convert transition rename rebrand
	extend shorten double halve triple grow shrink adjust revise reassign pass succeed trade adopt become revert
	return tighten loosen expand trim slash boost standardize consolidate port rebuild rewrite redo amend correct
	swing flip rotate promote demote graduate transitioned elect appoint`,
	"takeover handover pushback bringforward switchover gowith settleon endup rollback infavor "+
		"changemind turnsout moveoff",
	again("paint name write wire arrange locate organise organize design label format assign route elect appoint "+
		"decorate "+
		"furnish schedule price title classify group size structure phrase program type"),
)

// again returns verbs with the prefix for doing something again: "repaint".
func again(verbs string) string {
	out := ""
	for v := range strings.FieldsSeq(verbs) {
		out += " re" + v
	}
	return out
}

// EndVerbs has verbs that report an end.
var EndVerbs = Stems(`stop quit leave cancel abandon retire deprecate sunset scrap kill remove ditch drop end finish
	resign sell divorce withdraw delete decommission discontinue revoke dissolve expire cease lose axe suspend pause
	skip reject decline dump lapse`,
	"lapse giveup getridof calloff shutdown breakup stepdown moveoff")

// Replacers has verbs whose object is an outdated value.
var Replacers = Stems(`replace swap ditch drop retire deprecate sunset abandon leave quit scrap dump axe trade
	exchange kill remove supersede succeed`, "getridof moveoff giveup shutdown")

// StartVerbs has verbs that report a beginning.
var StartVerbs = Stems(`start begin join launch introduce enable open founded adopt hire accept choose pick decide
	select opt take`, "turnon takeover")

// LightVerbs has verbs that connect a subject with its value and are not part of the topic.
var LightVerbs = Stems(`be do have get go come use run plan schedule set due expect slate book happen occur take put
	make keep stay remain stand sit hold fix cap equal mean say tell give need want try know see look think guess
	decide choose pick select opt agree announce confirm aim target land fall rely depend call name assign allow`,
	"takeplace gowith settleon endup")

// PlainVerbs has common verbs between a subject and its value.
var PlainVerbs = Stems(`
	live work find reside send receive ride carry own lead manage maintain head chair teach study learn speak play
	drive eat
	drink smoke wear weigh cost listen support depend require need store write run commute cycle belong attend visit
	meet train practice read watch cook report serve handle cover host build test format log track discuss talk
	communicate chat deploy ship release lock encrypt expire retain purge back review approve sign merge order
	subscribe bank shop rent lease park sleep wake exercise swim hike climb earn charge bill invoice count measure
	monitor alert page contain include offer last return respond answer connect expose prefer identify celebrate grow
	sing dance paint knit volunteer date allow tune cache index publish consume scale shard replicate mirror proxy
	land fly travel stay settle die book stream contact email phone text browse buy clean post share upload`,
	`dating workas workout gotowork oncall wakeup reportto lookafter usedto nolonger bornin allergicto fanof cantstand`)

// Attitudes has verbs for what one wishes, weighs or imagines, which is not so.
var Attitudes = Stems("want wish hope dream imagine consider joke wonder fantasize contemplate pretend love")

// IsVerb reports whether a word may be a verb.
func IsVerb(t Token) bool { return commonVerbs[t.Low] || verbStems[t.Stem] || Sentiments[t.Stem] != 0 }

var (
	commonVerbs = Words(`be am is are was were have has had do does did will would can could must should may might
		shall get got`)
	verbStems = union(ChangeVerbs, EndVerbs, StartVerbs, LightVerbs, PlainVerbs)
)

// IsBe reports whether a word is a form of "be".
func IsBe(t Token) bool { return t.Stem == "be" }

// IsAux reports whether t is an auxiliary that is a verb in any position.
func IsAux(t Token) bool {
	return Auxiliaries[t.Low] && t.Low != "to" && t.Low != "not" && t.Low != "never" && t.Low != "need" &&
		t.Low != "let"
}

// Starts reports whether a verb reports a beginning. "I take the tram" tells of a habit.
func Starts(t Token) bool { return StartVerbs[t.Stem] && !t.Is("take", "takes") }

// PastTense reports whether a verb is in the past tense.
func PastTense(t Token) bool {
	base, known := irregular[t.Low]
	switch {
	case t.Low == "":
		return false
	case known && base != t.Low && !strings.HasSuffix(t.Low, "s") && !strings.HasSuffix(t.Low, "ing"):
		return true
	}
	return strings.HasSuffix(t.Low, "ed") && len(t.Low) > 4 && t.Low != "need"
}

// IrregularPast reports whether a word is the past of an irregular verb.
func IrregularPast(t Token) bool { return !strings.HasSuffix(t.Low, "ed") && PastTense(t) }

// PastAsPresent reports whether the past of a verb is like its present: "reset". Verbs that say nothing of their own,
// such as "set", are left out.
func PastAsPresent(t Token) bool { return unchanging[t.Low] }

var unchanging = Words("reset upset split spread hit shut")

// ThirdPerson reports whether a word has the ending of a verb in the third person.
func ThirdPerson(low string) bool {
	return len(low) > 3 && strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") && !strings.HasSuffix(low, "us")
}

// EndsGerund reports whether a word has the ending of a gerund: "moving".
func EndsGerund(t Token) bool { return strings.HasSuffix(t.Low, "ing") && len(t.Low) > 4 }

// Participle reports whether a word may follow "be" in the passive: "checked", "run", "taken".
func Participle(t Token) bool {
	if t.Cap || IsBe(t) || t.Low == "need" || EndsGerund(t) {
		return false
	}
	base, known := irregular[t.Low]
	return strings.HasSuffix(t.Low, "ed") && len(t.Low) > 4 ||
		known && !strings.HasSuffix(t.Low, "s") && (base != t.Low || IsVerb(t) && Concepts[t.Stem] == nil)
}
