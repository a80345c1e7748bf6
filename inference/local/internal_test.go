//go:build !nolocal

package local

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/tiny/tokenizer.json")
	require.NoError(t, err)
	w, err := newWordPiece(raw, false)
	require.NoError(t, err)
	raw, err = os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var rows []struct {
		Text string
		IDs  []int32
	}
	require.NoError(t, json.Unmarshal(raw, &rows))
	for _, r := range rows {
		require.Equal(t, r.IDs, w.tokens(r.Text, 32), "%q", r.Text)
	}
}

// What stands behind a run without spaces is read: such a run ends at the next sign.
func TestALongRunEndsAtTheNextSign(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/tiny/tokenizer.json")
	require.NoError(t, err)
	w, err := newWordPiece(raw, false)
	require.NoError(t, err)
	for _, run := range []string{strings.Repeat("x", 3000), strings.Repeat("あ", 1000), strings.Repeat("e\u0301", 2000)} {
		for _, sign := range []string{",", "。", "/"} {
			short := w.tokens(string([]rune(run)[:400])+sign+"the cat", 32)
			require.Equal(t, short, w.tokens(run+sign+"the cat", 32), "%.10q %q", run, sign)
			require.Equal(t, w.vocab["cat"], short[len(short)-2])
		}
	}
}

func FuzzTokens(f *testing.F) {
	raw, err := os.ReadFile("testdata/tiny/tokenizer.json")
	require.NoError(f, err)
	w, err := newWordPiece(raw, false)
	require.NoError(f, err)
	f.Add("the cat\x00 \u0301\xff猫")
	f.Fuzz(func(t *testing.T, text string) {
		got := w.tokens(text, 16)
		require.LessOrEqual(t, len(got), 16)
		require.Equal(t, w.start, got[0])
		require.Equal(t, w.end, got[len(got)-1])
	})
}

func TestAQuestionDoesNotStandBehindAnIngest(t *testing.T) {
	t.Parallel()
	e, err := New(t.Context(), Config{Dir: "testdata/tiny"})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	e.passages <- struct{}{} // an ingest has its lane
	_, _, err = e.EmbedQuery(t.Context(), "who likes tea?")
	require.NoError(t, err)

	waiting, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := e.Embed(waiting, []string{"tea"})
		done <- err
	}()
	giveUp()
	require.ErrorIs(t, <-done, context.Canceled)
	<-e.passages
	_, _, err = e.Embed(t.Context(), []string{"tea"})
	require.NoError(t, err, "who gave up took no place")
}

func TestBatchesAreOfShapesThatNeedNoPadding(t *testing.T) {
	t.Parallel()
	lists := make([][]int32, 23)
	order := make([]int, len(lists))
	for i := range lists {
		lists[i], order[i] = make([]int32, 100), i
	}
	lists[22] = make([]int32, 512)
	var sizes []int
	for len(order) > 0 {
		n := batchSize(lists, order)
		sizes, order = append(sizes, n), order[n:]
	}
	require.Equal(t, []int{4, 4, 4, 4, 4, 2, 1}, sizes)
}
