package frame

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All apostrophe characters read the same.
func TestApostrophesReadTheSame(t *testing.T) {
	t.Parallel()
	const text = "Maya's favourite colour isn't green, it's blue."
	want := Read(text, "Ana")
	require.NotEmpty(t, want)
	for _, apostrophe := range []string{"\u2019", "\u2018", "\u02BC", "\uFF07", "\u00B4"} {
		require.Equal(t, want, Read(strings.ReplaceAll(text, "'", apostrophe), "Ana"), "%q", apostrophe)
	}
}
