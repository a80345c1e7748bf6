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

// Decoded holds the problems that strict decoding found. A decoder that failed would fail a workflow before it could
// report the problems, so they are kept and the workflow reports them.
//
// Earlier versions decoded requests with encoding/json, which ignores unknown fields. A history that they wrote may
// begin with such a request: DropUnread decodes it as they did.
type Decoded struct {
	Wrong  []FieldError // of the wrong type: such an input never was accepted
	Unread []FieldError // unknown, or given twice: dropped by earlier versions
}

// Err returns the findings as a *ValidationError, or nil.
func (d *Decoded) Err() error {
	if len(d.Wrong)+len(d.Unread) == 0 {
		return nil
	}
	return &ValidationError{Fields: append(append([]FieldError{}, d.Wrong...), d.Unread...)}
}

// DropUnread forgets what earlier versions dropped, and reports whether there was any.
func (d *Decoded) DropUnread() bool {
	dropped := len(d.Unread) > 0
	d.Unread = nil
	return dropped
}

// DecodeInput reads one JSON object into a struct. It fills what fits, and returns what does not.
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

// Check compares a value with the type that it is read into.
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
	case null: // as good as absent
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
			return // decoding says that it is not JSON
		}
		name, _ := token.(string)
		key := strings.ToLower(name) // as encoding/json finds fields
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

func (d *Decoded) mistyped(path, want string) {
	if path == "" {
		path = "(json)"
	}
	d.Wrong = append(d.Wrong, FieldError{Field: path, Problem: "must be " + want})
}

// kindName says in words what a value has to be.
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
	case reflect.Map:
		return "an object"
	default:
		return "of another type"
	}
}

// known keeps what fieldTypes found, by type.
var known sync.Map

// fieldTypes are the types of a struct's fields by their names in JSON, in lower case, including those of embedded
// structs. The tag decode:"state" marks the state that a run passes to the next one. It is not checked, and its type
// is nil here, so that workers of two versions can exchange it.
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

// Misread is what no version can read: fields of the wrong type, and fields that are given twice.
func (d *Decoded) Misread() []FieldError {
	out := append([]FieldError(nil), d.Wrong...)
	for _, f := range d.Unread {
		if f.Problem != unknownField {
			out = append(out, f)
		}
	}
	return out
}

// Unknown names the fields that this version does not know: a newer client may have set them.
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
