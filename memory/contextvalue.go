package memory

import (
	"encoding/json"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// ContextValue returns a value of a context key in the form in which values are compared: a system in lower case, and a
// version without the name of its tool or a "v" before it. It is 1.26.8 for the go_version go1.26.8.
func ContextValue(key, value string) string {
	tool, isVersion := strings.CutSuffix(key, "_version")
	switch {
	case key == "os":
		return normalize.Lower(value)
	case !isVersion:
		return value
	}
	number := value
	tool = strings.TrimRight(tool, "0123456789")
	if len(tool) < len(number) && strings.EqualFold(number[:len(tool)], tool) {
		number = strings.TrimLeft(number[len(tool):], " -/@")
	}
	if len(number) > 1 && (number[0] == 'v' || number[0] == 'V') {
		number = number[1:]
	}
	if number == "" || number[0] < '0' || number[0] > '9' {
		return value
	}
	return number
}

// ComparedContext returns a context with its values in the form of ContextValue, in which learned conditions are
// stored. It returns nil if no value differs.
func ComparedContext(context json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	if len(context) == 0 || json.Unmarshal(context, &values) != nil {
		return nil
	}
	differs := false
	for key, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			continue
		}
		compared := ContextValue(key, text)
		if compared == text {
			continue
		}
		encoded, err := json.Marshal(compared)
		if err != nil {
			return nil
		}
		values[key], differs = encoded, true
	}
	if !differs {
		return nil
	}
	out, err := json.Marshal(values)
	if err != nil {
		return nil
	}
	return out
}
