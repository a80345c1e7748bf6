package timeexpr

import (
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/normalize"
)

// yearOf reads a year from 1900 to 2100.
func yearOf(word string) (int, bool) {
	year, err := strconv.Atoi(word)
	return year, err == nil && len(word) == 4 && year >= 1900 && year <= 2100
}

// number reads a count at the beginning of words and returns its number of words.
func number(ws []string) (count, n int) {
	at := func(i int) string {
		if i < len(ws) {
			return ws[i]
		}
		return ""
	}
	if (at(0) == "a" || at(0) == "the") && (at(1) == "couple" || at(1) == "few") {
		ws, n = ws[1:], 1
	}
	switch low := at(0); low {
	case "a", "an":
		return 1, n + 1
	case "couple":
		n++
		if at(1) == "of" {
			n++
		}
		return 2, n
	case "few":
		return 3, n + 1
	default:
		if v := english.Numbers[low]; v > 0 {
			if ones := english.Numbers[at(1)]; v >= 20 && ones > 0 && ones < 10 {
				return v + ones, n + 2
			}
			return v, n + 1
		}
		if tens, ones, ok := strings.Cut(low, "-"); ok {
			if v, w := english.Numbers[tens], english.Numbers[ones]; v >= 20 && w > 0 && w < 10 {
				return v + w, n + 1
			}
		}
		if v, err := strconv.Atoi(low); err == nil && v > 0 && len(low) <= 4 {
			return v, n + 1
		}
	}
	return 0, 0
}

var (
	seasonNames = map[string]time.Month{
		"spring": time.March,
		"summer": time.June,
		"autumn": time.September,
		"fall":   time.September,
		"winter": time.December,
	}
	quarterNames = map[string]time.Month{"q1": time.January, "q2": time.April, "q3": time.July, "q4": time.October}
	// alsoWords are months whose names have another meaning.
	alsoWords        = normalize.Set("may march")
	timePrepositions = normalize.Set(
		"in on during since before after until till by of from throughout for early late mid " +
			"around between and to this last next",
	)
	holidays = map[string]struct {
		month     time.Month
		day, days int
	}{"christmas": {time.December, 24, 3}, "halloween": {time.October, 31, 1}, "valentine": {time.February, 14, 1},
		"valentines": {time.February, 14, 1}}
)
