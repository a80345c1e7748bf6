package english

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLongestAbbreviation(t *testing.T) {
	t.Parallel()
	longest := 0
	for word := range abbreviations {
		longest = max(longest, len(word))
	}
	require.Equal(t, longest, maxAbbreviation)
}
