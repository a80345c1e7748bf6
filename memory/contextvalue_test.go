package memory_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
)

// Agents name a system and a version in different ways.
func TestContextValue(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"go_version", "go1.26.8", "1.26.8"}, {"go_version", "1.26.8", "1.26.8"}, {"go_version", "go 1.26", "1.26"},
		{"node_version", "v20.20.2", "20.20.2"}, {"python3_version", "Python 3.11.7", "3.11.7"},
		{"gcc_version", "gcc-12.2.0", "12.2.0"}, {"go_version", "devel go1.27", "devel go1.27"},
		{"vue_version", "vue", "vue"}, {"v_version", "v1", "1"}, {"go_version", "", ""}, {"os", "Linux", "linux"},
		{"project_kind", "Go1.2", "Go1.2"}, {"version", "v1", "v1"},
	} {
		require.Equal(t, c[2], memory.ContextValue(c[0], c[1]), c)
	}
}

func TestComparedContext(t *testing.T) {
	t.Parallel()
	for context, want := range map[string]string{
		`{"os":"Linux","go_version":"go1.26","n":1,"ok":true}`: `{"os":"linux","go_version":"1.26","n":1,"ok":true}`,
		`{"os":"linux","n":1}`:                                 "", `{}`: "", ``: "", `[]`: "",
	} {
		got := memory.ComparedContext(json.RawMessage(context))
		if want == "" {
			require.Nil(t, got, context)
			continue
		}
		require.JSONEq(t, want, string(got))
	}
}
