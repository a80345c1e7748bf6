package recorder

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema/ledger"
)

// For any value of an agent, the event can be appended, is not too long, and contains no secret.
func TestValuesCanBeAppended(t *testing.T) {
	t.Parallel()
	key := "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	leaf := rapid.OneOf(rapid.Just[any](key), rapid.Just[any](nil),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]int{1, 50, 2_000, 70_000}), func(n int) any {
			return strings.Repeat("a<ä\x00\" ", n)
		}),
		rapid.Map(rapid.IntRange(0, 200), func(n int) any { return strings.Repeat("word ", n) + key }),
		rapid.SampledFrom([]any{json.Number("1e999"), json.Number("1e-999"), json.RawMessage(`{"a":1,"a":2}`),
			[]byte("binary"), make(chan int), "\xff", json.RawMessage(`"\ud800"`), math.Inf(1), &commonpb.Payload{}}))
	value := rapid.Custom(func(t *rapid.T) any {
		v := leaf.Draw(t, "leaf")
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 12, 14, 15, 16, 17, 20, 40}).Draw(t, "depth") {
			switch rapid.IntRange(0, 3).Draw(t, "around") {
			case 0:
				v = []any{v, leaf.Draw(t, "beside")}
			case 1:
				list := make([]any, rapid.SampledFrom([]int{1, 30, 3_000}).Draw(t, "n"))
				list[0] = v
				v = list
			default:
				v = map[string]any{rapid.StringN(0, 300, -1).Draw(t, "name"): v, "password": "swordfish"}
			}
		}
		return v
	})
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "v")
		limit := rapid.IntRange(200, highestBytes).Draw(t, "limit")
		for _, payload := range []json.RawMessage{
			argsOf([]any{v}, limit),
			argsOf([]any{v, "b"}, limit),
			encoded(t, ledger.ToolResult{CallID: "c", Result: valueOf(v, limit)}),
			encoded(t, ledger.Text{Text: textOf(string(encodedOr(v)), limit)}),
		} {
			e := ledger.Event{ID: "1", Stream: "run/x", Agent: "a", Kind: "market.closed", OccurredAt: time.Unix(0, 0),
				Payload: payload}
			require.NoError(t, e.Validate())
			require.LessOrEqual(t, len(payload), limit+100)
			require.NotContains(t, string(payload), key[:16])
			level, _ := sensitive.Detect(string(payload))
			require.False(t, sensitive.IsWithheld(level), "%s", payload)
		}
	})
}

func encoded(t require.TestingT, v any) json.RawMessage {
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

func encodedOr(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return out
}

// Texts are cut between words before secrets are searched for, so that no partial secret is left.
func TestCutLeavesNoPartialSecret(t *testing.T) {
	t.Parallel()
	key := "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	for at := maxRead - 60; at < maxRead+5; at++ {
		text := "password: hunter2hunter2 " + strings.Repeat("x", at-36) + "\nkey: " + key + " end"
		for _, out := range []string{textOf(text, highestBytes),
			string(valueOf(map[string]string{"a": text}, highestBytes))} {
			require.NotContains(t, out, "ghp_", at)
			require.NotContains(t, out, "hunter2")
		}
	}
}

// A short value stays as it is.
func TestShortValuesStay(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"a":[1,2.50,null,"x"],"b":{"c":true}}`,
		string(argsOf([]any{json.RawMessage(`{"a":[1,2.50,null,"x"],"b":{"c":true}}`)}, 100)))
	require.Equal(t, "two\nlines", textOf("two\nlines", 20))
	require.Empty(t, argsOf(nil, 100))
	require.JSONEq(t, `{"bytes":3}`, string(valueOf([]byte("abc"), 100)))
	require.Equal(t, "ab […]", cut("abcdefgh…", 8, cutMark))
}
