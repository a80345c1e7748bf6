package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// speaker is the person who says "I".
type speaker struct {
	name  string // as given; empty when unknown
	first string // at the start of a sentence
	mid   string // within one
}

// roles are speakers that are named by their role: "the user prefers", not "user prefers".
var roles = set(`user assistant agent human customer operator system developer admin caller
		client`)

// newSpeaker reads a name. A text that is not a name ("—", or with a line break) gives an unknown speaker.
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

// quotesOther reports whether words of the first person may be someone else's, quoted without quotation marks: "Tom
// said my car broke". After "that" they are the speaker's own words.
func quotesOther(ws []word) bool {
	if len(ws) > 2 && strings.HasSuffix(ws[0].post, ":") && capital(ws[0].core) && !labels.has(ws[0].low) {
		return speaksOfSelf(ws[1:]) // a transcript: "Tom: I prefer spaces."
	}
	for i, w := range ws {
		if w.quoted || i == 0 {
			continue
		}
		rest := ws[i+1:]
		switch {
		case sayers.has(w.low):
		case (w.low == "told" || w.low == "tells") && len(rest) > 0 && rest[0].low != "me" && rest[0].low != "us":
			rest = rest[1:]
		case w.low == "like" && copulas.has(ws[i-1].low) && len(rest) > 0 && firstPerson(rest[0].low):
		default:
			continue
		}
		if len(rest) > 1 && rest[0].low == "to" {
			rest = rest[1:]
		}
		if len(rest) > 1 && (rest[0].low == "me" || rest[0].low == "us") {
			rest = rest[1:] // "wrote me that …"
		}
		if saidBySelf(ws[:i]) || len(rest) == 0 || indirect.has(rest[0].low) {
			continue
		}
		for _, next := range rest {
			if indirect.has(next.low) {
				break // "said to the team that …"
			}
			if !next.quoted && selfWords.has(next.low) {
				return true
			}
		}
	}
	return false
}

// saidBySelf reports whether the subject of the verb after ws is the speaker.
func saidBySelf(ws []word) bool {
	for i := len(ws) - 1; i >= 0; i-- {
		low := ws[i].low
		if adverb(low) || auxiliaries.has(low) {
			continue
		}
		return firstPerson(low) && low != "my" || low == "we" || low == "we've"
	}
	return false
}

var (
	// sayers are verbs that quote words; after "thinks" no words are quoted.
	sayers = set(`said says say saying replied replies answered answers wrote writes texted texts
		shouted yelled whispered announced added adds tweeted posted`)
	// indirect are words that begin indirect speech, whose words are the reporter's own.
	indirect = set("that whether if how why what when where who which about")

	// labels end in a colon and do not name a speaker.
	labels = set(`note notes decision rule todo update correction reminder fyi btw edit ps warning
		question answer summary status goal goals plan agenda reason result results context background
		preference preferences fact facts issue fix`)
)
