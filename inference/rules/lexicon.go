package rules

import "strings"

// wordSet is a closed list of lower-case words, read only after the package is initialised.
type wordSet map[string]struct{}

func set(lists ...string) wordSet {
	s := wordSet{}
	for _, list := range lists {
		for _, w := range strings.Fields(list) {
			s[w] = struct{}{}
		}
	}
	return s
}

// has reports whether the list holds w.
func (s wordSet) has(w string) bool {
	_, ok := s[w]
	return ok
}

// hasBytes is has for bytes, without allocating.
func (s wordSet) hasBytes(w []byte) bool {
	_, ok := s[string(w)]
	return ok
}

// stopWords are the function words of English, contractions without their apostrophe included.
var stopWords = set(`
	a an the and or but nor so if then else than that this these those there here
	i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
	we us our ours ourselves they them their theirs themselves one ones someone something anyone anything
	am is are was were be been being do does did done doing have has had having
	can could will would shall should may might must ought
	of in on at by for from to with without into onto about as over under up down out off through between
	after before during while until again further once against above below because
	what which who whom whose when where why how
	all any both each few more most other some such only own same too very just also even ever still yet
	no not nor never cannot s t d ll m re ve
	im ive ill id youre youve youll youd hes shes theyre theyve theyll weve well were its thats theres whats
	dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt hasnt havent hadnt aint lets
	really quite rather much many lot lots`)

// commonWords say little on their own: the most frequent English verbs, nouns and adjectives of
// conversation. The list is general knowledge, not taken from any data set.
var commonWords = set(`
	get gets got getting go goes went gone going make makes made making know knows knew known think thinks
	thought see sees saw seen look looks looked looking come comes came coming want wants wanted take takes
	took taken taking use find found give gives gave given tell told say says said ask asked try tried trying
	feel feels felt feeling leave call called need needs needed keep kept let put mean means meant seem seems
	help helps helped helping talk talked talking start started happen happened turn show like likes liked love
	good great nice cool awesome amazing wonderful fun happy glad sure okay ok new old big little long short
	best better bad important different right wrong hard easy able interesting exciting excited
	time times day days week weeks month months year years today yesterday tomorrow now recently lately soon
	ago last next first always usually often sometimes
	thing things stuff way ways people person man woman guy life world part place kind type sort bit point
	idea work works working experience moment plan plans
	hey hi hello wow yeah yes oh thanks thank please maybe actually definitely probably totally anyway
	back well around away together every everyone everything nothing lot another many much photo picture image
	two`)
