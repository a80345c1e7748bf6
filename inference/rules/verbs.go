package rules

import "strings"

var (
	// modals do not change with the person. After them, the base form stays.
	modals = set(`can could will would shall should may might must can't cannot couldn't won't
		wouldn't shan't shouldn't mightn't mustn't didn't did had hadn't was wasn't were weren't used ought`)

	// pastForms are irregular past forms; those spelt like the present are left as they are too.
	pastForms = set(`went got made said saw took came knew thought felt found gave told left kept
		began ran wrote bought brought taught met lost built sent spent won ate drank grew drove fell broke
		chose spoke wore sang slept stood understood heard held led paid rode rose sold shot sat sought swam
		threw woke put cut hit let set hurt quit read cost shut became forgot forgave flew hid drew dealt
		dreamt caught fought hung laid lay lit meant proved rang sank shook slid stole stuck struck swore
		swept tore upset withdrew beat bit blew burst bent bound dug fed fled froze spread split swung wound
		learnt burnt spelt redid undid rebuilt reran rewrote overcame been done gone seen known given taken
		written spoken eaten forgotten begun broken chosen driven fallen flown frozen grown hidden ridden
		risen shown sung sunk sworn thrown torn woken worn withdrawn drawn drunk bitten blown proven gotten
		swum stolen sewn rewritten overtaken mistaken forgiven shaken arisen outgrown undertook undertaken
		foresaw foreseen clung ground knelt leapt leant lent shone slit sped spun stung strode strove wept
		wove woven arose awoke forbade swelled swollen`)

	// unchanging verbs have a past form that is spelt like the present. Only the rest of a sentence shows the tense.
	unchanging = set(`put cut hit let set hurt quit read cost shut beat spread split burst upset`)

	// habits are words of a sentence that make its unchanging verbs present tense.
	habits = set(`every each usually always often never sometimes daily weekly monthly nowadays
		whenever regularly generally normally typically mostly rarely seldom mondays tuesdays wednesdays
		thursdays fridays saturdays sundays weekends weekdays`)

	// verbs are the base forms of common verbs. They distinguish verbs after "and" or after a subject from nouns. A
	// verb directly after "I" need not be listed.
	verbs = set(`accept achieve act add admire adopt adore advise agree allow analyse analyze
		announce apply appreciate approve argue arrange arrive ask assume attend avoid bake be become bike
		begin believe belong bet borrow break brew bring build burn buy call carry catch celebrate change
		charge check choose clean climb close collect come commute compete compile complain complete
		configure connect consider consist consume contain continue contribute convert cook cost cover
		create cut cycle dance deal debug decide decline define delegate delete deliver deny depend deploy
		describe deserve design develop disagree discuss dislike do donate draw drink drive earn eat edit
		employ enable encourage end enjoy ensure estimate evaluate exist expect expire explain explore
		export expose face fail fall feed feel fetch fight file fill find finish fish fit fix fly focus
		follow forget forward garden gather generate get give go grow guess handle happen hate have hear
		help hike hire hold host imagine implement import improve include inherit inspect install invest
		invite join juggle jog keep kill knit know land last laugh launch lead learn leave lend let lift
		like limp list listen live lock log look lose love maintain make manage marry meditate meet mentor
		merge migrate miss mix monitor move need negotiate obtain occur offer open operate order organise
		organize oversee owe own paint pay perform plan plant play point practise practice prefer prepare
		pretend prevent print process produce promise protect provide publish pull push put raise reach read
		realise realize receive recommend record refer refuse rely remain remember remind remove rename
		renew renovate rent reopen repair replace reply report represent require research resign restart
		restore retire return reuse review ride rotate run save say scale see seem sell send serve set sew
		share ship shop show sign sing sit sketch ski sleep slip smoke snore solve sound speak spend sponsor
		stand start stay stop store stream study subscribe suffer suggest supervise supply support suppose
		surf swear swim switch take talk teach tell tend terminate test think throw tidy track trade train
		translate travel treat trust try tune turn tweet type understand update upgrade use vacuum visit
		volunteer vote wait wake walk want wash watch water wear win wish work worry write`)

	// nounVerbs are verbs that are common nouns too. After "and" they are verbs only if something follows them ("and
	// work at Acme", not "and work").
	nounVerbs = set(`act bike break brew burn call change charge check climb cook cost cover cut
		cycle dance deal design drink drive end exercise face fall feed fight file fill fish fit fix focus
		forward garden guess handle help hike hold host import export land last laugh launch lead leave lift
		like list lock log look love mix monitor move need offer order paint pay plan plant play point
		practice print process promise pull push raise reach read record rent repair reply report research
		return review ride run scale set share ship shop show sign ski sleep slip smoke sound stand start
		stay stop store stream study supply support surf swim switch talk test track trade train travel
		treat trust try tune turn tweet type update upgrade use visit vote wait walk wash watch water win
		wish work worry clean open complete close`)

	// motion verbs are followed by "to" and a place: "go to work and get home late".
	motion = set(`bike bikes hike hikes jog jogs swim swims go goes come comes walk walks drive
		drives commute commutes travel travels head heads get gets move moves cycle cycles listen listens
		run runs ride rides return returns fly flies`)

	// causatives take a second verb after their object: "let the kids choose".
	causatives = set(`let lets help helps make makes see sees watch watches hear hears have has`)

	adverbs = set(`just also always never often only still even already not sometimes now then too
		ever once almost rather quite kinda sorta both all later soon first mostly maybe perhaps much far
		hardly barely seldom currently either neither well indeed again generally otherwise nowadays thus
		therefore today`)

	// adverbials are phrases between a subject and its verb.
	adverbials = phraseList(`no longer|hardly ever|almost never|almost always|at least|at most|at last
		|at times|for now|of course|as a rule|by default|in fact|kind of|sort of|more or less|once again
		|from now on|these days|now and then|every day|each day|in general|in principle|not only|if ever`)

	lyVerbs = set(`apply rely reply supply multiply fly imply comply bully ally rally tally`)
	edVerbs = set(`need feed speed succeed proceed exceed embed bleed breed seed heed shed weed wed
		shred`)

	// fixed are words after a subject that are not verbs to change.
	fixed = set("gonna wanna gotta tryna finna own's")
)

func adverb(low string) bool {
	return adverbs.has(low) || len(low) > 4 && strings.HasSuffix(low, "ly") && !lyVerbs.has(low)
}

// adverbialAt returns the length of the adverbial at the front of ws, between a subject and its verb.
func adverbialAt(ws []word) int {
	if n := adverbials.at(ws); n > 0 {
		return n
	}
	if len(ws) > 0 && adverb(ws[0].low) {
		return 1
	}
	return 0
}

func participle(low string) bool {
	return pastForms.has(low) && !unchanging.has(low) || strings.HasSuffix(low, "ed") && !edVerbs.has(low)
}

// pastTense reports whether low is, or may be, a past form.
func pastTense(low string) bool {
	return pastForms.has(low) || strings.HasSuffix(low, "ed") && !edVerbs.has(low)
}

// singularVerb reports whether low is the form of a verb for he, she and it: runs, goes, is.
func singularVerb(low string) bool {
	switch low {
	case "is", "has", "does", "was", "isn't", "hasn't", "doesn't", "wasn't":
		return true
	}
	n := len(low)
	switch {
	case n < 3 || low[n-1] != 's':
		return false
	case verbs.has(low[:n-1]):
		return true
	case n > 4 && strings.HasSuffix(low, "ies"):
		return verbs.has(low[:n-3] + "y")
	case n > 4 && strings.HasSuffix(low, "es"):
		return verbs.has(low[:n-2])
	}
	return false
}

// finiteVerb reports whether low may be the verb of a statement about someone or something other than the speaker.
func finiteVerb(low string) bool {
	return auxiliaries.has(low) || singularVerb(low) || pastTense(low) || thingVerbs.has(low) || claimVerb(low) != nil
}

// thirdPerson returns the form of a first-person verb that agrees with a name, and whether it is present tense.
func thirdPerson(core, low string) (string, bool) {
	switch low {
	case "am":
		return "is", true
	case "have":
		return "has", true
	case "haven't", "havent":
		return "hasn't", false
	case "do":
		return "does", true
	case "don't", "dont":
		return "doesn't", false
	case "go":
		return "goes", true
	}
	if modals.has(low) || fixed.has(low) || pastTense(low) {
		return core, false
	}
	for i := range len(core) {
		if core[i] < 'a' || core[i] > 'z' {
			return core, false // not a plain verb
		}
	}
	if stopWords.has(low) && low != "own" || len(low) < 2 || strings.HasSuffix(low, "ing") && len(low) > 5 {
		return core, false
	}
	return singularForm(core), true
}

// singularForm returns the third-person form of a verb.
func singularForm(core string) string {
	switch core {
	case "am":
		return "is"
	case "have":
		return "has"
	case "do", "go":
		return core + "es"
	}
	n := len(core)
	switch {
	case n > 1 && core[n-1] == 'y' && !isVowel(core[n-2]):
		return core[:n-1] + "ies"
	case core[n-1] == 's', core[n-1] == 'x', core[n-1] == 'z', core[n-1] == 'o',
		strings.HasSuffix(core, "ch"), strings.HasSuffix(core, "sh"):
		return core + "es"
	}
	return core + "s"
}

// complementNext reports whether the words after ws[0] show that it is a verb, not a noun.
func complementNext(ws []word) bool {
	if len(ws) < 2 || ws[0].ends() {
		return false
	}
	next := ws[1]
	switch next.low {
	case "of", "and", "or", "between", "in", "is", "are", "was", "were", "has", "can", "will":
		return false
	}
	return true
}
