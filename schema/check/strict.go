package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Decoded holds the problems that strict decoding found. An error of the decoder would fail a workflow before it could
// report the problems, so they are recorded for the workflow to report.
//
// Earlier versions decoded requests with encoding/json, which ignores unknown fields. A workflow history of such a
// version may begin with a request that has unknown fields. DropUnread ignores them as those versions did.
type Decoded struct {
	Wrong  []FieldError // fields of the wrong type, which no version accepts
	Unread []FieldError // unknown or duplicate fields, which earlier versions ignored
}

// Err returns the problems as a *ValidationError, or nil.
func (d *Decoded) Err() error {
	if len(d.Wrong)+len(d.Unread) == 0 {
		return nil
	}
	return &ValidationError{Fields: append(append([]FieldError{}, d.Wrong...), d.Unread...)}
}

// DropUnread drops the problems of fields that earlier versions ignored, and reports whether there were any.
func (d *Decoded) DropUnread() bool {
	dropped := len(d.Unread) > 0
	d.Unread = nil
	return dropped
}

// DecodeInput decodes one JSON object into a struct. It sets the valid fields and returns the problems of the others.
func DecodeInput(data []byte, into any) Decoded {
	var d Decoded
	d.Check(data, reflect.TypeOf(into).Elem(), "")
	err := json.Unmarshal(data, into)
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil || len(d.Wrong) > 0:
	case errors.As(err, &mistyped) && mistyped.Field != "": // in a value that is not checked
		d.mistyped(mistyped.Field, "of another type")
	default:
		d.Wrong = append(d.Wrong, JSONProblem(err))
	}
	return d
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// Check compares a value with the type into which it is decoded.
func (d *Decoded) Check(data []byte, t reflect.Type, path string) {
	data = bytes.TrimSpace(data)
	null := bytes.Equal(data, []byte("null"))
	if path == "" && (null || len(data) == 0 || data[0] != '{') {
		d.mistyped(path, "an object")
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	self := path != "" && reflect.PointerTo(t).Implements(unmarshaler)
	switch {
	case null: // same as absent
	case t == reflect.TypeFor[time.Time]():
		var at time.Time
		if json.Unmarshal(data, &at) != nil {
			d.mistyped(path, "a time in RFC 3339")
		}
	case self: // the type reports its own problems
	case t.Kind() == reflect.Struct:
		d.checkObject(data, t, path)
	case t.Kind() == reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(data, &elements) != nil {
			d.mistyped(path, "a list")
		}
		for i, element := range elements {
			d.Check(element, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case t.Kind() == reflect.Map:
		d.checkMap(data, t.Elem(), path)
	default:
		if json.Unmarshal(data, reflect.New(t).Interface()) != nil {
			d.mistyped(path, kindName(t.Kind()))
		}
	}
}

func (d *Decoded) checkObject(data []byte, t reflect.Type, path string) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		d.mistyped(path, "an object")
		return
	}
	fields := fieldTypes(t)
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return // decoding reports invalid JSON
		}
		name, _ := token.(string)
		key := strings.ToLower(name) // encoding/json ignores case
		at := Join(path, name)
		field, known := fields[key]
		switch {
		case seen[key]:
			d.Unread = append(d.Unread, FieldError{Field: at, Problem: "is given twice"})
		case !known:
			d.Unread = append(d.Unread, FieldError{Field: at, Problem: unknownField})
		case field != nil:
			d.Check(value, field, at)
		}
		seen[key] = true
	}
}

// checkMap compares the members of an object whose names are data.
func (d *Decoded) checkMap(data []byte, of reflect.Type, path string) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		d.mistyped(path, "an object")
		return
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return // decoding reports invalid JSON
		}
		name, _ := token.(string)
		at := Join(path, name)
		if seen[name] {
			d.Unread = append(d.Unread, FieldError{Field: at, Problem: "is given twice"})
		}
		seen[name] = true
		d.Check(value, of, at)
	}
}

func (d *Decoded) mistyped(path, want string) {
	if path == "" {
		path = "(json)"
	}
	d.Wrong = append(d.Wrong, FieldError{Field: path, Problem: "must be " + want})
}

// kindName describes the values of a kind.
func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "of another type"
	}
}

// known caches the results of fieldTypes by type.
var known sync.Map

// fieldTypes returns the types of a struct's fields by their JSON names in lower case, including those of embedded
// structs. The tag decode:"state" marks the state that a run passes to the next one. Its type is nil, so it is not
// checked and workers of two versions can exchange it.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	if found, ok := known.Load(t); ok {
		return found.(map[string]reflect.Type)
	}
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(out, fieldTypes(f.Type))
		case !f.IsExported() || name == "-":
		case f.Tag.Get("decode") == "state":
			out[strings.ToLower(name)] = nil
		case name == "":
			out[strings.ToLower(f.Name)] = f.Type
		default:
			out[strings.ToLower(name)] = f.Type
		}
	}
	known.Store(t, out)
	return out
}

// Misread returns the fields that no version can read: those of the wrong type, and duplicates.
func (d *Decoded) Misread() []FieldError {
	out := append([]FieldError(nil), d.Wrong...)
	for _, f := range d.Unread {
		if f.Problem != unknownField {
			out = append(out, f)
		}
	}
	return out
}

// Unknown returns the names of fields that this version does not know. A newer client may have set them.
func (d *Decoded) Unknown() []string {
	var out []string
	for _, f := range d.Unread {
		if f.Problem == unknownField {
			out = append(out, f.Field)
		}
	}
	return out
}

const unknownField = "unknown field"
