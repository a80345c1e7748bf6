package passages_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/passages"
)

// texts draws random mixtures of prose, lists, code, headings and arbitrary characters.
var texts = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"\n", "\n\n", "```go\n", "```\n", "# Heading\n", "The steps are:\n", "- an item of a list\n",
			"1. First this.\n",
			"A sentence of some words that says one thing. ", "Is it? ", "e.g. this ", "これは文です。", "🙂", "\xff", " ",
		}),
		rapid.String(),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "word ", "\xfe", "😀", "line\n"}).Draw(t, "of"),
				rapid.IntRange(1, 900).Draw(t, "times"))
		}),
	), 0, 40).Draw(t, "parts")
	return strings.Join(parts, "")
})

func TestSplitProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := texts.Draw(rt, "text")
		spans := passages.Split(text)
		at := 0
		for _, s := range spans {
			if s.Start != at || s.End <= s.Start || s.End-s.Start > passages.MaxBytes {
				rt.Fatalf("%v after %d", s, at)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
				rt.Fatalf("%v divides a rune", s)
			}
			at = s.End
		}
		if at != len(text) {
			rt.Fatalf("covers %d of %d bytes", at, len(text))
		}
		if len(text) > 0 && len(text) <= passages.MaxBytes && len(spans) != 1 {
			rt.Fatalf("%d passages of %d bytes", len(spans), len(text))
		}
	})
}

func TestBestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := texts.Draw(rt, "text")
		wanted := rapid.SliceOf(rapid.SampledFrom([]string{"sent", "item", "line", "zebra"})).Draw(rt, "wanted")
		s, ok := passages.Best(text, wanted)
		if !ok {
			return
		}
		passage := text[s.Start:s.End]
		if passage != strings.TrimSpace(passage) || passage == "" || len(passage) > passages.MaxBytes ||
			len(text) <= passages.MaxBytes {
			rt.Fatalf("%q of %d bytes", passage, len(text))
		}
		found := false
		for _, w := range wanted {
			found = found || strings.Contains(strings.ToLower(passage), w)
		}
		if !found {
			rt.Fatalf("%q has none of %q", passage, wanted)
		}
	})
}

func split(text string) []string {
	var out []string
	for _, s := range passages.Split(text) {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestSplitKeepsStructure(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("The river rose in the night. ", 14) // 406 bytes
	sentence := "The bridge, e.g. the one of 3.5 m, was closed. "

	for _, passage := range split(strings.Repeat(sentence, 40)) {
		require.True(t, strings.HasPrefix(passage, "The bridge") && strings.HasSuffix(passage, "closed. "), passage)
	}
	code := "```go\nfunc main() {\n\n\tprintln(1)\n\n\tprintln(2)\n}\n```\n"
	long := strings.Repeat("The river rose in the night. ", 22) // 638 bytes, too long for the code to fit after it
	require.Contains(t, strings.Join(split(prose+"\n\n"+code+"\n"+long), "|"), code,
		"blank lines within code separate nothing")
	require.Contains(t, strings.Join(split(long+"\n\n"+code+"\n"+long), "|"), code)

	lead := "These are the steps:\n"
	for _, passage := range split(prose + "\n\n" + lead + strings.Repeat("1. Call the office. Ask for Ana.\n", 30)) {
		require.False(t, strings.HasSuffix(passage, lead), passage)
		require.False(t, strings.HasSuffix(strings.TrimSpace(passage), "1."), passage)
	}
	for _, passage := range split(strings.Repeat(prose+"\n# Next\n\n", 3) + prose) {
		require.False(t, strings.HasSuffix(passage, "# Next\n"), passage)
	}
	require.Empty(t, passages.Split(""))
}

func TestBestPrefersRareWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("The database is fast and the database is small. ", 30)
	answer := "The database listens on port 6543 since Monday."
	text := filler + "\n\n" + answer + "\n\n" + filler
	s, ok := passages.Best(text, []string{"datab", "port"})
	require.True(t, ok)
	require.Contains(t, text[s.Start:s.End], answer)

	_, ok = passages.Best(text, []string{"zebra"})
	require.False(t, ok, "no word of the question")
	_, ok = passages.Best(answer, []string{"port"})
	require.False(t, ok, "the text is one passage")
	_, ok = passages.Best(text, nil)
	require.False(t, ok)
}
