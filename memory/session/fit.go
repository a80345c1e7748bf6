package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// room is how much of an object is kept.
type room struct {
	bytes int // of the object; if it is not longer, it is kept as it is
	text  int // characters of each text in it
}

// Arguments are cut twice: generously while a session is open, so that a secret at the edge is still recognised, and
// after masking to what is shown.
var (
	keptArgs  = room{bytes: 4_000, text: 400}
	shownArgs = room{bytes: 1_000, text: 120}
)

const (
	maxArgDepth    = 16 // levels; a payload of a record may have 32, its own included
	maxArgElements = 20 // elements of an array, members of an object
)

// leftOutMember names in an object that was cut how many members are left out.
const leftOutMember = "left_out"

// fitArgs is an object that fits into a room, nil for none. What is not an object becomes the member "value" of one.
func fitArgs(v any, r room) json.RawMessage {
	if v == nil {
		return nil
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		object = map[string]any{"value": v}
	}
	encoded, err := check.EncodeTree(object)
	if err == nil && len(encoded) <= r.bytes && depthOf(object) <= maxArgDepth {
		return encoded
	}
	shortened, _ := r.shorten(object, 0).(map[string]any)
	if encoded, err = check.EncodeTree(shortened); err == nil && len(encoded) <= r.bytes {
		return encoded
	}
	// Still too long: the small members, in order of their names.
	out, used := map[string]any{}, 40
	left, _ := strconv.Atoi(fmt.Sprint(shortened[leftOutMember])) // by an earlier cut
	for _, key := range slices.Sorted(maps.Keys(shortened)) {
		if key == leftOutMember {
			continue
		}
		member, err := check.EncodeTree(shortened[key])
		if takes := len(key) + len(member) + 8; err == nil && used+takes <= r.bytes {
			out[key] = shortened[key]
			used += takes
		} else {
			left++
		}
	}
	out[leftOutMember] = left
	if encoded, err = check.EncodeTree(out); err != nil {
		return nil // unreachable for what was decoded from JSON
	}
	return encoded
}

// shorten cuts texts, lists and what is nested too deep.
func (r room) shorten(v any, depth int) any {
	switch v := v.(type) {
	case string:
		cut, _ := normalize.CutChars(v, r.text)
		return cut
	case []any:
		if depth >= maxArgDepth {
			return "[…]"
		}
		out := []any{}
		shown := v
		if len(v) > maxArgElements+1 { // one more, since the note about the others is an element too
			shown = v[:maxArgElements]
		}
		for _, e := range shown {
			out = append(out, r.shorten(e, depth+1))
		}
		if left := len(v) - len(shown); left > 0 {
			out = append(out, fmt.Sprintf("[%d more]", left))
		}
		return out
	case map[string]any:
		if depth >= maxArgDepth {
			return "{…}"
		}
		out := map[string]any{}
		keys := slices.Sorted(maps.Keys(v))
		shown := keys
		if len(keys) > maxArgElements+1 {
			shown = keys[:maxArgElements]
		}
		for _, key := range shown {
			name, _ := normalize.CutChars(key, r.text)
			out[name] = r.shorten(v[key], depth+1)
		}
		if left := len(keys) - len(shown); left > 0 {
			out[leftOutMember] = left
		}
		return out
	}
	return v
}

// depthOf is how many levels of lists and objects a value has.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

// quoted is a text as JSON, or nothing for none.
func quoted(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil // unreachable: any text can be encoded
	}
	return encoded
}

// refPrefix begins the reference of a timeline or a tool node to an event of the ledger.
const refPrefix = "event:"

// eventRef refers to an event of the ledger.
func eventRef(e ledger.Event) string { return refPrefix + e.ID }
