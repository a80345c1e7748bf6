package proposals

import (
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/parsed"
)

// AttributeWords returns words for what a fact is about, if that is a home or usually has one value at a time: "live"
// and "home" for "I moved to Oslo". A memory that the fact changes may have none of the fact's own words. Other
// attributes, such as limits and prices, are left out: who changes them names them, and their words are common. So are
// statements without words of change, which mostly repeat a word: the search takes a tenth of an ingest if all have it.
func AttributeWords(fact memory.Fact) []string {
	if len(fact.Content) > memory.MaxLatestChars {
		return nil
	}
	var out []string
	for _, c := range attributes(parsed.Statements(fact.Content, fact.Speaker)) {
		out = append(out, english.WordsOf(c)...)
	}
	return out
}

// attributes returns the concepts of statements of a change that are a home or usually have one value at a time.
func attributes(statements []frame.Frame) (out []string) {
	for _, f := range statements {
		if f.Cue < frame.CueNow {
			continue
		}
		for _, term := range f.Topic {
			for _, c := range english.Concepts[term] {
				if (english.UsualConcepts[c] || c == "HOME") && !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// haveOneAttribute reports whether a memory that was found only by AttributeWords gives the attribute of a fact a
// value, as "I live in Ghent" does for "I moved to Oslo". It may say something else in these words: "I live with Tom",
// "My house has a red door".
func haveOneAttribute(known, said []frame.Frame) bool {
	concepts := attributes(said)
	place := slices.Contains(concepts, "HOME") || slices.Contains(concepts, "EMPLOYER")
	for _, w := range valuesOf(said) {
		for _, v := range valuesOf(known) {
			if v.Kind == w.Kind && (!place || placing[v.Preposition] || v.Preposition == "" && v.Kind == frame.KindName) {
				return true
			}
		}
	}
	return false
}

// placing are the prepositions before a home or an employer.
var placing = english.Words("in at to from for")

func valuesOf(statements []frame.Frame) (out []frame.Value) {
	for _, f := range statements {
		out = append(out, f.Values...)
	}
	return out
}
