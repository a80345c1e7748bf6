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

// room is the limit of an object.
type room struct {
	bytes int // bytes of the object; a shorter object is not changed
	text  int // characters of each text in a longer one
}

// Arguments are cut twice: to keptArgs while a session is open, so that a secret at the cut is still recognised, and to
// shownArgs after masking.
var (
	keptArgs  = room{bytes: 4_000, text: 400}
	shownArgs = room{bytes: 1_000, text: 120}
)

const (
	maxArgDepth    = 16 // levels; the whole payload of a record may have 32
	maxArgElements = 20 // elements of an array, members of an object
)

// leftOutMember is the member of a cut object that has the number of omitted members.
const leftOutMember = "left_out"

// fitArgs returns v as an object within the limits of r, or nil if v is nil. A value that is not an object becomes the
// member "value" of one.
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
	// Still too long: keep the members that fit, in order of their names.
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

// depthOf returns the number of levels of lists and objects in a value.
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

// quoted returns a text as JSON, or nil if it is empty.
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

// refPrefix is the prefix of a reference to an event of the ledger in a timeline or a tool node.
const refPrefix = "event:"

// eventRef returns the reference to an event of the ledger.
func eventRef(e ledger.Event) string { return refPrefix + e.ID }
