package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// Frame is a parsed statement.
type Frame struct {
	Speaker string   // the speaker's first name; empty when unknown or a role such as "user"
	Subject []string // stems of the subject's words; SelfTerm and TeamTerm stand for "I" and "we"
	Topic   []string // stems of the content words other than values, the subject's first
	Values  []Value  // values of the attribute
	Old     []Value  // values that the statement itself declares outdated
	Holder  bool     // the value is the person with a role: "Priya is on call"

	Owners   []string // owners of the attribute: people, and things with several attributes
	Kin      bool     // the owner is a relative of another: "my brother"
	BareName bool     // the subject is a name
	Actor    string   // the person who made a change to something else

	MainVerb  string   // stem of the main verb
	Cue       int      // one of the cue constants
	Ended     bool     // it says that something is over
	EndedDeed string   // stem of the verb for what ended, in "stopped smoking"; empty in other words
	Negated   bool     // it has a negation
	NeverDone bool     // it says what someone has never done
	Past      bool     // it is about the past
	Event     bool     // it describes something that happened once
	Corrects  bool     // it says that another statement was wrong: "correction", "after all", "it turns out"
	Hedged    bool     // the speaker is not sure
	Returned  bool     // it says that someone is back from something
	Undecided bool     // it says that a choice is open
	Copular   bool     // a form of "be" connects subject and value
	Sentiment int      // +1 likes, -1 dislikes
	IfClause  bool     // it begins with a condition
	Owned     bool     // such a phrase names an owner: "for my thyroid"
	Condition []string // stems of the phrases that limit it: "in staging", "on weekdays"

	said  []string // the words of the topic as in the text
	whole *whole   // the text that it is from; nil for a long one

	Outline Outline // of its clause; empty if there is none

	comment     bool // it begins with "which" and comments on the clause before
	goesOn      bool // it tells what is going on: "the sea is calling"
	unresolved  bool // the subject is a pronoun with an unknown referent
	byPronoun   bool // the subject is a pronoun
	subjectless bool // it begins with its verb
}

// How clearly a statement reports a change.
const (
	CueNone   = iota
	CueNow    // now, these days: true in contrast to before
	CueChange // moved, switched, correction: a value replaced another
)

// Terms returns the terms of the topic and of the values, without the speaker. Related statements share some of them.
func (f Frame) Terms() []string {
	var out []string
	for _, t := range f.Topic {
		if IsSpeaker(f, t) || english.SoftTerms[t] {
			continue
		}
		out = append(out, t)
		out = append(out, english.Concepts[t]...)
	}
	for _, v := range slices.Concat(f.Values, f.Old) {
		out = append(out, strings.Fields(v.Key)...)
	}
	return out
}

// OfSpeaker reports whether the statement is about its speaker.
func (f Frame) OfSpeaker() bool {
	return slices.ContainsFunc(f.Owners, func(t string) bool { return IsSpeaker(f, t) && t != english.TeamTerm }) &&
		!f.Kin
}

// Owner returns the owner of the statement's attribute, in the words of the statement, or "" if it names none.
func (f Frame) Owner() string {
	var out []string
	for _, t := range f.said {
		if slices.Contains(f.Owners, english.StemOf(strings.ToLower(t))) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}

// About returns the topic of a statement without its values: "use for CI". It returns "" if the topic is only the
// speaker.
func (f Frame) About() string {
	var out []string
	for _, t := range f.said {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " ")
}
