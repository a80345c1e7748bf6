package forgetting

import (
	"bytes"
	"encoding/json"
)

// examplePaths are the places in payloads that have values from single attempts, as examples of a parameter: the
// parameters of the steps of a procedure, and the inputs of a plan. "*" is any member of an object, and "[]" each element
// of a list. The paths are read as the lax paths of hasExamples: a value without a list is a list of one, and a member
// of a list is that member of each of its elements. Otherwise an erasure would find the same record again and again.
var examplePaths = [][]string{
	{"recipe", "[]", "args_schema", "x-parameters", "*", "examples"},
	{"inputs_schema", "properties", "*", "examples"},
}

// hasExamples renders the condition that a payload has examples. Its paths are examplePaths.
func hasExamples(payload string) string {
	return `(jsonb_path_exists(` + payload + `, 'lax $.recipe[*].args_schema."x-parameters".*.examples')
		OR jsonb_path_exists(` + payload + `, 'lax $.inputs_schema.properties.*.examples'))`
}

// withoutExamples removes examples from the members of a payload, and reports whether there were any.
func withoutExamples(members map[string]json.RawMessage) (removed bool, err error) {
	for _, path := range examplePaths {
		value, ok := members[path[0]]
		if !ok {
			continue
		}
		changed, done, err := without(value, path[1:])
		if err != nil {
			return removed, err
		}
		if done {
			members[path[0]], removed = changed, true
		}
	}
	return removed, nil
}

// without returns a value without its members at a path. It keeps all other text as it is, such as large numbers.
func without(value json.RawMessage, path []string) (json.RawMessage, bool, error) {
	switch value = bytes.TrimSpace(value); {
	case bytes.HasPrefix(value, []byte("[")):
		return withoutInList(value, path)
	case path[0] == "[]":
		return without(value, path[1:])
	case !bytes.HasPrefix(value, []byte("{")):
		return value, false, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, false, err
	}
	removed := false
	for name, v := range members {
		switch {
		case name != path[0] && path[0] != "*":
		case len(path) == 1:
			delete(members, name)
			removed = true
		default:
			changed, done, err := without(v, path[1:])
			if err != nil {
				return nil, false, err
			}
			members[name], removed = changed, removed || done
		}
	}
	return encoded(value, members, removed)
}

// withoutInList is without for the elements of a list.
func withoutInList(value json.RawMessage, path []string) (json.RawMessage, bool, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, false, err
	}
	elements := path[0] == "[]"
	if elements {
		path = path[1:]
	}
	removed := false
	for i, v := range list {
		if !elements && bytes.HasPrefix(bytes.TrimSpace(v), []byte("[")) {
			continue // a member of a list is not one of a list in it
		}
		changed, done, err := without(v, path)
		if err != nil {
			return nil, false, err
		}
		list[i], removed = changed, removed || done
	}
	return encoded(value, list, removed)
}

// encoded returns a changed value, or the value itself if nothing was removed.
func encoded(value json.RawMessage, changed any, removed bool) (json.RawMessage, bool, error) {
	if !removed {
		return value, false, nil
	}
	out, err := json.Marshal(changed)
	return out, true, err
}
