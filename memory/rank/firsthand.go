package rank

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
)

// StageFirstHand prefers statements of a person or a tool to an assistant's.
const StageFirstHand = "firsthand"

// secondHand is the factor for the score of an assistant's statement. Measured on the development sets, values from 0.5
// to 0.9 differ by less than two points.
const secondHand = 0.7

// toldVerbs are past tenses of verbs that describe an assistant's answer.
var toldVerbs = []string{"recommended", "suggested", "said", "told", "gave", "mentioned", "advised", "explained",
	"helped", "provided", "proposed", "outlined", "offered", "shared", "described", "listed", "wrote", "showed"}

// AsksAssistant reports whether a query asks for the assistant's words, or for a summary, which includes both
// speakers: "what did you recommend", "your advice", "summarize".
func AsksAssistant(query string) bool {
	words := normalize.Words(query, "")
	for i, w := range words {
		before := func(list ...string) bool { return i > 0 && slices.Contains(list, words[i-1]) }
		after := func(list []string) bool {
			return slices.ContainsFunc(words[min(i+1, len(words)):min(i+3, len(words))], func(next string) bool {
				return slices.Contains(list, next)
			})
		}
		switch {
		case strings.HasPrefix(w, "summar"), w == "overview", w == "recap":
			return true
		case w == "you" && (before("did", "have", "had") || after(toldVerbs)):
			return true
		case w == "your" && after([]string{"advice", "suggestion", "suggestions", "recommendation", "recommendations",
			"answer", "explanation"}):
			return true
		}
	}
	return false
}

// FirstHand lowers the statements of assistants if others spoke too, because an assistant knows facts about a person
// only from that person. It changes nothing if the query asks for the assistant's words.
func FirstHand(ranked []Evidence, query string) []Evidence {
	first := false
	for _, e := range ranked {
		first = first || e.Speaker != "" && !memory.IsAssistant(e.Speaker, e.Agent)
	}
	if !first || AsksAssistant(query) {
		return ranked
	}
	out := ranked
	for i := range out {
		if e := &out[i]; memory.IsAssistant(e.Speaker, e.Agent) {
			e.Set(StageFirstHand, e.Score*secondHand, "an assistant's words")
		}
	}
	Rank(out)
	return out
}
