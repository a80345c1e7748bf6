package normalize

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/schema"
)

// Prefix holds the parsed prefixes of an explicit save (document 002 "Importance and Tags").
type Prefix struct {
	Content string   // the rest of the content; empty only if the content was blank
	Tags    []string // in NormalizeTags form
	Pinned  bool     // "critical:"
}

const criticalPrefix = "critical:"

// ParsePrefix removes the prefixes of content: "critical:", in upper or lower case, pins it, and "[tag1,tag2]:" adds
// tags. Each may occur once, in either order. The content of "critical: [a]: critical: x" is "critical: x".
//
// A prefix that no text follows is content. So are brackets without a colon ("[note] text"), without a tag ("[]:"),
// with more than schema.MaxTags tags, or with a tag longer than schema.MaxTagLength.
func ParsePrefix(content string) Prefix {
	p := Prefix{Content: strings.TrimFunc(content, IsSpace)}
	for {
		if rest, ok := cutCritical(p.Content); ok && !p.Pinned {
			p.Content, p.Pinned = rest, true
		} else if tags, rest, ok := cutTags(p.Content); ok && p.Tags == nil {
			p.Content, p.Tags = rest, tags
		} else {
			return p
		}
	}
}

// CandidatePrefix is ParsePrefix for statements of a person or an agent: explicit saves, user input, and candidates
// without a kind. It returns machine output unchanged, because a log line "CRITICAL: disk full" must not pin itself.
func CandidatePrefix(c schema.Candidate) Prefix {
	switch c.SourceKind {
	case schema.SourceMemory, schema.SourceUserInput, "":
		return ParsePrefix(c.Content)
	default:
		return Prefix{Content: c.Content}
	}
}

// NormalizeTags returns tags in the form in which they are stored and filtered: trimmed, in lower case, and with every
// run of whitespace as a single space. Empty tags and repetitions are dropped. The result is nil if no tag is left.
func NormalizeTags(tags []string) []string {
	var out []string
	for _, tag := range tags {
		tag = Lower(Collapse(tag))
		if tag != "" && !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// cutCritical removes a leading "critical:" if text follows it.
func cutCritical(s string) (rest string, ok bool) {
	n := len(criticalPrefix)
	if len(s) < n || !strings.EqualFold(s[:n], criticalPrefix) {
		return "", false
	}
	rest = strings.TrimFunc(s[n:], IsSpace)
	return rest, rest != ""
}

// cutTags removes a leading "[tag1,tag2]:" if it has tags and text follows it.
func cutTags(s string) (tags []string, rest string, ok bool) {
	inner, rest, found := strings.Cut(s, "]:")
	inner, bracketed := strings.CutPrefix(inner, "[")
	if !found || !bracketed || strings.ContainsAny(inner, "[]") {
		return nil, "", false
	}
	tags = NormalizeTags(strings.Split(inner, ","))
	tooLong := func(tag string) bool { return utf8.RuneCountInString(tag) > schema.MaxTagLength }
	if len(tags) == 0 || len(tags) > schema.MaxTags || slices.ContainsFunc(tags, tooLong) {
		return nil, "", false
	}
	rest = strings.TrimFunc(rest, IsSpace)
	return tags, rest, rest != ""
}
