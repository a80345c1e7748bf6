package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const statement = "Ana lives in a small flat in Lisbon, near the river and the old station."

func tableAt(width int, mark Mark, cell string) string {
	t := &Text{Width: width}
	t.MarkedTable("SCORE WHY MEMORY", [][]string{{"0.97", "text 1.00, claims 0.91, hints 0.78, vector 0.78", cell}},
		[]Mark{mark})
	return t.Buf.String()
}

// Without a terminal, nothing is cut.
func TestTableWithoutATerminal(t *testing.T) {
	t.Parallel()
	require.Contains(t, tableAt(0, Mark{" (superseded by x)", " (superseded)"}, statement),
		statement+" (superseded by x)\n")
}

// A cell that is too long for the terminal is cut before its mark, so that no outdated memory looks current.
func TestTableKeepsMarks(t *testing.T) {
	t.Parallel()
	mark := Mark{" (superseded, older: see 01a220d2-6341-7000-b039-d2d1cc270217)", " (superseded)"}
	for _, width := range []int{70, 80, 110, 125} {
		out := tableAt(width, mark, statement)
		require.Contains(t, out, "… (superseded)\n", width)
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, shownWidth(strings.TrimSuffix(line, "\n")), width, out)
		}
	}
	require.Contains(t, tableAt(300, mark, statement), "station. (superseded, older: see")
}

// On a narrow terminal, the last column has its own lines, because the others would leave no room for it.
func TestTableOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, "SCORE  WHY                                              MEMORY\n"+
		"0.97   text 1.00, claims 0.91, hints 0.78, vector 0.78\n"+
		"  "+statement+"\n", tableAt(80, Mark{}, statement))
	require.Equal(t, 2, strings.Count(tableAt(80, Mark{}, "short"), "\n"), "a short cell fits beside the others")
}

// Chinese, Japanese and Korean characters take two columns of a terminal.
func TestClipCountsColumns(t *testing.T) {
	t.Parallel()
	require.Equal(t, "我住…", Clip("我住在上海", 6))
	require.Equal(t, "我住在上海", Clip("我住在上海", 10))
	require.Equal(t, "e\u0301a", Clip("e\u0301a", 2), "a combining mark takes none")
	require.Equal(t, "abc…", Clip("abcdef", 4))
	require.Equal(t, "abcdef", Clip("abcdef", 0))
}
