package rules

import (
	"context"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/rank"
)

// The embedding space of HashEmbedder. Vectors made with any other weight, word list or hash must not be compared
// with these: such a change needs a new name.
const (
	HashModel      = rank.HashModel
	HashDimensions = 384
)

// Feature weights, in fixed-point units: sums are integers, so a vector is the same to the last bit on every machine.
// The weights were chosen from some 240 random combinations by recall on conversation turns (LoCoMo, five
// conversations, 786 questions): recall@5 0.366, @10 0.437, @20 0.510; BM25 has 0.598 @10. Without lengthPrior it is
// 0.37 @10; the other weights change it by at most 0.01.
const (
	weightWord   = 1000 // the stem of a content word of lengthPrior letters or more
	weightCommon = 750  // the stem of a word that says little on its own ("good", "time", "get")
	weightStop   = 30   // function words: only enough to distinguish texts that have no others
	weightNumber = 1000 // digits, versions, years
	weightBigram = 150  // two neighbouring content words
	weightGrams  = 500  // all character n-grams of one word together

	// Short words are frequent words. There are no document frequencies here, so length is the only sign of a rare
	// word.
	// Each letter below lengthPrior costs weightLetter.
	lengthPrior  = 8
	weightLetter = 70

	gramMin      = 3
	gramMax      = 5
	maxGramRunes = 24 // only the beginning of a longer word (a token, a blob) is cut into n-grams
)

// HashEmbedder embeds text by feature hashing: stemmed words, pairs of neighbouring words and
// character n-grams are hashed to a place and a sign in a vector of HashDimensions, weighted and
// normalised to unit length. It does not know meanings, but similar spellings have similar vectors. It needs no model
// and no network, and the same text gives the same vector on every machine and in every version.
// The zero value is ready and safe for concurrent use.
type HashEmbedder struct{}

var _ inference.Embedder = HashEmbedder{}

// Model implements inference.Embedder.
func (HashEmbedder) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: HashModel, Dimensions: HashDimensions}
}

// Embed implements inference.Embedder. It fails only when ctx is done.
func (HashEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, inference.Usage{}, err
		}
		out[i] = embed(text)
	}
	return out, inference.Usage{}, nil
}

// embedding is the vector under construction.
type embedding struct {
	sum    [HashDimensions]int64
	seen   map[uint64]int32 // times a word has occurred so far
	prev   uint64           // hash of the preceding content word, 0 at the start
	folded []byte           // the current word in lower case
	starts []int            // where its runes start in folded
	stem   []byte           // its stem
}

func embed(text string) []float32 {
	e := embedding{
		seen:   make(map[uint64]int32, 32),
		folded: make([]byte, 0, 64),
		starts: make([]int, 0, 64),
		stem:   make([]byte, 0, 64),
	}
	for i, r := range text {
		switch {
		case isIdeograph(r): // written without spaces: every character is a word, and pairs represent longer words
			e.flush()
			e.push(r)
			e.flush()
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
			e.push(unicode.ToLower(r))
		case (r == '\'' || r == '’') && len(e.folded) > 0: // don't → dont, Caroline's → caroline
			if possessive(text[i+utf8.RuneLen(r):]) {
				e.flush() // the s that follows is a function word
			}
		default:
			e.flush()
		}
	}
	e.flush()
	return e.vector(text)
}

// possessive reports whether rest is the s of a possessive.
func possessive(rest string) bool {
	if rest == "" || rest[0] != 's' && rest[0] != 'S' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest[1:])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) || rest[1:] == ""
}

func (e *embedding) push(r rune) {
	e.starts = append(e.starts, len(e.folded))
	e.folded = utf8.AppendRune(e.folded, r)
}

// flush adds the features of the current word.
func (e *embedding) flush() {
	if len(e.folded) == 0 {
		return
	}
	word := e.folded
	number := word[0] >= '0' && word[0] <= '9'
	weight, grams := int64(weightWord), int64(weightGrams)
	switch {
	case number:
		weight = weightNumber
	case stopWords.hasBytes(word):
		weight, grams = weightStop, 0
	case commonWords.hasBytes(word):
		weight, grams = weightCommon, weightGrams*weightCommon/weightWord
	default:
		weight -= weightLetter * int64(max(0, lengthPrior-len(e.starts)))
	}

	stem := word
	if !number {
		e.stem = lightStem(append(e.stem[:0], word...))
		stem = e.stem
	}
	h := hashBytes(seedWord, stem)
	n := e.seen[h]
	e.seen[h] = n + 1
	scale := tfGain(n) // what this occurrence adds: sublinear in the number of occurrences

	e.add(h, weight*scale/tfUnit)
	if weight != weightStop {
		if e.prev != 0 {
			e.add(mix(e.prev*31+h+seedBigram), weightBigram*scale/tfUnit)
		}
		e.prev = h
	}
	if grams != 0 {
		e.addGrams(grams * scale / tfUnit)
	}
	e.folded, e.starts = e.folded[:0], e.starts[:0]
}

// addGrams adds the character n-grams of the current word within its boundaries, which count as characters. Their
// weights add up to about total, however long the word is.
func (e *embedding) addGrams(total int64) {
	runes := min(len(e.starts), maxGramRunes)
	end := len(e.folded)
	if runes < len(e.starts) {
		end = e.starts[runes]
	}
	e.starts = append(e.starts[:runes], end)
	length := runes + 2 // with both boundaries
	count := 0
	for n := gramMin; n <= gramMax && n <= length; n++ {
		count += length - n + 1
	}
	if count == 0 {
		return
	}
	// Signed n-grams add up like a random walk, so the square of the total is divided.
	each := int64(float64(total) / math.Sqrt(float64(count)))
	for n := gramMin; n <= gramMax && n <= length; n++ {
		for at := 0; at+n <= length; at++ {
			h := uint64(seedGram) + uint64(n)
			from, to := at-1, at+n-1 // in runes of the word; -1 and runes are the boundaries
			if from < 0 {
				h, from = (h^'^')*fnvPrime, 0
			}
			stop := min(to, runes)
			for _, c := range e.folded[e.starts[from]:e.starts[stop]] {
				h = (h ^ uint64(c)) * fnvPrime
			}
			if to > runes {
				h = (h ^ '$') * fnvPrime
			}
			e.add(mix(h), each)
		}
	}
}

// add adds a feature at its position, with its sign.
func (e *embedding) add(h uint64, weight int64) {
	place := (h >> 32) * HashDimensions >> 32
	if h&1 == 0 {
		e.sum[place] += weight
	} else {
		e.sum[place] -= weight
	}
}

// vector normalises the sums. A text without a word, or whose features cancel out, gets the unit
// vector of its bytes.
func (e *embedding) vector(text string) []float32 {
	var square float64
	for _, v := range e.sum {
		square += float64(v) * float64(v) // both exact below 2^53
	}
	out := make([]float32, HashDimensions)
	if square == 0 {
		h := uint64(seedRaw)
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * fnvPrime
		}
		out[(mix(h)>>32)*HashDimensions>>32] = 1
		return out
	}
	norm := math.Sqrt(square)
	for i, v := range e.sum {
		out[i] = float32(float64(v) / norm)
	}
	return out
}

// tfUnit is the gain of a word's first occurrence.
const tfUnit = 256

// tfGain is what occurrence n+1 of a word adds: √(n+1) − √n, in tfUnits.
func tfGain(n int32) int64 {
	if int(n) < len(tfGains) {
		return tfGains[n]
	}
	return tfGains[len(tfGains)-1]
}

var tfGains = [...]int64{256, 106, 81, 69, 60, 55, 50, 47, 44, 42, 20}

// FNV-1a with a finaliser. The seeds keep the kinds of features apart.
const (
	fnvPrime   = 0x100000001b3
	seedWord   = 0xcbf29ce484222325
	seedBigram = 0x9e3779b97f4a7c15
	seedGram   = 0x84222325cbf29ce4
	seedRaw    = 0x2545f4914f6cdd1d
)

func hashBytes(seed uint64, data []byte) uint64 {
	h := seed
	for _, c := range data {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return mix(h)
}

// mix is the finaliser of MurmurHash3: FNV's high bits alone are too weak to choose a position.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}

func isIdeograph(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// lightStem removes the common English inflections of a lower-case word: plural and third-person s, ed, ing, ly, with
// the doubling or silent e that belongs to them. It costs a fraction of a full stemmer and, within one embedding
// space, is about as good. The result shares word's array.
func lightStem(word []byte) []byte {
	w := word
	if n := len(w); n > 3 && w[n-1] == 's' {
		switch {
		case suffix(w, "sses"), suffix(w, "xes"), suffix(w, "ches"), suffix(w, "shes"), suffix(w, "zes"):
			w = w[:n-2]
		case suffix(w, "ies") && n > 4:
			w = w[:n-2] // parties → parti, as party → parti below
		case w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
			w = w[:n-1]
		}
	}
	switch n := len(w); {
	case n > 5 && suffix(w, "ing") && vowel(w[:n-3]):
		w = undouble(w[:n-3])
	case n > 4 && suffix(w, "ied"):
		w = w[:n-1] // tried → tri + e dropped below
	case n > 4 && suffix(w, "ed") && vowel(w[:n-2]) && w[n-3] != 'e':
		w = undouble(w[:n-2])
	case n > 5 && suffix(w, "ly"):
		w = w[:n-2]
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	if n := len(w); n > 2 && w[n-1] == 'y' && !isVowel(w[n-2]) {
		w[n-1] = 'i'
	}
	return w
}

func suffix(w []byte, s string) bool {
	return len(w) >= len(s) && string(w[len(w)-len(s):]) == s
}

func vowel(w []byte) bool {
	for _, c := range w {
		if isVowel(c) || c == 'y' {
			return true
		}
	}
	return false
}

func isVowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

// undouble turns "runn" into "run"; l, s and z stay double (call, pass, buzz).
func undouble(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !isVowel(w[n-1]) && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z' {
		return w[:n-1]
	}
	return w
}
