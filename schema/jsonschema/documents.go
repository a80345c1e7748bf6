package jsonschema

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mneme/mneme/schema/check"
)

// Base is the prefix of the ids of the documents (document 004 §15A).
const Base = "mem://schemas/"

//go:embed *.json
var files embed.FS

// Names returns the names of the documents, sorted.
func Names() []string {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".json")
	}
	return names
}

// Document returns the JSON Schema 2020-12 document with a name such as MemoryRecord, or with an id such as
// mem://schemas/MemoryRecord. It returns false if there is none.
func Document(name string) ([]byte, bool) {
	name = strings.TrimPrefix(name, Base)
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	data, err := files.ReadFile(name + ".json")
	return data, err == nil
}

// loader resolves ids from the embedded documents only.
type loader struct{}

// Load implements jsonschema.URLLoader.
func (loader) Load(url string) (any, error) {
	data, ok := Document(url)
	if !ok || !strings.HasPrefix(url, Base) {
		return nil, fmt.Errorf("schema %s is not embedded", url)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

// compiled holds the compiled documents by name.
var compiled = sync.OnceValue(func() map[string]*jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(loader{})
	out := make(map[string]*jsonschema.Schema)
	for _, name := range Names() {
		out[name] = compiler.MustCompile(Base + name) // embedded: a test compiles them all
	}
	return out
})

// Check validates a tree, as json.Unmarshal returns it, against the document with the name. It adds problems to p, with
// field paths below path. It panics if there is no such document.
func Check(p *check.Problems, path, name string, tree any) {
	err := compiled()[name].Validate(tree)
	if err == nil {
		return
	}
	var found check.Problems
	if invalid, ok := err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library's own type, unwrapped
		translate(&found, path, tree, invalid)
	}
	if len(found.Fields) == 0 {
		found.Add(check.RootName(path), "does not fit %s%s", Base, name)
	}
	for _, f := range found.Fields {
		if !slices.Contains(p.Fields, f) {
			p.Fields = append(p.Fields, f)
		}
	}
}

// translate describes the errors of the JSON Schema library without its own messages, which quote values.
func translate(p *check.Problems, path string, tree any, e *jsonschema.ValidationError) {
	at := instancePath(path, tree, e.InstanceLocation)
	if _, ok := e.ErrorKind.(*kind.AnyOf); ok {
		var missing []string
		for _, cause := range e.Causes {
			if r, ok := cause.ErrorKind.(*kind.Required); ok && len(r.Missing) == 1 {
				missing = append(missing, r.Missing[0])
			}
		}
		if len(missing) > 0 && len(missing) == len(e.Causes) {
			p.Add(check.Join(trimRoot(at), missing[0]), "is required, or %s", strings.Join(missing[1:], " or "))
			return
		}
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			translate(p, path, tree, cause)
		}
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			p.Add(check.Join(trimRoot(at), name), "is required")
		}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, name := range k.Properties {
			p.Add(check.Join(trimRoot(at), name), "unknown field")
		}
	case *kind.Type:
		p.Add(at, "must be of type %s", strings.Join(k.Want, " or "))
	case *kind.Enum:
		want := make([]string, len(k.Want))
		for i, v := range k.Want {
			want[i] = fmt.Sprint(v)
		}
		p.Add(at, "must be one of %s", strings.Join(want, ", "))
	case *kind.Const:
		p.Add(at, "must be %v", k.Want)
	case *kind.Format:
		switch k.Want {
		case "date-time":
			p.Add(at, "must be a time in RFC 3339")
		case "uuid":
			p.Add(at, "must be a UUID")
		default:
			p.Add(at, "must be of the form %s", k.Want)
		}
	case *kind.MinLength:
		if k.Want == 1 {
			p.Add(at, "is empty")
		} else {
			p.Add(at, "must be at least %d characters", k.Want)
		}
	case *kind.MaxLength:
		p.Add(at, "must be at most %d characters", k.Want)
	case *kind.MinItems:
		p.Add(at, "must hold at least %d elements", k.Want)
	case *kind.MaxItems:
		p.Add(at, "must hold at most %d elements", k.Want)
	case *kind.Minimum:
		p.Add(at, "must be at least %s", decimal(k.Want))
	case *kind.Maximum:
		p.Add(at, "must be at most %s", decimal(k.Want))
	case *kind.Pattern:
		p.Add(at, "must match %s", k.Want)
	default:
		p.Add(at, "does not fit its schema")
	}
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func trimRoot(path string) string {
	if path == "(json)" {
		return ""
	}
	return path
}

// instancePath returns the path of a place in a tree, with indexes for lists and names for objects.
func instancePath(path string, tree any, location []string) string {
	for _, token := range location {
		switch v := tree.(type) {
		case []any:
			path += "[" + token + "]"
			tree = nil
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
				tree = v[i]
			}
		case map[string]any:
			path = check.Join(path, token)
			tree = v[token]
		default:
			path = check.Join(path, token)
		}
	}
	return check.RootName(path)
}
