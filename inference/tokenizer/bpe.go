package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// space represents the space in the vocabulary of a bpe.
const space = "▁"

// maxRun is the maximum number of characters without a space that are cut together, because the time grows with the
// square of the number. A longer run, which is not a word, is cut into parts of this length first.
const maxRun = 256

// bpe cuts text by byte-pair encoding as in Llama's vocabulary. Characters are joined, the pair with the lowest rank
// first, and a character that is not in the vocabulary is written as bytes.
type bpe struct {
	vocab   map[string]int32
	merges  map[[2]int32]merge
	bytes   [256]int32 // the token of a byte; -1 for none
	size    int
	prepend bool // a text begins with a space
}

// merge is the token that two tokens become, and its rank: the lowest rank is merged first.
type merge struct{ rank, id int32 }

func newBPE(raw []byte) (*bpe, error) {
	type normalizer struct {
		Type        string
		Prepend     string
		Content     string
		Pattern     struct{ String string }
		Normalizers []json.RawMessage
	}
	var file struct {
		Normalizer   *normalizer
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Model        struct {
			Vocab        map[string]int32
			Merges       []json.RawMessage
			ByteFallback bool   `json:"byte_fallback"`
			Prefix       string `json:"continuing_subword_prefix"`
			Suffix       string `json:"end_of_word_suffix"`
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("is not the JSON of a BPE tokenizer: %w", err)
	}
	b := &bpe{vocab: file.Model.Vocab, merges: make(map[[2]int32]merge, len(file.Model.Merges))}
	if pre := string(file.PreTokenizer); pre != "" && pre != "null" {
		return nil, errors.New("has a pre_tokenizer; of BPE only the kind without one, as Llama's, is supported")
	}
	if file.Model.Prefix != "" || file.Model.Suffix != "" {
		return nil, errors.New(
			"has a continuing_subword_prefix or an end_of_word_suffix, which is not supported with BPE",
		)
	}
	steps := []json.RawMessage{}
	if file.Normalizer != nil {
		steps = file.Normalizer.Normalizers
	}
	replaced := false
	for _, step := range steps {
		var n normalizer
		if err := json.Unmarshal(step, &n); err != nil {
			return nil, fmt.Errorf("has a normalizer that is not understood: %w", err)
		}
		switch {
		case n.Type == "Prepend" && n.Prepend == space:
			b.prepend = true
		case n.Type == "Replace" && n.Pattern.String == " " && n.Content == space:
			replaced = true
		default:
			return nil, fmt.Errorf("has a normalizer of kind %q that is not supported with BPE", n.Type)
		}
	}
	if !replaced {
		return nil, fmt.Errorf("has no normalizer that replaces the space by %s", space)
	}
	var err error
	if b.size, err = size(b.vocab); err != nil {
		return nil, err
	}
	for token := range b.vocab {
		if strings.Contains(strings.TrimLeft(token, space), space) {
			return nil, fmt.Errorf("has the token %q in its vocabulary, which spans words", token)
		}
	}
	for i := range b.bytes {
		id, ok := b.vocab[fmt.Sprintf("<0x%02X>", i)]
		if !ok || !file.Model.ByteFallback {
			id = -1
		}
		b.bytes[i] = id
	}
	for rank, raw := range file.Model.Merges {
		left, right, err := readMerge(raw)
		if err != nil {
			return nil, fmt.Errorf("has a merge %d that is not understood: %w", rank, err)
		}
		l, okLeft := b.vocab[left]
		r, okRight := b.vocab[right]
		id, ok := b.vocab[left+right]
		if !okLeft || !okRight || !ok {
			return nil, fmt.Errorf("has a merge %d of tokens that its vocabulary lacks", rank)
		}
		if _, known := b.merges[[2]int32{l, r}]; !known {
			b.merges[[2]int32{l, r}] = merge{int32(rank), id}
		}
	}
	return b, nil
}

// readMerge reads the two halves of a merge: "a b", or ["a", "b"] in later versions of the format.
func readMerge(raw json.RawMessage) (left, right string, err error) {
	var pair []string
	if err := json.Unmarshal(raw, &pair); err == nil {
		if len(pair) != 2 {
			return "", "", fmt.Errorf("it has %d parts", len(pair))
		}
		return pair[0], pair[1], nil
	}
	var line string
	if err := json.Unmarshal(raw, &line); err != nil {
		return "", "", err
	}
	left, right, ok := strings.Cut(line, " ")
	if !ok {
		return "", "", errors.New("it has one part")
	}
	return left, right, nil
}

// Size implements Tokenizer.
func (b *bpe) Size() int { return b.size }

// Tokens implements Tokenizer. No token spans several words, so words are cut one by one. Spaces belong to the word
// after them.
func (b *bpe) Tokens(text string, limit int) []int32 {
	out := make([]int32, 0, min(limit, 2+len(text)/3))
	run, length := make([]int32, 0, 32), 0
	flush := func() {
		for _, id := range b.join(run) {
			if id >= 0 {
				out = append(out, id)
			}
		}
		run, length = run[:0], 0
	}
	spaced := false // only spaces so far
	add := func(r rune) {
		if r == ' ' {
			if !spaced {
				flush()
			}
			r, spaced = '▁', true
		} else {
			spaced = false
		}
		if length == maxRun {
			flush()
		}
		run, length = b.appendRune(run, r), length+1
	}
	if b.prepend && text != "" {
		add(' ')
	}
	for _, r := range text {
		if len(out) >= limit {
			break
		}
		add(r)
	}
	flush()
	return out[:min(len(out), limit)]
}

// appendRune appends the token of a character, or the tokens of its bytes. None of these is -1.
func (b *bpe) appendRune(run []int32, r rune) []int32 {
	var buf [utf8.UTFMax]byte
	spelled := buf[:utf8.EncodeRune(buf[:], r)]
	if id, ok := b.vocab[string(spelled)]; ok {
		return append(run, id)
	}
	for _, c := range spelled {
		run = append(run, b.bytes[c])
	}
	return run
}

// join joins neighbours, the pair with the lowest rank first, until none can be joined. It works in place.
func (b *bpe) join(run []int32) []int32 {
	for len(run) > 1 {
		at, best := -1, merge{}
		for i := range len(run) - 1 {
			if m, ok := b.merges[[2]int32{run[i], run[i+1]}]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			break
		}
		run[at] = best.id
		run = append(run[:at+1], run[at+2:]...)
	}
	return run
}
