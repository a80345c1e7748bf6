package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// statement is a sentence, or a clause of one, that is read separately.
type statement struct {
	words    []word
	cue      string
	reminded bool // someone asked to remember it
	retracts bool
	item     bool // of a list: see segment
	settled  bool // not a sentence: its subject needs no resolving
}

// reader reads the sentences of one text in order.
type reader struct {
	src     inference.Source
	s       speaker
	trusted bool
	ante    antecedent
	cue     string // of a sentence that was only a cue
	out     []found
	last    int // number of facts before the last sentence
}

// fromText reads prose.
func fromText(src inference.Source, segs []segment) []found {
	r := &reader{src: src, s: newSpeaker(src.Speaker), trusted: src.Kind == schema.SourceMemory}
	for _, seg := range segs {
		r.read(seg)
	}
	return r.out
}

// read reads one sentence.
func (r *reader) read(seg segment) {
	text := normalize.Normalize(seg.text).Storage
	if n := utf8.RuneCountInString(text); n < 3 || n > memory.MaxFactLength {
		r.ante = antecedent{}
		return
	}
	ws := splitWords(text)
	if r.cueAlone(ws) {
		return
	}
	l := lead{rest: ws}
	if !seg.item {
		l = cutLead(ws, r.s)
	}
	before, pending := len(r.out), r.cue
	r.cue = ""
	if len(l.rest) == 0 {
		return
	}
	back, retracts := cutRetraction(l.rest)
	retracts = retracts && !seg.item
	if (l.polite || retracts && back.polite) && strings.HasSuffix(text, "?") {
		text = strings.TrimRight(text, "?!") + "."
		l.rest = append([]word(nil), l.rest...)
		l.rest[len(l.rest)-1].post = "."
		back, _ = cutRetraction(l.rest)
	}
	retracts = retracts && !strings.HasSuffix(text, "?")
	if stated, ok := cutQuestion(l.rest); ok && !retracts && !seg.item {
		if strings.HasSuffix(text, "?") || addressesQuestion(l.rest[len(stated):]) {
			l.rest, text = stated, joinWords(stated)
		}
	}
	if strings.HasSuffix(text, ":") || !statesWords(text) {
		return // the meaning of "it" does not change
	}
	if !retracts && (isQuestion(text, l.rest) || !seg.item && isChatter(text, l.rest)) {
		return
	}
	if scratched(l.cue) {
		r.out = r.out[:min(r.last, len(r.out))]
		before = len(r.out)
	}
	defer func() { r.last = before }()
	if len(l.topic) > 0 {
		r.ante = topicOf(l.topic)
	}
	cue := l.cue
	if cue == "" {
		cue = pending
	}
	if retracts {
		r.state(statement{words: back.content, cue: back.cue, retracts: true, reminded: true, settled: back.topic})
		if len(back.rest) > 0 {
			r.state(statement{words: back.rest, cue: cue})
		}
		return
	}
	if named, ok := preferredName(l.rest); ok && r.s.known() {
		l.rest = named
	}
	if !r.trusted && !l.reminded && !seg.item && isRequest(l.rest) {
		return
	}
	for _, words := range splitClauses(l.rest) {
		r.state(statement{words: words, cue: cue, reminded: l.reminded && !r.trusted, item: seg.item})
	}
}

// addressesQuestion reports whether ws, which may lack its mark, asks the listener: "can you help me …".
func addressesQuestion(ws []word) bool {
	if len(ws) > 0 && sentenceJoints.has(ws[0].low) {
		ws = ws[1:]
	}
	return len(ws) > 2 && inverse.has(ws[0].low) && ws[1].low == "you"
}

// cueAlone notes a sentence that is only a cue for the next one: "Scratch that."
func (r *reader) cueAlone(ws []word) bool {
	var said []string
	for len(ws) > 0 {
		n := cues.at(ws)
		if n > 0 {
			said = append(said, cueText(ws[:n]))
		} else if n = fillers.at(ws); n == 0 {
			return false
		}
		ws = ws[n:]
	}
	if len(said) == 0 {
		return false
	}
	r.cue = strings.Join(said, " ")
	if scratched(r.cue) {
		r.out = r.out[:min(r.last, len(r.out))]
	}
	return true
}

// state adds the fact of a statement, if it can be understood alone.
func (r *reader) state(st statement) {
	ws, original, indirect := st.words, st.words, false
	if kind := pronounSubject(ws); kind != "" && !st.item && !st.settled {
		if kind == "you" {
			if !isRule(ws) && !r.trusted {
				r.ante = antecedent{}
				return
			}
		} else {
			var ok bool
			if ws, ok = resolvePronoun(ws, kind, r.ante); !ok {
				r.ante = antecedent{}
				return
			}
			indirect = true
		}
	}
	resolved := resolution{words: ws, certain: true}
	if !st.item || firstPerson(ws[0].low) {
		resolved = resolveFirstPerson(ws, r.s)
	}
	said := ws // the words that are certain
	if indirect || resolved.changed {
		ws = splitWords(joinWords(resolved.words)) // names of several words
	}
	if resolved.certain {
		said = ws
	}
	if dated, ok := resolveDates(said, r.src.OccurredAt); ok {
		said = dated
	}
	f := makeFound(r.src, joinWords(said), original, ws, r.s, indirect)
	f.fact.Cue, f.fact.Retracts = st.cue, st.retracts
	if st.reminded && f.fact.Confidence < ConfidenceStrong {
		f.fact.Confidence = ConfidenceStrong
	}
	if st.retracts {
		f.triples = nil // a retraction adds no edges
	}
	n := utf8.RuneCountInString(f.fact.Content)
	if n >= memory.MinFactLength && n <= memory.MaxFactLength && !saysNothing(f.fact.Content) {
		r.out = append(r.out, f)
	}
	r.ante = subjectOf(ws, r.s)
}

// preferredName reads "Call me Al." as a preference of the speaker.
func preferredName(ws []word) ([]word, bool) {
	ws = trimPlease(ws)
	if len(ws) < 3 || len(ws) > 5 || ws[0].low != "call" || ws[1].low != "me" || !properName(ws[2].core) {
		return nil, false
	}
	return append(splitWords("I want to be called"), ws[2:]...), true
}

// scratched reports whether a cue retracts the sentence before.
func scratched(cue string) bool {
	first, _, _ := strings.Cut(cue, " ")
	return scratches.has(first) || cue == "i take that back" ||
		strings.HasPrefix(cue, "that's ") || strings.HasPrefix(cue, "that is ")
}

// saysNothing reports whether a sentence says only that something is itself, such as "My name is Dana" if the speaker
// is known to be Dana.
func saysNothing(content string) bool {
	subject, object, ok := strings.Cut(strings.TrimRight(content, ".!"), " is ")
	return ok && (strings.EqualFold(subject, object) ||
		strings.EqualFold(subject, object+"'s name") || strings.EqualFold(subject+"'s name", object))
}
