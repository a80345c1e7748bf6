package lexicon

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Dimensions is the number of components of a vector.
const Dimensions = 128

//go:embed words.bin
var packed []byte

// table holds the words by rank, most frequent first, with a unit vector each.
type table struct {
	rank    map[string]int32
	names   []string
	vectors []int8
	lengths []float32 // of the vectors as stored
}

var words = sync.OnceValue(func() *table {
	t, err := read(packed)
	if err != nil {
		panic(fmt.Sprintf("lexicon: words.bin: %v", err)) // it is part of the program
	}
	return t
})

// read unpacks a table. It consists of the numbers of words, of dimensions and of bytes of the words, the words, one
// per line, and four bits per component, where 8 stands for zero.
func read(packed []byte) (*table, error) {
	data, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	const header = 12
	if len(data) < header {
		return nil, io.ErrUnexpectedEOF
	}
	n, dimensions := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	names := int(binary.LittleEndian.Uint32(data[8:]))
	if dimensions != Dimensions || len(data) != header+names+n*dimensions/2 {
		return nil, fmt.Errorf("%d bytes for %d words of %d dimensions", len(data), n, dimensions)
	}
	t := &table{rank: make(map[string]int32, n), vectors: make([]int8, n*dimensions), lengths: make([]float32, n)}
	rank := int32(0)
	for w := range strings.SplitSeq(string(data[header:header+names]), "\n") {
		t.rank[w] = rank
		t.names = append(t.names, w)
		rank++
	}
	for i, b := range data[header+names:] {
		t.vectors[2*i], t.vectors[2*i+1] = int8(b>>4)-8, int8(b&15)-8
	}
	for i := range t.lengths {
		sum := 0
		for _, x := range t.at(int32(i)) {
			sum += int(x) * int(x)
		}
		t.lengths[i] = float32(math.Sqrt(float64(sum)))
	}
	return t, nil
}

// unpack returns the content of an embedded file.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (t *table) at(rank int32) []int8 {
	return t.vectors[int(rank)*Dimensions : (int(rank)+1)*Dimensions]
}

// find returns the rank of a word in lower case, or of its singular if the table has only that.
func (t *table) find(word string) (int32, bool) {
	if r, ok := t.rank[word]; ok {
		return r, true
	}
	if base, found := strings.CutSuffix(word, "s"); found {
		if r, ok := t.rank[base]; ok {
			return r, true
		}
	}
	return 0, false
}

// Place is the index of a word in the lexicon. It avoids repeated lookups of a word that is compared with many others.
type Place int32

// PlaceOf returns the place of a word in lower case. It is negative if the word is unknown.
func PlaceOf(word string) Place {
	if r, ok := words().find(word); ok {
		return Place(r)
	}
	return -1
}

// Places returns the number of places, which are numbered from 0.
func Places() int { return len(words().lengths) }

// Similarity returns the similarity in meaning of the words at two places: 1 for the same word, about 0 for unrelated
// words, and 0 if one is unknown. One in a hundred random pairs of words has more than 0.3.
func (p Place) Similarity(o Place) float64 {
	if p < 0 || o < 0 {
		return 0
	}
	return words().similarity(int32(p), int32(o))
}

func (t *table) similarity(i, j int32) float64 {
	// Arrays avoid bounds checks. Four sums avoid waiting for the previous addition.
	x, y := (*[Dimensions]int8)(t.at(i)), (*[Dimensions]int8)(t.at(j))
	var a, b, c, d int32
	for k := 0; k < Dimensions-3; k += 4 {
		a += int32(x[k]) * int32(y[k])
		b += int32(x[k+1]) * int32(y[k+1])
		c += int32(x[k+2]) * int32(y[k+2])
		d += int32(x[k+3]) * int32(y[k+3])
	}
	sum := a + b + c + d
	return float64(sum) / float64(t.lengths[i]*t.lengths[j])
}

// rareRank is the rank from which words count as rare.
const rareRank = 20_000

// Rarity returns how rare a word in lower case is, in [0,1]: 0 for the most frequent word, 1 for unknown words.
func Rarity(word string) float64 {
	r, ok := words().find(word)
	if !ok {
		return 1
	}
	return min(1, math.Log1p(float64(r))/math.Log1p(rareRank))
}

// Vector is the sum of the vectors of several words.
type Vector [Dimensions]float32

// Add adds a word in lower case with a weight. Unknown words are ignored.
func (v *Vector) Add(word string, weight float64) {
	t := words()
	r, ok := t.find(word)
	if !ok {
		return
	}
	scale := float32(weight) / t.lengths[r]
	for k, x := range t.at(r) {
		v[k] += scale * float32(x)
	}
}

// Cosine returns the cosine of two vectors, or 0 if one is zero.
func (v *Vector) Cosine(o *Vector) float64 {
	var sum, a, b float64
	for k := range v {
		x, y := float64(v[k]), float64(o[k])
		sum, a, b = sum+x*y, a+x*x, b+y*y
	}
	if a == 0 || b == 0 {
		return 0
	}
	return sum / math.Sqrt(a*b)
}

// Limits of Nearest.
const (
	nearestWords = 8
	nearestOf    = 20_000
	maxCached    = 20_000 // words whose results are cached
)

var (
	nearest      sync.Map // results by word
	nearestCount atomic.Int64
)

// Near is a word with its similarity to another.
type Near struct {
	Word       string
	Similarity float64
}

// Nearest returns the frequent words that are most similar to a word in lower case, most similar first, without the
// word itself. A call takes about a millisecond if the result is not cached.
func Nearest(word string) []Near {
	if found, ok := nearest.Load(word); ok {
		return found.([]Near)
	}
	t := words()
	at, ok := t.find(word)
	if !ok {
		return nil
	}
	var out []Near
	for j := range min(int32(len(t.names)), nearestOf) {
		if j == at {
			continue
		}
		s := t.similarity(at, j)
		if len(out) == nearestWords && s <= out[len(out)-1].Similarity {
			continue
		}
		i, _ := slices.BinarySearchFunc(out, s, func(n Near, s float64) int { return cmp.Compare(s, n.Similarity) })
		out = slices.Insert(out, i, Near{t.names[j], s})
		out = out[:min(len(out), nearestWords)]
	}
	if nearestCount.Add(1) < maxCached {
		nearest.Store(word, out)
	}
	return out
}
