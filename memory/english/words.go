package english

import (
	"maps"
	"slices"
	"strings"
)

// WordSet is a set of lower-case words.
type WordSet map[string]bool

// Words returns the set of the words in the lists, which are separated by white space.
func Words(lists ...string) WordSet {
	out := WordSet{}
	for _, list := range lists {
		for w := range strings.FieldsSeq(list) {
			out[w] = true
		}
	}
	return out
}

// Stems returns the set of the stems of the words in the lists.
func Stems(lists ...string) WordSet {
	out := WordSet{}
	for _, list := range lists {
		for w := range strings.FieldsSeq(list) {
			out[StemOf(w)] = true
		}
	}
	return out
}

// union returns the words of all sets.
func union(sets ...WordSet) WordSet {
	out := WordSet{}
	for _, set := range sets {
		maps.Copy(out, set)
	}
	return out
}

// Words by their part of speech.
var (
	Articles     = Words("a an the this that these those some any each every another")
	Possessives  = Words("my our your his her its their")
	Prepositions = Words(`in on at for to from with of by into onto over under about after before during until till
		since through across per via as within without around near against between among behind beyond off out up down
		back towards toward`)
	Conjunctions = Words("and or but nor yet")
	Pronouns     = Words(`i me we us you he him she her it they them one someone somebody everyone everybody people
		folks this that these those there here who what which mine ours yours`)
	// Vague has words that name nothing without their context.
	Vague = Words(`it them him her me us you this that these those one someone something anything everything nothing
		itself themselves myself yourself ourselves himself herself each stuff things ways lots bits ya
		let user users yet else none`)
	SelfWords     = Words("i me my mine myself")
	TeamWords     = Words("we us our ours ourselves")
	QuestionWords = Words("who whom whose what which when where why how")

	// Auxiliaries has verbs that are not part of the topic.
	Auxiliaries = Words(`be am is are was were been being do does did have has had will would shall should can could
		may might must not never to going gonna need wanna let`)

	// ClauseBreaks has words that begin a clause that explains or limits the statement, which ends before them.
	ClauseBreaks = Words(`because since so which who where although though while whereas due thanks given unless if
		when whenever`)

	// Fillers has words that are not part of the topic.
	Fillers = Words(`just also very really quite actually basically simply only even still already about around
		roughly approximately exactly probably maybe well oh ok okay please again too both all most mainly mostly
		usually normally typically always generally finally eventually officially currently today tomorrow yesterday
		tonight recently soon later then once really honestly apparently definitely certainly new old current previous
		former next last latest own same other different kind sort lot bit thing way right good great big small full
		everything anything nothing something much many more less better best long time now week month year day
		permanently temporarily effective starting going forward onwards onward instead rather filler`)

	Negations = Words("not never no neither nor hardly without none")

	// Hedges has words that make a statement uncertain.
	Hedges = Words(`maybe perhaps might may possibly probably presumably apparently supposedly allegedly likely unsure
		guess suppose rumor rumour hopefully`)

	abbreviations = Words(`mr mrs ms dr prof st jr sr vs e.g i.e etc approx no nr ca a.m p.m am pm u.s inc ltd co dept
		est`)

	// beContractions has words after which 's means "is".
	beContractions = Words("it that he she who what there here where how when this everything everyone let")
)

// NowCues has words that contrast the present with the past.
var NowCues = Words("now thesedays fromnowon asof afterall instead finally currently presently today newly")

// LeadIns has words that are dropped from the front of a statement, CorrectionCues those that mark a correction.
var (
	CorrectionCues = Words(`actually correction scratchthat turnsout sorry wait changeofplan oops update edit whoops
		changemind rather`)
	LeadIns = Words(`so well oh ok okay and but also btw fyi note hey hi yes yeah no nope hmm um anyway plus then
		besides ah right look listen honestly basically reminder heads news info`)
)

// SoftTerms has words that occur with many attributes and so do not distinguish attributes.
var SoftTerms = Stems(`book cap team service system project app application tool time date value day make place thing
	company people person use user setup per event order set length default main primary official daily everyday everybody
	each client usual regular normal`)

// Environments has environments and seasons to which a statement may be limited.
var Environments = Stems(`staging production prod dev development sandbox test testing qa preprod weekday weekdays
	weekend weekends summer winter holidays vacation`)

// IsContent reports whether a word has a meaning of its own: it is no article, pronoun, auxiliary or the like.
func IsContent(t Token) bool {
	return t.Low != "" && !functionWords[t.Low] && (!LightVerbs[t.Stem] || namesDoer(t.Low) || t.noun)
}

// namesDoer reports whether a word with the stem of a verb names who or what does it: "scheduler".
func namesDoer(low string) bool { return strings.HasSuffix(strings.TrimSuffix(low, "s"), "er") }

var functionWords = union(Prepositions, Articles, Auxiliaries, Conjunctions, Fillers, Pronouns, Possessives, NowCues,
	QuestionWords, Negations)

// OldMarkers has words that precede an outdated value.
var OldMarkers = Words("insteadof ratherthan moveoff getridof nolonger")

// SystemHeads has nouns that end the names of systems and of the teams that run them: "the shipping service is …".
var SystemHeads = Stems(`service system app application api engine portal platform detector software backend widget
	relay archive team project`)

// People are nouns for persons that come with a possessive: "my brother".
var People = Stems(`brother sister mother father mom dad son daughter parent grandparent wife husband partner
	boyfriend girlfriend fiance fiancee friend cousin uncle aunt boss manager colleague coworker teacher doctor
	neighbor neighbour roommate flatmate grandmother grandfather grandma grandpa niece nephew client customer landlord
	mentor intern child twin kid`)

// SelfTerm and TeamTerm are the stems of "I" and "we" in questions and statements.
const (
	SelfTerm = "@me"
	TeamTerm = "@we"
)

// IsAdverb reports whether a word is an adverb of manner, which does not tell the topic: "directly".
func IsAdverb(t Token) bool {
	return len(t.Low) > 5 && strings.HasSuffix(t.Low, "ly") && !t.Cap && Concepts[t.Stem] == nil &&
		Categories[t.Low] == "" && Opposites[t.Stem] == "" && !nounsInLy[t.Low]
}

var nounsInLy = Words("family supply reply assembly butterfly jelly belly bully anomaly monopoly monthly weekly daily")

// IsMarker reports whether a word only says how a statement relates to an earlier one: "no longer", "actually".
func IsMarker(t Token) bool {
	return t.Is("anymore", "nolonger", "usedto", "insteadof", "ratherthan", "back") ||
		OldMarkers[t.Low] || CorrectionCues[t.Low]
}

// Subset reports whether a has words and b has all of them.
func Subset(a, b []string) bool {
	for _, w := range a {
		if !slices.Contains(b, w) {
			return false
		}
	}
	return len(a) > 0
}
