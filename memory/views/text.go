package views

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Text returns the text of an event, from which relevance is computed and which an index stores. If the payload has a
// text, it is that text, verbatim. Known kinds are put into words (a belief, a tool with its arguments, a result, an
// outcome, a task); for any other object the fields are listed in the order of their names. An erased event has no
// text, and neither has the result of a tool that returned nothing.
func Text(e ledger.Event) string {
	if e.Erased {
		return ""
	}
	if text := kindText(e); text != "" {
		return text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(e.Payload, &object) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(object["text"], &text) == nil && text != "" {
		return text
	}
	if v, ok := ledger.Payload[ledger.ToolResult](e); ok && v.CallID != "" &&
		(e.Kind == ledger.KindToolReturned || e.Kind == ledger.KindToolFailed) {
		return "" // ids and durations of an empty result are not useful
	}
	return fields(e.Payload)
}

// kindText returns the payload of a known kind in words. It returns "" for other kinds and for a payload of another
// shape.
func kindText(e ledger.Event) string {
	switch e.Kind {
	case ledger.KindAgentReflected:
		v, _ := ledger.Payload[ledger.Reflection](e)
		return v.Belief
	case ledger.KindToolCalled:
		v, _ := ledger.Payload[ledger.ToolCall](e)
		return join(" ", v.Tool, fields(v.Args))
	case ledger.KindToolReturned, ledger.KindToolFailed:
		v, _ := ledger.Payload[ledger.ToolResult](e)
		return join("; ", v.Error, fields(v.Result))
	case ledger.KindOutcome:
		v, _ := ledger.Payload[ledger.Outcome](e)
		return join(": ", string(v.Outcome), v.Summary)
	case ledger.KindWorkingUpdated:
		if v, _ := ledger.Payload[schema.WorkingPayload](e); v.TaskID+v.ThreadID != "" {
			return strings.Join(workingLines(v), "; ")
		}
	}
	return ""
}

// artifacts returns the references to artifacts in an event's payload.
func artifacts(e ledger.Event) []string {
	v, _ := ledger.Payload[struct {
		Artifacts []string `json:"artifacts"`
	}](e)
	return v.Artifacts
}

// workingLines returns the state of a task in words, one line a field.
func workingLines(w schema.WorkingPayload) []string {
	constraints := make([]string, 0, len(w.ActiveConstraints))
	for _, c := range w.ActiveConstraints {
		constraints = append(constraints, fields(c))
	}
	name := "task " + w.TaskID
	if w.TaskID == "" {
		name = "thread " + w.ThreadID
	}
	lines := []string{join(" ", name, string(w.State))}
	for _, l := range []struct{ label, text string }{
		{"summary", w.ContextSummary},
		{"constraints", strings.Join(constraints, " | ")},
		{"next", strings.Join(w.NextActions, " | ")},
		{"open questions", strings.Join(w.OpenQuestions, " | ")},
	} {
		if l.text != "" {
			lines = append(lines, l.label+": "+l.text)
		}
	}
	return lines
}

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
	return strings.Join(texts, separator)
}

// fields returns a JSON value in words: a string as it is, an object as "name: value" in the order of names with dots
// for nesting, a list with commas.
func fields(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return ""
	}
	return strings.Join(leaves(nil, "", value), "; ")
}

func leaves(out []string, path string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = leaves(out, join(".", path, name), v[name])
		}
		return out
	case []any:
		parts := make([]string, 0, len(v))
		for _, element := range v {
			parts = append(parts, strings.Join(leaves(nil, "", element), " "))
		}
		return append(out, join(": ", path, strings.Join(parts, ", ")))
	case nil:
		return append(out, join(": ", path, "null"))
	default:
		return append(out, join(": ", path, fmt.Sprint(v)))
	}
}

// oneLine returns a text on one line, so that the text of an event cannot look like a heading or another entry.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return normalize.Collapse(text)
}
