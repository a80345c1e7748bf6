package forgetting

import (
	"bytes"
	"encoding/json"
)

// examplePaths are the places in payloads that have values from single attempts, as examples of a parameter: the
// parameters of the steps of a procedure, and the inputs of a plan. "*" is any member of an object or list.
var examplePaths = [][]string{
	{"recipe", "*", "args_schema", "x-parameters", "*", "examples"},
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
	removed := false
	next := func(v json.RawMessage) (json.RawMessage, error) {
		changed, done, err := without(v, path[1:])
		removed = removed || done
		return changed, err
	}
	switch value = bytes.TrimSpace(value); {
	case bytes.HasPrefix(value, []byte("{")):
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return nil, false, err
		}
		for name, v := range members {
			switch {
			case name != path[0] && path[0] != "*":
			case len(path) == 1:
				delete(members, name)
				removed = true
			default:
				changed, err := next(v)
				if err != nil {
					return nil, false, err
				}
				members[name] = changed
			}
		}
		if !removed {
			return value, false, nil
		}
		out, err := json.Marshal(members)
		return out, true, err
	case bytes.HasPrefix(value, []byte("[")) && path[0] == "*" && len(path) > 1:
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, false, err
		}
		for i, v := range list {
			changed, err := next(v)
			if err != nil {
				return nil, false, err
			}
			list[i] = changed
		}
		if !removed {
			return value, false, nil
		}
		out, err := json.Marshal(list)
		return out, true, err
	}
	return value, false, nil
}
