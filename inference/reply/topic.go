package reply

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mneme/mneme/memory/topics"
)

// Topic reads the answer {"sentences":[{"text":"…","sources":[1]}]}. It is strict: an answer with a part that cannot be
// read is an error.
func Topic(text string) ([]topics.Cited, error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "sentences")
	if len(found) != 1 {
		return nil, fmt.Errorf("answer: holds %d objects with sentences, not one", len(found))
	}
	if !found[0].whole {
		return nil, errors.New("answer: was cut off")
	}
	var read struct {
		Sentences []struct {
			Text    string `json:"text"`
			Sources []int  `json:"sources"`
		} `json:"sentences"`
	}
	if err := json.Unmarshal([]byte(found[0].text), &read); err != nil {
		return nil, errors.New("answer: sentences are not of the form that was asked for")
	}
	out := make([]topics.Cited, len(read.Sentences))
	for i, s := range read.Sentences {
		out[i] = topics.Cited{Text: s.Text, Sources: s.Sources}
	}
	return out, nil
}
