package proposals

import (
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/parsed"
)

// AttributeWords returns words for what a fact is about, if that is a home or usually has one value at a time: "live"
// and "home" for "I moved to Oslo". A memory that the fact changes may have none of the fact's own words. Other
// attributes, such as limits and prices, are left out: those who change them name them, and their words are common.
func AttributeWords(fact memory.Fact) []string {
	if len(fact.Content) > memory.MaxLatestChars {
		return nil
	}
	var concepts, out []string
	for _, f := range parsed.Statements(fact.Content, fact.Speaker) {
		for _, term := range f.Topic {
			for _, c := range english.Concepts[term] {
				if (english.UsualConcepts[c] || c == "HOME") && !slices.Contains(concepts, c) {
					concepts = append(concepts, c)
					out = append(out, english.WordsOf(c)...)
				}
			}
		}
	}
	return out
}
