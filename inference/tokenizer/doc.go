// Package tokenizer cuts text into the tokens of a model's vocabulary, as the model's tokenizer.json defines. It
// supports WordPiece vocabularies of the BERT family and byte-pair encodings of the Llama family. The names of special
// tokens in a text have no meaning; they are cut like any other text.
package tokenizer

import (
	"encoding/json"
	"fmt"
)

// Tokenizer cuts text into tokens.
type Tokenizer interface {
	// Tokens returns at most limit ids of the tokens of a text, without tokens that are not in the vocabulary.
	Tokens(text string, limit int) []int32
	// Size is one more than the largest id.
	Size() int
}

// Read reads tokenizer.json for a model that needs no tokens around a text. Errors name the part of the file that is
// not supported.
func Read(raw []byte) (Tokenizer, error) {
	var file struct{ Model struct{ Type string } }
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("is not the JSON of a tokenizer: %w", err)
	}
	if file.Model.Type == "BPE" {
		return newBPE(raw)
	}
	w, special, err := readWordPiece(raw, false)
	if err != nil {
		return nil, err
	}
	for _, s := range special {
		*s.id = -1
	}
	return w, nil
}

// size returns one more than the largest id of a vocabulary. Ids are places in a table, so none may be negative.
func size(vocab map[string]int32) (int, error) {
	most := int32(-1)
	for token, id := range vocab {
		if id < 0 {
			return 0, fmt.Errorf("has the id %d for the token %q in its vocabulary", id, token)
		}
		most = max(most, id)
	}
	if most < 0 {
		return 0, fmt.Errorf("has an empty vocabulary")
	}
	return int(most) + 1, nil
}
