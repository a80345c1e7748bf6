package reply

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// maxDepth is the deepest nesting that is decoded. Answers need four levels.
const maxDepth = 32

// maxObjects is the maximum number of alternative answers in one text.
const maxObjects = 8

// object is one JSON object found at the top level of an answer. Its text may still be invalid JSON.
type object struct {
	text  string
	depth int
	whole bool // its closing brace was found
}

// prepare cuts an answer to MaxLength and makes it valid UTF-8.
func prepare(text string, w *warnings) string {
	if len(text) > MaxLength {
		cut := MaxLength
		for cut > MaxLength-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
		w.add("answer: cut to %d bytes", MaxLength)
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		w.add("answer: is not valid UTF-8; bad bytes were replaced")
	}
	return text
}

// objects returns the top-level objects of s that have one of the keys, in order. It skips reasoning blocks, prose,
// fences and top-level arrays. Its work is linear in len(s).
func objects(s string, w *warnings, keys ...string) []object {
	var found []object
	for i := 0; i < len(s); {
		end, open := i+1, false // open: the value that begins at i never ends
		switch s[i] {
		case '<':
			if n, closing := reasoningTag(s[i:]); n > 0 && closing {
				found, end = nil, i+n // the opening tag was part of the prompt: everything before was reasoning
			} else if n > 0 {
				if end = reasoningEnd(s, i); end < 0 {
					open = true
				}
			}
		case '[':
			if rest := strings.TrimLeft(s[i+1:], " \t\r\n"); rest != "" && (rest[0] == '{' || rest[0] == '[') {
				w.add("answer: an array instead of an object; ignored")
				if end, _ = balance(s[i:]); end < 0 {
					open = true
				} else {
					end += i
				}
			}
		case '{':
			n, depth := balance(s[i:])
			if open = n < 0; !open {
				end = i + n
				if o := (object{text: s[i:end], depth: depth, whole: true}); len(found) < maxObjects && o.has(keys) {
					found = append(found, o)
				}
			}
		}
		if !open {
			i = end
			continue
		}
		if after := afterLastReasoning(s, i); after > 0 {
			found, i = nil, after // prose with a stray brace or tag inside a reasoning block
			continue
		}
		switch s[i] {
		case '<':
			w.add("answer: its reasoning never ends")
		case '{':
			w.add("answer: ends too early")
			if o := (object{text: s[i:], depth: maxDepth}); len(found) < maxObjects && o.has(keys) {
				found = append(found, o)
			}
		}
		return found
	}
	return found
}

// reasoningTags are the elements in which models write their reasoning.
var reasoningTags = []string{"think", "thinking", "thought", "reasoning"}

// reasoningTag reads a reasoning tag at the start of s and returns its length, or 0 if there is none.
func reasoningTag(s string) (n int, closing bool) {
	const longest = 24
	end := strings.IndexByte(s[:min(len(s), longest)], '>')
	if end < 0 || s[0] != '<' {
		return 0, false
	}
	name := s[1:end]
	if strings.HasPrefix(name, "/") {
		name, closing = name[1:], true
	}
	name = strings.TrimSpace(name)
	for _, tag := range reasoningTags {
		if strings.EqualFold(name, tag) {
			return end + 1, closing
		}
	}
	return 0, false
}

// reasoningEnd returns where the reasoning block that begins at i ends, nested blocks included, or -1.
func reasoningEnd(s string, i int) int {
	for depth := 0; i < len(s); {
		n, closing := reasoningTag(s[i:])
		switch {
		case n == 0:
			next := strings.IndexByte(s[i+1:], '<')
			if next < 0 {
				return -1
			}
			i += 1 + next
			continue
		case closing:
			depth--
		default:
			depth++
		}
		i += n
		if depth == 0 {
			return i
		}
	}
	return -1
}

// afterLastReasoning returns the position after the last closing reasoning tag in s[from:], or 0 if there is none.
func afterLastReasoning(s string, from int) int {
	for end := len(s); ; {
		at := strings.LastIndex(s[from:end], "</")
		if at < 0 {
			return 0
		}
		at += from
		if n, closing := reasoningTag(s[at:]); n > 0 && closing {
			return at + n
		}
		end = at
	}
}

// balance returns the length and depth of the bracketed value at the start of s. The length is -1 if it never ends.
func balance(s string) (length, deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, deepest
			}
		}
	}
	return -1, deepest
}

// elements yields the comma-separated parts of the object or array at the start of s, trimmed. If the object or array
// never ends, its last part is yielded as it is.
func elements(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		depth, quoted, start := 0, false, 1
		emit := func(end int) bool { return yield(strings.TrimSpace(s[start:end])) }
		for i := 1; i < len(s); i++ {
			switch c := s[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '{' || c == '[':
				depth++
			case (c == '}' || c == ']') && depth > 0:
				depth--
			case c == '}' || c == ']':
				if start > 1 || strings.TrimSpace(s[start:i]) != "" {
					emit(i)
				}
				return
			case c == ',' && depth == 0:
				if !emit(i) {
					return
				}
				start = i + 1
			}
		}
		if start < len(s) && strings.TrimSpace(s[start:]) != "" {
			emit(len(s))
		}
	}
}

// members yields the keys and raw values of the object at the start of s. A part that is not a member is yielded with
// an empty value.
func members(s string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for part := range elements(s) {
			key, value := member(part)
			if !yield(key, value) {
				return
			}
		}
	}
}

func member(part string) (key, value string) {
	if part == "" || part[0] != '"' {
		return "", ""
	}
	end := 1
	for end < len(part) && part[end] != '"' {
		if part[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(part) {
		return "", ""
	}
	if json.Unmarshal([]byte(part[:end+1]), &key) != nil {
		return "", ""
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(part[end+1:], " \t\r\n"), ":")
	if !ok {
		return "", ""
	}
	return key, strings.TrimSpace(value)
}

// has reports whether the object has one of the keys.
func (o object) has(keys []string) bool {
	for key := range members(o.text) {
		for _, want := range keys {
			if key == want {
				return true
			}
		}
	}
	return false
}
