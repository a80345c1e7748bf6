package revision_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/revision"
)

func TestDetectContradiction(t *testing.T) {
	t.Parallel()
	pair := func(a, b string) [][2]string { return [][2]string{{a, b}} }
	for name, tt := range map[string]struct {
		a, b string
		want revision.Contradiction
	}{
		"nothing":    {"", "", revision.Contradiction{}},
		"same":       {"User prefers tea", "User prefers tea", revision.Contradiction{Overlap: 3}},
		"refinement": {"User prefers tea", "User prefers green tea", revision.Contradiction{Overlap: 3}},
		"negation": {"User likes tea", "User does not like tea",
			revision.Contradiction{Risk: true, Overlap: 2, NegationMismatch: true}},
		"don't": {"They use tea bags", "They don't use tea bags",
			revision.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"don’t": {"They use tea bags", "They don’t use tea bags",
			revision.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"dont": {"They use tea bags", "They DONT use tea bags",
			revision.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"no longer": {"Alice lives in Berlin", "Alice no longer lives in Berlin",
			revision.Contradiction{Risk: true, Overlap: 4, NegationMismatch: true}},
		"without": {"Run with cgo", "Run without cgo",
			revision.Contradiction{Risk: true, Overlap: 2, NegationMismatch: true}},
		"negation in both":   {"Never push to main", "Do not push to main", revision.Contradiction{Overlap: 3}},
		"negation elsewhere": {"User likes tea", "Nobody swims", revision.Contradiction{NegationMismatch: true}},
		"one word in common": {"tea is fine", "never drink tea",
			revision.Contradiction{Overlap: 1, NegationMismatch: true}},
		"short words": {"a b c d tea", "a b c d not coffee", revision.Contradiction{NegationMismatch: true}},
		"repeated word": {"tea tea tea", "tea tea not",
			revision.Contradiction{Overlap: 1, NegationMismatch: true}},
		"enabled and disabled": {"The cache is enabled", "The cache is disabled",
			revision.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("enabled", "disabled")}},
		"inflected": {"The firewall denied SSH", "The firewall allows SSH",
			revision.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("allow", "deny")}},
		"accept and reject": {"We accept late orders", "We reject late orders",
			revision.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("accept", "reject")}},
		"always and never": {"Always squash commits here", "Never squash commits here",
			revision.Contradiction{Risk: true, Overlap: 3, NegationMismatch: true, Antonyms: pair("always", "never")}},
		"on and off": {"Debug logging is on", "debug logging: off",
			revision.Contradiction{Risk: true, Overlap: 2, Antonyms: pair("on", "off")}},
		"true and false": {"flag beta true", "flag beta false",
			revision.Contradiction{Risk: true, Overlap: 2, Antonyms: pair("true", "false")}},
		"joined by punctuation": {"feature_x=true in prod", "feature_x=false in prod",
			revision.Contradiction{Risk: true, Overlap: 3, Antonyms: pair("true", "false")}},
		"both in both": {"Switch it on and off daily", "Switch it on or off daily",
			revision.Contradiction{Overlap: 5}},
		"both in one": {"Switch it on or off daily", "Switch it off daily",
			revision.Contradiction{Risk: true, Overlap: 4, Antonyms: pair("on", "off")}},
		"antonyms, no subject": {"Cache enabled", "Telemetry disabled",
			revision.Contradiction{Antonyms: pair("enabled", "disabled")}},
		"not a negation word": {"A knot in the notable cannery", "A rope in the notable cannery",
			revision.Contradiction{Overlap: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, revision.DetectContradiction(tt.a, tt.b))
			require.Equal(t, tt.want, revision.DetectContradiction(tt.b, tt.a), "symmetric")
		})
	}
}

func TestEveryNegationCounts(t *testing.T) {
	t.Parallel()
	for _, negation := range strings.Fields(`no not never none nobody nothing neither nor without cannot can't won't
		isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't couldn't shouldn't wouldn't mustn't needn't ain't`) {
		for _, written := range []string{negation, strings.ReplaceAll(negation, "'", "’"),
			strings.ReplaceAll(negation, "'", ""), strings.ToUpper(negation)} {
			got := revision.DetectContradiction("deploys run here", "deploys "+written+" run here")
			require.True(t, got.NegationMismatch && got.Risk, written)
		}
	}
}

func TestDetectContradictionProperties(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("cache build tea runs not never don’t always on off enabled disabled " +
		"allow denied a b"))
	text := rapid.OneOf(memorytest.AnyText(),
		rapid.Map(rapid.SliceOfN(word, 0, 8), func(words []string) string { return strings.Join(words, " ") }))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		got := revision.DetectContradiction(a, b)
		require.Equal(t, got, revision.DetectContradiction(b, a), "symmetric")
		require.Equal(t, got.Overlap >= 2 && (got.NegationMismatch || len(got.Antonyms) > 0), got.Risk)
		require.False(t, revision.DetectContradiction(a, a).NegationMismatch, "a text does not contradict itself")
		require.False(t, revision.DetectContradiction(a, a).Risk)
		require.Equal(t, got, revision.DetectContradiction(strings.ReplaceAll(a, "’", "'"), b), "apostrophes")
	})
}
