package proposals

import (
	"regexp"
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
)

// An assistant mostly answers, advises and restates. Only what it reports as a change is one.

// listItem matches the marks of a list, a heading or a label in Markdown, at the start of a text.
var listItem = regexp.MustCompile(`^\s*(\d{1,3}[.)]\s|[-*•]\s|#{1,6}\s|\*\*)`)

// advice reports whether a statement is an item of an assistant's list. Such an item is about what its list is about,
// which it does not say: "- Length: 300 pages".
func advice(speaker, content string) bool {
	return memory.IsAssistant(speaker, "") && listItem.MatchString(content)
}

// mayReport reports whether the speaker of a fact may change a memory at all. An assistant may not change what a person
// said, because it mostly restates that, and an item of an assistant's list neither changes anything nor is changed.
func mayReport(fact memory.Fact, n memory.Neighbor) bool {
	if advice(fact.Speaker, fact.Content) || advice(n.Who, n.Content) {
		return false
	}
	return !memory.IsAssistant(fact.Speaker, "") || n.Who == "" || memory.IsAssistant(n.Who, "")
}

// reported reports whether the relation of a fact's statements to a memory counts as a change. The words of an
// assistant must tell of one. Otherwise another value is another answer: "budget about $30 for it".
func reported(fact memory.Fact, said []frame.Frame, r change.Relation) bool {
	if r.Certainty < change.Likely || r.Change == change.Restates {
		return false
	}
	return !memory.IsAssistant(fact.Speaker, "") || r.Why != change.WhySingle && r.Why != change.WhyRestated ||
		slices.ContainsFunc(said, func(f frame.Frame) bool { return f.Cue >= frame.CueNow })
}
