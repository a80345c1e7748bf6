package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory/learning/wording"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	whole := `{"name":"Clear it","steps":[{"number":1,"tool":"shell","text":"Clear {path}"}]}`
	got, err := reply.Description("```json\n" + whole + "\n```")
	require.NoError(t, err)
	require.Equal(t, wording.Description{Name: "Clear it",
		Steps: []wording.Step{{Number: 1, Tool: "shell", Text: "Clear {path}"}}}, got)

	step := `{"number":1,"tool":"shell","text":"again"}`
	for name, text := range map[string]string{
		"nothing":        "",
		"prose":          "I would clear the cache.",
		"cut off":        `{"name":"Clear it","steps":[{"number":1,"tool":"sh`,
		"two answers":    `{"name":"a","steps":[]} {"name":"b","steps":[]}`,
		"another form":   `{"name":"a","steps":["clear"]}`,
		"a graph":        `{"name":"a","steps":[` + step + `],"edges":[{"from":1,"to":1}]}`,
		"a cycle":        `{"name":"a","steps":[{"number":1,"tool":"shell","text":"again","after":[1]}]}`,
		"evidence":       `{"name":"a","steps":[` + step + `],"evidence":["run/7"]}`,
		"10,000 steps":   `{"name":"a","steps":[` + strings.TrimSuffix(strings.Repeat(step+",", 10_000), ",") + `]}`,
		"a huge number":  `{"name":"a","steps":[{"number":1e99,"tool":"shell","text":"again"}]}`,
		"deeply nested":  `{"name":"a","steps":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		"a name of none": `{"name":null,"steps":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reply.Description(text)
			require.Error(t, err)
			require.Empty(t, got)
		})
	}
}
