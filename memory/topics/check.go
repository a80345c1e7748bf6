package topics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
)

// Cited is a sentence of a model with the numbers of the texts that it cites, counted from 1.
type Cited struct {
	Text    string
	Sources []int
}

// Check converts a model's sentences to an answer, or returns an error if they are invalid. Every sentence must have a
// text and cite given texts. Every number in it must occur in a cited text or in the date of one. One invalid sentence
// makes the whole answer invalid, because a model that invents one source may have invented the rest. The error
// contains no content.
func Check(said []Cited, evidence []Evidence) ([]topics.Part, error) {
	switch {
	case len(said) == 0:
		return nil, fmt.Errorf("the answer is empty")
	case len(said) > MaxParts:
		return nil, fmt.Errorf("the answer has %d sentences, more than %d", len(said), MaxParts)
	}
	out := make([]topics.Part, 0, len(said))
	chars := 0
	for i, s := range said {
		text := normalize.CleanLine(s.Text, MaxPartChars+1)
		chars += len([]rune(text))
		switch {
		case text == "":
			return nil, fmt.Errorf("sentence %d is empty", i+1)
		case len([]rune(text)) > MaxPartChars, chars > MaxChars:
			return nil, fmt.Errorf("sentence %d is too long", i+1)
		case len(s.Sources) == 0:
			return nil, fmt.Errorf("sentence %d cites nothing", i+1)
		}
		part := topics.Part{Text: text, Outdated: true}
		var cited []Evidence
		for _, n := range s.Sources {
			if n < 1 || n > len(evidence) {
				return nil, fmt.Errorf("sentence %d cites text %d of %d", i+1, n, len(evidence))
			}
			e := evidence[n-1]
			if slices.Contains(part.Memories, e.ID) {
				continue
			}
			cited = append(cited, e)
			part.Memories = append(part.Memories, e.ID)
			part.Outdated = part.Outdated && e.outdated()
			part.Contested = part.Contested || e.Status == schema.StatusContested
		}
		if !numbersKnown(text, cited) {
			return nil, fmt.Errorf("sentence %d has a number that is not in the texts it cites", i+1)
		}
		out = append(out, part)
	}
	return out, nil
}

var number = regexp.MustCompile(`[0-9]+`)

// numbersKnown reports whether every number of a sentence occurs in one of the texts or in the date of one.
func numbersKnown(text string, cited []Evidence) bool {
	known := map[string]bool{}
	for _, e := range cited {
		dates := ""
		if !e.OccurredAt.IsZero() {
			dates = e.OccurredAt.Format(" 2006-01-02 2 1")
		}
		for _, n := range number.FindAllString(e.Text+dates, -1) {
			known[strings.TrimLeft(n, "0")] = true
		}
	}
	return !slices.ContainsFunc(number.FindAllString(text, -1), func(n string) bool {
		return !known[strings.TrimLeft(n, "0")]
	})
}

// Shown returns the text of a memory for a model: on one line, and marked if it is outdated or contradicted.
func Shown(e Evidence) string {
	text := normalize.CleanLine(e.Text, MaxShownChars)
	if e.Type == schema.TypeEpisodic && e.Who != "" {
		text = normalize.CleanLine(e.Who, schema.MaxNameLength) + ": " + text
	}
	switch {
	case e.outdated():
		return "[outdated] " + text
	case e.Status == schema.StatusContested:
		return "[contested] " + text
	}
	return text
}

// MaxShownChars is the maximum number of characters of a memory that a model sees.
const MaxShownChars = 900
