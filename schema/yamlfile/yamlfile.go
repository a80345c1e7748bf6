package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mneme/mneme/schema"
)

// Whole is the path of the file itself.
const Whole = "(file)"

// File is a file that is being read.
type File struct {
	// Problems lists the problems found so far, in order. A field is a path such as rules[2].when.
	Problems []schema.FieldError

	// NoAliases refuses aliases. Otherwise an alias is replaced by the value to which it refers.
	NoAliases bool
}

// Add adds a problem. If at is not nil, its line is part of the problem.
func (f *File) Add(at *yaml.Node, field, format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if at != nil && at.Line > 0 {
		problem += fmt.Sprintf(" (line %d)", at.Line)
	}
	f.Problems = append(f.Problems, schema.FieldError{Field: field, Problem: problem})
}

// Read parses the only document of a file of at most max bytes and returns its members. For a file without members, it
// reports that required is missing. It returns false after a problem.
func (f *File) Read(data []byte, max int, required string, names ...string) (map[string]*yaml.Node, bool) {
	if len(data) > max {
		f.Add(nil, Whole, "must be at most %d bytes", max)
		return nil, false
	}
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		f.Add(nil, required, "is required")
		return nil, false
	case err != nil:
		f.Add(nil, "(yaml)", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, false
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		f.Add(nil, "(yaml)", "must be one document")
	}
	root := document.Content[0]
	members, ok := f.Object(root, Whole, append(slices.Clone(names), required)...)
	if ok && len(members) == 0 {
		f.Add(root, required, "is required")
		return nil, false
	}
	return members, ok
}

// Object returns the members of a mapping, which must be among names. It returns false if the node is not a mapping;
// members with a problem are omitted.
func (f *File) Object(node *yaml.Node, path string, names ...string) (map[string]*yaml.Node, bool) {
	if node.Kind != yaml.MappingNode {
		f.Add(node, path, "must be a mapping of %s", strings.Join(names, ", "))
		return nil, false
	}
	inner := path + "."
	if path == Whole {
		inner = ""
	}
	members := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(names, key.Value):
			f.Add(key, inner+PrintableKey(key), "is unknown; known are %s", strings.Join(names, ", "))
		case members[key.Value] != nil:
			f.Add(key, inner+key.Value, "is given twice")
		case f.NoAliases && value.Kind == yaml.AliasNode:
			f.Add(value, inner+key.Value, "must be a value, not a reference to another value")
		default:
			members[key.Value] = Resolve(value)
		}
	}
	return members, true
}

// Resolve follows an alias. An alias refers to an earlier anchor, so there are no cycles.
func Resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// PrintableKey returns a key for error messages, or "(key)" if it is long or has unusual characters.
func PrintableKey(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode || len(key.Value) > 40 ||
		strings.ContainsFunc(key.Value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "(key)"
	}
	return key.Value
}
