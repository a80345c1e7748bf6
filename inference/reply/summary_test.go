package reply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"summary":"Ana lives in Oslo."}`:                                "Ana lives in Oslo.",
		"<think>hm</think>```json\n{\"summary\":\"a\\n b\\u0000c\"}\n```": "a b c",
		`{"summary":""}`:              "",
		`{"why":"x","summary":" y "}`: "y",
	} {
		got, err := reply.Summary(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for text, problem := range map[string]string{
		``: "holds 0 objects", `{"answer":"x"}`: "holds 0 objects", `{"summary":7}`: "answer.summary",
		`{"summary":"CANARY`:              "cut off",
		`{"summary":"a"} {"summary":"b"}`: "holds 2 objects", `{"summary":null}`: "answer.summary",
	} {
		_, err := reply.Summary(text)
		require.ErrorContains(t, err, problem, text)
		require.NotContains(t, err.Error(), "CANARY")
	}
}
