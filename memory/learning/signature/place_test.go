package signature_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/signature"
)

// requireSame fails unless the texts are occurrences of one problem.
func requireSame(t *testing.T, texts ...string) {
	t.Helper()
	first := signature.OfError(texts[0])
	for _, text := range texts[1:] {
		other := signature.OfError(text)
		require.Truef(t, signature.Same(first, other), "%q\n%q", first.Words, other.Words)
	}
}

// A program of the project is a value. A program of the system, and one without a directory, is part of the problem.
func TestProgramOfTheProjectIsAValue(t *testing.T) {
	requireSame(t, "./bin/harvest: symbol lookup error: undefined symbol",
		"out/pier-two: symbol lookup error: undefined symbol", "/srv/a/bin/q: symbol lookup error: undefined symbol")
	requireSame(t, "/usr/bin/ld: cannot open output", "ld: cannot open output", "/opt/x/bin/ld: cannot open output")
	path, ok := signature.OfError("./bin/harvest: symbol lookup error: undefined symbol").Of(signature.Path, 0)
	require.True(t, ok)
	require.Equal(t, "./bin/harvest", path)
	require.False(t, signature.Same(signature.OfError("tar: cannot open output"),
		signature.OfError("ld: cannot open output")))
}
