package align_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

// A parameter without examples gets those of the parameter with its name and binding, and nothing else changes.
func TestWithExamples(t *testing.T) {
	t.Parallel()
	p := align.Procedure{Params: []align.Param{{Name: "dir", From: "error.1", Examples: []string{"/a", "/b"}},
		{Name: "n", From: align.FromCaller}}}
	for name, c := range map[string]struct{ args, want string }{
		"no examples": {`{"x-other": 1, "x-parameters": {"dir": {"from": "error.1", "or": ["goal.1"]}}}`,
			`{"x-other": 1, "x-parameters": {"dir": {"from": "error.1", "or": ["goal.1"], "examples": ["/a", "/b"]}}}`},
		"has examples":     {`{"x-parameters": {"dir": {"from": "error.1", "examples": ["/own"]}}}`, ``},
		"other binding":    {`{"x-parameters": {"dir": {"from": "error.2"}}}`, ``},
		"other name":       {`{"x-parameters": {"path": {"from": "error.1"}}}`, ``},
		"none to give":     {`{"x-parameters": {"n": {"from": "caller"}}}`, ``},
		"no parameters":    {`{"type": "object"}`, ``},
		"other parameters": {`{"x-parameters": [1]}`, ``},
		"no schema":        {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipe := []schema.Step{{Step: "first"}, {Step: "second", Tool: "shell", ArgsSchema: json.RawMessage(c.args)}}
			got := p.WithExamples(recipe)
			require.Equal(t, c.args, string(recipe[1].ArgsSchema), "the given recipe")
			require.Equal(t, recipe[0], got[0])
			require.Equal(t, "second", got[1].Step)
			if c.want == "" {
				require.Equal(t, c.args, string(got[1].ArgsSchema))
			} else {
				require.JSONEq(t, c.want, string(got[1].ArgsSchema))
			}
		})
	}
}

// The directory of a name without one is the working directory, and a path without its extension is one value.
func TestPartsOfPaths(t *testing.T) {
	for text, want := range map[string][3]string{
		"keys/id.pub": {"keys", "keys/id", "id"},
		"id.pub":      {".", "id", "id"},
	} {
		k := align.KnownOf(signature.Signature{Values: []signature.Value{{Kind: signature.Path, Text: text}}}, "",
			trace.Situation{})
		require.Equal(t, want, [3]string{k["error.path.0.dir"], k["error.path.0.bare"], k["error.path.0.stem"]}, text)
		require.Equal(t, text, k["error.path.0.rel"])
	}
}

// A file that the error does not name may be in the call that failed.
func TestOnlyFileOfItsKindIsUsed(t *testing.T) {
	p := align.Procedure{Steps: []align.Step{{Tool: "shell", Args: map[string]align.Template{
		"cmd": align.ParseTemplate("cp {path}.bak {path}", "string")}}},
		Params: []align.Param{{Name: "path", From: "error.path.0", Examples: []string{"/w/a/b.json", "/w/c.json"}}}}
	call := func(cmd string) align.Known {
		failed := shell(cmd)
		return align.KnownOf(signature.OfError("SyntaxError: the text is not valid"), "", trace.Situation{Failed: &failed})
	}
	values, missing := p.Values(call("node load.js data/d.json"))
	require.Empty(t, missing)
	require.Equal(t, "data/d.json", values["path"])
	p.Params[0].From = align.FromCaller // some occurrences had it in the error, and some in the call
	values, missing = p.Values(call("node load.js data/d.json"))
	require.Empty(t, missing)
	require.Equal(t, "data/d.json", values["path"])
	_, missing = p.Values(call("node load.js data/d.json e.json"))
	require.Equal(t, []string{"path"}, missing, "two files of that kind")
}

func TestTemplatesMatchTheirOwnTexts(t *testing.T) {
	template := align.ParseTemplate("sed -i 's/a/b/' {dir}/{word}", "string")
	values, ok := template.Match("sed -i 's/a/b/' /work/app/main.js")
	require.True(t, ok)
	text, missing := template.Fill(values)
	require.Empty(t, missing)
	require.Equal(t, "sed -i 's/a/b/' /work/app/main.js", text)
	_, ok = template.Match("sed -i 's/a/b/' main.js")
	require.False(t, ok)
}

// The result of a step that looks for something is meant also if it was always the same.
func TestConstantResultOfAStepIsAParameter(t *testing.T) {
	attempt := func(n int) trace.Attempt {
		a := fix(n, "linux", "")
		a.Problem = signature.OfError("sh: the helper is not there")
		find := shell(fmt.Sprintf("dirname $(find . -name tool%d)", n))
		find.Results = map[string]string{"": "./tools"}
		add := shell("echo PATH=$PATH:./tools >> env.sh")
		find.ID, add.ID = "1", "2"
		a.Steps = []trace.Step{find, add}
		return a
	}
	p, ok := align.Learn([]trace.Attempt{attempt(11), attempt(22), attempt(33)})
	require.True(t, ok)
	require.Equal(t, "echo PATH=$PATH:{step} >> env.sh", p.Steps[1].Args["cmd"].String())
}
