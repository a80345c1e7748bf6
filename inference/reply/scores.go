package reply

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Scores reads the answer to a reranking prompt about n texts, numbered from 1:
//
//	{"scores": [{"n": 1, "score": 0.8}, {"n": 2, "score": 0}]}
//
// It returns a map from the index of a text, counted from 0, to its score. The answer may leave out texts.
//
// Unlike an extraction, an answer is used completely or not at all. Scores returns an error if the answer was cut
// off, scores a text twice, scores a text that does not exist, or has a score outside [0,1]. A model that makes such
// a mistake has lost track of the texts, and a partly new order is worse than the old one. The error names fields and
// never quotes the answer.
func Scores(text string, n int) (map[int]float64, error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "scores")
	if len(found) != 1 {
		return nil, fmt.Errorf("answer: holds %d objects with scores instead of one", len(found))
	}
	if !found[0].whole {
		return nil, errors.New("answer: was cut off")
	}
	f, ok := readFields("answer", found[0].text, &w)
	if !ok {
		return nil, problem(&w)
	}
	if raw := f.values["scores"]; !strings.HasPrefix(raw, "[") {
		return nil, errors.New("answer.scores: must be an array")
	}
	out := make(map[int]float64, n)
	i := 0
	for raw := range elements(f.values["scores"]) {
		path := fmt.Sprintf("answer.scores[%d]", i)
		i++
		s, ok := readFields(path, raw, &w)
		if !ok {
			return nil, problem(&w)
		}
		number, ok1 := s.number("n")
		score, ok2 := s.number("score")
		place := int(number) - 1
		switch {
		case !ok1 || !ok2:
			return nil, problem(&w)
		case number != math.Trunc(number), number < 1, number > float64(n):
			return nil, fmt.Errorf("%s.n: is not the number of a text", path)
		case !(score >= 0 && score <= 1):
			return nil, fmt.Errorf("%s.score: must be between 0 and 1", path)
		}
		if _, twice := out[place]; twice {
			return nil, fmt.Errorf("%s.n: is scored twice", path)
		}
		out[place] = score
	}
	if len(out) == 0 {
		return nil, errors.New("answer.scores: is empty")
	}
	return out, nil
}

// problem returns the last warning as an error.
func problem(w *warnings) error {
	list := w.list()
	if len(list) == 0 {
		return errors.New("answer: cannot be read")
	}
	return errors.New(list[len(list)-1])
}
