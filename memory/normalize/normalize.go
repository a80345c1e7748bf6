package normalize

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Normalized holds the forms of one content (document 002 "Content Normalization").
type Normalized struct {
	// Storage is what is stored and shown: trimmed, every run of whitespace a single space.
	Storage string
	// Normalized is Storage in lower case without trailing punctuation. It is empty if the text is only punctuation.
	Normalized string
	// Hash is the SHA-256 (32 raw bytes) of Normalized, or of the lower-cased Storage when
	// Normalized is empty. Two contents of equal Hash are the same memory.
	Hash []byte
}

// trailingPunctuation is what Normalized loses at its end.
const trailingPunctuation = ".,!?;:"

// Normalize returns the storage form, the normalized form and the content hash of content, as
// document 002 defines them. Clients in other languages compute the same hash, so what the
// document leaves open is fixed here and pinned by testdata/normalize.json:
//
//   - Whitespace is JavaScript's \s: Unicode White_Space and U+FEFF (the byte order mark), but not
//     U+0085. The zero-width space and joiners are not whitespace.
//   - Lower case is Unicode's full mapping in no locale, as in JavaScript, Python, Java (Locale.ROOT)
//     and Rust: İ becomes i and a combining dot, a word-final Σ becomes ς, ß stays.
//     The tables are those of Unicode 15 or later; letters younger than that may differ by client.
//   - Nothing else is unified: a precomposed é and e with a combining accent differ.
//   - Invalid UTF-8 becomes U+FFFD, one for each run of bad bytes.
//
// Normalize of the storage form gives the same result again.
func Normalize(content string) Normalized {
	storage := StorageContent(content)
	lowered := Lower(storage)
	normalized := strings.TrimRight(lowered, trailingPunctuation)

	basis := normalized
	if basis == "" {
		basis = lowered // "!!!" and "?" are different contents
	}
	hash := sha256.Sum256([]byte(basis))
	return Normalized{Storage: storage, Normalized: normalized, Hash: hash[:]}
}

// StorageContent returns the storage form alone: Normalize without the price of a hash.
func StorageContent(content string) string {
	return Collapse(strings.ToValidUTF8(content, "\uFFFD"))
}

// truncationMarker tells a model that it sees the beginning only.
const truncationMarker = " [truncated]"

// TruncateForExtraction cuts content to at most MaxExtractInput characters, the marker
// " [truncated]" included (document 002 "Extraction"), and reports whether it did. Characters are
// code points; none is split.
func TruncateForExtraction(content string) (text string, truncated bool) {
	if utf8.RuneCountInString(content) <= MaxExtractInput {
		return content, false
	}
	return FirstChars(content, MaxExtractInput-len(truncationMarker)) + truncationMarker, true
}

// Collapse trims s and makes every run of whitespace a single space.
func Collapse(s string) string { return strings.Join(strings.FieldsFunc(s, IsSpace), " ") }

// IsSpace reports whether r matches JavaScript's \s, which trim uses as well. unicode.IsSpace
// differs in two characters: it has U+0085 and lacks U+FEFF.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ',
		'\u00A0', '\u1680', '\u2028', '\u2029', '\u202F', '\u205F', '\u3000', '\uFEFF':
		return true
	}
	return '\u2000' <= r && r <= '\u200A'
}

// Lower maps s to lower case as Normalize documents. strings.ToLower would not do: it maps each
// character without its context, and so handles neither İ nor the final sigma.
func Lower(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			// A Caser keeps state, so there is none to share between goroutines.
			return cases.Lower(language.Und).String(s)
		}
	}
	return strings.ToLower(s)
}

// FirstChars returns the first n characters of s, or s when it is no longer.
func FirstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// WritePart writes a part with its length first, so that no two lists of parts write the same bytes.
func WritePart(h hash.Hash, part []byte) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
	h.Write(part)
}

// MaxExtractInput is how many characters of a text extraction reads.
const MaxExtractInput = 12_000

// CleanLine makes s one line of at most n characters that is safe to show in a terminal or the
// Temporal UI: control characters become spaces, bidirectional overrides vanish.
func CleanLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.TrimRightFunc(FirstChars(Collapse(s), n), IsSpace)
}

// Basis is what Hash is the hash of.
func (n Normalized) Basis() string {
	if n.Normalized != "" {
		return n.Normalized
	}
	return Lower(n.Storage)
}
