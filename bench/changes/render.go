package changes

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// subject is who or what a statement is about. The corpus speaks in the first person, in braces: {I}, {my},
// {me}, {myself}; verbs agree by {s}, {es}, {am}, {was}, {have}, {do}, {don't}, {isn't}, {haven't}. Of a third
// person the first mention is the name and later ones are pronouns.
type subject struct {
	person  int    // 1: I, 2: we, 3: by name
	name    string // as in the middle of a sentence
	pronoun string // she, he, it
}

var (
	me = subject{person: 1}
	we = subject{person: 2}
)

// forms holds the words for I, we and a third person.
var forms = map[string][3]string{
	"s": {"", "", "s"}, "es": {"", "", "es"}, "am": {"am", "are", "is"}, "was": {"was", "were", "was"},
	"have": {"have", "have", "has"}, "do": {"do", "do", "does"}, "don't": {"don't", "don't", "doesn't"},
	"isn't": {"am not", "aren't", "isn't"}, "haven't": {"haven't", "haven't", "hasn't"},
	"ies": {"y", "y", "ies"}, "'m": {"'m", "'re", " is"}, "'ve": {"'ve", "'ve", " has"}, "'ll": {"'ll", "'ll", " will"},
}

// pronouns holds subject, possessive, object and reflexive.
var pronouns = map[string][4]string{
	"I": {"I", "my", "me", "myself"}, "we": {"we", "our", "us", "ourselves"},
	"she": {"she", "her", "her", "herself"}, "he": {"he", "his", "him", "himself"}, "it": {"it", "its", "it", "itself"},
}

var token = regexp.MustCompile(`\{([A-Za-z'0-9]+)\}('m|'ve|'ll)?`)

// render fills a template with a subject and values.
func render(template string, s subject, values map[string]string) string {
	pronoun := map[int]string{1: "I", 2: "we", 3: s.pronoun}[s.person]
	named := s.person != 3
	mention := func(part int) string {
		if named {
			return pronouns[pronoun][part]
		}
		named = true
		if part == 1 {
			return s.name + "'s"
		}
		return s.name
	}
	out := token.ReplaceAllStringFunc(strings.TrimPrefix(template, "~"), func(t string) string {
		m := token.FindStringSubmatch(t)
		name, contraction := strings.ToLower(m[1]), m[2]
		if m[1] == "I" {
			name = "i"
		}
		tail := ""
		if contraction != "" {
			if tail = forms[contraction][s.person-1]; s.person == 3 && named {
				tail = map[string]string{"'m": "'s", "'ve": "'s", "'ll": "'ll"}[contraction]
			}
		}
		switch name {
		case "i":
			return mention(0) + tail
		case "my":
			return mention(1)
		case "me":
			return mention(2)
		case "myself":
			return pronouns[pronoun][3]
		}
		if f, ok := forms[name]; ok {
			return f[s.person-1]
		}
		if v, ok := values[m[1]]; ok {
			return v + contraction
		}
		return t // a test finds unfilled slots
	})
	out = article.ReplaceAllString(out, "${1}n $2")
	if strings.HasPrefix(template, "~") {
		return out
	}
	return sentences(out)
}

var (
	article       = regexp.MustCompile(`\b([aA]) ([aeiouAEIO][a-z]{2})`)
	sentenceStart = regexp.MustCompile(`[.?!] +\p{Ll}`)
)

// sentences capitalizes the first letter of every sentence.
func sentences(text string) string {
	text = sentenceStart.ReplaceAllStringFunc(text, strings.ToUpper)
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
