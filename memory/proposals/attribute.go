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
