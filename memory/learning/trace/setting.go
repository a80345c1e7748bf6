package trace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/signature"
)

// Keys of the form of a situation. Two causes of one error often differ in it: the name in the error is a path or not,
// or the call that failed has an argument more.
const (
	callForm  = "call_form"
	errorForm = "error_form"
)

// IsForm reports whether a key is one that Setting adds. A caller cannot know it.
func IsForm(key string) bool { return key == callForm || key == errorForm }

// Setting returns the context of the attempt with the form of its situation.
func (a Attempt) Setting() map[string]string {
	return SettingOf(a.Situation.Context, a.Problem, a.Situation.Failed)
}

// SettingOf returns a context, as its values are compared, with the form of a situation: of the values in the error and
// of the call that failed.
func SettingOf(context map[string]string, problem signature.Signature, failed *Step) map[string]string {
	out := make(map[string]string, len(context)+2)
	for key, value := range context {
		out[key] = memory.ContextValue(key, value)
	}
	add := func(key, value string) {
		if _, taken := out[key]; !taken && value != "" {
			out[key] = value
		}
	}
	add(errorForm, formOf(problem.Values))
	if failed != nil {
		n := 0
		for _, arg := range failed.Args {
			n += len(strings.Fields(arg.Text))
		}
		add(callForm, fmt.Sprintf("%s %d", failed.Tool, n))
	}
	return out
}

// formOf returns the kinds of values, with paths and other names told apart.
func formOf(values []signature.Value) string {
	const most = 4
	var out []string
	for _, v := range values {
		if v.Kind != signature.Name && v.Kind != signature.Path {
			continue // numbers vary by chance
		}
		form := "name"
		if strings.Contains(v.Text, "/") || v.Kind == signature.Path || path.Ext(v.Text) != "" {
			form = "path"
		}
		out = append(out, form)
	}
	return strings.Join(slices.Clip(out[:min(len(out), most)]), " ")
}
