package signature

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// Limits of otherValues.
const (
	maxTelling = 8 // lines that say error
	maxSilent  = 4 // other lines
	maxNumbers = 4 // numbers of lines

	leastDigest = 56 // least length of a digest of a file; names of commits are shorter
)

// otherValues returns the values of namingKinds of the lines other than the given one, which has the given signature.
// What a repair needs is often in a line that does not name the problem. They follow the names that the given line
// suggests, what the program was doing, and digests of files. Lines that say error come first. The numbers of the lines
// of positions and of excerpts are last.
func otherValues(lines []scoredLine, line string, of Signature) []Value {
	out := of.Other
	if name, ok := doing(lines, line); ok {
		out = append(slices.Clip(out), Value{Doing, name})
	}
	var telling, silent []string
	for _, l := range lines {
		switch {
		case l.text == line || slices.Contains(telling, l.text) || slices.Contains(silent, l.text):
		case l.score >= says && len(telling) < maxTelling:
			telling = append(telling, l.text)
		case l.score < says && len(silent) < maxSilent:
			silent = append(silent, l.text)
		}
	}
	chosen := slices.Concat(telling, silent)
	found := make([][]Value, len(chosen))
	for i, l := range chosen {
		found[i] = read(l).Values
		for _, v := range found[i] { // digests first, because a record keeps only the first values
			if v.Kind == Hex && len(v.Text) >= leastDigest && len(out) < maxValues && !slices.Contains(of.Values, v) &&
				!slices.Contains(out, v) {
				out = append(slices.Clip(out), v)
			}
		}
	}
	var numbers []Value
	for i, l := range chosen {
		values := found[i]
		if m := excerpt.FindStringSubmatch(l); m != nil {
			values = append(values, Value{Line, m[1]})
		}
		for _, v := range slices.Concat(values, detailsOf(l)) {
			if v.Kind == Line && len(numbers) < maxNumbers && !slices.Contains(of.Values, v) && !slices.Contains(numbers, v) {
				numbers = append(numbers, v)
			}
			named := slices.Contains(namingKinds, v.Kind)
			if named && len(out) < maxValues && v.Text != of.Frame && !slices.Contains(of.Values, v) &&
				!slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return append(out, numbers[:min(len(numbers), max(0, maxValues-len(out)))]...)
}

// progress matches a line that says what a program does: a verb in -ing, perhaps a word, and a name.
var progress = regexp.MustCompile(`^\W*[A-Za-z]{2,}ing(?: [a-z]+)?:? ([A-Za-z][\w.-]*\w)(?: ?\.\.\.)?$`)

// doing returns the name in the last line of progress before the line of the problem.
func doing(lines []scoredLine, line string) (name string, ok bool) {
	for _, l := range lines {
		if l.text == line {
			break
		}
		if m := progress.FindStringSubmatch(l.text); m != nil && l.score < says {
			name, ok = m[1], true
		}
	}
	return name, ok
}

// excerpt matches a line of a source that a tool shows with its number.
var excerpt = regexp.MustCompile(`^(\d{1,6}) \| ?\S`)

// namingKinds has the kinds of values that are read from other lines.
var namingKinds = []Kind{Path, Name, URL, Address, Version, Symbol}

var (
	// detail matches a line that gives one detail of a problem: a label, a kind of thing and its name.
	detail = regexp.MustCompile(`^\w+: +(?:class|interface|enum|struct|trait|type|variable|constant|field|function|` +
		`method|module|package|table|column) ([A-Za-z_]\w*)(?:\(.*\))?$`)
	symbol = regexp.MustCompile(`\b[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+`)
)

// suggests matches the beginning of what a program suggests at the end of a message or in parentheses.
var suggests = regexp.MustCompile(`(?i)(?:\s*([;,.(])\s*)(?:did you (?:mean|forget|want)|do you mean|` +
	`(?:perhaps|maybe) (?:you|it|the|a|try)|you may have meant)\b`)

// suggestion returns where a line has what the program suggests. A line that has nothing else is not divided.
func suggestion(line string) (from, to int, ok bool) {
	m := suggests.FindStringSubmatchIndex(line)
	if m == nil || len(strings.Fields(line[:m[0]])) < 2 {
		return 0, 0, false
	}
	end := -1
	if line[m[2]] == '(' {
		for _, mark := range []string{"?)", ")"} {
			if at := strings.Index(line[m[1]:], mark); at >= 0 && end < 0 {
				end = m[1] + at + len(mark)
			}
		}
	} else if at := strings.LastIndexByte(line, '?'); at > m[1] {
		end = at + 1
	}
	if end < 0 {
		end = len(line)
	}
	return m[0], end, true
}

// namesOf returns the names in a part of a line.
func namesOf(part string) []Value {
	return slices.DeleteFunc(read(part).Values, func(v Value) bool { return !slices.Contains(namingKinds, v.Kind) })
}

// detailsOf returns values that only the form of another line shows. They are not read from the line of the problem,
// because there the same words may be the problem.
func detailsOf(line string) (out []Value) {
	if m := detail.FindStringSubmatch(line); m != nil {
		out = append(out, Value{Symbol, m[1]})
	}
	for _, s := range symbol.FindAllString(line, -1) {
		out = append(out, Value{Symbol, s})
	}
	return out
}

// lineSeparator separates the values of other lines in a text that keeps an error in one line.
const lineSeparator = " ↵ "

// frame is the kind of Signature.Frame in such a text.
const frame Kind = "frame"

// OtherLines returns the values of the other lines of the text, at most limit bytes of them, in a form that follows the
// line of the problem in a record.
func (s Signature) OtherLines(limit int) string {
	var b strings.Builder
	values := s.Other
	if s.Frame != "" {
		values = slices.Concat([]Value{{frame, s.Frame}}, s.Other)
	}
	for _, v := range values {
		part := lineSeparator + string(v.Kind) + " " + v.Text
		if b.Len()+len(part) > limit || strings.Contains(v.Text, lineSeparator) {
			break // later values keep their numbers only if no earlier one is missing
		}
		b.WriteString(part)
	}
	return b.String()
}

// OfRecord returns the signature of an error that a record keeps in one line: the line of the problem, and what
// OtherLines returned for it.
func OfRecord(text string) Signature {
	line, rest, _ := strings.Cut(text, lineSeparator)
	out := OfError(line)
	if rest == "" {
		return out
	}
	out.Other = nil // the rest has all of them
	for part := range strings.SplitSeq(rest, lineSeparator) {
		kind, value, ok := strings.Cut(part, " ")
		if !ok || value == "" || strings.HasSuffix(value, normalize.CutMark) {
			break
		}
		if Kind(kind) == frame {
			out.setFrame(value)
			continue
		}
		out.Other = append(out.Other, Value{Kind(kind), value})
	}
	return out
}
