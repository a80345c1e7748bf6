package sensitive

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/schema/check"
)

// Mask replaces text that may only be shown on request (IsWithheld: secrets, financial and government identifiers) by
// a note with its kind, such as [withheld: password]. A line is masked as a whole, because a detector does not report
// the end of a secret. If a secret spans several lines, the whole text is masked. It reports
// whether it changed the text.
func Mask(text string) (string, bool) {
	whole := withheldKind(text)
	if whole == "" {
		return text, false
	}
	if whole == DetectedPrivateKey || !strings.Contains(text, "\n") {
		return withheld(whole), true
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if kind := withheldKind(line); kind != "" {
			line = withheld(kind)
			if n := len(lines); n > 0 && lines[n-1] == line {
				continue
			}
		}
		lines = append(lines, line)
	}
	masked := strings.Join(lines, "\n")
	if kind := withheldKind(masked); kind != "" {
		return withheld(kind), true
	}
	return masked, true
}

// MaskJSON masks a JSON value: each text and number, alone and together with the name of its member. If a secret is
// found only in the value as a whole, the value becomes one note, within an object if it was an object.
func MaskJSON(value json.RawMessage) (json.RawMessage, bool) {
	tree, err := check.BuildTree(value)
	if err != nil {
		return value, false
	}
	if withheldTree(value, tree) == "" {
		return value, false
	}
	tree = maskTree(tree, "")
	masked, err := check.EncodeTree(tree)
	if err != nil {
		return json.RawMessage(`null`), true // unreachable for what was built from JSON
	}
	if kind := withheldTree(masked, tree); kind != "" {
		if _, isObject := tree.(map[string]any); isObject {
			return json.RawMessage(`{"withheld":"` + kind + `"}`), true
		}
		return json.RawMessage(`"` + withheld(kind) + `"`), true
	}
	return masked, true
}

// withheldTree checks a value as JSON, and its texts without the escapes of JSON.
func withheldTree(encoded json.RawMessage, tree any) string {
	if kind := withheldKind(string(encoded)); kind != "" {
		return kind
	}
	var texts []string
	collectTexts(tree, &texts)
	return withheldKind(strings.Join(texts, "\n\n"))
}

func collectTexts(v any, texts *[]string) {
	switch v := v.(type) {
	case string:
		*texts = append(*texts, v)
	case []any:
		for _, e := range v {
			collectTexts(e, texts)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			*texts = append(*texts, key)
			collectTexts(v[key], texts)
		}
	}
}

func maskTree(v any, name string) any {
	switch v := v.(type) {
	case string:
		if masked, found := Mask(v); found {
			return masked
		}
		if kind := withheldKind(`"` + name + `": "` + v + `"`); kind != "" { // as JSON has it
			return withheld(kind)
		}
	case json.Number:
		if kind := withheldKind(name + ": " + v.String()); kind != "" {
			return withheld(kind)
		}
	case []any:
		for i := range v {
			v[i] = maskTree(v[i], name)
		}
	case map[string]any:
		for key := range v {
			v[key] = maskTree(v[key], key)
		}
	}
	return v
}

// withheldKind returns the kind of the most sensitive find in a text, or "" if the text may be shown.
func withheldKind(text string) string {
	if level, kinds := Detect(text); IsWithheld(level) {
		return kinds[0]
	}
	return ""
}

func withheld(kind string) string { return "[withheld: " + kind + "]" }
