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
		require.Less(t, time.Since(started), 10*time.Second, dot)
	}
}
