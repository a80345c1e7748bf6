package advice

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

func replaced(s trace.Step, replace func(string) string) trace.Step {
	args := make(map[string]trace.Scalar, len(s.Args))
	for name, v := range s.Args {
		if v.Type == "string" {
			v.Text = replace(v.Text)
		}
		args[name] = v
	}
	s.Args = args
	return s
}

// marked returns another text of the same shape: it adds letters to each element of a path. A file with a prescribed
// name has the same one in another directory.
func marked(text string) string {
	parts := strings.Split(text, "/")
	for i, p := range parts {
		if i == len(parts)-1 && signature.IsKnownFile(p) && strings.Join(parts, "/") != text {
			break
		}
		end := strings.IndexFunc(p, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		if end < 0 {
			continue
		}
		for end < len(p) && p[end] != '.' {
			end++
		}
		parts[i] = p[:end] + "qx" + p[end:]
	}
	return strings.Join(parts, "/")
}

// hasWord reports whether a text has a word.
func hasWord(text, word string) bool {
	return strings.Contains(text, word) && replaceWords(text, []string{word}, map[string]string{word: ""}) != text
}

// replaceWords replaces whole words, in the order of old. The letters before a name in an option such as -DNAME, or in
// the name of a library such as libNAME, do not make it part of a longer word.
// A number is replaced as replaceable says.
func replaceWords(text string, old []string, by map[string]string) string {
	var out strings.Builder
	touches := func(i int) bool {
		return i >= 0 && i < len(text) &&
			(text[i] >= 0x80 || unicode.IsLetter(rune(text[i])) || unicode.IsDigit(rune(text[i])))
	}
	for i := 0; i < len(text); {
		n := slices.IndexFunc(old, func(w string) bool {
			if w == "" {
				return false
			}
			if isNumber(w) {
				return strings.HasPrefix(text[i:], w) && replaceable(text, i, i+len(w))
			}
			return strings.HasPrefix(text[i:], w) && (!touches(i-1) || align.Affixed(text, i)) &&
				!touches(i+len(w)) && !ofSystem(text, i, w)
		})
		if n < 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(by[old[n]])
		i += len(old[n])
	}
	return out.String()
}

// figures returns the numbers and versions of an old problem that the present one lacks, with other ones of the same
// form. Numbers are often equal by chance, so a number counts only if the present problem has another one in its place.
// The same holds for the words of a quoted text.
// Numbers below two are too common.
func figures(old, present signature.Signature, text string) map[string]string {
	out := map[string]string{}
	seen := map[signature.Kind]int{}
	for _, v := range old.Values {
		now, ok := present.Of(v.Kind, seen[v.Kind])
		seen[v.Kind]++
		switch {
		case !ok || now == v.Text:
		case v.Kind == signature.Number || v.Kind == signature.Line:
			if isNumber(v.Text) && v.Text != "0" && v.Text != "1" {
				out[v.Text] = shifted(v.Text)
			}
		case v.Kind == signature.Name:
			before, after := align.WordsOf(v), align.WordsOf(signature.Value{Kind: v.Kind, Text: now})
			for i, w := range before {
				if len(before) == len(after) && len(before) > 1 && w != after[i] && len(w) >= minMark &&
					strings.ContainsFunc(w, unicode.IsLetter) {
					out[w] = marked(w)
				}
			}
		}
	}
	// Numbers of the other lines: of positions and excerpts, and in quotes.
	for _, of := range []func(signature.Value) bool{isLine, isFigure} {
		now := slices.DeleteFunc(slices.Clone(present.Other), func(v signature.Value) bool { return !of(v) })
		n := 0
		for _, v := range old.Other {
			if !of(v) {
				continue
			}
			if n < len(now) && now[n].Text != v.Text && v.Text != "0" && v.Text != "1" {
				out[v.Text] = shifted(v.Text)
			}
			n++
		}
	}
	for _, v := range slices.Concat(old.Values, old.Other) {
		words := align.WordsOf(v)
		for _, w := range words {
			if isVersion(w) && !hasWord(text, w) {
				out[w] = shifted(w)
			} else if len(words) > 1 && v.Kind == signature.Name && distinct(w) && !hasWord(text, w) {
				out[w] = marked(w)
			}
		}
	}
	return out
}

// distinct reports whether a word of a quoted text is a name rather than a word of a sentence.
func distinct(word string) bool {
	return len(word) >= minMark && strings.ContainsFunc(word, unicode.IsLetter) &&
		strings.ContainsFunc(word[1:], func(r rune) bool {
			return unicode.IsUpper(r) || unicode.IsDigit(r) || r == '_' || r == '-'
		})
}

func isLine(v signature.Value) bool   { return v.Kind == signature.Line }
func isFigure(v signature.Value) bool { return v.Kind == signature.Name && isNumber(v.Text) }

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func isVersion(text string) bool {
	text = strings.TrimPrefix(text, "v")
	return len(text) >= minMark && strings.Contains(text, ".") && strings.Trim(text, "0123456789.") == "" &&
		text[0] != '.' && text[len(text)-1] != '.'
}

// shifted returns another number or version of the same form, with another digit in each place.
func shifted(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0' + (r-'0'+5)%10
		}
		return r
	}, text)
}

// replaceable reports whether the text from i to end is a number of its own. A letter may follow it, as in 4s/a/b/ and
// 4d. A part of a version and a reference such as $2 are not numbers of their own.
func replaceable(text string, i, end int) bool {
	if i > 0 && !strings.ContainsRune(" \t'\",;+:=({[", rune(text[i-1])) {
		return false
	}
	letter := func(at int) bool { return at < len(text) && unicode.IsLetter(rune(text[at])) }
	digit := func(at int) bool { return at < len(text) && unicode.IsDigit(rune(text[at])) }
	switch {
	case digit(end), end < len(text) && text[end] == '.' && digit(end+1):
		return false
	case letter(end):
		return !letter(end+1) && !digit(end+1)
	}
	return true
}

// sameForm reports whether two calls have as many words in each argument.
func sameForm(a, b trace.Step) bool {
	if a.Tool != b.Tool || len(a.Args) != len(b.Args) {
		return false
	}
	for name, v := range a.Args {
		w, ok := b.Args[name]
		if !ok || len(align.Words(v.Text)) != len(align.Words(w.Text)) {
			return false
		}
	}
	return true
}

// systemParent matches the beginning of a path of the system, such as /usr/.
var systemParent = regexp.MustCompile(`(?:^|[^\w./-])(?:/(?:usr|local|opt|var|etc))*/$`)

// ofSystem reports whether the word at i is a directory of the system, such as bin in /usr/bin. It is not the directory
// of the same name that an error has.
func ofSystem(text string, i int, word string) bool {
	switch word {
	case "bin", "sbin", "lib", "lib64", "share", "include", "src", "local", "tmp", "dev":
		return systemParent.MatchString(text[:i])
	}
	return false
}
