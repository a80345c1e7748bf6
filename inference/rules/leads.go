package rules

import "strings"

// lead is a phrase before a statement that is not part of it.
type lead struct {
	rest     []word
	cue      string // of cues, in lower case
	reminded bool   // the sentence asks to remember the rest
	topic    []word // the subject of the error: "I was wrong about the port, …"

	polite bool // the request to remember has the form of a question
	led    bool // something was removed
}

var (
	// cues are lead-ins that announce a correction or change of an earlier statement. They need punctuation after
	// them, or are in bareLeads.
	cues = phraseList(`actually|correction|small correction|a correction|one correction|scratch that
		|strike that|scrap that|never mind|nevermind|never mind that|forget that|wait|oh wait|no wait
		|wait no|wait a minute|hold on|hang on|oops|whoops|my mistake|my bad|my error|my apologies|apologies
		|sorry|i'm sorry|i am sorry|no|nope|nah|update|quick update|small update|status update|edit|edited
		|erratum|on second thought|on second thoughts|on reflection|change of plan|change of plans
		|plans changed|plans have changed|new plan|turns out|turns out that|it turns out|it turns out that
		|it turned out|it turned out that|as it turns out|as it turned out|to correct myself
		|let me correct myself|let me correct that|i have to correct myself|i misspoke|typo|i was unclear
		|i was wrong|i was mistaken|i got that wrong|i stand corrected|rather|instead|false alarm|wrong
		|not true|not quite|not exactly|that's wrong|that is wrong|that was wrong|this is wrong
		|that's incorrect|that is incorrect|that's false|that is false|that's not right|that is not right
		|that's not true|that is not true|that's not correct|that is not correct|that isn't right
		|that isn't true|that isn't correct|that's not quite right|that's no longer true
		|that is no longer true|that's outdated|that is outdated|that's old news|i changed my mind
		|i've changed my mind|changed my mind|i take that back|i take it back`)

	// scratches are cues that retract the sentence before them.
	scratches = set("scratch strike scrap")

	// fillers are lead-ins that add nothing.
	fillers = phraseList(`yeah|yes|yep|yup|ok|okay|oh|ah|aw|aww|hey|hi|hello|wow|well|so|also|anyway
		|anyways|btw|fyi|sure|right|thanks|cheers|honestly|basically|haha|lol|hmm|um|uh|great|cool|awesome
		|nice|and|but|plus|yay|woohoo|woah|whoa|exactly|absolutely|definitely|totally|indeed|agreed|true
		|alright|ugh|by the way|just fyi|for your information|just so you know|so you know
		|for what it's worth|fwiw|to be honest|to be fair|tbh|in fact|as a matter of fact|of course|heads up
		|heads-up|a heads up|just a heads up|quick heads up|reminder|a reminder|friendly reminder
		|quick reminder|just a reminder|good news|great news|bad news|sad news|big news|news|fun fact|fact
		|important|quick note|side note|note|notes to self|nb|n.b|ps|p.s|pps|p.p.s|one more thing
		|another thing|first of all|as you know|as you may know|as mentioned|as i mentioned|as i said
		|like i said|as discussed|as i told you|long story short|in short|in case you missed it
		|in case you didn't know|in case you're wondering|in case it matters|guess what|you know|look|listen
		|see|i mean|the thing is|thing is|fact is|the point is|the good news is|the bad news is
		|for the record|for future reference|for context|for your memory|memo|seriously|frankly
		|speaking of which|on that note|on another note|on a side note|one thing to note
		|info|public service announcement|psa|attention|admittedly|if you must know|you see|i must say
		|i have to say|i must admit|i have to admit|i must confess|i should say|i should add
		|i should mention|i forgot to mention|i forgot to say|i also wanted to say|i forgot
		|believe it or not|between you and me|between us|just between us|trust me|believe me|excuse me
		|forgive me|pardon me|oh my god|my god|omg|oh my goodness|my goodness|my word|oh boy
		|correct me if i'm wrong|correct me if i am wrong|me|as for me|personally|for my part|til|idk|dunno
		|psst`)

	// bareLeads need no punctuation before the subject of a sentence.
	bareLeads = set(`actually ps p.s lol haha hmm um uh til so well but and also plus oh anyway
		anyways honestly basically okay ok yeah yes btw fyi tbh frankly seriously`)

	// bareTwo are phrases that need no punctuation either.
	bareTwo = phraseList(`turns out|turns out that|it turns out|it turns out that|it turned out
		|it turned out that|by the way|as it turns out|as it turned out|in fact|just so you know
		|to be honest|heads up|oh wait|wait no|no wait|i must say|i have to say|i must admit|i have to admit
		|i should say|i should add|i should mention|i forgot to mention|i forgot to say|the thing is
		|thing is|fact is|the good news is|the bad news is|i mean|you know|just fyi`)

	// thatLeads introduce a clause with or without "that".
	thatLeads = phraseList(`i must say that|i have to say that|i must admit that|i have to admit that
		|i should say that|i should add that|i should mention that|i forgot to mention that
		|i forgot to say that|the thing is that|fact is that|the good news is that|the bad news is that
		|i just wanted to say that|i just wanted to say|i wanted to say that|i just wanted to mention that
		|i wanted to mention that|i wanted to add that|it's worth noting that|it is worth noting that
		|it should be noted that|be aware that|please be aware that|let me add that|let me mention that
		|you should know that|you should know|i'm happy to report that|i am happy to report that
		|i'm happy to say that|i'm pleased to announce that|i'm pleased to say that
		|i'm proud to announce that|i'm excited to announce that|i'm sorry to say that|i regret to say that
		|i told you that|i told you|i already told you that|i already told you|i've told you that
		|i already said that|til that|i can confirm that|i can tell you that|heads up that|as you know`)

	// remembers are requests to remember what follows, in addition to rememberStarts.
	remembers = phraseList(`can you remember that|can you please remember that|could you remember that
		|could you please remember that|can you note that|could you note that|can you please note that
		|would you remember that|will you remember that|can you keep in mind that
		|could you keep in mind that|can you save that|can you store that|don't forget|do not forget
		|please don't forget that|please don't forget|please do not forget that|never forget that
		|make a note that|please make a note that|take note that|please take note that|make a note
		|please make a note|take a note|i want you to remember that|i want you to know that
		|i'd like you to know that|i would like you to know that|i want you to know
		|i'd like you to remember that|i need you to remember that|i need you to know that|save this
		|save that|store this|store that|please save this|please save that|please store this|memorize this
		|memorize that|memorise that|write this down|note this|note down that|remember this
		|please remember this|please note|jot down that|jot this down|add to memory|add to your memory
		|save to memory|for your notes|for the notes|let the record show that`)

	// unsureStarts are openings before "but" that do not make the rest uncertain.
	unsureStarts = phraseList(`not sure if|not sure whether|i'm not sure if|i'm not sure whether|don't know if
		|i don't know if|i don't know whether|dunno if|i dunno if|you may know|you might know
		|you probably know|maybe you know|you may have heard|you might have heard|i may have told you
		|i might have mentioned`)

	// callers are the people that a greeting addresses.
	callers = set(`all everyone everybody team folks there guys again friends friend people both`)

	greetings = set(`hey hi hello thanks cheers ok okay yo dear howdy greetings sorry yes no yeah`)

	// subjectStarts begin statements.
	subjectStarts = set(`i i'm i've i'd i'll im ive my we we're we've we'll our it it's he he's she she's
		they they're you you're your the a an this that that's these those his her their its there there's
		no some all every each both nobody everyone everybody in on at when if since after before`)
)

// cutLead removes greetings, fillers, cues and requests to remember from the front of a sentence, if a statement
// follows. If anything was removed, the rest starts with a capital letter.
func cutLead(ws []word, s speaker) lead {
	l := lead{rest: ws}
	var said []string
	for len(l.rest) > 1 {
		n := l.next(&said)
		if n == 0 || n >= len(l.rest) {
			break
		}
		l.rest, l.led = l.rest[n:], true
	}
	if l.led {
		l.rest = startSentence(l.rest)
	}
	l.cue = strings.Join(said, " ")
	if rest, ok := cutIntroduction(l.rest, s); ok {
		l.rest = startSentence(rest)
	}
	return l
}

// next returns the length in words of the lead-in at the front, and records the cues.
func (l *lead) next(said *[]string) int {
	ws := l.rest
	if n := max(rememberStarts.at(ws), remembers.at(ws)); n > 0 && n < len(ws) && remembersStatement(ws, n) {
		l.reminded, l.polite = true, polite.has(ws[0].low)
		return n
	}
	if n := thatLeads.at(ws); n > 0 && statesClause(ws[n:]) {
		return n
	}
	if n := cues.at(ws); n > 0 {
		if ws[0].low == "no" && n == 1 && hasDigit(ws[1].core) && ws[0].post == "." {
			return 0 // "No. 43 is open."
		}
		if end := leadEnds(ws, n); end > 0 {
			*said = append(*said, cueText(ws[:n]))
			return end
		}
		if end := labelEnds(ws, n); end > 0 {
			*said = append(*said, cueText(ws[:n]))
			return end
		}
	}
	if n := cues.at(ws); n > 0 && n < len(ws) && mistaken.has(ws[n-1].low) && topicStarts.has(ws[n].low) {
		if end := commaWithin(ws, n+1, 6); end > 0 {
			*said = append(*said, cueText(ws[:n]))
			l.topic = ws[n+1 : end+1]
			return end + 1
		}
	}
	if n := leadEnds(ws, fillers.at(ws)); n > 0 {
		return n
	}
	if n := unsureStarts.at(ws); n > 0 {
		for i := n; i+1 < len(ws) && i < n+8; i++ {
			if ws[i].low == "but" && strings.HasSuffix(ws[i-1].post, ",") {
				return i + 1
			}
		}
	}
	return vocative(ws, l.led)
}

var (
	mistaken    = set("wrong mistaken misspoke")
	topicStarts = set("about on regarding with")
)

// cueText returns a cue in the form that facts store.
func cueText(ws []word) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.low
	}
	return strings.Join(out, " ")
}

// leadEnds returns the length of the lead-in that the first n words are, including a dash after them. It returns 0 if
// they belong to the sentence: no punctuation separates them, and no subject follows.
func leadEnds(ws []word, n int) int {
	if n == 0 || n >= len(ws) {
		return 0
	}
	post, next := ws[n-1].post, ws[n]
	switch {
	case strings.ContainsAny(post, ",:;!…") || strings.HasPrefix(post, "."), ws[0].pre == "[" && post == "]":
		return n
	case post != "":
		return 0
	case dash(next):
		return n + 1
	case n == 1 && !bareLeads.has(ws[0].low):
		return 0
	case n > 1 && (bareTwo.at(ws) != n || next.low == "that" || !statesClause(ws[n:]) && !leadsIn(ws[n:]) &&
		!greetings.has(next.low)):
		return 0
	case leadsIn(ws[n:]):
		return n
	case ws[0].low == "so" && (next.low == "that" || next.low == "as"):
		return 0
	case subjectStarts.has(next.low), capital(next.core), greetings.has(next.low):
		return n
	case n == 1 && joiners.has(ws[0].low) && (timeStarts.has(next.low) || strings.HasSuffix(next.post, ",")):
		return n
	}
	return 0
}

// leadsIn reports whether ws starts with a lead-in.
func leadsIn(ws []word) bool {
	return leadEnds(ws, cues.at(ws)) > 0 || leadEnds(ws, fillers.at(ws)) > 0 ||
		thatLeads.at(ws) > 0 || rememberStarts.at(ws) > 1
}

// labelEnds returns the length in words of a longer label: "Update 2:", "Correction to my last note:".
func labelEnds(ws []word, n int) int {
	if n >= len(ws) || ws[n-1].post != "" || strings.Trim(ws[n].core, "0123456789") != "" &&
		!labelTopics.has(ws[n].low) {
		return 0
	}
	for i := n; i+1 < len(ws) && i < n+6; i++ {
		if strings.HasSuffix(ws[i].post, ":") {
			return i + 1
		}
	}
	return 0
}

var labelTopics = set("to on from about for regarding re")

// polite begin a request that has the form of a question.
var polite = set("can could would will")

// dash reports whether w is a dash between words.
func dash(w word) bool { return w.core != "" && strings.Trim(w.core, "-–—") == "" }

// remembersStatement reports whether a statement follows the n words that ask to remember.
func remembersStatement(ws []word, n int) bool {
	rest := ws[n:]
	if strings.ContainsAny(ws[n-1].post, ",:") {
		return true
	}
	last, first := ws[n-1].low, ws[0].low
	if last == "that" && first != "save" && first != "store" || last == "know" {
		return true
	}
	return (subjectStarts.has(rest[0].low) || capital(rest[0].core)) && holdsVerb(rest)
}

// holdsVerb reports whether a verb follows the first of ws.
func holdsVerb(ws []word) bool {
	if len(ws) == 0 {
		return false
	}
	switch first := ws[0].low; {
	case strings.Contains(first, "'") && (firstPerson(first) || pronouns.has(first)):
		return true
	case nominative.has(first) && len(ws) > 1:
		return true
	}
	for _, w := range ws[1:] {
		if finiteVerb(w.low) {
			return true
		}
	}
	return false
}

// commaWithin returns the first of limit words from start on that is followed by a comma. It returns 0 if there is
// none or it is the last word.
func commaWithin(ws []word, start, limit int) int {
	for i := start; i < len(ws)-1 && i < start+limit; i++ {
		if strings.HasSuffix(ws[i].post, ",") {
			return i
		}
	}
	return 0
}

// vocative returns the length in words of a greeting at the front: "Hey Mel, …", "Hi all! …". After another lead-in,
// or before "I", a name with a comma is a vocative too.
func vocative(ws []word, led bool) int {
	if len(ws) < 3 {
		return 0
	}
	if ws[0].post == "," && properName(ws[0].core) && !notCalled(ws[0].low) {
		next := ws[1].low
		if firstPerson(next) || led && subjectStarts.has(next) && !determinersOfKind.has(next) {
			return 1
		}
	}
	if !greetings.has(ws[0].low) || ws[0].post != "" {
		return 0
	}
	if n := greetingEnds(ws, 1); n > 0 {
		return n
	}
	return greetingEnds(ws, 2) // "Hi there Mel, …"
}

// notCalled reports whether a capitalised word before a comma is not a name.
func notCalled(low string) bool {
	return stopWords.has(low) || commonWords.has(low) || chatterWords.has(low) || leadIns.has(low) ||
		calendar.has(low) || notNames.has(low) || adverb(low) || verbs.has(low) || whWords.has(low) ||
		strings.HasSuffix(low, "ing") || nouns.has(low)
}

// nouns are capitalised words before a comma that are not names: "Spring, I think, …".
var nouns = set(`music food sports coffee tea breakfast lunch dinner christmas easter work home
		money health rules cats dogs kids mornings evenings nights weekends`)

func greetingEnds(ws []word, at int) int {
	if at+1 >= len(ws) || !strings.ContainsAny(ws[at].post, ",!.") {
		return 0
	}
	if callers.has(ws[at].low) || capital(ws[at].core) && ws[at].core != "I" {
		return at + 1
	}
	return 0
}

// startSentence writes the first word of ws with a capital letter, unless its spelling is fixed.
func startSentence(ws []word) []word {
	if len(ws) == 0 || ws[0].core == "" {
		return ws
	}
	core := ws[0].core
	if core != strings.ToLower(core) || identifier(core) || strings.ContainsAny(core, "./@_") {
		return ws
	}
	out := append([]word(nil), ws...)
	out[0].core = capitalize(out[0].core)
	return out
}

// cutIntroduction removes the words in which the speaker gives a name that is already known: "I'm Maya, I live in
// Lyon", "Maya here, …", "My name is Maya and …". It keeps other information: "I'm Maya from Acme" becomes "I'm from
// Acme". It returns no words if there is no other information.
func cutIntroduction(ws []word, s speaker) ([]word, bool) {
	if !s.known() || roles.has(s.name) || len(ws) < 2 {
		return ws, false
	}
	if n := nameAt(ws, s); n > 0 && n < len(ws) {
		if ws[n].low == "here" {
			return afterName(ws, n+1)
		}
		if strings.HasSuffix(ws[n-1].post, ":") {
			return ws[n:], true // a transcript: "Maya: I prefer tabs."
		}
	}
	n := introductions.at(ws)
	if n == 0 || n >= len(ws) {
		return ws, false
	}
	k := nameAt(ws[n:], s)
	if k == 0 {
		return ws, false
	}
	return afterName(ws, n+k)
}

// afterName returns the words after the first n, in which the speaker said the name.
func afterName(ws []word, n int) ([]word, bool) {
	if n >= len(ws) {
		return nil, true
	}
	rest, post := ws[n:], ws[n-1].post
	if dash(rest[0]) {
		rest, post = rest[1:], ","
	}
	if len(rest) > 0 && rest[0].low == "and" || len(rest) > 0 && rest[0].low == "but" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, true
	}
	am := word{core: "I'm", low: "i'm"}
	first := rest[0]
	switch {
	case subjectStarts.has(first.low) && !determinersOfKind.has(first.low) && !prepositions.has(first.low):
		return rest, true
	case capital(first.core) && post != "":
		return rest, true
	case determinersOfKind.has(first.low) && post != "" && !statesClause(rest):
		return append([]word{am}, rest...), true // "I'm Maya, a nurse from Lyon"
	case determinersOfKind.has(first.low) && post != "":
		return rest, true
	case post == "" && (prepositions.has(first.low) || first.low == "based"):
		return append([]word{am}, rest...), true // "I'm Maya from Acme"
	}
	return ws, false
}

// nameAt returns how many words at the front of ws are the speaker's name, or the first part of it.
func nameAt(ws []word, s speaker) int {
	names := strings.Fields(fold(s.name))
	n := 0
	for n < len(names) && n < len(ws) && ws[n].low == names[n] {
		n++
		if n < len(names) && ws[n-1].ends() && ws[n-1].post != "." {
			break
		}
	}
	return n
}

var (
	introductions = phraseList(`i'm called|i am called|people call me|i'm|i am|im|my name is|my name's|this is
		|it's|it is|it's me|call me|they call me`)
	determinersOfKind = set("a an the")
	nominative        = set("i we they he she it you")

	// joiners join a sentence to the previous one.
	joiners    = set("so and but also plus")
	timeStarts = set(`then now today yesterday tomorrow currently recently last next these nowadays
		sometimes usually later`)
)
