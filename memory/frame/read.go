package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// Read returns the frames of the statements in a text. The speaker is the person who says "I", or "" if unknown. Read
// skips questions: see memory/question.
func Read(text, speaker string) []Frame {
	frames, _ := ReadSentences(text, speaker)
	return frames
}

// Sentence has the words of a sentence, with the values whose kind is clear from their form.
type Sentence struct {
	Tokens []english.Token
	Values []Value
}

// ReadSentences is Read that also returns the words of all sentences, questions too. Words are split and stemmed once.
func ReadSentences(text, speaker string) (frames []Frame, words []Sentence) {
	var told []Sentence
	for _, s := range english.Sentences(text) {
		ts := english.Tokenize(s)
		words = append(words, Sentence{ts, TypedValues(ts)})
		if !endsAsking(s) {
			told = append(told, words[len(words)-1])
			frames = appendSentence(frames, slices.Clone(ts), speaker)
		}
	}
	if count := wordsOf(told); count <= maxWholeWords {
		text := &whole{sentences: told}
		for i := range frames {
			frames[i].whole = text
		}
	}
	return frames, words
}

// endsAsking reports whether a sentence ends with a question mark.
func endsAsking(sentence string) bool {
	return strings.HasSuffix(strings.TrimRight(sentence, "\"'”’)]* "), "?")
}

// appendSentence parses the clauses of a sentence, and may change words. A clause whose subject is missing or a pronoun
// gets the subject of the clause before. If a clause says that a value ended and the next has the new value, both
// become one frame.
func appendSentence(out []Frame, words []english.Token, speaker string) []Frame {
	whole := &reader{ts: words}
	whole.Speaker = SpeakerKey(speaker)
	whole.leadIns()
	whole.ts = withoutElection(withoutCleft(whole.ts))
	for i, clause := range splitClauses(whole.ts) {
		r := &reader{ts: clause, continues: i > 0}
		r.Speaker = whole.Speaker
		if i == 0 {
			r.Cue, r.Corrects = whole.Cue, whole.Corrects
		}
		if i > 0 && slices.ContainsFunc(whole.ts[:min(3, len(whole.ts))], english.Token.IsChangeOfMind) {
			r.Cue = CueChange // "I changed my mind, …"
		}
		if len(out) > 0 && r.elliptic(&out[len(out)-1]) {
			continue
		}
		if !r.read() || r.empty() {
			continue
		}
		if len(out) > 0 {
			r.inherit(out[len(out)-1], i > 0)
		}
		if n := len(out); i > 0 && n > 0 && follows(whole.ts, clause) {
			r.insteadOf(out[n-1])
			if len(r.Old) > 0 {
				out[n-1] = r.Frame
				continue
			}
		}
		if n := len(out); n > 0 && completes(out[n-1], r.Frame, i > 0 || r.byPronoun) {
			out[n-1] = joined(out[n-1], r.Frame)
			continue
		}
		out = append(out, r.Frame)
	}
	return out
}

// follows reports whether a clause comes after "so".
func follows(whole, clause []english.Token) bool {
	for i := 1; i < len(whole); i++ {
		if &whole[i] == &clause[0] {
			return whole[i-1].Low == "so"
		}
	}
	return false
}

// insteadOf takes the subject of the clause before "so" as the outdated value: Carrefour in "Carrefour got too
// expensive, so I shop at Aldi".
func (r *reader) insteadOf(reason Frame) {
	if len(r.Values) == 0 || r.Ended || r.Negated || len(reason.said) == 0 || reason.goesOn {
		return
	}
	var words []string
	for _, t := range reason.Subject {
		if !IsSpeaker(reason, t) && t != english.SelfTerm && t != english.TeamTerm && !slices.Contains(r.Topic, t) {
			words = append(words, t)
		}
	}
	if len(words) == 0 {
		return
	}
	r.Old = append(r.Old, Value{Kind: KindName, Text: strings.Join(words, " "), Key: strings.Join(words, " ")})
	r.Cue = CueChange
}

// empty reports whether a clause states nothing: "Just saying."
func (f *Frame) empty() bool {
	return len(f.Topic) == 0 && len(f.Values) == 0 && len(f.Old) == 0 && !f.Ended
}

// roles has speaker names that are roles.
var roles = english.Words("user assistant agent human customer operator system developer admin caller client")

// SpeakerKey returns the term for a speaker: the stem of the first name, or "" if unknown or a role such as "user".
func SpeakerKey(speaker string) string {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(speaker)), " ")
	if roles[first] {
		return ""
	}
	return english.StemOf(first)
}

// reader is the state of reading one sentence.
type reader struct {
	Frame
	ts        []english.Token
	taken     []bool // tokens of values and cues
	verb      int    // index of the main verb, or len(ts) if there is none
	continues bool   // the clause may begin with its verb
	mover     string // stem of a main verb that only says that a date, a number or the like changed
}

// read fills in the frame. It returns false if the clause is too short.
func (r *reader) read() bool {
	if len(r.ts) < 2 {
		return false
	}
	r.clauses()
	if len(r.ts) == 0 {
		return false
	}
	r.addSpeaker()
	r.caused()
	r.taken = make([]bool, len(r.ts))
	r.findVerb()
	r.cues()
	r.but()
	r.findOld()
	r.findValues()
	r.findTopic()
	r.MainVerb = r.main().Stem
	r.Outline = r.outlineOf()
	r.NeverDone = slices.ContainsFunc(r.ts, func(t english.Token) bool { return t.Low == "never" }) &&
		slices.ContainsFunc(r.ts, func(t english.Token) bool { return t.Is("has", "have", "had") })
	r.comment = r.ts[0].Low == "which"
	r.goesOn = r.Copular && strings.HasSuffix(r.main().Low, "ing")
	for i := range r.Values {
		v := &r.Values[i]
		k := v.From - 1
		for k > 0 && (english.Articles[r.ts[k].Low] || english.Possessives[r.ts[k].Low]) {
			k--
		}
		if k >= 0 && english.Prepositions[r.ts[k].Low] {
			v.Preposition = r.ts[k].Low
		}
	}
	return true
}

// addSpeaker adds the "I" that a sentence such as "Turned the heating down to 19" leaves out.
func (r *reader) addSpeaker() {
	first := r.ts[0]
	if len(r.ts) < 4 || r.continues || !first.Cap || first.End != 0 || !english.PastTense(first) ||
		english.IsAux(first) || !english.Articles[r.ts[1].Low] && !english.Possessives[r.ts[1].Low] {
		return
	}
	r.ts = slices.Concat([]english.Token{{Text: "I", Low: "i", Stem: "i", Cap: true}}, r.ts)
}

// but reads "not at 9 but at 10" and "no longer with Acme but with Globex": the value before "but" is
// outdated.
func (r *reader) but() {
	at := slices.IndexFunc(r.ts, func(t english.Token) bool { return t.Low == "but" })
	if at < 0 { // "no longer until 18:00, only until 16:30"
		at = slices.IndexFunc(r.ts, func(t english.Token) bool { return t.Is("only", "just") })
		if at <= 0 || r.ts[at-1].End != ',' {
			return
		}
	}
	if at <= 0 || at+1 >= len(r.ts) || r.ts[at-1].End == ',' && startsClause(r.ts[at+1:]) {
		return
	}
	not := -1
	for i, t := range r.ts[:at] {
		if t.Is("not", "nolonger", "anymore") {
			not = i
			break
		}
	}
	if not < 0 {
		return
	}
	if r.ts[not].Low == "anymore" {
		not = min(r.verb, at-1)
	}
	r.Negated, r.Ended, r.Cue = false, false, CueChange
	if typed := TypedValues(r.ts[not+1 : at]); len(typed) > 0 {
		for _, v := range typed {
			v.From, v.To = v.From+not+1, v.To+not+1
			r.Old = append(r.Old, v)
			r.take(v.From, v.To)
		}
		return
	}
	from := not + 1
	if r.ts[at].Low != "but" && not == r.verb { // "does not use Jira for bugs any more, only Linear"
		for from < at-1 && english.Prepositions[r.ts[from].Low] {
			from++
		}
		at = min(at, r.nounPhrase(from))
	}
	for i := at - 1; i > not && r.ts[at-1].End != ','; i-- { // the last phrase before "but"
		if english.Prepositions[r.ts[i].Low] || english.Articles[r.ts[i].Low] || english.IsVerb(r.ts[i]) {
			from = i + 1
			break
		}
	}
	if v, ok := r.value(from, at); ok {
		r.Old = append(r.Old, v)
		r.take(v.From, v.To)
	}
}
