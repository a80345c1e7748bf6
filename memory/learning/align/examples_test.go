package align_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/align"
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
