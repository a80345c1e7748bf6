package schema

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

// SchemaBase begins the ids of the schema documents (document 004 §15A).
const SchemaBase = "mem://schemas/"

//go:embed jsonschema/*.json
var schemaFiles embed.FS

// payloadSchemas names the schema of each type's payload.
var payloadSchemas = map[MemoryType]string{
	TypeEpisodic:   "EpisodicPayload",
	TypeWorking:    "WorkingPayload",
	TypeSemantic:   "SemanticPayload",
	TypeCompetence: "CompetencePayload",
	TypePlanGraph:  "PlanGraphPayload",
}

// SchemaNames lists the JSON Schema documents by name, in order.
func SchemaNames() []string {
	paths, err := fs.Glob(schemaFiles, "jsonschema/*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(path, "jsonschema/"), ".json")
	}
	return names
}

// SchemaDocument returns the JSON Schema 2020-12 document of a name such as MemoryRecord, or of an id
// such as mem://schemas/MemoryRecord; false when there is none.
func SchemaDocument(name string) ([]byte, bool) {
	name = strings.TrimPrefix(name, SchemaBase)
	if !slices.Contains(SchemaNames(), name) {
		return nil, false
	}
	data, err := schemaFiles.ReadFile("jsonschema/" + name + ".json")
	return data, err == nil
}

// schemaLoader resolves ids from the embedded documents and from nowhere else.
type schemaLoader struct{}

// Load implements jsonschema.URLLoader.
func (schemaLoader) Load(url string) (any, error) {
	data, ok := SchemaDocument(url)
	if !ok || !strings.HasPrefix(url, SchemaBase) {
		return nil, fmt.Errorf("schema %s is not embedded", url)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

// compiledSchemas are the documents by name, ready to validate.
var compiledSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(schemaLoader{})
	out := make(map[string]*jsonschema.Schema)
	for _, name := range SchemaNames() {
		out[name] = compiler.MustCompile(SchemaBase + name) // embedded: a test compiles them all
	}
	return out
})

// checkSchema holds a tree against a schema document and reports under path what does not fit.
func checkSchema(p *check.Problems, path, name string, tree any) {
	err := compiledSchemas()[name].Validate(tree)
	if err == nil {
		return
	}
	var found check.Problems
	if invalid, ok := err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library's own type, unwrapped
		translate(&found, path, tree, invalid)
	}
	if len(found.Fields) == 0 {
		found.Add(check.RootName(path), "does not fit %s%s", SchemaBase, name)
	}
	for _, f := range found.Fields {
		if !slices.Contains(p.Fields, f) {
			p.Fields = append(p.Fields, f)
		}
	}
}

// translate words the errors of the JSON Schema library. Its own words quote values.
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

// instancePath names a place in a tree: lists by position, objects by member.
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
