package schema_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	documents "github.com/mneme/mneme/schema/jsonschema"
	"github.com/mneme/mneme/schema/topics"
)

// document is the part of a JSON Schema that a struct must agree with.
type document struct {
	ID         string              `json:"$id"`
	Dialect    string              `json:"$schema"`
	Ref        string              `json:"$ref"`
	Type       any                 `json:"type"`
	Format     string              `json:"format"`
	Enum       []any               `json:"enum"`
	Required   []string            `json:"required"`
	Properties map[string]document `json:"properties"`
	Items      *document           `json:"items"`
	Additional any                 `json:"additionalProperties"`
	Defs       map[string]document `json:"$defs"`
}

func readSchema(t *testing.T, name string) document {
	t.Helper()
	data, ok := documents.Document(name)
	require.True(t, ok, name)
	var d document
	require.NoError(t, json.Unmarshal(data, &d))
	return d
}

func TestSchemasAndStructsHaveTheSameProperties(t *testing.T) {
	t.Parallel()
	roots := map[string]reflect.Type{
		"MemoryRecord": reflect.TypeFor[schema.MemoryRecord](), "Lifecycle": reflect.TypeFor[schema.Lifecycle](),
		"DecayProfile": reflect.TypeFor[schema.DecayProfile](),
		"Provenance":   reflect.TypeFor[schema.Provenance](), "ProvenanceRef": reflect.TypeFor[schema.Ref](),
		"Relation":   reflect.TypeFor[schema.Relation](),
		"AuditEntry": reflect.TypeFor[schema.AuditEntry](), "PerformanceStats": reflect.TypeFor[schema.Performance](),
		"EpisodicPayload":   reflect.TypeFor[schema.EpisodicPayload](),
		"WorkingPayload":    reflect.TypeFor[schema.WorkingPayload](),
		"SemanticPayload":   reflect.TypeFor[schema.SemanticPayload](),
		"CompetencePayload": reflect.TypeFor[schema.CompetencePayload](),
		"PlanGraphPayload":  reflect.TypeFor[schema.PlanGraphPayload](),
		"Topic":             reflect.TypeFor[topics.Topic](), "TopicRequest": reflect.TypeFor[topics.TopicRequest](),
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(roots)), documents.Names())
	for name, goType := range roots {
		d := readSchema(t, name)
		require.Equal(t, documents.Base+name, d.ID)
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", d.Dialect)
		agree(t, name, d, d, goType)
	}
}

// agree compares a schema of an object with a struct, to any depth.
func agree(t *testing.T, path string, root, d document, goType reflect.Type) {
	t.Helper()
	require.Equal(t, false, d.Additional, "%s is ours: a member that no one keeps would be lost", path)
	names := []string{}
	for i := range goType.NumField() {
		f := goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		names = append(names, name)
		p, ok := d.Properties[name]
		require.True(t, ok, "%s.%s has no property in the schema", path, name)
		if options == "omitempty" {
			require.NotContains(t, d.Required, name, "%s.%s may be left out", path, name)
		}
		agreeType(t, path+"."+name, root, p, f.Type)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(d.Properties)), path)
	for _, name := range d.Required {
		require.Contains(t, d.Properties, name, path)
	}
}

func agreeType(t *testing.T, path string, root, d document, goType reflect.Type) {
	t.Helper()
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if ref, ok := strings.CutPrefix(d.Ref, "#/$defs/"); ok {
		d = root.Defs[ref]
	} else if name, ok := strings.CutPrefix(d.Ref, documents.Base); ok {
		d = readSchema(t, name)
		root = d
	}
	switch {
	case goType == reflect.TypeFor[time.Time]():
		require.Equal(t, "date-time", d.Format, path)
	case goType == reflect.TypeFor[json.RawMessage]():
		require.NotEqual(t, "", d.Type, path)
	case goType.Kind() == reflect.Struct:
		agree(t, path, root, d, goType)
	case goType.Kind() == reflect.Slice:
		require.Equal(t, "array", d.Type, path)
		agreeType(t, path+"[]", root, *d.Items, goType.Elem())
	case goType.Kind() == reflect.Map:
		require.Equal(t, "object", d.Type, path)
	case goType.Kind() == reflect.String:
		require.True(t, d.Type == "string" || strings.HasSuffix(path, ".kind"), path)
	case goType.Kind() == reflect.Float64:
		require.Equal(t, "number", d.Type, path)
	case goType.Kind() == reflect.Int || goType.Kind() == reflect.Int64:
		require.Equal(t, "integer", d.Type, path)
	case goType.Kind() == reflect.Bool:
		require.Equal(t, "boolean", d.Type, path)
	default:
		t.Fatalf("%s has an unknown kind: %s", path, goType)
	}
}

// The documents compile with a loader that has only them, so another program can use them to validate as Mneme does.
func TestDocumentsCompileAlone(t *testing.T) {
	t.Parallel()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	for _, name := range documents.Names() {
		data, _ := documents.Document(name)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		require.NoError(t, err)
		require.NoError(t, compiler.AddResource(documents.Base+name, doc))
	}
	compiled, err := compiler.Compile(documents.Base + "MemoryRecord")
	require.NoError(t, err)
	for i, kind := range testkit.MemoryTypes {
		m := testkit.WithAudit(testkit.RecordGen(kind)).Example(i)
		encoded, err := schema.EncodeRecord(m, schema.ShapeAppendix)
		require.NoError(t, err)
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
		require.NoError(t, err)
		require.NoError(t, compiled.Validate(instance))
		record, ok := instance.(map[string]any)
		require.True(t, ok)
		record["type"] = string(testkit.MemoryTypes[(i+1)%len(testkit.MemoryTypes)])
		require.Error(t, compiled.Validate(instance), "a payload of another type")
	}
	_, ok := documents.Document("MemoryRecord.json")
	require.False(t, ok)
	_, ok = documents.Document("../jsonschema/MemoryRecord")
	require.False(t, ok)
}

// The required properties of the documents are those of document 004 §15A.2 to §15A.10.
func TestDocumentsRequirePropertiesOfRFC(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"MemoryRecord": "id type sensitivity confidence salience created_at updated_at lifecycle provenance payload",
		"Lifecycle":    "decay last_reinforced_at", "DecayProfile": "curve half_life_seconds", "Provenance": "sources",
		"ProvenanceRef": "kind ref",
		"Relation":      "predicate target_id", "AuditEntry": "action actor timestamp rationale",
		"EpisodicPayload":   "kind timeline",
		"WorkingPayload":    "kind state", // and thread_id or task_id (§15A.3 of the canonical schemas)
		"SemanticPayload":   "kind subject predicate object validity",
		"CompetencePayload": "kind skill_name triggers recipe",
		"PlanGraphPayload":  "kind plan_id version nodes edges",
	} {
		require.ElementsMatch(t, strings.Fields(want), readSchema(t, name).Required, name)
	}
	for field, want := range map[string]string{"type": "episodic working semantic competence plan_graph",
		"sensitivity": "public low medium high hyper"} {
		var got []string
		for _, v := range readSchema(t, "MemoryRecord").Properties[field].Enum {
			got = append(got, v.(string)) //nolint:forcetypeassert // an enumeration of strings
		}
		require.Equal(t, strings.Fields(want), got)
	}
}
