package rules

import "strings"

// retraction is a sentence that retracts an earlier statement.
type retraction struct {
	content []word // the statement that is retracted
	cue     string // the words that retract it, in lower case
	polite  bool   // in the form of a question
	topic   bool   // content names the topic of the statement, not the statement
	rest    []word // the statement after the retraction
}

var (
	// withdrawals are followed by the statement that they retract. "It is wrong that" is not one of them: it may
	// criticise something that is true.
	withdrawals = phraseList(`forget that|forget the fact that|forget about the fact that|disregard that
		|disregard the fact that|ignore that|ignore the fact that|unlearn that|it is not true that
		|it's not true that|it isn't true that|it is no longer true that|it's no longer true that
		|not true that|it is not the case that|it's not the case that|it isn't the case that
		|it's not true anymore that|it is not true anymore that|it isn't true anymore that
		|it's not true any more that|it is no longer the case that|it's no longer the case that
		|it is false that|it's false that|it is untrue that|it's untrue that|it is incorrect that
		|it's incorrect that|it is a lie that|it's a lie that|it was never true that|it is not correct that
		|it's not correct that|it isn't correct that|it's a myth that|it is a myth that|that's not true that`)

	// denials deny that something was said; "that" may follow.
	denials = phraseList(`i never said|i never told you|i never mentioned|i never claimed|i never wrote
		|i never told anyone|i've never said|i have never said|i didn't say|i did not say|i didn't tell you
		|i did not tell you|i didn't claim|i did not claim|i didn't mention|i did not mention|i didn't mean
		|forget i said|forget i ever said|forget i mentioned|forget i told you|forget that i said
		|forget that i ever said|forget that i told you|forget that i mentioned|forget me saying
		|disregard that i said|ignore that i said|i take back that`)

	// takeBacks are followed by the remark that is taken back, and its topic.
	takeBacks = phraseList(`forget what|disregard what|ignore what|forget everything|disregard everything
		|ignore everything|i take back what|i take back everything|please forget what|please disregard what
		|please ignore what`)
	saidAbout = phraseList(`i said about|i told you about|i wrote about|i mentioned about|i've said about
		|i have said about|i said earlier about|i told you earlier about|i said before about
		|i said yesterday about|i just said about|i said on|i said regarding`)

	// forgetRequests are the words of a request before "forget".
	forgetRequests = phraseList(`can you|can you please|could you|could you please|would you|would you please
		|will you|will you please|i want you to|i'd like you to|i would like you to|i need you to
		|i asked you to|you can|you should|you may|you can just|just|let's`)
	forgetVerbs = set("forget disregard ignore")
	// remarks are what a speaker may ask the listener to disregard: "my last message about the outage".
	remarks = set(`message comment note statement remark mail email post question answer claim
		words messages comments notes remarks`)
)

// cutRetraction reads a sentence that retracts a statement.
func cutRetraction(ws []word) (retraction, bool) {
	if n := forgetRequests.at(ws); n > 0 {
		back, ok := cutRetraction(ws[n:])
		back.polite = polite.has(ws[0].low)
		return back, ok
	}
	ws = trimPlease(ws)
	if n := denials.at(ws); n > 0 {
		p := ws[n:]
		if len(p) > 1 && p[0].low == "that" {
			p, n = p[1:], n+1
		}
		if statesClause(p) {
			return retraction{content: startSentence(p), cue: cueText(ws[:n])}, true
		}
	}
	if n := withdrawals.at(ws); n > 0 && statesClause(ws[n:]) {
		return retraction{content: startSentence(ws[n:]), cue: cueText(ws[:n])}, true
	}
	if n := takeBacks.at(ws); n > 0 {
		if k := saidAbout.at(ws[n:]); k > 0 && n+k < len(ws) {
			what, rest := cutClause(ws, n-1, n+k)
			return retraction{content: what, rest: rest, cue: cueText(ws[:n-1]), topic: true}, true
		}
	}
	if len(ws) > 2 && forgetVerbs.has(ws[0].low) && ws[1].low == "my" {
		return forgetMine(ws)
	}
	return retraction{}, false
}

// forgetMine reads "Forget my phone number." and "Disregard my last message about the outage."
func forgetMine(ws []word) (retraction, bool) {
	for i := 2; i < len(ws)-2 && i < 6; i++ {
		if remarks.has(ws[i].low) && (ws[i+1].low == "about" || ws[i+1].low == "on" || ws[i+1].low == "regarding") {
			what, rest := cutClause(ws, 1, i+2)
			return retraction{content: what, rest: rest, cue: ws[0].low, topic: true}, true
		}
	}
	if ws[0].low != "forget" || len(ws) > 7 || remarks.has(ws[len(ws)-1].low) {
		return retraction{}, false
	}
	for i, w := range ws[2:] {
		if finiteVerb(w.low) || i+3 < len(ws) && w.ends() {
			return retraction{}, false
		}
	}
	return retraction{content: startSentence(ws[1:]), cue: "forget", topic: true}, true
}

// cutClause removes a clause after a comma from ws[from:], whose topic begins at topic.
func cutClause(ws []word, from, topic int) (what, rest []word) {
	for i := topic; i+2 < len(ws); i++ {
		if post := ws[i].post; strings.HasSuffix(post, ",") || strings.HasSuffix(post, ";") || strings.HasSuffix(post,
			":") {
			if next := ws[i+1:]; statesClause(next) {
				what = append([]word(nil), ws[from:i+1]...)
				what[len(what)-1].post = ""
				return startSentence(what), startSentence(next)
			}
		}
	}
	what = append([]word(nil), ws[from:]...)
	what[len(what)-1].post = strings.TrimRight(what[len(what)-1].post, ".!")
	return startSentence(what), nil
}

// statesClause reports whether ws is a statement with a subject and a verb.
func statesClause(ws []word) bool {
	if len(ws) < 2 {
		return false
	}
	first := ws[0].low
	if nominative.has(first) || first == "there" || first == "there's" {
		return true
	}
	if strings.Contains(first, "'") && pronouns.has(first) {
		return true
	}
	for i, w := range ws[1:] {
		if ws[i].ends() && ws[i].post != "." && ws[i].post != "," {
			return false
		}
		if reducedClause(ws[i+1:]) {
			continue
		}
		if finiteVerb(w.low) || verbs.has(w.low) && plural(ws[i].low) {
			return true
		}
	}
	return false
}

// reducedClause reports whether ws starts with a participle that describes a noun: "based in Tunis".
func reducedClause(ws []word) bool {
	return len(ws) > 1 && strings.HasSuffix(ws[0].low, "ed") && ws[0].post == "" && prepositions.has(ws[1].low)
}

// plural reports whether low looks like a noun in the plural.
func plural(low string) bool {
	switch low {
	case "people", "children", "men", "women", "kids":
		return true
	}
	n := len(low)
	return n > 3 && low[n-1] == 's' && !strings.ContainsRune("sui'", rune(low[n-2])) && !stopWords.has(low)
}
