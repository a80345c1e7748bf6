package lexicon

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed kinds.bin
var packedKinds []byte

// kindTable holds which words belong to which kinds. Kinds are numbers, sorted in each list.
type kindTable struct {
	of      [][]uint16 // by place: the kinds to which a word belongs
	named   [][]uint16 // by place: the kinds that a word names
	members [][]Place  // by kind: its words, most frequent first, without plurals
}

var kinds = sync.OnceValue(func() *kindTable {
	t, err := readKinds(packedKinds)
	if err != nil {
		panic(fmt.Sprintf("lexicon: kinds.bin: %v", err)) // it is part of the program
	}
	return t
})

// readKinds unpacks the table. It has three parts of lines, with an empty line between two: words with their kinds,
// words with the kinds that they name, and plurals with their singulars.
func readKinds(packed []byte) (*kindTable, error) {
	data, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(string(data), "\n\n")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%d parts", len(parts))
	}
	t := &kindTable{of: make([][]uint16, Places()), named: make([][]uint16, Places())}
	for i, into := range [][][]uint16{t.of, t.named} {
		for line := range strings.SplitSeq(parts[i], "\n") {
			if err := readKindsOf(line, into); err != nil {
				return nil, err
			}
		}
	}
	for place, of := range t.of {
		for _, k := range of {
			for len(t.members) <= int(k) {
				t.members = append(t.members, nil)
			}
			t.members[k] = append(t.members[k], Place(place))
		}
	}
	for line := range strings.SplitSeq(parts[2], "\n") {
		plural, singular, _ := strings.Cut(line, " ")
		many, one := PlaceOf(plural), PlaceOf(singular)
		if many < 0 || one < 0 {
			return nil, fmt.Errorf("unknown word in %q", line)
		}
		t.of[many], t.named[many] = t.of[one], t.named[one]
	}
	return t, nil
}

func readKindsOf(line string, into [][]uint16) error {
	word, rest, _ := strings.Cut(line, " ")
	at := PlaceOf(word)
	if at < 0 {
		return fmt.Errorf("unknown word in %q", line)
	}
	for number := range strings.FieldsSeq(rest) {
		k, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return err
		}
		into[at] = append(into[at], uint16(k))
	}
	return nil
}

// IsA reports whether a word belongs to a kind that another word names, in any of its meanings: a violin is an
// instrument, Oslo is a city. A word is no kind of itself. Kinds with very many words, such as things, have no members.
func (p Place) IsA(kind Place) bool {
	if p < 0 || kind < 0 || p == kind {
		return false
	}
	t := kinds()
	of := t.of[p]
	if len(of) == 0 {
		return false
	}
	for _, k := range t.named[kind] {
		if _, ok := slices.BinarySearch(of, k); ok {
			return true
		}
	}
	return false
}

// MembersOf returns the most frequent words that belong to the kinds that a word in lower case names, most frequent
// first, at most as many as asked for. Plurals are left out, and the word itself.
func MembersOf(kind string, most int) []string {
	at := PlaceOf(kind)
	if at < 0 {
		return nil
	}
	t := kinds()
	var places []Place
	for _, k := range t.named[at] {
		places = append(places, t.members[k]...)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	var out []string
	for _, p := range places {
		if len(out) == most {
			break
		}
		if name := words().names[p]; p != at && name+"s" != kind {
			out = append(out, name)
		}
	}
	return out
}
