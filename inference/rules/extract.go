package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Confidence of facts. The default threshold for writing is 0.7, so hedged statements are proposed and recorded, but
// not written. See confidenceOf.
//
//	1.0   an explicit save: someone asked to remember this
//	0.9   a rule, decision or preference, or "remember that …": said on purpose
//	0.8   a plain statement
//	0.75  tool output, or a pronoun replaced by the previous sentence's subject
//	0.6   speaks of "you", whose identity is not known, and is not a rule
//	0.5   hedged: maybe, might, I think, probably, apparently
const (
	ConfidenceExplicit  = 1.0
	ConfidenceStrong    = 0.9
	ConfidencePlain     = 0.8
	ConfidenceIndirect  = 0.75
	ConfidenceAddressed = 0.6
	ConfidenceHedged    = 0.5
)

// truncationMarker is what normalize.TruncateForExtraction appends.
const truncationMarker = "[truncated]"

// Extractor finds facts in text by rules. The zero value is ready and safe for concurrent use.
//
// It does the following, in order:
//
//   - splits the text into sentences (segments), without code blocks, headings, tables and quoted mail;
//   - removes the introduction of a statement, and keeps its cues with the fact (Fact.Cue);
//   - drops questions, greetings, thanks, small talk, requests to the assistant, and sentences whose
//     subject is a pronoun that the previous sentence does not resolve;
//   - turns a sentence that retracts a statement into a fact that is no longer true (Fact.Retracts);
//   - replaces the first person by the speaker, if that is certain, and adds a date after relative dates;
//   - gives each fact a category, a confidence and, if its words are plain, a claim.
//
// An explicit save (source kind memory) of one sentence becomes one fact with the same content. If it has several
// sentences, each one that can be understood alone becomes a fact; if there is none, the whole text does. For other
// sources too, a single sentence stays unchanged if it has no introduction and nothing had to be resolved, so that it
// is recognised as the memory that it came from.
type Extractor struct{}

var _ inference.Extractor = Extractor{}

// Extract implements inference.Extractor. It uses no model and fails only when ctx is done.
func (Extractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	if err := ctx.Err(); err != nil {
		return memory.Extraction{}, inference.Usage{}, err
	}
	return intake.CheckExtraction(extract(src)), inference.Usage{}, nil
}

// found is a fact with its rank, which is used if there are too many facts.
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
		out = fromTool(content)
	case schema.SourceMemory:
		out = fromMemory(src, content, truncated)
	default:
		segs, _ := segments(content, false)
		out = fromText(src, dropLast(segs, truncated))
	}
	return assemble(out)
}

// dropLast drops the last sentence, which truncation has cut.
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
	// One sentence, or none that can be understood alone: the fact is the content itself. A content that is too long
	// for a fact stays a memory only.
	whole := normalize.Normalize(content).Storage
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

// fromTool reads tool output.
func fromTool(content string) []found {
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

// makeFound classifies a fact. original has the words of the source, resolved those of the fact.
func makeFound(src inference.Source, content string, original, resolved []word, s speaker, indirect bool) found {
	f := memory.Fact{Content: content, Category: categoryOf(content, original)}
	// The category of an explicit memory is that of its whole text, not of each of its sentences.
	if src.Kind == schema.SourceMemory && src.Category.Valid() &&
		joinWords(original) == normalize.StorageContent(src.Content) {
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

// categoryOf is memory.InferCategory, with two more categories: instructions are procedural, unless they are a rule,
// and definitions are semantic.
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

// breakdowns are words for failures of things, not of people.
var breakdowns = set(
	"crashed crashes crashing segfault segfaults panics deadlock deadlocks oom exception timeouts outage",
)

// noRule reports whether a sentence with "must", "always" or "never" is not a rule but a guess ("must have been"), or
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

// degrees are words of degree. With one, "must be" is a guess: "must be so exciting".
var degrees = set("so quite very really such pretty super incredibly")

// isDefinition reports whether a sentence is a general definition: "BM25 is a ranking function". The same form about a
// person ("Caroline is a nurse") is a fact. The subject of a definition is an acronym, an identifier or a noun without
// a determiner, followed by a noun phrase of some length.
func isDefinition(ws []word) bool {
	for i := 1; i < len(ws)-3 && i <= 4; i++ {
		if ws[i].low != "is" && ws[i].low != "are" && ws[i].low != "means" {
			continue
		}
		article := ws[i+1].low == "a" || ws[i+1].low == "an"
		if ws[i].low == "means" {
			return !pronouns.has(ws[0].low) && !determiners.has(ws[0].low)
		}
		if !article && ws[i].low != "are" || pronouns.has(ws[0].low) ||
			determiners.has(ws[0].low) && ws[0].low != "a" && ws[0].low != "an" {
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
		term := identifier(core) || strings.ToUpper(core) == core || !capital(core) || ws[0].low == "a" ||
			ws[0].low == "an"
		for _, w := range ws[i+2:] {
			if definers.has(w.low) {
				return true // a person is usually not described like this
			}
		}
		return term && i < 4
	}
	return false
}

// definers are nouns that definitions use: "function", "method".
var definers = set(
	`function algorithm database engine library framework language protocol format tool platform system service
	method technique theory concept model architecture pattern standard specification interface structure index
	metric measure process kind type class family form term extension server compiler runtime editor dialect`,
)

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

// statesWords reports whether a text consists of words, and not of a hash, a blob or a row of numbers.
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
	label, _, labelled := strings.Cut(text, ": ") // "Phone: +44 20 7946 0958"
	labelled = labelled && !strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' })
	return letters >= 4 && (letters >= others || labelled) && (words >= 2 || ideographs)
}

// assemble keeps the best memory.MaxFacts facts in the order of the text, and their triples.
func assemble(all []found) memory.Extraction {
	var ex memory.Extraction
	seen := make(map[string]bool, len(all))
	unique := all[:0]
	for _, f := range all {
		h := string(normalize.Normalize(f.fact.Content).Hash)
		if f.fact.Retracts {
			h += "retracted"
		}
		if !seen[h] {
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
		ex.Warnings = append(
			ex.Warnings,
			fmt.Sprintf("facts: the %d least certain of %d left out", extra, extra+memory.MaxFacts),
		)
	}
	type edge struct{ source, relationship, target string }
	edges := map[edge]bool{}
	for _, f := range all {
		ex.Facts = append(ex.Facts, f.fact)
		for _, t := range f.triples {
			e := edge{nameKey(t.Source), t.Relationship, nameKey(t.Target)}
			if e.source != e.target && !edges[e] && len(edges) < memory.MaxTriples &&
				utf8.RuneCountInString(
					t.Source,
				) <= memory.MaxEntityLength && utf8.RuneCountInString(t.Target) <= memory.MaxEntityLength {
				edges[e] = true
				ex.Triples = append(ex.Triples, t)
			}
		}
	}
	return ex
}
