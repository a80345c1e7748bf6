package memory_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
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
		want    memory.Prefix
	}{
		"none":                       {"never expose tokens", memory.Prefix{Content: "never expose tokens"}},
		"empty":                      {"", memory.Prefix{}},
		"blank":                      {" \n ", memory.Prefix{}},
		"critical":                   {"critical: never expose tokens", memory.Prefix{Content: "never expose tokens", Pinned: true}},
		"critical in any case":       {"  CRITICAL:never", memory.Prefix{Content: "never", Pinned: true}},
		"critical as an adjective":   {"critical path: deploy", memory.Prefix{Content: "critical path: deploy"}},
		"critical behind text":       {"this is critical: yes", memory.Prefix{Content: "this is critical: yes"}},
		"tags":                       {"[project,auth]: text", memory.Prefix{Content: "text", Tags: []string{"project", "auth"}}},
		"tags cleaned":               {"[ Project , ,AUTH,auth,  two  words ]:text", memory.Prefix{Content: "text", Tags: []string{"project", "auth", "two words"}}},
		"both, as documented":        {"critical: [project,auth]: never expose tokens", memory.Prefix{Content: "never expose tokens", Tags: []string{"project", "auth"}, Pinned: true}},
		"both, the other way":        {"[a]: critical: text", memory.Prefix{Content: "text", Tags: []string{"a"}, Pinned: true}},
		"multi-line":                 {"critical:\n[a]:\nline one\nline two", memory.Prefix{Content: "line one\nline two", Tags: []string{"a"}, Pinned: true}},
		"critical twice":             {"critical: critical: text", memory.Prefix{Content: "critical: text", Pinned: true}},
		"tags twice":                 {"[a]: [b]: text", memory.Prefix{Content: "[b]: text", Tags: []string{"a"}}},
		"no colon":                   {"[note] text", memory.Prefix{Content: "[note] text"}},
		"colon later":                {"[note] see [a]: text", memory.Prefix{Content: "[note] see [a]: text"}},
		"space before colon":         {"[note] : text", memory.Prefix{Content: "[note] : text"}},
		"nested brackets":            {"[[a]]: text", memory.Prefix{Content: "[[a]]: text"}},
		"no tags":                    {"[]: text", memory.Prefix{Content: "[]: text"}},
		"only empty tags":            {"[ , ]: text", memory.Prefix{Content: "[ , ]: text"}},
		"too many tags":              {tooMany, memory.Prefix{Content: tooMany}},
		"too long a tag":             {tooLong, memory.Prefix{Content: tooLong}},
		"unclosed":                   {"[a, b", memory.Prefix{Content: "[a, b"}},
		"nothing behind critical":    {"critical: ", memory.Prefix{Content: "critical:"}},
		"nothing behind tags":        {"[a]:", memory.Prefix{Content: "[a]:"}},
		"nothing behind either":      {"critical: [a]:", memory.Prefix{Content: "[a]:", Pinned: true}},
		"nothing behind the reverse": {"[a]: critical:", memory.Prefix{Content: "critical:", Tags: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, memory.ParsePrefix(tt.content))
		})
	}
}

func TestParsePrefixProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := anyText().Draw(t, "content")
		p := memory.ParsePrefix(content)
		blank := memory.StorageContent(content) == ""
		require.Equal(t, blank, p.Content == "", "content is never lost to a prefix")
		require.True(t, strings.HasSuffix(memory.StorageContent(content), memory.StorageContent(p.Content)))
		require.Equal(t, p.Tags, memory.NormalizeTags(p.Tags))

		// Whatever the text, a prefix ahead of it pins and leaves the rest as it was.
		if !blank && !p.Pinned {
			pinned := memory.ParsePrefix("Critical: " + content)
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
		got := memory.CandidatePrefix(schema.Candidate{Content: "CRITICAL: disk full", SourceKind: kind})
		require.Equal(t, pins, got.Pinned, "kind %q", kind)
		if !pins {
			require.Equal(t, "CRITICAL: disk full", got.Content)
		}
	}
}

func TestNormalizeTags(t *testing.T) {
	t.Parallel()
	require.Nil(t, memory.NormalizeTags(nil))
	require.Nil(t, memory.NormalizeTags([]string{"", " \t"}))
	require.Equal(t, []string{"b", "a b", "ας"}, memory.NormalizeTags([]string{"B", "A\u00a0 B", "b ", "ΑΣ", "a b"}))
	rapid.Check(t, func(t *rapid.T) {
		tags := memory.NormalizeTags(rapid.SliceOfN(anyText(), 0, 6).Draw(t, "tags"))
		require.Equal(t, tags, memory.NormalizeTags(append(tags, tags...)), "idempotent")
	})
}
