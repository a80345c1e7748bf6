package english

import (
	"strings"
	"time"
)

// Names of the calendar and of numbers, in order.
const (
	WeekdayNames    = "monday tuesday wednesday thursday friday saturday sunday"
	WeekdayPlurals  = "mondays tuesdays wednesdays thursdays fridays saturdays sundays"
	MonthNames      = "january february march april may june july august september october november december"
	ShortMonthNames = "jan feb mar apr may jun jul aug sep oct nov dec sept"
	// NumberNames are the numbers to twenty, and after that the tens.
	NumberNames = `one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
		seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety`
)

var (
	// Weekdays numbers the days of the week; Monday is 1 and Sunday is 7.
	Weekdays = enumerate(WeekdayNames)
	// Numbers has the values of NumberNames.
	Numbers = func() map[string]int {
		out := enumerate(NumberNames)
		for w, n := range out {
			if n > 20 {
				out[w] = 30 + 10*(n-21)
			}
		}
		return out
	}()
	months = func() map[string]int {
		out := enumerate(ShortMonthNames)
		out["sept"] = out["sep"]
		for w, n := range enumerate(MonthNames) {
			out[w] = n
		}
		return out
	}()
)

func enumerate(list string) map[string]int {
	out := map[string]int{}
	for i, w := range strings.Fields(list) {
		out[w] = i + 1
	}
	return out
}

// Weekday returns the day of the week with a name in lower case.
func Weekday(word string) (time.Weekday, bool) {
	n := Weekdays[word]
	return time.Weekday(n % 7), n > 0
}

// Month returns the month with a name or an abbreviation in lower case, or 0.
func Month(word string) time.Month { return time.Month(months[word]) }

// DayOfMonth reads "7", "07", "7th" and "1st". It returns 0 for any other word.
func DayOfMonth(word string) int {
	day, n := 0, 0
	for n < len(word) && '0' <= word[n] && word[n] <= '9' {
		if day, n = 10*day+int(word[n]-'0'), n+1; n > 2 {
			return 0
		}
	}
	switch word[n:] {
	case "", "st", "nd", "rd", "th":
	default:
		return 0
	}
	if day > 31 {
		return 0
	}
	return day
}
