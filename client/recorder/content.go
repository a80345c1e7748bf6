package recorder

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema/check"
)

const (
	cutMark  = " […]"
	maxRead  = 40_000 // bytes of a text or a value that are searched for secrets and may be kept
	maxDepth = 16     // levels of a value; a payload may have 32, including its own
	maxItems = 1_000  // elements of a list
	maxDigit = 40     // characters of a number
)

// clean removes characters that Postgres cannot store.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// cut cuts a text to limit bytes of JSON, including the mark at its end.
func cut(text string, limit int, mark string) string {
	size, fits := 0, 0
	for i, r := range text {
		if size <= limit-len(mark) {
			fits = i
		}
		switch {
		case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029:
			size += 6
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
		if size > limit {
			return text[:fits] + mark
		}
	}
	return text
}

// readable returns the beginning of a text that is searched for secrets.
func readable(text string, limit int) string {
	if text = clean(text); len(text) <= limit {
		return text
	}
	return wholeWords(text[:limit]) + cutMark
}

// wholeWords removes the last word of a text that was cut, because a partial secret would not be recognized.
func wholeWords(text string) string {
	return text[:strings.LastIndexAny(text, " \t\r\n,;\"'")+1]
}

// textOf returns a text for an event: without secrets, and of at most limit bytes.
//
//workflowcheck:ignore
func textOf(text string, limit int) string {
	masked, _ := sensitive.Mask(readable(text, maxRead))
	return cut(masked, limit, cutMark)
}

// valueOf returns a value for an event: as JSON, without secrets, and of at most limit bytes.
//
//workflowcheck:ignore
func valueOf(v any, limit int) json.RawMessage {
	tree, ok := treeOf(v)
	if !ok {
		return note("of a type that is not JSON", v)
	}
	return fit(tree, limit)
}

// argsOf returns the arguments of a call as an object: a single object unchanged, a single other value as the member
// "value", and several arguments as arg1, arg2.
//
//workflowcheck:ignore
func argsOf(args []any, limit int) json.RawMessage {
	if len(args) == 0 {
		return nil
	}
	members := map[string]any{}
	for i, arg := range args {
		tree, ok := treeOf(arg)
		if !ok {
			tree = fmt.Sprintf("of a type that is not JSON: %T", arg)
		}
		if object, isObject := tree.(map[string]any); isObject && len(args) == 1 {
			return fit(object, limit)
		}
		name := "value"
		if len(args) > 1 {
			name = "arg" + strconv.Itoa(i+1)
		}
		members[name] = tree
	}
	return fit(members, limit)
}

// treeOf converts a value to a JSON tree that the ledger can store.
func treeOf(v any) (tree any, ok bool) {
	defer func() { // encoding a type of the agent may panic
		if recover() != nil {
			tree, ok = nil, false
		}
	}()
	encoded, err := encode(v)
	if err != nil {
		return nil, false
	}
	if tree, err = check.BuildTree(encoded); err != nil {
		return nil, false
	}
	return tidy(tree, 0), true
}

func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return v, nil
	case []byte:
		return json.Marshal(map[string]int{"bytes": len(v)})
	case converter.RawValue:
		return encodePayload(v.Payload())
	case proto.Message:
		return protojson.Marshal(v)
	}
	return json.Marshal(v)
}

func encodePayload(p *commonpb.Payload) (json.RawMessage, error) {
	switch encoding := string(p.GetMetadata()[converter.MetadataEncoding]); encoding {
	case converter.MetadataEncodingJSON, converter.MetadataEncodingProtoJSON:
		return p.GetData(), nil
	case converter.MetadataEncodingNil, "":
		return json.RawMessage("null"), nil
	default:
		return json.Marshal(map[string]any{"encoding": encoding, "bytes": len(p.GetData())})
	}
}

// tidy replaces parts that cannot be stored.
func tidy(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return readable(v, maxRead)
	case json.Number:
		if f, err := v.Float64(); len(v) > maxDigit || err != nil || math.IsInf(f, 0) || f == 0 {
			if strings.ContainsAny(string(v), "123456789") {
				return cut(string(v), maxDigit, cutMark)
			}
		}
	case []any:
		if depth >= maxDepth {
			return "[…]"
		}
		if left := len(v) - maxItems; left > 0 {
			v = append(v[:maxItems:maxItems], fmt.Sprintf("[%d more]", left))
		}
		for i := range v {
			v[i] = tidy(v[i], depth+1)
		}
		return v
	case map[string]any:
		if depth >= maxDepth {
			return "{…}"
		}
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[cut(clean(name), 200, cutMark)] = tidy(v[name], depth+1)
		}
		return out
	}
	return v
}

// room limits a value: the bytes of each text, and the elements of each list or members of each object.
type room struct {
	text, items int
	unmasked    bool // secrets were not masked yet
}

var (
	looked = []room{{text: 20_000, items: 1_000, unmasked: true}, {text: 4_000, items: 200, unmasked: true},
		{text: 300, items: 100, unmasked: true}}
	shown = []room{{text: 4_000, items: 200}, {text: 1_000, items: 60}, {text: 300, items: 20}, {text: 100, items: 10},
		{text: 40, items: 5}}
)

// fit masks a tree, and shortens its texts and lists until it has at most limit bytes.
func fit(tree any, limit int) json.RawMessage {
	encoded, err := json.Marshal(tree)
	if err != nil {
		return note("not JSON", tree)
	}
	for _, r := range looked {
		if len(encoded) <= maxRead {
			break
		}
		tree = r.shorten(tree)
		encoded, _ = json.Marshal(tree)
	}
	if len(encoded) > maxRead {
		return note(fmt.Sprintf("%d bytes", len(encoded)), tree)
	}
	if masked, changed := sensitive.MaskJSON(encoded); changed {
		if tree, err = check.BuildTree(masked); err != nil {
			return note("not JSON", tree)
		}
		encoded, _ = json.Marshal(tree)
	}
	size := len(encoded)
	for _, r := range shown {
		if len(encoded) <= limit {
			return encoded
		}
		tree = r.shorten(tree)
		encoded, _ = json.Marshal(tree)
	}
	if len(encoded) > limit {
		return note(fmt.Sprintf("%d bytes", size), tree)
	}
	return encoded
}

// note replaces a value that is omitted.
//
//workflowcheck:ignore
func note(why string, v any) json.RawMessage {
	if _, isObject := v.(map[string]any); !isObject && v != nil {
		why = fmt.Sprintf("%T, %s", v, why)
	}
	encoded, _ := json.Marshal(map[string]string{"left_out": why}) // of texts
	return encoded
}

func (r room) shorten(v any) any {
	switch v := v.(type) {
	case string:
		if r.unmasked {
			return readable(v, r.text)
		}
		return cut(v, r.text, cutMark)
	case []any:
		out := make([]any, 0, min(len(v), r.items))
		for _, e := range v[:min(len(v), r.items)] {
			out = append(out, r.shorten(e))
		}
		if left := len(v) - len(out); left > 0 {
			out = append(out, fmt.Sprintf("[%d more]", left))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		names := slices.Sorted(maps.Keys(v))
		for _, name := range names[:min(len(names), r.items)] {
			out[name] = r.shorten(v[name])
		}
		if left := len(names) - r.items; left > 0 {
			out["left_out"] = strconv.Itoa(left) + " members"
		}
		return out
	}
	return v
}
