package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
)

func TestDuplicates(t *testing.T) {
	t.Parallel()
	whole := `{"pairs":[{"number":2,"same":false},{"number":1,"same":true}]}`
	got, err := reply.Duplicates("```json\n"+whole+"\n```", 2)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, got)

	one := `{"number":1,"same":true}`
	for name, text := range map[string]string{
		"nothing":          "",
		"prose":            "Both are the same.",
		"cut off":          `{"pairs":[` + one + `,{"number":2,"sa`,
		"too few":          `{"pairs":[` + one + `]}`,
		"a pair twice":     `{"pairs":[` + one + `,` + one + `]}`,
		"another pair":     `{"pairs":[` + one + `,{"number":3,"same":true}]}`,
		"no verdict":       `{"pairs":[` + one + `,{"number":2}]}`,
		"evidence":         `{"pairs":[` + one + `,{"number":2,"same":true,"evidence":["run/7"]}]}`,
		"a cycle":          `{"pairs":[` + one + `,{"number":2,"same":true,"after":[1]}]}`,
		"another form":     `{"pairs":[true,false]}`,
		"a word":           `{"pairs":[` + one + `,{"number":2,"same":"yes"}]}`,
		"10,000 pairs":     `{"pairs":[` + strings.TrimSuffix(strings.Repeat(one+",", 10_000), ",") + `]}`,
		"two answers":      `{"pairs":[]} {"pairs":[]}`,
		"deeply nested":    `{"pairs":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		"pairs in an item": `[{"pairs":null}]`,
	} {
		got, err := reply.Duplicates(text, 2)
		require.Error(t, err, name)
		require.Empty(t, got, name)
	}
}
