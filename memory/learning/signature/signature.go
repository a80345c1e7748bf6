package signature

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory/normalize"
)

// Limits of what is read and kept.
const (
	maxRead   = 64 << 10 // bytes of a text; of a longer one the beginning and the end are read
	maxLine   = 2_000    // bytes of a line
	maxWords  = 48       // words of a signature
	maxValues = 24       // values of a signature
	// minPrefix is how many words a signature that was cut must have to stand for the whole.
	minPrefix = 5
)

// Kind is what a value in an error text is.
type Kind string

// The kinds of values.
const (
	Path     Kind = "path"
	Number   Kind = "number"
	Hex      Kind = "hex"
	ID       Kind = "id"
	Version  Kind = "version"
	Name     Kind = "name"
	URL      Kind = "url"
	Address  Kind = "address"
	Time     Kind = "time"
	Duration Kind = "duration"
)

// Value is what one occurrence of a problem has where another occurrence has something else.
type Value struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Signature is a problem without what is particular to one occurrence. The zero Signature is no problem.
type Signature struct {
	// Text is the line of the problem in lower case with <kind> in the place of each value.
	Text string `json:"text"`
	// Words are the words and codes that make the problem, in their order.
	Words []string `json:"words"`
	// Codes are those of the words that only an error has: enoent, e0308, 404, keyerror.
	Codes []string `json:"codes,omitempty"`
	// Values are in the order of the text.
	Values []Value `json:"values,omitempty"`
	// Line is the line of the text that the signature was made from.
	Line string `json:"line,omitempty"`
}

// OfError returns the signature of an error report of a tool or a user. Of a text of several lines it takes the line
// that says most about the cause: not a warning, a stack frame, or the summary of a program that called the failing
// one.
func OfError(text string) Signature {
	line := causeLine(text)
	if line == "" {
		return Signature{}
	}
	out := read(line)
	out.locate(text)
	return out
}

// pythonFrame is a line in which Python says where an error is.
var pythonFrame = regexp.MustCompile(`(?m)^\s*File "([^"<\n]+)", line \d+`)

// locate adds the file of the last frame that a Python error names on a separate line.
func (s *Signature) locate(text string) {
	if len(s.Values) >= maxValues || pythonFrame.MatchString(s.Line) {
		return
	}
	if frames := pythonFrame.FindAllStringSubmatch(text[max(0, len(text)-maxRead):], -1); len(frames) > 0 {
		s.Values = append(s.Values, Value{Path, frames[len(frames)-1][1]})
	}
}

// OfIntent returns the signature of what somebody wants to do: "Set up my project" and "setup_project" have the same.
func OfIntent(text string) Signature {
	out := Signature{Line: normalize.CleanLine(text, maxLine)}
	for _, word := range normalize.Words(out.Line, "'") {
		if normalize.SignalFillers[word] {
			continue
		}
		out.Words = append(out.Words, english.Stem(word, false))
		if len(out.Words) == maxWords {
			break
		}
	}
	out.Text = strings.Join(out.Words, " ")
	return out
}

// Parse reads the Text of a signature again, as records keep it. Values and codes are not in it.
func Parse(text string) Signature {
	out := Signature{Text: text, Line: text}
	var bare []string
	for _, word := range strings.Fields(text) {
		bare = append(bare, word)
		if !strings.HasPrefix(word, "<") && !fillers[word] && len(out.Words) < maxWords {
			out.Words = append(out.Words, word)
		}
	}
	if !slices.ContainsFunc(out.Words, func(w string) bool { return !severities[w] }) {
		out.Words = bare[:min(len(bare), maxWords)]
	}
	return out
}

// IsZero reports whether nothing was recognised.
func (s Signature) IsZero() bool { return len(s.Words) == 0 }

// Key identifies the problem. Equal keys are the same problem; Same also knows texts that were cut.
func (s Signature) Key() string { return strings.Join(s.Words, " ") }

// Of returns the n-th value of a kind, counted from 0.
func (s Signature) Of(kind Kind, n int) (string, bool) {
	for _, v := range s.Values {
		if v.Kind != kind {
			continue
		}
		if n == 0 {
			return v.Text, true
		}
		n--
	}
	return "", false
}

// Same reports whether two signatures are of one problem: their words are the same in the same order, or one of them
// was cut, as summaries are, has at least five words, and is the beginning of the other.
func Same(a, b Signature) bool {
	if a.IsZero() || b.IsZero() {
		return false
	}
	if slices.Equal(a.Words, b.Words) {
		return true
	}
	return a.begins(b) || b.begins(a)
}

// begins reports whether s was cut and is the beginning of o. The last word may be cut too.
func (s Signature) begins(o Signature) bool {
	last := len(s.Words) - 1
	return strings.HasSuffix(s.Line, strings.TrimSpace(normalize.CutMark)) && last+1 >= minPrefix &&
		len(s.Words) <= len(o.Words) && slices.Equal(s.Words[:last], o.Words[:last]) &&
		strings.HasPrefix(o.Words[last], s.Words[last])
}

// Similarity is how much two signatures have in common, in [0,1]. It is 1 for the same problem, 0 if both have codes
// and share none, and at most a half if one negates the other.
func Similarity(a, b Signature) float64 {
	switch {
	case a.IsZero() || b.IsZero():
		return 0
	case Same(a, b):
		return 1
	case len(a.Codes) > 0 && len(b.Codes) > 0 && !shareOne(a.Codes, b.Codes):
		return 0
	}
	both, all := 0.0, 0.0
	inB := counts(b.Words)
	for word, n := range counts(a.Words) {
		common := min(n, inB[word])
		both += weight(word, a, b) * float64(common)
		all += weight(word, a, b) * float64(n*n)
	}
	other := 0.0
	for word, n := range inB {
		other += weight(word, a, b) * float64(n*n)
	}
	out := min(0.99, both/math.Sqrt(all*other))
	if slices.ContainsFunc(a.Words, negates) != slices.ContainsFunc(b.Words, negates) {
		out = min(out, 0.5)
	}
	return out
}

// Closeness says how near two texts are in meaning, in [0,1]; an embedding gives it.
type Closeness func(a, b string) float64

// Constants of Nearest.
const (
	nearLeast = 0.5 // similarity from which on a problem is a candidate
	nearTie   = 0.1 // candidates that are not farther than this from the best are tied
)

// Nearest returns which of the known problems is closest to s, and how similar it is; -1 if none is similar at all.
// Among candidates that are about equally similar, closeness decides, if it is given. A result below 1 is a guess:
// what is learned about one problem may be offered for the other, but they are not counted together.
func Nearest(s Signature, known []Signature, closeness Closeness) (int, float64) {
	best, score := -1, 0.0
	scores := make([]float64, len(known))
	for i, k := range known {
		scores[i] = Similarity(s, k)
		if scores[i] > score {
			best, score = i, scores[i]
		}
	}
	if score < nearLeast {
		return -1, 0
	}
	if score == 1 || closeness == nil {
		return best, score
	}
	nearest := -1.0
	for i, at := range scores {
		if at < max(nearLeast, score-nearTie) {
			continue
		}
		if c := closeness(s.Line, known[i].Line); c > nearest {
			best, nearest = i, c
		}
	}
	return best, scores[best]
}

func weight(word string, a, b Signature) float64 {
	if slices.Contains(a.Codes, word) || slices.Contains(b.Codes, word) {
		return 3
	}
	return 1
}

func counts(words []string) map[string]int {
	out := make(map[string]int, len(words))
	for _, w := range words {
		out[w]++
	}
	return out
}

func shareOne(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

func negates(word string) bool {
	return normalize.Negations[strings.ReplaceAll(word, "'", "")]
}
