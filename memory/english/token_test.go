package english_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/english"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`He said "Go!" We went. E.g. to Rome, i.e. far?`: {`He said "Go!`, `" We went.`, `E.g. to Rome, i.e. far?`},
		"One... Two?! three\nfour":                       {"One.", ".", ".", "Two?", "!", "three", "four"},
		"v1.2 of main.go":                                {"v1.2 of main.go"},
		"See no. 5 and Nno. 6. Approx. 7":                {"See no. 5 and Nno.", "6.", "Approx. 7"},
		"":                                               nil,
	} {
		require.Equal(t, want, english.Sentences(text), text)
	}
}

// A row of dots, as programs print for progress, takes time in proportion to its length.
func TestSentencesOfManyDots(t *testing.T) {
	t.Parallel()
	for _, dot := range []string{".", "?", "!)"} {
		started := time.Now()
		english.Sentences(strings.Repeat(dot, 200_000))
		english.Sentences("All of " + strings.Repeat(dot, 200_000) + " is done.")
		require.Less(t, time.Since(started), 10*time.Second, dot)
	}
}

// Chinese, Japanese and Korean stand beside Latin words without a space.
func TestLatinWordsAreSeparatedFromIdeographs(t *testing.T) {
	t.Parallel()
	var got []string
	for _, w := range english.Tokenize("从MySQL迁移到了PostgreSQL 17") {
		got = append(got, w.Low)
	}
	require.Equal(t, []string{"从", "mysql", "迁移到了", "postgresql", "17"}, got)
}
