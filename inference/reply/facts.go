package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mneme/mneme/memory/learning/facts"
)

// Facts reads the answer {"facts":[{"text":"…","statements":[1,4]}]} about the given number of statements. It is
// strict: it returns an error if the answer cites a statement that was not given, has too many facts, an unreadable part
// or an unknown member, or lacks the member facts.
func Facts(text string, statements int) ([]facts.Proposed, error) {
	var read struct {
		Facts *[]struct {
			Text       string `json:"text"`
			Statements []int  `json:"statements"`
		} `json:"facts"`
	}
	if err := only(text, "facts", &read); err != nil {
		return nil, err
	}
	if read.Facts == nil {
		return nil, errors.New("answer.facts: missing")
	}
	if len(*read.Facts) > facts.MaxProposed {
		return nil, fmt.Errorf("answer.facts: has more than %d elements", facts.MaxProposed)
	}
	out := make([]facts.Proposed, 0, len(*read.Facts))
	for _, f := range *read.Facts {
		if len(f.Statements) > statements {
			return nil, errors.New("answer.facts: cites more statements than were given")
		}
		for _, n := range f.Statements {
			if n < 1 || n > statements {
				return nil, errors.New("answer.facts: cites a statement that was not given")
			}
		}
		out = append(out, facts.Proposed{Text: f.Text, Statements: f.Statements})
	}
	return out, nil
}

// Conflicts reads the answer {"pairs":[{"number":1,"verdict":"both"}]} about the given number of pairs. It is as strict
// as Duplicates.
func Conflicts(text string, pairs int) ([]facts.Verdict, error) {
	var read struct {
		Pairs []struct {
			Number  int           `json:"number"`
			Verdict facts.Verdict `json:"verdict"`
		} `json:"pairs"`
	}
	if err := only(text, "pairs", &read); err != nil {
		return nil, err
	}
	if len(read.Pairs) != pairs {
		return nil, fmt.Errorf("answer.pairs: has %d elements, not %d", len(read.Pairs), pairs)
	}
	out := make([]facts.Verdict, pairs)
	for _, p := range read.Pairs {
		if p.Number < 1 || p.Number > pairs || out[p.Number-1] != "" {
			return nil, errors.New("answer.pairs: does not answer for each pair once")
		}
		switch p.Verdict {
		case facts.Excludes, facts.BothHold, facts.Unsure:
			out[p.Number-1] = p.Verdict
		default:
			return nil, errors.New("answer.pairs: has a verdict that was not asked for")
		}
	}
	return out, nil
}

// only decodes the one object in an answer that has a member. It returns an error if the object has members that into
// lacks.
func only(text, member string, into any) error {
	var w warnings
	found := objects(prepare(text, &w), &w, member)
	if len(found) != 1 {
		return fmt.Errorf("answer: holds %d objects with %s, not one", len(found), member)
	}
	if !found[0].whole {
		return errors.New("answer: was cut off")
	}
	d := json.NewDecoder(strings.NewReader(found[0].text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("answer: is not of the form that was asked for")
	}
	return nil
}
