package align

import (
	"encoding/json"

	"github.com/mneme/mneme/schema"
)

// WithExamples returns a recipe with the examples of a procedure's parameters where it has none: an erasure removes
// the examples of a record. A parameter gets those of the parameter with its name and binding.
func (p Procedure) WithExamples(recipe []schema.Step) []schema.Step {
	out := make([]schema.Step, len(recipe))
	for i, step := range recipe {
		out[i] = step
		var members map[string]json.RawMessage
		var params map[string]parameter
		if json.Unmarshal(step.ArgsSchema, &members) != nil || json.Unmarshal(members["x-parameters"], &params) != nil {
			continue // a step without parameters
		}
		changed := false
		for name, q := range params {
			for _, own := range p.Params {
				if len(q.Examples) == 0 && own.Name == name && own.From == q.From && len(own.Examples) > 0 {
					q.Examples, changed = own.Examples, true
					params[name] = q
				}
			}
		}
		if !changed {
			continue
		}
		members["x-parameters"], _ = json.Marshal(params) // of texts
		out[i].ArgsSchema, _ = json.Marshal(members)      // of valid JSON
	}
	return out
}
