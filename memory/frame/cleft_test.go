package frame_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/frame"
)

// A sentence that begins with its value is read as if the value came last.
func TestValueBeforeWhat(t *testing.T) {
	for text, same := range map[string]string{
		"Port 8080 is what the API listens on.": "The API listens on port 8080.",
		"Rust is what we write now.":            "We write Rust now.",
		"Vim is what Ana prefers":               "Ana prefers Vim",
	} {
		a, b := frame.Read(text, "Ana"), frame.Read(same, "Ana")
		require.Len(t, a, 1, text)
		require.Len(t, b, 1, same)
		require.Equal(t, b[0].MainVerb, a[0].MainVerb, text)
		require.Equal(t, b[0].Subject, a[0].Subject, text)
		require.Len(t, a[0].Values, 1, text)
		require.True(t, b[0].Values[0].Same(a[0].Values[0]), text)
	}
	for _, text := range []string{"This is what we agreed on.", "It is what we use."} {
		require.Equal(t, "be", frame.Read(text, "Ana")[0].MainVerb, text)
	}
}
