package normalize_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func TestParsePrefix(t *testing.T) {
	t.Parallel()
	manyTags := make([]string, schema.MaxTags+1)
	for i := range manyTags {
		manyTags[i] = "t" + strconv.Itoa(i)
	}
	tooMany := "[" + strings.Join(manyTags, ",") + "]: text"
	tooLong := "[" + strings.Repeat("x", schema.MaxTagLength+1) + "]: text"

	for name, tt := range map[string]struct {
		content string
		want    normalize.Prefix
	}{
		"none":  {"never expose tokens", normalize.Prefix{Content: "never expose tokens"}},
		"empty": {"", normalize.Prefix{}},
		"blank": {" \n ", normalize.Prefix{}},
		"critical": {"critical: never expose tokens",
			normalize.Prefix{Content: "never expose tokens", Pinned: true}},
		"critical in any case":     {"  CRITICAL:never", normalize.Prefix{Content: "never", Pinned: true}},
		"critical as an adjective": {"critical path: deploy", normalize.Prefix{Content: "critical path: deploy"}},
		"critical after text":      {"this is critical: yes", normalize.Prefix{Content: "this is critical: yes"}},
		"tags": {"[project,auth]: text",
			normalize.Prefix{Content: "text", Tags: []string{"project", "auth"}}},
		"tags cleaned": {"[ Project , ,AUTH,auth,  two  words ]:text",
			normalize.Prefix{Content: "text", Tags: []string{"project", "auth", "two words"}}},
		"both, as documented": {"critical: [project,auth]: never expose tokens",
			normalize.Prefix{Content: "never expose tokens", Tags: []string{"project", "auth"}, Pinned: true}},
		"both, reversed": {"[a]: critical: text",
			normalize.Prefix{Content: "text", Tags: []string{"a"}, Pinned: true}},
		"multi-line": {"critical:\n[a]:\nline one\nline two",
			normalize.Prefix{Content: "line one\nline two", Tags: []string{"a"}, Pinned: true}},
		"critical twice": {"critical: critical: text",
			normalize.Prefix{Content: "critical: text", Pinned: true}},
		"tags twice":                   {"[a]: [b]: text", normalize.Prefix{Content: "[b]: text", Tags: []string{"a"}}},
		"no colon":                     {"[note] text", normalize.Prefix{Content: "[note] text"}},
		"colon later":                  {"[note] see [a]: text", normalize.Prefix{Content: "[note] see [a]: text"}},
		"space before colon":           {"[note] : text", normalize.Prefix{Content: "[note] : text"}},
		"nested brackets":              {"[[a]]: text", normalize.Prefix{Content: "[[a]]: text"}},
		"no tags":                      {"[]: text", normalize.Prefix{Content: "[]: text"}},
		"only empty tags":              {"[ , ]: text", normalize.Prefix{Content: "[ , ]: text"}},
		"too many tags":                {tooMany, normalize.Prefix{Content: tooMany}},
		"too long a tag":               {tooLong, normalize.Prefix{Content: tooLong}},
		"unclosed":                     {"[a, b", normalize.Prefix{Content: "[a, b"}},
		"nothing after critical":       {"critical: ", normalize.Prefix{Content: "critical:"}},
		"nothing after tags":           {"[a]:", normalize.Prefix{Content: "[a]:"}},
		"nothing after both":           {"critical: [a]:", normalize.Prefix{Content: "[a]:", Pinned: true}},
		"nothing after both, reversed": {"[a]: critical:", normalize.Prefix{Content: "critical:", Tags: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, normalize.ParsePrefix(tt.content))
		})
	}
}

func TestParsePrefixProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := memorytest.AnyText().Draw(t, "content")
		p := normalize.ParsePrefix(content)
		blank := normalize.StorageContent(content) == ""
		require.Equal(t, blank, p.Content == "", "parsing a prefix never removes all content")
		require.True(t, strings.HasSuffix(normalize.StorageContent(content), normalize.StorageContent(p.Content)))
		require.Equal(t, p.Tags, normalize.NormalizeTags(p.Tags))

		// A critical prefix before any text pins it and leaves the rest unchanged.
		if !blank && !p.Pinned {
			pinned := normalize.ParsePrefix("Critical: " + content)
			require.True(t, pinned.Pinned)
			require.Equal(t, p.Content, pinned.Content)
			require.Equal(t, p.Tags, pinned.Tags)
		}
	})
}

func TestCandidatePrefix(t *testing.T) {
	t.Parallel()
	for kind, pins := range map[schema.SourceKind]bool{
		"":                       true,
		schema.SourceMemory:      true,
		schema.SourceUserInput:   true,
		schema.SourceObservation: false,
		schema.SourceToolOutput:  false,
		schema.SourceOutcome:     false,
	} {
		got := normalize.CandidatePrefix(schema.Candidate{Content: "CRITICAL: disk full", SourceKind: kind})
		require.Equal(t, pins, got.Pinned, "kind %q", kind)
		if !pins {
			require.Equal(t, "CRITICAL: disk full", got.Content)
		}
	}
}

func TestNormalizeTags(t *testing.T) {
	t.Parallel()
	require.Nil(t, normalize.NormalizeTags(nil))
	require.Nil(t, normalize.NormalizeTags([]string{"", " \t"}))
	require.Equal(t, []string{"b", "a b", "ας"}, normalize.NormalizeTags([]string{"B", "A\u00a0 B", "b ", "ΑΣ", "a b"}))
	rapid.Check(t, func(t *rapid.T) {
		tags := normalize.NormalizeTags(rapid.SliceOfN(memorytest.AnyText(), 0, 6).Draw(t, "tags"))
		require.Equal(t, tags, normalize.NormalizeTags(append(tags, tags...)), "idempotent")
	})
}
