package reply

import (
	"errors"
	"fmt"
)

// Duplicates reads the answer {"pairs":[{"number":1,"same":true}]} about the given number of pairs. It is strict: each
// pair must have exactly one answer, and an unknown number, an unreadable part or an unknown member is an error.
func Duplicates(text string, pairs int) ([]bool, error) {
	var read struct {
		Pairs []struct {
			Number int   `json:"number"`
			Same   *bool `json:"same"`
		} `json:"pairs"`
	}
	if err := only(text, "pairs", &read); err != nil {
		return nil, err
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
