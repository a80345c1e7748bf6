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
	// Storage is the content as it is stored and shown: trimmed, and with every run of whitespace as a single space.
	Storage string
	// Normalized is Storage in lower case without trailing punctuation. It is empty if the text is only punctuation.
	Normalized string
	// Hash is the SHA-256 (32 raw bytes) of Normalized, or of the lower-cased Storage if Normalized is empty. Two
	// contents with equal hashes are the same memory.
	Hash []byte
}

// trailingPunctuation contains the characters that are removed from the end of Normalized.
const trailingPunctuation = ".,!?;:"

// Normalize returns the storage form, the normalized form and the content hash of content, as document 002 defines
// them. Clients in other languages must compute the same hash. Therefore the details that the document leaves open are
// defined here and tested with testdata/normalize.json:
//
//   - Whitespace is JavaScript's \s: Unicode White_Space and U+FEFF (the byte order mark), but not U+0085. The
//     zero-width space and joiners are not whitespace.
//   - Lower case is Unicode's full mapping without a locale, as in JavaScript, Python, Java (Locale.ROOT) and Rust: İ
//     becomes i and a combining dot, a word-final Σ becomes ς, and ß stays. The tables are those of Unicode 15 or
//     later. Newer letters may differ between clients.
//   - There is no other Unicode normalization: a precomposed é and e with a combining accent differ.
//   - Every run of invalid UTF-8 becomes one U+FFFD.
//
// Normalizing the storage form gives the same result.
func Normalize(content string) Normalized {
	storage := StorageContent(content)
	lowered := Lower(storage)
	normalized := strings.TrimRight(lowered, trailingPunctuation)

	basis := normalized
	if basis == "" {
		basis = lowered // "!!!" and "?" must have different hashes
	}
	hash := sha256.Sum256([]byte(basis))
	return Normalized{Storage: storage, Normalized: normalized, Hash: hash[:]}
}

// StorageContent returns only the storage form. It is faster than Normalize because it computes no hash.
func StorageContent(content string) string {
	return Collapse(strings.ToValidUTF8(content, "\uFFFD"))
}

// truncationMarker tells a model that it sees only the beginning.
const truncationMarker = " [truncated]"

// TruncateForExtraction cuts content to at most MaxExtractInput code points, including the marker " [truncated]"
// (document 002 "Extraction"), and reports whether it did.
func TruncateForExtraction(content string) (text string, truncated bool) {
	if utf8.RuneCountInString(content) <= MaxExtractInput {
		return content, false
	}
	return FirstChars(content, MaxExtractInput-len(truncationMarker)) + truncationMarker, true
}

// Collapse trims s and replaces every run of whitespace by a single space.
func Collapse(s string) string { return strings.Join(strings.FieldsFunc(s, IsSpace), " ") }

// IsSpace reports whether r matches JavaScript's \s, which JavaScript's trim also uses. unicode.IsSpace differs in two
// characters: it includes U+0085 and excludes U+FEFF.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ',
		'\u00A0', '\u1680', '\u2028', '\u2029', '\u202F', '\u205F', '\u3000', '\uFEFF':
		return true
	}
	return '\u2000' <= r && r <= '\u200A'
}

// Lower maps s to lower case as described at Normalize. strings.ToLower maps each character without its context, and so
// does not handle İ and the final sigma.
func Lower(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			// A Caser has state and cannot be shared between goroutines.
			return cases.Lower(language.Und).String(s)
		}
	}
	return strings.ToLower(s)
}

// FirstChars returns the first n characters of s, or s if it is not longer.
func FirstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// WritePart writes the length of a part and the part, so that different lists of parts never write the same bytes.
func WritePart(h hash.Hash, part []byte) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
	h.Write(part)
}

// MaxExtractInput is the maximum number of characters that extraction reads of a text.
const MaxExtractInput = 12_000

// CleanLine converts s to one line of at most n characters that is safe to show in a terminal or the Temporal UI.
// Control characters become spaces, and bidirectional overrides are removed.
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

// Basis returns the text that Hash hashes.
func (n Normalized) Basis() string {
	if n.Normalized != "" {
		return n.Normalized
	}
	return Lower(n.Storage)
}
