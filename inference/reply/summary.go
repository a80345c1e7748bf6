package reply

import (
	"errors"
	"fmt"
	"strings"
)

// Summary reads the answer {"summary":"…"} and returns its text without control characters; empty if the model had
// nothing to say.
func Summary(text string) (string, error) {
	var w warnings
	found := objects(prepare(text, &w), &w, "summary")
	if len(found) != 1 {
		return "", fmt.Errorf("answer: holds %d objects with a summary, not one", len(found))
	}
	if !found[0].whole {
		return "", errors.New("answer: was cut off")
	}
	f, ok := readFields("answer", found[0].text, &w)
	if !ok {
		return "", problem(&w)
	}
	said, ok := f.text("summary")
	if !ok {
		return "", problem(&w)
	}
	return strings.Join(strings.Fields(strings.Map(printable, said)), " "), nil
}

// printable replaces a control character by a blank.
func printable(r rune) rune {
	if r < ' ' || r == 0x7F {
		return ' '
	}
	return r
}
