package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFoldStraightensApostrophes(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"Don't", "DON\u2019T", "don\u2018t", "don\u02BCt", "don\uFF07t", "don\u00B4t"} {
		require.Equal(t, "don't", fold(typed), "%q", typed)
	}
}
