package session

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
)

// Limits for reading one payload.
const (
	maxValues    = 4_096   // values of one payload; further ones are ignored
	maxTokenText = 1 << 16 // bytes of one text that are split into words
)

// Least sizes of distinctive values.
const (
	minText   = 4 // characters of a text that is a whole value
	minToken  = 6 // bytes of a word inside a longer text
	minDigits = 5 // significant digits of a number
	minNested = 6 // bytes of text in a nested value
	minSaid   = 3 // bytes of a word of the user
)

// value identifies a text, a number or a nested value by its content.
type value [16]byte

func textValue(text string) value { return hashOf("t", text) }

func hashOf(kind, content string) value {
	sum := sha256.Sum256([]byte(kind + content))
	return value(sum[:16])
}

// tree is a JSON value with the identities of its parts.
type tree struct {
	id   value
	text string // of a text or a number; empty for a nested value, true, false and null
	kids []tree
	size int // bytes of the texts in it that are not words of results
}

// treeOf identifies a decoded JSON value and everything in it, each part once.
func treeOf(v any, left *int) tree {
	*left--
	switch v := v.(type) {
	case string:
		return leafOf(v)
	case json.Number:
		return leafOf(numberText(v))
	case bool:
		return tree{id: hashOf("b", strconv.FormatBool(v))}
	case []any:
		t := tree{}
		var b strings.Builder
		for _, e := range v {
			if *left <= 0 {
				break
			}
			t.grow(treeOf(e, left), &b)
		}
		t.id = hashOf("[", b.String())
		return t
	case map[string]any:
		t := tree{}
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if *left <= 0 {
				break
			}
			b.WriteString(strconv.Itoa(len(key)) + ":" + key)
			t.grow(treeOf(v[key], left), &b)
		}
		t.id = hashOf("{", b.String())
		return t
	}
	return tree{id: hashOf("n", "")}
}

func leafOf(text string) tree {
	text = strings.TrimSpace(text)
	t := tree{id: textValue(text), text: text, size: len(text)}
	if resultWords[strings.ToLower(text)] {
		t.size = 0
	}
	return t
}

func (t *tree) grow(kid tree, b *strings.Builder) {
	b.Write(kid.id[:])
	t.kids = append(t.kids, kid)
	t.size += kid.size
}

// nested reports whether t is a nested value with enough text to be distinctive.
func (t *tree) nested() bool { return len(t.kids) > 0 && t.size >= minNested }

// numberText returns the normalized form of a number: 1.5 for 1.50 and 15e-1. Integers keep all their digits.
func numberText(n json.Number) string {
	if !strings.ContainsAny(string(n), ".eE") {
		return string(n)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return string(n)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// distinctive calls f for each distinctive value in t: nested values, whole texts and numbers, and the words of longer
// texts that are names, not words of a language.
func (t *tree) distinctive(f func(value)) {
	if t.nested() {
		f(t.id)
	}
	for i := range t.kids {
		t.kids[i].distinctive(f)
	}
	if t.text == "" {
		return
	}
	if wholeDistinctive(t.text) {
		f(t.id)
	}
	t.eachName(func(word string) { f(textValue(word)) })
}

// eachName calls f for the names in a longer text.
func (t *tree) eachName(f func(word string)) {
	eachWord(t.text, func(word string) {
		if word != t.text && isName(word) {
			f(word)
		}
	})
}

// everyWord calls f for all values in t, in lower case: nested values, whole texts and each word.
func (t *tree) everyWord(f func(value)) {
	if len(t.kids) > 0 {
		f(t.id)
	}
	for i := range t.kids {
		t.kids[i].everyWord(f)
	}
	if t.text == "" {
		return
	}
	f(textValue(strings.ToLower(t.text)))
	eachWord(t.text, func(word string) {
		if len(word) >= minSaid {
			f(textValue(strings.ToLower(word)))
		}
	})
}

// eachWord calls f for the words of a text: letters, digits and the marks that join them in paths, addresses and
// identifiers.
func eachWord(text string, f func(string)) {
	if len(text) > maxTokenText {
		text = text[:maxTokenText]
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./@#+%~", r)
	}) {
		if word = strings.Trim(word, "-./@#+%~"); word != "" {
			f(word)
		}
	}
}

// resultWords has the words that programs use for results, states and types. They are not distinctive.
var resultWords = normalize.Set(
	"true false null none nil undefined unknown default auto yes success successful succeeded failed failure fail " +
		"error errors warning warn info debug trace fatal critical complete completed pending queued running started " +
		"stopped active inactive enabled disabled open opened closed done finished skipped cancelled " +
		"canceled created " +
		"updated deleted removed high medium low normal string number integer boolean object array list text json " +
		"yaml html utf-8 post patch delete head options main master",
)

// wholeDistinctive reports whether a whole text or number is distinctive.
func wholeDistinctive(text string) bool {
	if isNumber(text) {
		return significantDigits(text) >= minDigits
	}
	return utf8.RuneCountInString(text) >= minText && !resultWords[strings.ToLower(text)]
}

// isName reports whether a word inside a text is a name, such as a path, an identifier or an address, and not a word of
// a language, a time or a short number.
func isName(word string) bool {
	if isNumber(word) {
		return significantDigits(word) >= minDigits
	}
	if len(word) < minToken || startsWithDate(word) {
		return false
	}
	letter, digit, joint, inner := false, false, false, false
	previous := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digit = true
		case unicode.IsLetter(r):
			letter = true
			inner = inner || unicode.IsUpper(r) && unicode.IsLower(previous)
		case strings.ContainsRune("/._@#", r):
			joint = true
		}
		previous = r
	}
	return letter && (digit || joint || inner)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.,+-") == ""
}

// significantDigits returns the number of digits without zeros at both ends: 1000 has one, 40317 has five.
func significantDigits(number string) int {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, number)
	return len(strings.Trim(digits, "0"))
}

// startsWithDate reports whether a word begins with a date such as 2026-01-31.
func startsWithDate(word string) bool {
	if len(word) < 10 || word[4] != '-' || word[7] != '-' {
		return false
	}
	for i := range 10 {
		if c := word[i]; i != 4 && i != 7 && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// index is a map that forgets unused values: when as many values were added as its limit, it drops those that were
// neither added nor read since the last time.
type index[V any] struct {
	young, old map[value]V
	limit      int
}

func newIndex[V any](limit int) index[V] {
	return index[V]{young: map[value]V{}, limit: limit}
}

func (x *index[V]) get(v value) (V, bool) {
	found, ok := x.young[v]
	if !ok {
		if found, ok = x.old[v]; ok {
			x.put(v, found)
		}
	}
	return found, ok
}

func (x *index[V]) put(v value, to V) {
	if len(x.young) >= x.limit {
		x.old, x.young = x.young, map[value]V{}
	}
	x.young[v] = to
}
