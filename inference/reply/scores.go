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
// It returns scores by the texts' places, from 0. Unlike an extraction, an answer is taken whole or not at
// all: one that was cut off, gives a text two scores, scores one that was not offered, or leaves [0,1] was
// written by a model that lost its place, and half an order is worse than the one that stood. Texts may be
// left out. The error names fields, never what the answer said.
func Scores(text string, n int) (map[int]float64, error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "scores")
	if len(found) != 1 {
		return nil, fmt.Errorf("answer: holds %d objects with scores, not one", len(found))
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
			return nil, fmt.Errorf("%s.n: names no text that was offered", path)
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

// problem is the last thing that was found wrong.
func problem(w *warnings) error {
	list := w.list()
	if len(list) == 0 {
		return errors.New("answer: cannot be read")
	}
	return errors.New(list[len(list)-1])
}
