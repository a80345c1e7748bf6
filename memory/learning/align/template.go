package align

import (
	"regexp"
	"strings"
)

// Part is a piece of a template: a constant text or the name of a parameter.
type Part struct {
	Text  string `json:"text,omitempty"`
	Param string `json:"param,omitempty"`
}

// Template is an argument of a step: constant text and parameters.
type Template struct {
	Type  string `json:"type"` // string, number, boolean or null
	Parts []Part `json:"parts"`
}

// Constant reports whether the template has no parameter.
func (t Template) Constant() bool {
	for _, p := range t.Parts {
		if p.Param != "" {
			return false
		}
	}
	return true
}

// String writes the template with its parameters in braces. Braces of the text are doubled.
func (t Template) String() string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Param != "" {
			b.WriteString("{" + p.Param + "}")
		} else {
			b.WriteString(braces.Replace(p.Text))
		}
	}
	return b.String()
}

var braces = strings.NewReplacer("{", "{{", "}", "}}")

// ParseTemplate parses the result of String for a value of a type (see Template.Type).
func ParseTemplate(text, kind string) Template {
	out := Template{Type: kind}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out.Parts = append(out.Parts, Part{Text: b.String()})
			b.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "{{"), strings.HasPrefix(text[i:], "}}"):
			b.WriteByte(text[i])
			i++
		case text[i] == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				b.WriteString(text[i:])
				flush()
				return out
			}
			flush()
			out.Parts = append(out.Parts, Part{Param: text[i+1 : i+end]})
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	flush()
	return out
}

// Fill returns the text with the values of the parameters, and the names of parameters without a value, which stay in
// braces.
func (t Template) Fill(values map[string]string) (string, []string) {
	var b strings.Builder
	var missing []string
	for _, p := range t.Parts {
		switch v, ok := values[p.Param]; {
		case p.Param == "":
			b.WriteString(p.Text)
		case ok:
			b.WriteString(v)
		default:
			b.WriteString("{" + p.Param + "}")
			missing = append(missing, p.Param)
		}
	}
	return b.String(), missing
}

// Match returns the values of the parameters with which the template gives the text, and false if there are none. A
// parameter takes the shortest text up to a place of the next constant that lets the rest match; the last one takes the
// rest.
func (t Template) Match(text string) (map[string]string, bool) {
	out := map[string]string{}
	tries := maxTries
	if !match(t.Parts, text, out, &tries) {
		return nil, false
	}
	return out, true
}

// maxTries is the number of places of constants that Match tries.
const maxTries = 64

func match(parts []Part, text string, out map[string]string, tries *int) bool {
	if len(parts) == 0 {
		return text == ""
	}
	if *tries--; *tries < 0 {
		return false
	}
	p := parts[0]
	if p.Param == "" {
		rest, ok := strings.CutPrefix(text, p.Text)
		return ok && match(parts[1:], rest, out, tries)
	}
	before, known := out[p.Param]
	take := func(end int) bool {
		if value := text[:end]; value == "" || known && before != value {
			return false
		}
		out[p.Param] = text[:end]
		if match(parts[1:], text[end:], out, tries) {
			return true
		}
		if !known {
			delete(out, p.Param)
		}
		return false
	}
	if len(parts) == 1 || parts[1].Param != "" {
		return take(len(text))
	}
	next := parts[1].Text
	if len(parts) == 2 {
		end := strings.LastIndex(text, next)
		return end >= 0 && take(end)
	}
	for from := 0; from <= len(text); {
		at := strings.Index(text[from:], next)
		if at < 0 {
			return false
		}
		if take(from + at) {
			return true
		}
		from += at + 1
	}
	return false
}

// merged returns the template with adjacent constants joined.
func (t Template) merged() Template {
	out := Template{Type: t.Type}
	for _, p := range t.Parts {
		if last := len(out.Parts) - 1; p.Param == "" && last >= 0 && out.Parts[last].Param == "" {
			out.Parts[last].Text += p.Text
		} else {
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}

// piece is a part of a value, with its text in each attempt that has the value.
type piece struct {
	constant bool
	texts    []string
	from     string // the binding, if it varies
}

// numbered matches the number of a line before the command of an editor: 12s/a/b/, 5d, 1i.
var numbered = regexp.MustCompile(`^(\d+)([A-Za-z](?:[^\w.].*)?)$`)

// cut returns the words and the separators of a value, each number of a line separate from the command after it.
func cut(value string) (out []string) {
	for _, t := range tokenForm.FindAllString(value, -1) {
		if m := numbered.FindStringSubmatch(t); m != nil {
			out = append(out, m[1], m[2])
		} else {
			out = append(out, t)
		}
	}
	return out
}

// split divides values into constant and varying pieces.
func split(values []string) []piece {
	same := true
	for _, v := range values {
		same = same && v == values[0]
	}
	if same {
		return []piece{{constant: true, texts: values}}
	}
	parts := make([][]string, len(values))
	shortest := -1
	for i, v := range values {
		parts[i] = cut(v)
		if shortest < 0 || len(parts[i]) < shortest {
			shortest = len(parts[i])
		}
	}
	all := func(from func(p []string) string) bool {
		for _, p := range parts {
			if from(p) != from(parts[0]) {
				return false
			}
		}
		return true
	}
	prefix := 0
	for prefix < shortest && all(func(p []string) string { return p[prefix] }) {
		prefix++
	}
	suffix := 0
	for suffix < shortest-prefix && all(func(p []string) string { return p[len(p)-1-suffix] }) {
		suffix++
	}
	var out []piece
	take := func(constant bool, from func(p []string) string) {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = from(p)
		}
		if texts[0] == "" && constant {
			return
		}
		if last := len(out) - 1; last >= 0 && constant && out[last].constant {
			for i := range texts {
				out[last].texts[i] += texts[i]
			}
			return
		}
		out = append(out, piece{constant: constant, texts: texts})
	}
	take(true, func(p []string) string { return strings.Join(p[:prefix], "") })
	equal := true
	for _, p := range parts {
		equal = equal && len(p) == len(parts[0])
	}
	if equal { // word by word
		for i := prefix; i < len(parts[0])-suffix; i++ {
			constant := all(func(p []string) string { return p[i] })
			take(constant, func(p []string) string { return p[i] })
		}
	} else {
		take(false, func(p []string) string { return strings.Join(p[prefix:len(p)-suffix], "") })
	}
	take(true, func(p []string) string { return strings.Join(p[len(p)-suffix:], "") })
	return out
}

// trim divides a varying piece into a constant head, a varying middle and a constant tail.
func (p piece) trim() (head string, middle piece, tail string) {
	first := p.texts[0]
	n, m := len(first), len(first)
	for _, t := range p.texts[1:] {
		k := 0
		for k < n && k < len(t) && t[k] == first[k] {
			k++
		}
		n = k
	}
	for _, t := range p.texts {
		k := 0
		for k < m && k < len(t)-n && k < len(first)-n && t[len(t)-1-k] == first[len(first)-1-k] {
			k++
		}
		m = k
	}
	middle = piece{texts: make([]string, len(p.texts))}
	for i, t := range p.texts {
		middle.texts[i] = t[n : len(t)-m]
	}
	return first[:n], middle, first[len(first)-m:]
}

// trimWords is like trim, but does not divide words: 24 and 27 have no constant part.
func (p piece) trimWords() (head string, middle piece, tail string) {
	head, middle, tail = p.trim()
	inWord := func(c byte) bool { return touched(string(c), 0, c) }
	from, to := len(head), len(tail)
	for from > 0 && inWord(head[from-1]) {
		from--
	}
	at := 0
	for at < to && inWord(tail[at]) {
		at++
	}
	for i, t := range middle.texts {
		middle.texts[i] = head[from:] + t + tail[:at]
	}
	return head[:from], middle, tail[at:]
}
