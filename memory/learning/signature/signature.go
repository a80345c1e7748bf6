package signature

import (
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"github.com/mneme/mneme/memory/normalize"
)

// Limits of what is read and kept.
const (
	maxRead   = 64 << 10 // bytes of a text; only the beginning and the end of a longer one are read
	maxLine   = 2_000    // bytes of a line
	maxWords  = 48       // words of a signature
	maxValues = 24       // values of a signature
	// minPrefix is the number of words that a cut signature needs to be compared with a whole one.
	minPrefix = 5
)

// Kind is the kind of a value in an error text.
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
	// Line is the number of the line that a path with a position names. It follows its path in Signature.Values.
	Line Kind = "line"
	// Symbol is a name that another line of an error gives as a detail: File in "symbol: class File", or std::fs::File.
	Symbol Kind = "symbol"
	// Doing is what the program was doing before the problem, as another line says: tide in "loading tide".
	Doing Kind = "doing"
)

// Value is a part of an error text that varies between occurrences of a problem.
type Value struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Signature is a problem with the parts that vary between occurrences as values. The zero Signature is no problem.
type Signature struct {
	// Text is the line of the problem in lower case, with <kind> for each value.
	Text string `json:"text"`
	// Words has the words and codes that identify the problem, in their order.
	Words []string `json:"words"`
	// Codes has the words that occur only in errors: enoent, e0308, 404, keyerror.
	Codes []string `json:"codes,omitempty"`
	// Values are in the order of the text.
	Values []Value `json:"values,omitempty"`
	// Other has the paths, names, addresses, versions and symbols of the other lines of the text: those of lines that say
	// error first. The numbers of their lines follow.
	Other []Value `json:"other,omitempty"`
	// Frame is the file of the innermost stack frame. It is one of Values.
	Frame string `json:"frame,omitempty"`
	// Line is the original line of the text.
	Line string `json:"line,omitempty"`
}

// OfError returns the signature of an error report of a tool or a user. From a text of several lines it takes the line
// that tells most about the cause, not a warning, a stack frame, or the summary of a calling program.
func OfError(text string) Signature {
	lines := scored(text)
	line := causeOf(text, lines)
	if line == "" {
		return Signature{}
	}
	out := read(line)
	out.locate(text)
	out.Other = otherValues(lines, line, out)
	return out
}

// OfIntent returns the signature of an intent. "Set up my project" and "setup_project" have the same signature.
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

// Parse returns the signature of a stored Signature.Text. It has no values and no codes.
func Parse(text string) Signature {
	out := Signature{Text: text, Line: text}
	var bare []string
	for _, word := range strings.Fields(text) {
		bare = append(bare, word)
		if !strings.HasPrefix(word, "<") && !fillers[word] && len(out.Words) < maxWords {
			out.Words = append(out.Words, word)
		}
	}
	out.Words = out.withoutSeverity()
	if !slices.ContainsFunc(out.Words, func(w string) bool { return !severities[w] }) {
		out.Words = bare[:min(len(bare), maxWords)]
	}
	return out
}

// leastWithout is the number of words that identify a problem without the severity before them.
const leastWithout = 3

// withoutSeverity returns the words without a severity at the beginning: two commands of a tool may report the same
// problem as an error and as fatal, or without a word for it.
func (s Signature) withoutSeverity() []string {
	if len(s.Words) > leastWithout && severities[s.Words[0]] {
		return s.Words[1:]
	}
	return s.Words
}

// IsZero reports whether nothing was recognised.
func (s Signature) IsZero() bool { return len(s.Words) == 0 }

// Key returns the key of the problem. Equal keys mean the same problem. Same also compares texts that were cut.
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

// Same reports whether two signatures are of one problem: they have the same words in the same order, or one was cut,
// has at least five words, and is the beginning of the other.
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

func negates(word string) bool {
	return normalize.Negations[strings.ReplaceAll(word, "'", "")]
}
