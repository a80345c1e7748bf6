package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
	learned "github.com/mneme/mneme/memory/learning/facts"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	whole := `{"facts":[{"text":"Staging uses Postgres","statements":[3,1]}]}`
	got, err := reply.Facts("Here:\n```json\n"+whole+"\n```", 3)
	require.NoError(t, err)
	require.Equal(t, []learned.Proposed{{Text: "Staging uses Postgres", Statements: []int{3, 1}}}, got)
	got, err = reply.Facts(`{"facts":[]}`, 3)
	require.NoError(t, err)
	require.Empty(t, got, "no statements say the same")

	one := `{"text":"CANARY","statements":[1,2]}`
	for name, text := range map[string]string{
		"nothing":            "",
		"prose":              "CANARY is said twice.",
		"no facts":           `{"facts":null}`,
		"cut off":            `{"facts":[` + one + `,{"text":"CAN`,
		"not given":          `{"facts":[{"text":"CANARY","statements":[1,4]}]}`,
		"statement zero":     `{"facts":[{"text":"CANARY","statements":[0,1]}]}`,
		"many citations":     `{"facts":[{"text":"CANARY","statements":[1,2,3,1,2,3]}]}`,
		"ids":                `{"facts":[{"text":"CANARY","statements":["o1"]}]}`,
		"another member":     `{"facts":[` + one + `],"evidence":["run/1"]}`,
		"confidence":         `{"facts":[{"text":"CANARY","statements":[1,2],"confidence":1}]}`,
		"10,000 facts":       `{"facts":[` + strings.TrimSuffix(strings.Repeat(one+",", 10_000), ",") + `]}`,
		"two answers":        `{"facts":[]} {"facts":[]}`,
		"deeply nested":      `{"facts":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		"text that is none":  `{"facts":[{"text":7,"statements":[1,2]}]}`,
		"statements as text": `{"facts":[{"text":"CANARY","statements":"1,2"}]}`,
	} {
		got, err := reply.Facts(text, 3)
		require.Error(t, err, name)
		require.Empty(t, got, name)
		require.NotContains(t, err.Error(), "CANARY", name)
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	got, err := reply.Conflicts(`{"pairs":[{"number":2,"verdict":"both"},{"number":1,"verdict":"excludes"}]}`, 2)
	require.NoError(t, err)
	require.Equal(t, []learned.Verdict{learned.Excludes, learned.BothHold}, got)
	one := `{"number":1,"verdict":"both"}`
	for name, text := range map[string]string{
		"nothing":       "",
		"prose":         "Both hold.",
		"cut off":       `{"pairs":[` + one + `,{"number":2,"ver`,
		"too few":       `{"pairs":[` + one + `]}`,
		"a pair twice":  `{"pairs":[` + one + `,` + one + `]}`,
		"another pair":  `{"pairs":[` + one + `,{"number":3,"verdict":"both"}]}`,
		"no verdict":    `{"pairs":[` + one + `,{"number":2}]}`,
		"a new verdict": `{"pairs":[` + one + `,{"number":2,"verdict":"forget"}]}`,
		"evidence":      `{"pairs":[` + one + `,{"number":2,"verdict":"both","evidence":["run/7"]}]}`,
		"10,000 pairs":  `{"pairs":[` + strings.TrimSuffix(strings.Repeat(one+",", 10_000), ",") + `]}`,
	} {
		got, err := reply.Conflicts(text, 2)
		require.Error(t, err, name)
		require.Empty(t, got, name)
	}
}
