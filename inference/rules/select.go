package rules

import (
	"strings"
	"unicode"
)

var (
	// chatterStarts begin sentences that keep a conversation going and state nothing.
	chatterStarts = phraseList(`thanks for|thanks so|thanks a|thank you|many thanks|nice to meet|nice to see|nice to hear
		|good to see|good to hear|great to see|great to hear|good to know|good luck|good morning|good evening|good night
		|good afternoon|good point|good idea|good question|great question|great idea|great job|good job|nice job|nice work
		|well done|keep up|keep it up|keep me posted|keep in touch|how are|how's it|what's up|hope you|hope that|hope this
		|hope to|talk to you|talk soon|talk later|see you|see ya|great to chat|great to talk|nice to chat|good to chat
		|good to talk|take care|take it easy|have a good|have a great|have a nice
		|have fun|let me know|let's|lets|let me|sounds good|sounds great|sounds like|sounds awesome|sounds amazing
		|looks good|looks great|happy to help|glad to|glad you|so glad|no problem|no worries|you're welcome|you are welcome
		|my pleasure|congrats|congratulations|got it|i got it|i know right|of course|for sure|long time no
		|way to go|can't wait|i can't wait|i appreciate you|i appreciate your|i appreciate it|i appreciate that
		|i appreciate the|i appreciate all|i appreciate this|i hear you|i'm glad to|i'm glad you|i'm glad it|i'm glad that
		|i'm glad we|i'm glad they|i'm so glad|i'm happy to
		|i hope you|i hope this|i hope that|i hope it|i hope so|i hope everyone|i hope all|i hope we|i hope they|i hope your
		|i'd love to hear|i'm sorry|sorry to|sorry about|sorry for|so sorry|bye|goodbye|cheers|welcome back
		|happy birthday|i don't know what|i don't know why|i don't know if|i don't know whether|i don't know about
		|i don't know much|i don't know yet|not sure|no idea|same here|me too|me neither|as an ai|i'm an ai
		|sure thing|absolutely|here you go|here you are|here is the|here's the|here are the|i'll keep you|i will keep you
		|tell me|just wanted to say|wanted to say|as i said|love that|love your|love seeing|love all|love the|love it
		|love this|been a|makes me|made me|really made me
		|glad|really glad|so proud|so happy|here's|here is a|here are some|look at|look what|check out|stay safe|chat soon
		|appreciate|really appreciate|i really appreciate
		|highly recommend it|forget it|forget about it|always happy to|nice one|fingers crossed|like i said|never mind
		|nevermind|feel free|don't worry`)

	// chatterWhole are chatter if only punctuation follows.
	chatterWhole = phraseList(
		`i see|i understand|i agree|i'm here|i know|i get it|bet|i don't know|i hope|i appreciate|i'm glad`,
	)

	// chatterWords are words without information.
	chatterWords = set(
		`hey hi hello wow yeah yes yep yup nope no ok okay oh ah aw aww haha lol hmm um uh hm cheers great cool
		awesome nice amazing wonderful fantastic lovely sweet perfect good fine right sure thanks thank please welcome
		congrats congratulations absolutely definitely exactly totally indeed agreed agree true alright bye goodbye well
		really super so love like know think guess see hear hope mean understand believe sorry sound sounds look looks
		thing things stuff way lot lots glad happy excited interesting exciting understood done got gotcha noted
		appreciate pleasure brilliant excellent wait anyway actually morning evening night luck too yay woohoo woah whoa
		oops yikes ugh omg idea point going go let's lets it's that's this's there's here here's`,
	)

	// requestVerbs begin requests to an assistant, unless a rule is meant; see isRequest.
	requestVerbs = set(
		`show tell give explain help write create generate summarize summarise find list fix check look make let send
		remind describe translate draft compare suggest recommend search open read fetch analyze analyse review
		continue proceed try implement refactor add update change rename delete remove move build do print
		calculate compute convert debug improve rewrite optimize answer define propose provide put think tell
		solve go come wait stop start figure get ask call say talk imagine consider share guess confirm`,
	)

	requestStarts = phraseList(
		`please|can you|could you|would you|will you|can we|could we|can i|could i|may i|shall we|i want you to
		|i need you to|i'd like you to|i would like you to|we need you to|i was wondering if|do me a|help me|show me|tell me
		|give me|go ahead|take a look|have a look|check it out|check this out|try again|do it|feel free|keep going`,
	)

	// howToVerbs begin instructions that hold in general.
	howToVerbs = set(`run use prefer avoid keep ensure set export install restart enable disable configure deploy commit
		push pull merge test verify store log pin rotate escape validate treat follow apply start stop add remove
		make check put wrap return handle call write create update build read open delete move clean clear
		include exclude import define declare name limit wait turn press click select choose open close cook
		bake mix stir heat preheat boil serve save backup restore migrate rebase squash tag release format lint`)

	// howToMarkers show that an instruction is a rule or a step, and not a task for now.
	howToMarkers = set(`before after when whenever if unless every each until once instead always never first then rather
		while during only per for with to by via in on from into against`)
	strongMarkers = set(`before after when whenever if unless every each until once instead always never only rather`)

	// policyVerbs make an instruction general without other words: "Use tabs, not spaces".
	policyVerbs = set("use prefer avoid keep ensure follow treat store pin name")

	// standing are words by which a request applies from now on.
	standing = phraseList(
		"stop using|stop adding|stop writing|stop saying|stop putting|stop calling|always|never|from " +
			"now on|every time|by default|in future|in the future",
	)

	// ruleStarts begin rules.
	ruleStarts = phraseList(
		`never|always|do not|don't|dont|must|must not|make sure|be sure to|ensure|avoid|prefer|no deploys|no deployments`,
	)

	// rememberStarts are requests to remember what follows.
	rememberStarts = phraseList(
		`please remember that|please remember|remember that|please note that|please note|note that|note|fyi
		|for the record|keep in mind that|please keep in mind that|bear in mind that|don't forget that|do not forget that
		|just so you know|for your information|wanted to let you know that|just wanted to let you know that
		|i wanted to let you know that|i wanted to tell you that|remember`,
	)

	// hedges make a statement uncertain.
	hedges = phraseList(
		`maybe|might|perhaps|possibly|probably|presumably|i think|i guess|i suppose|i believe|i assume|i bet|not sure|unsure
		|apparently|supposedly|allegedly|seems|seem|seemed|it appears|it looks like|it looks as|looks like|likely|unlikely
		|could be|may be|not certain|i'm not sure|rumor|rumour
		|if i remember|i don't think|thinks|guesses|supposes|doesn't think|we think|we guess|we assume`,
	)

	leadIns = set(
		`yeah yes yep yup ok okay oh ah aw aww hey hi hello wow well so also anyway btw fyi sure right thanks cheers
		honestly actually basically haha lol hmm um uh great cool awesome nice and but plus yay woohoo woah whoa
		exactly absolutely definitely totally indeed agreed true alright sorry nah ugh`,
	)

	thirdPersons = set(
		`it it's its it'd it'll he he's he'd he'll she she's she'd she'll they they're they've they'd they'll their his her
		him them
		theirs hers that's this's that'll that'd those'll`,
	)
	demonstratives = set(`this that these those`)
	secondPersons  = set(`you you're you've you'd you'll your yours youre youve`)
	copulas        = set(`is are was were am be been isn't aren't wasn't weren't 's`)
	auxiliaries    = set(
		`is are was were am be isn't aren't wasn't weren't has have had hasn't haven't hadn't do does did doesn't don't
		didn't can can't cannot could couldn't will won't would wouldn't shall should shouldn't may might must mustn't`,
	)
	whWords = set(`what why how where when who which whom whose what's how's where's who's when's why's`)
	inverse = set(`is are do does did was were can could should would will 's has have am isn't aren't don't doesn't`)
)

// isQuestion reports whether a sentence is a question, by its question mark or its word order.
func isQuestion(text string, ws []word) bool {
	t := strings.TrimRight(text, "\"'”’)]*_ !.")
	if strings.HasSuffix(t, "?") || strings.HasSuffix(t, "？") {
		return true
	}
	ws = skipLeadIns(ws)
	if len(ws) < 2 {
		return false
	}
	first, second := ws[0].low, ws[1].low
	if whWords.has(first) && (inverse.has(second) || strings.HasSuffix(first, "'s")) {
		return true
	}
	if (first == "which" || first == "who" || first == "whose") && !strings.HasSuffix(text, ".") {
		return true
	}
	if first == "how" || first == "what" && (second == "about" || second == "if") {
		return true
	}
	return inverse.has(first) &&
		(second == "you" || second == "i" || second == "we" || second == "they" || second == "it" || second == "there")
}

// cutQuestion removes a question from the end of a sentence that states something first: "I moved to Oslo,
// what should I register?" It leaves a tag question ("…, right?", "…, isn't it?"), which
// asks whether the statement is true, and a question after a condition.
func cutQuestion(ws []word) ([]word, bool) {
	if len(ws) < 7 || conditionals.has(ws[0].low) || prepositions.has(ws[0].low) || whWords.has(ws[0].low) ||
		inverse.has(ws[0].low) ||
		!holdsVerb(ws) {
		return ws, false
	}
	for i := len(ws) - 4; i >= 2; i-- {
		if !strings.HasSuffix(ws[i].post, ",") || ws[i].quoted {
			continue
		}
		next := ws[i+1:]
		if sentenceJoints.has(next[0].low) {
			next = next[1:]
		}
		if len(next) < 4 || !asks(next) {
			continue
		}
		out := append([]word(nil), ws[:i+1]...)
		out[i].post = strings.TrimSuffix(out[i].post, ",") + "."
		if shorter, ok := cutQuestion(out); ok {
			return shorter, true
		}
		return out, true
	}
	return ws, false
}

var sentenceJoints = set("so but and or also")

// asks reports whether ws has the word order of a question.
func asks(ws []word) bool {
	first, second := ws[0].low, ws[1].low
	switch {
	case first == "how", whWords.has(first) && strings.HasSuffix(first, "'s"):
		return true
	case whWords.has(first):
		for i := 1; i < min(len(ws)-1, 5); i++ {
			if inverse.has(ws[i].low) { // "which food should I", not "which is cheap"
				return nominative.has(ws[i+1].low) || first != "who" && first != "which" && determiners.has(ws[i+1].low)
			}
		}
		return false
	case first == "any":
		return second == "idea" || second == "ideas" || second == "tips" || second == "advice" ||
			second == "suggestions"
	}
	return inverse.has(first) && (nominative.has(second) || determiners.has(second) || second == "there")
}

// isChatter reports whether a sentence states nothing: greetings, thanks, acknowledgements, cheers.
func isChatter(text string, ws []word) bool {
	if chatterStarts.at(skipLeadIns(ws)) > 0 || chatterStarts.at(ws) > 0 {
		return true
	}
	if n := chatterWhole.at(ws); n > 0 && (n == len(ws) || ws[n-1].ends()) {
		return true
	}
	need := 1
	if strings.HasSuffix(text, "!") {
		need = 2
	}
	self := false
	for _, w := range ws {
		if w.low == "i" || w.low == "i'm" || w.low == "i've" || w.low == "my" {
			self = true
		}
	}
	if self {
		need = 1
	}
	for i, w := range ws {
		if i > 0 && capital(w.core) && !firstPerson(w.low) && !stopWords.has(w.low) {
			if i == len(ws)-1 || w.ends() {
				if strings.Contains(ws[i-1].post, ",") || leadIns.has(ws[i-1].low) {
					continue // "Thanks, Mel!"
				}
			}
			if need--; need == 0 {
				return false
			}
			continue
		}
		for part := range strings.FieldsFuncSeq(w.low, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
		}) {
			if strings.Contains(part, "'") {
				part, _ = stripPossessive(part)
				if strings.Contains(part, "'") {
					continue // a contraction
				}
			}
			if !stopWords.has(part) && !chatterWords.has(part) {
				if need--; need == 0 {
					return false
				}
			}
		}
	}
	return true
}

// isRequest reports whether a sentence asks the assistant to do something now. Rules and how-to
// ("Run bun install before building") are not requests.
func isRequest(ws []word) bool {
	ws = skipLeadIns(ws)
	if len(ws) == 0 {
		return false
	}
	if requestStarts.at(ws) > 0 {
		return ruleStarts.at(trimPlease(ws)) == 0 && !generalHowTo(trimPlease(ws)) && !standing.in(ws)
	}
	if ruleStarts.at(ws) > 0 {
		return false
	}
	for i := 1; i < min(len(ws)-1, 4) && !pronouns.has(ws[i].low); i++ {
		if strings.HasSuffix(ws[i].post, ":") {
			return false // "Deploy checklist: …" is a label
		}
	}
	first := ws[0].low
	if forgetVerbs.has(first) && len(ws) > 1 && (first != "ignore" || pronouns.has(ws[1].low)) {
		return true
	}
	if !requestVerbs.has(first) && !howToVerbs.has(first) || len(ws) > 1 && predicateNext(ws) {
		return false
	}
	return !generalHowTo(ws)
}

// trimPlease drops a leading please.
func trimPlease(ws []word) []word {
	if len(ws) > 0 && ws[0].low == "please" {
		return ws[1:]
	}
	return ws
}

// generalHowTo reports whether an imperative applies beyond the moment.
func generalHowTo(ws []word) bool {
	if len(ws) < 3 || !howToVerbs.has(ws[0].low) {
		return false
	}
	if policyVerbs.has(ws[0].low) && !pronouns.has(ws[1].low) {
		return true
	}
	markers := howToMarkers
	if requestVerbs.has(ws[0].low) {
		markers = strongMarkers // "fix the bug in main" is a task
	}
	for _, w := range ws[1:] {
		switch {
		case w.low == "me" || w.low == "us" || w.low == "now":
			return false
		case markers.has(w.low):
			return true
		}
	}
	return false
}

// predicateNext reports whether the first word, though it may be a verb, is the subject: "Build
// times are long", "Tests run nightly".
func predicateNext(ws []word) bool {
	for _, w := range ws[1:min(len(ws), 4)] {
		if auxiliaries.has(w.low) {
			return true
		}
		if w.ends() {
			return false
		}
	}
	return false
}

// isImperative reports whether a sentence tells how to do something: "Run …", "First, run …", "To
// deploy, run …", "When CI fails, check …".
func isImperative(ws []word) bool {
	ws = trimPlease(ws)
	if len(ws) > 2 && (conditionals.has(ws[0].low) || ws[0].low == "to" || ws[0].low == "for" || ws[0].low == "in") {
		for i := 1; i < min(len(ws)-1, 8); i++ {
			if strings.HasSuffix(ws[i].post, ",") {
				return howToVerbs.has(ws[i+1].low) && !predicateNext(ws[i+1:])
			}
		}
		return false
	}
	if len(ws) > 2 && (ws[0].low == "first" || ws[0].low == "then" || ws[0].low == "next" || ws[0].low == "finally") {
		ws = ws[1:]
	}
	if len(ws) > 3 && ws[0].low == "step" && hasDigit(ws[1].low) {
		ws = ws[2:]
	}
	if len(ws) < 2 || predicateNext(ws) {
		return false
	}
	return howToVerbs.has(ws[0].low) && !ws[0].ends() || ruleStarts.at(ws) > 0 && ws[0].low != "no"
}

// isRule reports whether a second-person sentence lays down a rule: "You must never push to main".
func isRule(ws []word) bool {
	for i, w := range ws {
		switch w.low {
		case "must", "never", "always", "should", "shouldn't", "mustn't", "cannot":
			return true
		case "need", "have":
			if i+1 < len(ws) && ws[i+1].low == "to" {
				return true
			}
		}
	}
	return false
}

// addresses reports whether a sentence is about the listener, who is not known: "I'm so proud of you". Rules and
// general statements ("if you …") are not.
func addresses(ws []word) bool {
	you := false
	for i, w := range ws {
		if secondPersons.has(w.low) && !w.quoted {
			you = true
			if i > 0 && (ws[i-1].low == "if" || ws[i-1].low == "when" || ws[i-1].low == "so") {
				return false
			}
		}
	}
	return you && !isRule(ws) && !isImperative(ws) && !standing.in(ws)
}

// skipLeadIns drops "Yeah,", "Hey Mel!", "Oh, well," and the like from the front.
func skipLeadIns(ws []word) []word {
	for len(ws) > 1 && leadIns.has(ws[0].low) {
		switch {
		case len(ws) > 2 && leadIns.has(ws[1].low) && ws[0].post == "" && strings.ContainsAny(ws[1].post, ",!"):
			ws = ws[2:] // "Oh yeah, …"
		case strings.ContainsAny(ws[0].post, ",!…") || strings.HasPrefix(ws[0].post, "."):
			ws = ws[1:]
		case len(ws) > 2 && capital(ws[1].core) && ws[1].core != "I" && strings.ContainsAny(ws[1].post, ",!"):
			ws = ws[2:] // "Hey Mel, …"
		case (ws[0].low == "and" || ws[0].low == "but" || ws[0].low == "so" || ws[0].low == "also" ||
			ws[0].low == "plus") &&
			firstPerson(ws[1].low):
			ws = ws[1:]
		default:
			return ws
		}
	}
	return ws
}

func firstPerson(low string) bool {
	switch low {
	case "i", "i'm", "i've", "i'll", "i'd", "my", "im", "ive":
		return true
	}
	return false
}

// isHedged reports whether the speaker is not sure.
func isHedged(ws []word) bool { return hedges.in(ws) }
