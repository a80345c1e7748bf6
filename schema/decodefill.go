package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// payloadFields holds the members of each payload.
var payloadFields = map[MemoryType]map[string]int{
	TypeEpisodic:   members(reflect.TypeFor[EpisodicPayload]()),
	TypeWorking:    members(reflect.TypeFor[WorkingPayload]()),
	TypeSemantic:   members(reflect.TypeFor[SemanticPayload]()),
	TypeCompetence: members(reflect.TypeFor[CompetencePayload]()),
	TypePlanGraph:  members(reflect.TypeFor[PlanGraphPayload]()),
}

// members returns the index of each field of a struct by its JSON name.
func members(t reflect.Type) map[string]int {
	out := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			out[name] = i
		}
	}
	return out
}

// fill sets the fields of a struct from an object and reports problems.
func (d *decoder) fill(v any, into reflect.Value, path string) {
	object, ok := v.(map[string]any)
	if !ok {
		d.Add(d.asGiven(path), "must be an object")
		return
	}
	fields := members(into.Type())
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := check.Join(path, name)
		i, known := fields[name]
		switch {
		case !known:
			d.Add(d.asGiven(at), "unknown field")
		case object[name] != nil: // null is the same as absent
			d.seen[at] = true
			omit := strings.HasSuffix(into.Type().Field(i).Tag.Get("json"), ",omitempty")
			d.set(object[name], into.Field(i), at, omit)
		}
	}
}

func (d *decoder) set(v any, into reflect.Value, path string, omit bool) {
	wrong := func(want string) { d.Add(d.asGiven(path), "must be %s", want) }
	switch field := into.Addr().Interface().(type) {
	case *json.RawMessage:
		encoded, err := check.EncodeTree(v)
		if err != nil { // unreachable: the tree was built from JSON
			wrong("JSON")
			return
		}
		*field = encoded
		return
	case *time.Time:
		at, ok := asTime(v)
		if !ok {
			wrong("a time in RFC 3339")
			return
		}
		*field = at
		return
	case **time.Time:
		at, ok := asTime(v)
		if !ok {
			wrong("a time in RFC 3339")
			return
		}
		*field = &at
		return
	}
	switch into.Kind() {
	case reflect.String:
		s, ok := v.(string)
		if !ok {
			wrong("a string")
			return
		}
		into.SetString(s)
	case reflect.Bool:
		b, ok := v.(bool)
		if !ok {
			wrong("true or false")
			return
		}
		into.SetBool(b)
	case reflect.Float64:
		n, ok := v.(json.Number)
		if !ok {
			wrong("a number")
			return
		}
		f, err := n.Float64()
		if err != nil { // unreachable: the scan refuses it
			wrong("a number")
			return
		}
		into.SetFloat(f)
	case reflect.Int, reflect.Int64:
		n, ok := asInt(v)
		if !ok {
			wrong("a whole number")
			return
		}
		into.SetInt(n)
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			wrong("a list")
			return
		}
		if omit && len(list) == 0 {
			return
		}
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i, e := range list {
			d.set(e, into.Index(i), fmt.Sprintf("%s[%d]", path, i), false)
		}
	case reflect.Struct:
		d.fill(v, into, path)
	default:
		panic("schema: a record field of a kind that cannot be decoded: " + path)
	}
}

// asTime reads a time, in UTC.
func asTime(v any) (time.Time, bool) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	if at.IsZero() {
		return time.Time{}, true
	}
	return at.UTC(), true
}

// asInt reads a whole number in any notation.
func asInt(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
