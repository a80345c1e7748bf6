package memory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
)

func TestDetectContradiction(t *testing.T) {
	t.Parallel()
	pair := func(a, b string) [][2]string { return [][2]string{{a, b}} }
	for name, tt := range map[string]struct {
		a, b string
		want memory.Contradiction
	}{
		"nothing":               {"", "", memory.Contradiction{}},
		"same":                  {"User prefers tea", "User prefers tea", memory.Contradiction{Overlap: 3}},
		"refinement":            {"User prefers tea", "User prefers green tea", memory.Contradiction{Overlap: 3}},
		"negation":              {"User likes tea", "User does not like tea", memory.Contradiction{Risk: true, Overlap: 2, NegationMismatch: true}},
		"don't":                 {"They use tea bags", "They don't use tea bags", memory.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"don’t":                 {"They use tea bags", "They don’t use tea bags", memory.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"dont":                  {"They use tea bags", "They DONT use tea bags", memory.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"no longer":             {"Alice lives in Berlin", "Alice no longer lives in Berlin", memory.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"without":               {"Run with cgo", "Run without cgo", memory.Contradiction{Risk: true, Overlap: 2, NegationMismatch: true}},
		"negation in both":      {"Never push to main", "Do not push to main", memory.Contradiction{Overlap: 3}},
		"negation elsewhere":    {"User likes tea", "Nobody swims", memory.Contradiction{NegationMismatch: true}},
		"one word in common":    {"tea is fine", "never drink tea", memory.Contradiction{Overlap: 1, NegationMismatch: true}},
		"short words":           {"a b c d tea", "a b c d not coffee", memory.Contradiction{NegationMismatch: true}},
		"repeated word":         {"tea tea tea", "tea tea not", memory.Contradiction{Overlap: 1, NegationMismatch: true}},
		"enabled and disabled":  {"The cache is enabled", "The cache is disabled", memory.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("enabled", "disabled")}},
		"inflected":             {"The firewall denied SSH", "The firewall allows SSH", memory.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("allow", "deny")}},
		"accept and reject":     {"We accept late orders", "We reject late orders", memory.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("accept", "reject")}},
		"always and never":      {"Always squash commits here", "Never squash commits here", memory.Contradiction{Risk: true, Overlap: 3, NegationMismatch: true, Antonyms: pair("always", "never")}},
		"on and off":            {"Debug logging is on", "debug logging: off", memory.Contradiction{Risk: true, Overlap: 2, Antonyms: pair("on", "off")}},
		"true and false":        {"flag beta true", "flag beta false", memory.Contradiction{Risk: true, Overlap: 2, Antonyms: pair("true", "false")}},
		"joined by punctuation": {"feature_x=true in prod", "feature_x=false in prod", memory.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("true", "false")}},
		"both in both":          {"Switch it on and off daily", "Switch it on or off daily", memory.Contradiction{Overlap: 5}},
		"both in one":           {"Switch it on or off daily", "Switch it off daily", memory.Contradiction{Risk: true, Overlap: 4, Antonyms: pair("on", "off")}},
		"antonyms, no subject":  {"Cache enabled", "Telemetry disabled", memory.Contradiction{Antonyms: pair("enabled", "disabled")}},
		"not a negation word":   {"A knot in the notable cannery", "A rope in the notable cannery", memory.Contradiction{Overlap: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, memory.DetectContradiction(tt.a, tt.b))
			require.Equal(t, tt.want, memory.DetectContradiction(tt.b, tt.a), "symmetric")
		})
	}
}

func TestEveryNegationCounts(t *testing.T) {
	t.Parallel()
	for _, negation := range strings.Fields(`no not never none nobody nothing neither nor without cannot can't won't
		isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't couldn't shouldn't wouldn't mustn't needn't ain't`) {
		for _, written := range []string{negation, strings.ReplaceAll(negation, "'", "’"), strings.ReplaceAll(negation, "'", ""), strings.ToUpper(negation)} {
			got := memory.DetectContradiction("deploys run here", "deploys "+written+" run here")
			require.True(t, got.NegationMismatch && got.Risk, written)
		}
	}
}

func TestDetectContradictionProperties(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("cache build tea runs not never don’t always on off enabled disabled allow denied a b"))
	text := rapid.OneOf(anyText(), rapid.Map(rapid.SliceOfN(word, 0, 8), func(words []string) string { return strings.Join(words, " ") }))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		got := memory.DetectContradiction(a, b)
		require.Equal(t, got, memory.DetectContradiction(b, a), "symmetric")
		require.Equal(t, got.Overlap >= 2 && (got.NegationMismatch || len(got.Antonyms) > 0), got.Risk)
		require.False(t, memory.DetectContradiction(a, a).NegationMismatch, "no text is at odds with itself")
		require.False(t, memory.DetectContradiction(a, a).Risk)
		require.Equal(t, got, memory.DetectContradiction(strings.ReplaceAll(a, "’", "'"), b), "apostrophes are alike")
	})
}
