package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Duplicates reads the answer {"pairs":[{"number":1,"same":true}]} about the given number of pairs. It is strict: each
// pair must have exactly one answer, and an unknown number, an unreadable part or an unknown member is an error.
func Duplicates(text string, pairs int) ([]bool, error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "pairs")
	if len(found) != 1 {
		return nil, fmt.Errorf("answer: holds %d objects with pairs, not one", len(found))
	}
	if !found[0].whole {
		return nil, errors.New("answer: was cut off")
	}
	var read struct {
		Pairs []struct {
			Number int   `json:"number"`
			Same   *bool `json:"same"`
		} `json:"pairs"`
	}
	d := json.NewDecoder(strings.NewReader(found[0].text))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return nil, errors.New("answer: is not of the form that was asked for")
	}
	if len(read.Pairs) != pairs {
		return nil, fmt.Errorf("answer.pairs: has %d elements, not %d", len(read.Pairs), pairs)
	}
	out, seen := make([]bool, pairs), make([]bool, pairs)
	for _, p := range read.Pairs {
		if p.Number < 1 || p.Number > pairs || seen[p.Number-1] || p.Same == nil {
			return nil, errors.New("answer.pairs: does not answer for each pair once")
		}
		out[p.Number-1], seen[p.Number-1] = *p.Same, true
	}
	return out, nil
}
