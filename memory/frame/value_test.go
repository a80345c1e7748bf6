package frame

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/english"
)

func TestMonthsAndTheirAbbreviationsAreTheSame(t *testing.T) {
	t.Parallel()
	for short, long := range map[string]string{"on Jan 7th": "on January 7", "on Sept 30": "on September 30",
		"on Oct 5": "on October 5th", "5 Oct 2023": "the 5th of October 2023"} {
		a, b := TypedValues(english.Tokenize(short)), TypedValues(english.Tokenize(long))
		require.Len(t, a, 1, short)
		require.Len(t, b, 1, long)
		require.Equal(t, b[0].Key, a[0].Key, short)
	}
}

// Every word that a pattern of values accepts is tried as the beginning of a value.
func TestNoValueIsExcludedByItsCharacters(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("0123456789099..,,::--//kmhdsgbx@#%$€£+vqaprstnd")
	found := map[int]int{}
	for range 100_000 {
		word := make([]rune, 1+r.IntN(6))
		for i := range word {
			word[i] = alphabet[r.IntN(len(alphabet))]
		}
		low := string(word)
		for i, pattern := range []*regexp.Regexp{timePattern, hourPattern, isoPattern, ordinalPattern, amountPattern,
			numberPattern, unitPattern, sizePattern, versionPattern, contactPattern, quarterPattern, yearPattern} {
			if pattern.MatchString(low) {
				require.True(t, mayBegin(low), low)
				found[i]++
			}
		}
	}
	require.GreaterOrEqual(t, len(found), 9, "the words are of few kinds: %v", found)
	for _, w := range []string{"may", "sept", "sundays", "sat", "dozen", "mid-june", "thrice", "quarter", "€5"} {
		require.True(t, mayBegin(w), w)
	}
	require.False(t, mayBegin("launch"))
}

func TestSizesWithAndWithoutSpaceAreTheSame(t *testing.T) {
	t.Parallel()
	for apart, joined := range map[string]string{"up to 50 MB": "up to 50MB", "a 16 gb disk": "a 16GB disk"} {
		a, b := TypedValues(english.Tokenize(apart)), TypedValues(english.Tokenize(joined))
		require.Len(t, a, 1, apart)
		require.Len(t, b, 1, joined)
		require.Equal(t, b[0].Key, a[0].Key, apart)
	}
}
