package timeexpr

import (
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/normalize"
)

// yearOf reads a year from 1900 to 2100.
func yearOf(word string) (int, bool) {
	year, err := strconv.Atoi(word)
	return year, err == nil && len(word) == 4 && year >= 1900 && year <= 2100
}

// dayOfMonth reads "7", "07", "7th" and "1st".
func dayOfMonth(word string) (int, bool) {
	digits := strings.TrimRight(word, "sthndr")
	if rest := word[len(digits):]; rest != "" && rest != "st" && rest != "nd" && rest != "rd" && rest != "th" {
		return 0, false
	}
	day, err := strconv.Atoi(digits)
	return day, err == nil && len(digits) <= 2 && day >= 1 && day <= 31
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
	case "couple":
		n++
		if at(1) == "of" {
			n++
		}
		return 2, n
	case "few":
		return 3, n + 1
	default:
		if v, ok := smallNumbers[low]; ok {
			if ones, ok := smallNumbers[at(1)]; ok && v >= 20 && ones < 10 && at(1) != "a" && at(1) != "an" {
				return v + ones, n + 2
			}
			return v, n + 1
		}
		if tens, ones, ok := strings.Cut(low, "-"); ok {
			if v, w := smallNumbers[tens], smallNumbers[ones]; v >= 20 && w > 0 && w < 10 {
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
	smallNumbers = map[string]int{
		"a":      1,
		"an":     1,
		"one":    1,
		"two":    2,
		"three":  3,
		"four":   4,
		"five":   5,
		"six":    6,
		"seven":  7,
		"eight":  8,
		"nine":   9,
		"ten":    10,
		"eleven": 11,
		"twelve": 12,
		"twenty": 20,
		"thirty": 30,
		"forty":  40,
		"fifty":  50,
		"sixty":  60,
		"ninety": 90,
	}
	weekdayNames = map[string]time.Weekday{
		"monday":    time.Monday,
		"tuesday":   time.Tuesday,
		"wednesday": time.Wednesday,
		"thursday":  time.Thursday,
		"friday":    time.Friday,
		"saturday":  time.Saturday,
		"sunday":    time.Sunday,
	}
	monthNames = map[string]time.Month{
		"january":   1,
		"february":  2,
		"march":     3,
		"april":     4,
		"may":       5,
		"june":      6,
		"july":      7,
		"august":    8,
		"september": 9,
		"october":   10,
		"november":  11,
		"december":  12,
		"jan":       1,
		"feb":       2,
		"mar":       3,
		"apr":       4,
		"jun":       6,
		"jul":       7,
		"aug":       8,
		"sep":       9,
		"sept":      9,
		"oct":       10,
		"nov":       11,
		"dec":       12,
	}
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
