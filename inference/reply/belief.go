package reply

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/normalize"
)

// Belief reads the answer to a reflection on n events, numbered from 1:
//
//	{"belief": "…", "based_on": [3, 7]}
//
// It returns the text on one line, and the positions of the cited events, from 0, sorted and without duplicates.
//
// An answer is used completely or not at all. If a model cites no event, or an event that it was not given, its belief
// has no reliable evidence. The error names fields and never quotes the answer.
func Belief(text string, n int) (belief string, places []int, err error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "belief")
	if len(found) != 1 {
		return "", nil, fmt.Errorf("answer: holds %d objects with a belief instead of one", len(found))
	}
	if !found[0].whole {
		return "", nil, errors.New("answer: was cut off")
	}
	f, ok := readFields("answer", found[0].text, &w)
	if !ok {
		return "", nil, problem(&w)
	}
	said, ok := f.text("belief")
	if !ok {
		return "", nil, problem(&w)
	}
	said = strings.Join(strings.Fields(strings.Map(printable, said)), " ")
	if said == "" {
		return "", nil, errors.New("answer.belief: is empty")
	}
	if _, cut := normalize.CutChars(said, inference.MaxBeliefChars); cut {
		return "", nil, fmt.Errorf("answer.belief: is longer than %d characters", inference.MaxBeliefChars)
	}
	if places, err = citations(f.values["based_on"], n, &w); err != nil {
		return "", nil, err
	}
	return said, places, nil
}

// citations reads the numbers of events.
func citations(raw string, n int, w *warnings) ([]int, error) {
	if !strings.HasPrefix(raw, "[") {
		return nil, errors.New("answer.based_on: must be an array")
	}
	var places []int
	for element := range elements(raw) {
		number, ok := fields{path: "answer", values: map[string]string{"based_on": element}, w: w}.number("based_on")
		switch {
		case !ok:
			return nil, problem(w)
		case number != math.Trunc(number), number < 1, number > float64(n):
			return nil, errors.New("answer.based_on: names an event that was not given")
		}
		places = append(places, int(number)-1)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	switch {
	case len(places) == 0:
		return nil, errors.New("answer.based_on: is empty")
	case len(places) > inference.MaxCitations:
		return nil, fmt.Errorf("answer.based_on: names more than %d events", inference.MaxCitations)
	}
	return places, nil
}
