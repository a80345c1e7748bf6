package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensMatchTheReference(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../local/testdata/tiny/tokenizer.json")
	require.NoError(t, err)
	w, err := NewWordPiece(raw, false)
	require.NoError(t, err)
	raw, err = os.ReadFile("../local/testdata/golden.json")
	require.NoError(t, err)
	var rows []struct {
		Text string
		IDs  []int32
	}
	require.NoError(t, json.Unmarshal(raw, &rows))
	for _, r := range rows {
		require.Equal(t, r.IDs, w.Framed(r.Text, 32), "%q", r.Text)
	}
}

// Text after a long run without spaces is read: the run ends at the next punctuation.
func TestALongRunEndsAtTheNextPunctuation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../local/testdata/tiny/tokenizer.json")
	require.NoError(t, err)
	w, err := NewWordPiece(raw, false)
	require.NoError(t, err)
	for _, run := range []string{strings.Repeat("x", 3000), strings.Repeat("あ", 1000),
		strings.Repeat("e\u0301", 2000)} {
		for _, sign := range []string{",", "。", "/"} {
			short := w.Framed(string([]rune(run)[:400])+sign+"the cat", 32)
			require.Equal(t, short, w.Framed(run+sign+"the cat", 32), "%.10q %q", run, sign)
			require.Equal(t, w.vocab["cat"], short[len(short)-2])
		}
	}
}

func FuzzTokens(f *testing.F) {
	raw, err := os.ReadFile("../local/testdata/tiny/tokenizer.json")
	require.NoError(f, err)
	w, err := NewWordPiece(raw, false)
	require.NoError(f, err)
	f.Add("the cat\x00 \u0301\xff猫")
	f.Fuzz(func(t *testing.T, text string) {
		got := w.Framed(text, 16)
		require.LessOrEqual(t, len(got), 16)
		require.Equal(t, w.start, got[0])
		require.Equal(t, w.end, got[len(got)-1])
	})
}
