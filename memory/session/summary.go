package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// maxSummarized is the greatest length of JSON, in bytes, that is parsed for a summary. The summary of longer JSON is
// its beginning.
const maxSummarized = 16_000

// speakers has the labels for the texts in events, by kind.
var speakers = map[string]string{
	ledger.KindRunStarted:     "started",
	ledger.KindUserInjected:   "user",
	ledger.KindWorldObserved:  "observed",
	ledger.KindAgentSpoke:     "said",
	ledger.KindAgentThought:   "thought",
	ledger.KindAgentReflected: "believes",
	ledger.KindClueFound:      "clue",
	ledger.KindJudgeVerdict:   "verdict",
	ledger.KindVerdictFinal:   "final verdict",
	ledger.KindArtifact:       "added",
}

// summarize describes an event in one line. tool is the tool of a call or of its result. An erased or empty event has
// no summary, and is identified by its kind.
func summarize(e ledger.Event, tool string) summary {
	if len(e.Payload) == 0 {
		return summary{}
	}
	switch e.Kind {
	case ledger.KindToolCalled:
		call, _ := ledger.Payload[ledger.ToolCall](e)
		return summaryOf("call "+tool, wordsOf(call.Args))
	case ledger.KindToolReturned:
		result, _ := ledger.Payload[ledger.ToolResult](e)
		return summaryOf(strings.TrimSpace(tool+" returned"), wordsOf(result.Result))
	case ledger.KindToolFailed:
		result, _ := ledger.Payload[ledger.ToolResult](e)
		return failureOf(strings.TrimSpace(tool+" failed"), result)
	case ledger.KindAgentReflected:
		belief, _ := ledger.Payload[ledger.Reflection](e)
		return summaryOf(speakers[e.Kind], belief.Belief)
	case ledger.KindEnvironment:
		env, _ := ledger.Payload[schema.Environment](e)
		return summaryOf("environment", environmentWords(env))
	case ledger.KindWorkingUpdated:
		w, _ := ledger.Payload[schema.WorkingPayload](e)
		return summaryOf("working", workingWords(w))
	case ledger.KindOutcome:
		outcome, _ := ledger.Payload[ledger.Outcome](e)
		return summaryOf(strings.TrimSpace("ended "+string(outcome.Outcome)), outcome.Summary)
	case ledger.KindCandidate: // its text is with the candidate
		return summary{}
	}
	if said, ok := ledger.Payload[ledger.Text](e); ok && said.Text != "" {
		return summaryOf(speakers[e.Kind], said.Text)
	}
	return summaryOf(speakers[e.Kind], wordsOf(e.Payload))
}

// failureOf returns the summary of a failed call: the line that tells most about the cause, and the paths and names of
// the other lines. Learning identifies the problem by the line after the events were deleted, and a repair may need
// the values. The beginning of a tool's output is rarely the cause.
func failureOf(label string, r ledger.ToolResult) summary {
	text := r.Error
	if printed := wordsOf(r.Result); text == "" ||
		!signature.LooksLikeError(text) && signature.LooksLikeError(printed) {
		text = printed
	}
	problem := signature.OfError(text)
	out := summaryOf(label, problem.Line)
	out.failed = true
	if len(text) <= maxSummarized && problem.OtherLines(maxOtherLines) != "" {
		// Of a text with a secret no other values are kept: a value alone may not look like a secret.
		if _, secret := sensitive.Mask(text); !secret {
			out.otherLines = cleanText(problem.OtherLines(maxOtherLines))
		}
	}
	return out
}

// wordsOf returns a JSON value in words.
func wordsOf(raw json.RawMessage) string {
	if len(raw) > maxSummarized {
		return string(raw[:summaryRead])
	}
	return words(decoded(raw))
}

// words returns a decoded JSON value in words: its scalars in order, with the names of members.
func words(v any) string {
	var parts []string
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		for _, e := range v {
			if said := words(e); said != "" {
				parts = append(parts, said)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strings.TrimSpace(strings.ReplaceAll(key, "_", " ")+" "+words(v[key])))
		}
	}
	return strings.Join(parts, ", ")
}

func environmentWords(env schema.Environment) string {
	var parts []string
	if env.OS != "" {
		parts = append(parts, env.OS)
	}
	for _, tool := range slices.Sorted(maps.Keys(env.ToolVersions)) {
		parts = append(parts, tool+" "+env.ToolVersions[tool])
	}
	if env.WorkingDir != "" {
		parts = append(parts, "in "+env.WorkingDir)
	}
	return strings.Join(parts, ", ")
}

func workingWords(w schema.WorkingPayload) string {
	var parts []string
	add := func(label, text string) {
		if text != "" {
			parts = append(parts, label+text)
		}
	}
	add("", string(w.State))
	add("", w.ContextSummary)
	add("next: ", strings.Join(w.NextActions, ", "))
	add("open: ", strings.Join(w.OpenQuestions, ", "))
	return strings.Join(parts, "; ")
}
