package normalize_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
)

// The Go implementation agrees with the document's JavaScript (testdata/normalize.mjs).
func TestNormalizeVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/normalize.json")
	require.NoError(t, err)
	var vectors []struct{ Name, Content, Storage, Normalized, Hash string }
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.Greater(t, len(vectors), 30)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			got := normalize.Normalize(v.Content)
			require.Equal(t, v.Storage, got.Storage)
			require.Equal(t, v.Normalized, got.Normalized)
			require.Equal(t, v.Hash, hex.EncodeToString(got.Hash))
		})
	}
}

func TestNormalizeSameMemory(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool {
		return string(normalize.Normalize(a).Hash) == string(normalize.Normalize(b).Hash)
	}
	require.True(t, same("User prefers dark mode", "  user\u00a0PREFERS dark\n mode!?"))
	require.True(t, same("ΟΔΟΣ", "οδος"))
	require.False(t, same("!!!", "???"), "punctuation alone is kept")
	require.False(t, same("Caf\u00e9", "Cafe\u0301"), "no Unicode composition")
	require.False(t, same("Istanbul", "İstanbul"))
	require.Equal(t, "a\uFFFDb", normalize.Normalize("a\xff\xfeb").Storage)
}

func TestNormalizeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := memorytest.AnyText().Draw(t, "content")
		got := normalize.Normalize(content)

		require.Equal(t, got, normalize.Normalize(got.Storage), "idempotent")
		require.Equal(t, got.Storage, normalize.StorageContent(content))
		require.Len(t, got.Hash, sha256.Size)
		require.True(t, utf8.ValidString(got.Storage))
		require.Equal(t, strings.Trim(got.Storage, " \t\n\u00a0\ufeff"), got.Storage)
		require.NotContains(t, got.Storage, "  ")
		if got.Normalized != "" {
			require.Equal(t, sha256.Sum256([]byte(got.Normalized)), [sha256.Size]byte(got.Hash))
			require.NotContains(t, ".,!?;:", got.Normalized[len(got.Normalized)-1:])
		}
		padded := normalize.Normalize("\t" + content + " \ufeff")
		require.Equal(t, got.Hash, padded.Hash, "surrounding whitespace does not matter")
	})
}

func TestTruncateForExtraction(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content   string
		truncated bool
	}{
		"empty":            {"", false},
		"short":            {"hello", false},
		"exactly at limit": {strings.Repeat("a", normalize.MaxExtractInput), false},
		"wide at limit":    {strings.Repeat("漢", normalize.MaxExtractInput), false},
		"one too many":     {strings.Repeat("a", normalize.MaxExtractInput+1), true},
		"wide too many":    {strings.Repeat("🚀", normalize.MaxExtractInput+1), true},
		"much too many":    {strings.Repeat("é ", normalize.MaxExtractInput), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, truncated := normalize.TruncateForExtraction(tt.content)
			require.Equal(t, tt.truncated, truncated)
			if !truncated {
				require.Equal(t, tt.content, text)
				return
			}
			require.Equal(t, normalize.MaxExtractInput, utf8.RuneCountInString(text))
			require.True(t, utf8.ValidString(text))
			head, ok := strings.CutSuffix(text, " [truncated]")
			require.True(t, ok)
			require.True(t, strings.HasPrefix(tt.content, head))
		})
	}
}

func TestTruncateForExtractionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringN(1, 5, -1).Draw(t, "unit")
		chars := utf8.RuneCountInString(unit)
		content := strings.Repeat(unit,
			normalize.MaxExtractInput/chars+rapid.IntRange(-2, 2).Draw(t, "around the limit"))
		text, truncated := normalize.TruncateForExtraction(content)
		require.Equal(t, utf8.RuneCountInString(content) > normalize.MaxExtractInput, truncated)
		require.LessOrEqual(t, utf8.RuneCountInString(text), normalize.MaxExtractInput)
		require.True(t, utf8.ValidString(text))
		again, twice := normalize.TruncateForExtraction(text)
		require.False(t, twice)
		require.Equal(t, text, again)
	})
}
