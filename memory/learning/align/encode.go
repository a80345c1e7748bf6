package align

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// argsSchema is the JSON Schema of the arguments of a step. A property's name is its path: options.level is the member
// level of options. The keywords with x- are Mneme's: x-template has a text with parameters in braces, x-parameters the
// bindings of the parameters, x-optional and x-needs the fields of Step.
type argsSchema struct {
	Type       string               `json:"type"`
	Properties map[string]property  `json:"properties,omitempty"`
	Required   []string             `json:"required,omitempty"`
	Parameters map[string]parameter `json:"x-parameters,omitempty"`
	Optional   bool                 `json:"x-optional,omitempty"`
	Needs      []int                `json:"x-needs,omitempty"`
}

type property struct {
	Type     string `json:"type"`
	Const    any    `json:"const,omitempty"`
	Template string `json:"x-template,omitempty"`
}

type parameter struct {
	From     string   `json:"from,omitempty"`
	Or       []string `json:"or,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// Recipe writes a procedure as the steps of a record.
func (p Procedure) Recipe() []schema.Step {
	out := make([]schema.Step, 0, len(p.Steps))
	for _, s := range p.Steps {
		args := argsSchema{Type: "object", Optional: s.Optional, Needs: s.Needs}
		for _, path := range slices.Sorted(maps.Keys(s.Args)) {
			t := s.Args[path]
			if args.Properties == nil {
				args.Properties = map[string]property{}
			}
			prop := property{Type: t.Type, Template: t.String()}
			if t.Constant() {
				prop.Const = constant(t)
			}
			args.Properties[path] = prop
			args.Required = append(args.Required, path)
			for _, part := range t.Parts {
				if part.Param == "" {
					continue
				}
				if args.Parameters == nil {
					args.Parameters = map[string]parameter{}
				}
				for _, q := range p.Params {
					if q.Name == part.Param {
						args.Parameters[q.Name] = parameter{q.From, q.Or, q.Examples}
					}
				}
			}
		}
		step := schema.Step{Step: s.String(), Tool: s.Tool}
		step.ArgsSchema, _ = json.Marshal(args) // has only strings and numbers: no error
		if len(s.When) > 0 {
			step.Conditions, _ = json.Marshal(Conditions(s.When))
		}
		out = append(out, step)
	}
	return out
}

// Conditions returns the conditions of a record: a key with one value has the value, a key with several has a list.
func Conditions(values map[string][]string) map[string]any {
	out := make(map[string]any, len(values))
	for key, v := range values {
		if len(v) == 1 {
			out[key] = v[0]
		} else {
			out[key] = v
		}
	}
	return out
}

func constant(t Template) any {
	text, _ := t.Fill(nil)
	return typed(text, t.Type)
}

func typed(text, kind string) any {
	switch kind {
	case "number":
		return json.Number(text)
	case "boolean":
		return text == "true"
	case "null":
		return nil
	}
	return text
}

// String returns the step in one line.
func (s Step) String() string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(s.Args)) {
		if len(s.Args) == 1 {
			parts = append(parts, s.Args[path].String())
		} else {
			parts = append(parts, path+"="+s.Args[path].String())
		}
	}
	line := s.Tool
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, " ")
	}
	return line
}

// OfRecipe returns the procedure of a record. A step that another program has written may have a schema without
// templates: its arguments are the constants of the schema.
func OfRecipe(recipe []schema.Step) Procedure {
	var out Procedure
	seen := map[string]bool{}
	for _, r := range recipe {
		var args argsSchema
		_ = json.Unmarshal(r.ArgsSchema, &args) // other schemas lack these members
		s := Step{Tool: r.Tool, Optional: args.Optional, When: values(r.Conditions)}
		for _, n := range args.Needs {
			if n >= 0 && n < len(out.Steps) {
				s.Needs = append(s.Needs, n)
			}
		}
		for path, p := range args.Properties {
			if s.Args == nil {
				s.Args = map[string]Template{}
			}
			switch {
			case p.Template != "":
				s.Args[path] = ParseTemplate(p.Template, p.Type)
			case p.Const != nil:
				s.Args[path] = Template{Type: p.Type, Parts: []Part{{Text: fmt.Sprint(p.Const)}}}
			case p.Type == "null" || p.Type == "string":
				s.Args[path] = Template{Type: p.Type}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(args.Parameters)) {
			if !seen[name] {
				seen[name] = true
				q := args.Parameters[name]
				out.Params = append(out.Params, Param{Name: name, From: q.From, Or: q.Or, Examples: q.Examples})
			}
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

// values returns the values that conditions allow, by key.
func values(conditions json.RawMessage) map[string][]string {
	var members map[string]any
	if len(conditions) == 0 || json.Unmarshal(conditions, &members) != nil {
		return nil
	}
	out := map[string][]string{}
	for key, v := range members {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			out[key] = append(out[key], memory.ContextValue(key, fmt.Sprint(e)))
		}
	}
	return out
}

// Fill returns the arguments of a step as JSON, and the names of parameters without a value, which stay in braces.
func (s Step) Fill(known map[string]string) (json.RawMessage, []string) {
	tree := map[string]any{}
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(s.Args)) {
		text, without := s.Args[path].Fill(known)
		missing = append(missing, without...)
		var value any = text
		if len(without) == 0 {
			value = typed(text, s.Args[path].Type)
		}
		put(tree, strings.Split(path, "."), value)
	}
	out, err := json.Marshal(lists(tree))
	if err != nil {
		return nil, missing // an argument of type number has another text
	}
	return out, missing
}

// Texts returns the arguments of a step that are strings, in the order of their paths.
func (s Step) Texts(known map[string]string) (out []string) {
	for _, path := range slices.Sorted(maps.Keys(s.Args)) {
		if s.Args[path].Type == "string" {
			text, _ := s.Args[path].Fill(known)
			out = append(out, text)
		}
	}
	return out
}

func put(tree map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := tree[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[key] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}

// lists replaces objects with the members 0, 1, 2 and so on by lists.
func lists(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	list := make([]any, 0, len(object))
	for key, e := range object {
		object[key] = lists(e)
	}
	for i := range len(object) {
		e, ok := object[fmt.Sprint(i)]
		if !ok {
			return object
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return object
	}
	return list
}

// Same reports whether the required steps of two procedures are equal: the same tools with the same templates. Names of
// parameters do not count, but their bindings do.
func Same(a, b Procedure) bool { return a.outline() == b.outline() }

func (p Procedure) outline() string {
	var b strings.Builder
	for _, s := range p.Steps {
		if s.Optional {
			continue
		}
		b.WriteString("\x00" + s.Tool)
		for _, path := range slices.Sorted(maps.Keys(s.Args)) {
			b.WriteString("\x01" + path)
			for _, part := range s.Args[path].Parts {
				if part.Param == "" {
					b.WriteString("\x02" + part.Text)
				} else {
					b.WriteString("\x03" + p.param(part.Param).From)
				}
			}
		}
	}
	return b.String()
}
