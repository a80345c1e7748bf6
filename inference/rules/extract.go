package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Confidence of facts. The default threshold for writing is 0.7, so that hedged statements are
// proposed and recorded, but not written. See confidenceOf.
//
//	1.0   an explicit save: somebody asked to remember this
//	0.9   a rule, decision or preference, or "remember that …": said on purpose
//	0.8   a plain statement
//	0.75  tool output, or a pronoun replaced by the previous sentence's subject
//	0.6   speaks of "you", who is not known, and is no rule
//	0.5   hedged: maybe, might, I think, probably, apparently
const (
	ConfidenceExplicit  = 1.0
	ConfidenceStrong    = 0.9
	ConfidencePlain     = 0.8
	ConfidenceIndirect  = 0.75
	ConfidenceAddressed = 0.6
	ConfidenceHedged    = 0.5
)

// truncationMarker is what memory.TruncateForExtraction leaves behind.
const truncationMarker = "[truncated]"

// Extractor finds facts in text by rules. The zero value is ready and safe for concurrent use.
//
// What it does, in order:
//
//   - cuts the text in sentences (segments), leaving out code blocks, headings, tables, quoted mail;
//   - drops questions, greetings, thanks, small talk, requests to the assistant, and sentences whose
//     subject is a pronoun that the previous sentence does not resolve;
//   - puts the speaker in place of the first person and a date behind relative dates;
//   - gives each fact a category, a confidence, and a claim where it says one plainly.
//
// An explicit save (source kind memory) of one sentence is one fact with the content unchanged; of
// several, those that stand alone; when none does, all of it. A single sentence of any source in
// which nothing had to be resolved comes out unchanged as well, so that it is recognised as the
// memory it came from.
type Extractor struct{}

var _ inference.Extractor = Extractor{}

// Extract implements inference.Extractor. It uses no model and fails only when ctx is done.
func (Extractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	if err := ctx.Err(); err != nil {
		return memory.Extraction{}, inference.Usage{}, err
	}
	return memory.CheckExtraction(extract(src)), inference.Usage{}, nil
}

// found is a fact with what ranks it when there are too many.
type found struct {
	fact    memory.Fact
	triples []memory.Triple
	rank    float64
}

func extract(src inference.Source) memory.Extraction {
	content, truncated := strings.CutSuffix(strings.ToValidUTF8(src.Content, ""), truncationMarker)
	content = strings.ReplaceAll(content, "\x00", "")
	content = strings.ReplaceAll(content, "\r\n", "\n")

	var out []found
	switch src.Kind {
	case schema.SourceToolOutput:
		out = fromTool(src, content)
	case schema.SourceMemory:
		out = fromMemory(src, content, truncated)
	default:
		segs, _ := segments(content, false)
		out = fromText(src, dropLast(segs, truncated))
	}
	return assemble(out)
}

// dropLast leaves out the sentence that truncation cut through.
func dropLast(segs []segment, truncated bool) []segment {
	if truncated && len(segs) > 1 {
		return segs[:len(segs)-1]
	}
	return segs
}

// fromMemory reads an explicit save.
func fromMemory(src inference.Source, content string, truncated bool) []found {
	segs, hasCode := segments(content, true)
	if len(segs) > 1 && !hasCode {
		if out := fromText(src, dropLast(segs, truncated)); len(out) > 0 {
			return out
		}
	}
	// One sentence, or nothing that stands alone: the content itself. What is too long for a fact
	// stays a memory, but no fact.
	whole := memory.Normalize(content).Storage
	if n := utf8.RuneCountInString(whole); n < memory.MinFactLength || n > memory.MaxFactLength {
		return nil
	}
	s := newSpeaker(src.Speaker)
	ws := splitWords(whole)
	l := cutLead(ws, s)
	if len(segs) == 1 {
		if _, ok := cutRetraction(l.rest); ok {
			return fromText(src, segs)
		}
	}
	resolved := resolveFirstPerson(ws, s)
	if resolved.changed {
		resolved.words = splitWords(joinWords(resolved.words))
	}
	f := makeFound(src, whole, ws, resolved.words, s, false)
	f.fact.Cue = l.cue
	return []found{f}
}

// statement is a sentence, or a clause of one, that is read by itself.
type statement struct {
	words    []word
	cue      string
	reminded bool // somebody asked to remember it
	retracts bool
	item     bool // of a list: see segment
	settled  bool // its subject needs no resolving
}

// reader reads the sentences of one text in order.
type reader struct {
	src     inference.Source
	s       speaker
	trusted bool
	ante    antecedent
	cue     string // of a sentence that was nothing but a cue
	out     []found
	last    int // how many facts there were before the last sentence
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
	text := memory.Normalize(seg.text).Storage
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
	if len(l.rest) == 0 {
		return
	}
	if l.reminded && strings.HasSuffix(text, "?") && polite.has(ws[0].low) {
		text = strings.TrimRight(text, "?!") + "."
		l.rest = append([]word(nil), l.rest...)
		l.rest[len(l.rest)-1].post = "."
	}
	if strings.HasSuffix(text, ":") || isQuestion(text, l.rest) || !seg.item && isChatter(text, l.rest) || !statesWords(text) {
		return // what "it" was stays what it was
	}
	before := len(r.out)
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
		cue = r.cue
	}
	r.cue = ""
	if back, ok := cutRetraction(l.rest); ok && !seg.item {
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
		r.state(statement{words: words, cue: cue, reminded: l.reminded && !r.trusted, item: seg.item, settled: l.introduced && words[0].low == "this"})
	}
}

// cueAlone takes note of a sentence that is nothing but a cue for the next: "Scratch that."
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

// state adds the fact that a statement makes, if it stands alone.
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
	said := ws // as far as it is certain
	if !st.item || firstPerson(ws[0].low) {
		resolved := resolveFirstPerson(ws, r.s)
		ws = resolved.words
		if resolved.certain {
			said = ws
		}
	}
	if indirect || r.s.known() {
		ws, said = splitWords(joinWords(ws)), splitWords(joinWords(said)) // names of several words
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
		f.triples = nil // nothing is known by it
	}
	if n := utf8.RuneCountInString(f.fact.Content); n >= memory.MinFactLength && n <= memory.MaxFactLength && !saysNothing(f.fact.Content) {
		r.out = append(r.out, f)
	}
	r.ante = subjectOf(ws, r.s)
}

// preferredName reads "Call me Al." as what the speaker wants.
func preferredName(ws []word) ([]word, bool) {
	ws = trimPlease(ws)
	if len(ws) < 3 || len(ws) > 5 || ws[0].low != "call" || ws[1].low != "me" || !properName(ws[2].core) {
		return nil, false
	}
	return append(splitWords("I want to be called"), ws[2:]...), true
}

// polite begin a request that has the form of a question.
var polite = set("can could would will")

// scratched reports whether a cue takes back the sentence before.
func scratched(cue string) bool {
	first, _, _ := strings.Cut(cue, " ")
	return scratches.has(first) || strings.HasPrefix(cue, "that's ") || strings.HasPrefix(cue, "that is ") || cue == "i take that back"
}

// saysNothing reports whether a sentence states that something is itself, as "My name is Dana" does once
// Dana is known to speak.
func saysNothing(content string) bool {
	subject, object, ok := strings.Cut(strings.TrimRight(content, ".!"), " is ")
	return ok && (strings.EqualFold(subject, object) || strings.EqualFold(subject, object+"'s name"))
}

// fromTool reads tool output.
func fromTool(src inference.Source, content string) []found {
	var out []found
	for _, line := range toolLines(content) {
		ws := splitWords(line.text)
		f := found{fact: memory.Fact{Content: line.text, Category: line.category, Confidence: ConfidenceIndirect}}
		if f.fact.Category == "" {
			f.fact.Category = categoryOf(line.text, ws)
			f.fact.Claim = parseClaim(ws)
			f.triples = triplesOf(ws, f.fact.Claim, speaker{})
		}
		if f.fact.Category == schema.CategoryIssue {
			f.rank = 1
		}
		if n := utf8.RuneCountInString(line.text); n >= memory.MinFactLength && n <= memory.MaxFactLength {
			out = append(out, f)
		}
	}
	return out
}

// makeFound classifies a fact. original are the words as they were said, resolved those of the fact.
func makeFound(src inference.Source, content string, original, resolved []word, s speaker, indirect bool) found {
	f := memory.Fact{Content: content, Category: categoryOf(content, original)}
	// The category of an explicit memory is that of its whole text, not of each of its sentences.
	if src.Kind == schema.SourceMemory && src.Category.Valid() && joinWords(original) == memory.StorageContent(src.Content) {
		f.Category = src.Category
	}
	hedged := isHedged(original)
	f.Confidence = confidenceOf(src.Kind, f.Category, hedged, indirect)
	if !hedged && !isImperative(original) {
		f.Claim = parseClaim(resolved)
	}
	if src.Kind != schema.SourceMemory && f.Confidence > ConfidenceAddressed && addresses(original) {
		f.Confidence = ConfidenceAddressed
	}
	rank := f.Confidence
	if !f.Claim.IsZero() {
		rank += 0.05
	}
	return found{fact: f, triples: triplesOf(resolved, f.Claim, s), rank: rank}
}

// categoryOf is memory.InferCategory, with what it leaves to extractors: how-to is procedural,
// unless it is a rule, and a definition is semantic.
func categoryOf(content string, ws []word) schema.Category {
	category := memory.InferCategory(content)
	if category == schema.CategoryRule && !isImperative(ws) && noRule(ws) {
		category = schema.CategoryFact
	}
	switch {
	case category != schema.CategoryFact && (category != schema.CategoryIssue || !isImperative(ws)):
		return category
	case isImperative(ws):
		if ruleStarts.at(trimPlease(ws)) > 0 && ws[0].low != "prefer" {
			return schema.CategoryRule
		}
		return schema.CategoryProcedural
	case isDefinition(ws):
		return schema.CategorySemantic
	case strings.HasPrefix(content, "Error") || hasWord(ws, breakdowns):
		return schema.CategoryIssue
	}
	return category
}

// breakdowns are words of failure that people do not use of people.
var breakdowns = set("crashed crashes crashing segfault segfaults panics deadlock deadlocks oom exception timeouts outage")

// noRule reports whether "must", "always" or "never" lay down no rule: a guess ("must have been"),
// a habit or experience of one person ("I never saw it").
func noRule(ws []word) bool {
	for i, w := range ws {
		switch {
		case (w.low == "must") && i+1 < len(ws) && ws[i+1].low == "have", w.low == "must've":
			return true
		case w.low == "must" && i+2 < len(ws) && ws[i+1].low == "be" && degrees.has(ws[i+2].low):
			return true // "that must be quite a journey"
		case w.low == "must":
			return false
		case firstPerson(w.low):
			return true
		case (w.low == "always" || w.low == "never") && i > 0 && i+1 < len(ws) && participle(ws[i+1].low):
			return true
		}
	}
	return false
}

// degrees say how much of something there is: what "must be so exciting" is guessed.
var degrees = set("so quite very really such pretty super incredibly")

// isDefinition reports whether a sentence says what something is in general: "BM25 is a ranking
// function". Of persons ("Caroline is a nurse") it is a fact: definitions are of an acronym, an
// identifier or a noun without a determiner, by a noun phrase of some length.
func isDefinition(ws []word) bool {
	for i := 1; i < len(ws)-3 && i <= 4; i++ {
		if ws[i].low != "is" && ws[i].low != "are" && ws[i].low != "means" {
			continue
		}
		article := ws[i+1].low == "a" || ws[i+1].low == "an"
		if ws[i].low == "means" {
			return !pronouns.has(ws[0].low) && !determiners.has(ws[0].low)
		}
		if !article && ws[i].low != "are" || pronouns.has(ws[0].low) || determiners.has(ws[0].low) && ws[0].low != "a" && ws[0].low != "an" {
			return false
		}
		for _, w := range ws[:i] {
			if _, ok := stripPossessive(w.core); ok {
				return false
			}
		}
		if !article {
			return false
		}
		core := ws[i-1].core
		term := identifier(core) || strings.ToUpper(core) == core || !capital(core) || ws[0].low == "a" || ws[0].low == "an"
		for _, w := range ws[i+2:] {
			if definers.has(w.low) {
				return true // "Temporal is a workflow engine": a person is none
			}
		}
		return term && i < 4
	}
	return false
}

// definers are the nouns that things are defined by.
var definers = set(`function algorithm database engine library framework language protocol format tool platform system service
	method technique theory concept model architecture pattern standard specification interface structure index
	metric measure process kind type class family form term extension server compiler runtime editor dialect`)

// confidenceOf is the table at ConfidenceExplicit.
func confidenceOf(kind schema.SourceKind, category schema.Category, hedged, indirect bool) float64 {
	switch {
	case kind == schema.SourceMemory:
		return ConfidenceExplicit
	case hedged:
		return ConfidenceHedged
	case indirect:
		return ConfidenceIndirect
	}
	switch category {
	case schema.CategoryRule, schema.CategoryDecision, schema.CategoryPreference:
		return ConfidenceStrong
	}
	return ConfidencePlain
}

// statesWords reports whether a text is made of words: not a hash, a blob, a row of numbers.
func statesWords(text string) bool {
	letters, others, words := 0, 0, 0
	for f := range strings.FieldsSeq(text) {
		if len(f) > 1 && len(f) < 60 && strings.ContainsFunc(f, letterOrDigit) {
			words++
		}
		for _, r := range f {
			if letterOrDigit(r) && (r < '0' || r > '9') {
				letters++
			} else {
				others++
			}
		}
	}
	ideographs := strings.ContainsFunc(text, isIdeograph)
	return letters >= 4 && letters >= others && (words >= 2 || ideographs)
}

// assemble keeps the best memory.MaxFacts facts in the order of the text, and their triples.
func assemble(all []found) memory.Extraction {
	var ex memory.Extraction
	seen := make(map[string]bool, len(all))
	unique := all[:0]
	for _, f := range all {
		if h := string(memory.Normalize(f.fact.Content).Hash); !seen[h] {
			seen[h] = true
			unique = append(unique, f)
		}
	}
	all = unique
	if extra := len(all) - memory.MaxFacts; extra > 0 {
		order := make([]int, len(all))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case all[a].rank > all[b].rank:
				return -1
			case all[a].rank < all[b].rank:
				return 1
			}
			return 0
		})
		order = order[:memory.MaxFacts]
		slices.Sort(order)
		kept := make([]found, 0, memory.MaxFacts)
		for _, i := range order {
			kept = append(kept, all[i])
		}
		all = kept
		ex.Warnings = append(ex.Warnings, fmt.Sprintf("facts: the %d least certain of %d left out", extra, extra+memory.MaxFacts))
	}
	type edge struct{ source, relationship, target string }
	edges := map[edge]bool{}
	for _, f := range all {
		ex.Facts = append(ex.Facts, f.fact)
		for _, t := range f.triples {
			e := edge{nameKey(t.Source), t.Relationship, nameKey(t.Target)}
			if e.source != e.target && !edges[e] && len(edges) < memory.MaxTriples &&
				utf8.RuneCountInString(t.Source) <= memory.MaxEntityLength && utf8.RuneCountInString(t.Target) <= memory.MaxEntityLength {
				edges[e] = true
				ex.Triples = append(ex.Triples, t)
			}
		}
	}
	return ex
}
