package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/english"
)

// maxDates is how many relative dates of one sentence are resolved.
const maxDates = 4

// resolveDates adds the absolute date after relative ones: "yesterday" → "yesterday (2023-05-07)". The original words
// stay. The date keeps the statement true later and makes it searchable. Only expressions with a single meaning are
// resolved:
//
//	yesterday, today, tonight, this morning …   the day
//	two days ago, in three days                 the day
//	last week, next week, two weeks ago         "week of" its Monday
//	last month, three months ago, next year     the month or the year
//	last Friday, next Friday, this Friday       the day, if the nearest one and that of the
//	                                            calendar week before or after are the same
//	last weekend, this weekend                  its Saturday, unless today is on a weekend
//
// "on Friday", "recently" and "the last week of May" are not changed.
func resolveDates(ws []word, at time.Time) ([]word, bool) {
	if at.IsZero() || at.Year() < 2 || at.Year() > 9998 {
		return ws, false
	}
	found := 0
	for i := 0; i < len(ws) && found < maxDates; i++ {
		if ws[i].quoted || !dateStarts.has(ws[i].low) {
			continue
		}
		if i > 0 && (ws[i-1].low == "the" || ws[i-1].low == "past" || ws[i-1].low == "every") {
			continue // "in the last week" is a span
		}
		if i > 0 && ws[i-1].post == "" && english.Numbers[ws[i].low] > 0 && (english.Numbers[ws[i-1].low] >= 20 ||
			ws[i-1].low == "hundred" || ws[i-1].low == "thousand") {
			continue // "twenty one days ago" is not one day ago
		}
		n, date := relativeDate(ws[i:], at)
		if n == 0 {
			continue
		}
		last := i + n - 1
		dated := false
		if last+1 < len(ws) {
			next := ws[last+1]
			dated = strings.HasPrefix(next.pre, "(") && (hasDigit(next.core) || next.low == "week" ||
				next.low == "weekend") ||
				next.low == "of"
		}
		if dated || strings.HasPrefix(ws[last].post, " (") || strings.Contains(ws[last].core, "(") {
			continue
		}
		if found == 0 {
			ws = append([]word(nil), ws...)
		}
		ws[last].post = " (" + date + ")" + ws[last].post
		found++
		i = last
	}
	return ws, found > 0
}

var dateStarts = set(english.NumberNames, `yesterday today tonight tomorrow last this next earlier the a an couple in
	1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 20 21 30`)

// relativeDate returns the length in words of the relative date at the front of ws, and the absolute date.
func relativeDate(ws []word, at time.Time) (int, string) {
	low := func(i int) string {
		if i < len(ws) && (i == 0 || ws[i-1].post == "") {
			return ws[i].low
		}
		return ""
	}
	day := func(n int) string { return at.AddDate(0, 0, n).Format(time.DateOnly) }
	monday := func(weeks int) string {
		back := (int(at.Weekday()) + 6) % 7
		return "week of " + day(7*weeks-back)
	}
	month := func(n int) string {
		return time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
	}
	year := func(n int) string { return strconv.Itoa(at.Year() + n) }

	switch low(0) {
	case "yesterday":
		return 1, day(-1)
	case "today", "tonight":
		return 1, day(0)
	case "tomorrow":
		return 1, day(1)
	case "the":
		if low(1) == "day" && low(2) == "before" && low(3) == "yesterday" {
			return 4, day(-2)
		}
		if low(1) == "day" && low(2) == "after" && low(3) == "tomorrow" {
			return 4, day(2)
		}
		return 0, ""
	case "earlier":
		if low(1) == "today" {
			return 2, day(0)
		}
		return 0, ""
	case "last", "this", "next":
		step := map[string]int{"last": -1, "this": 0, "next": 1}[low(0)]
		unit := low(1)
		switch unit {
		case "night":
			if step == -1 {
				return 2, day(-1)
			}
		case "morning", "afternoon", "evening":
			if step == 0 {
				return 2, day(0)
			}
		case "week":
			return 2, monday(step)
		case "month":
			return 2, month(step)
		case "year":
			return 2, year(step)
		case "weekend":
			wd := at.Weekday()
			if wd == time.Saturday || wd == time.Sunday {
				return 0, ""
			}
			if step == 1 {
				return 0, "" // this coming one, or the one after
			}
			return 2, "weekend of " + day(int(time.Saturday-wd)+7*step)
		}
		wd, ok := english.Weekday(unit)
		if !ok {
			return 0, ""
		}
		today, want := (int(at.Weekday())+6)%7, (int(wd)+6)%7 // from Monday
		switch {
		case step == -1 && want >= today: // nearest and last calendar week's agree
			return 2, day(want - today - 7)
		case step == 1 && want <= today:
			return 2, day(want - today + 7)
		case step == 0 && want >= today:
			return 2, day(want - today)
		}
		return 0, ""
	case "in":
		if n, ok := count(low(1)); ok {
			switch low(2) {
			case "days", "day":
				if n > 1 || low(1) != "a" { // "in a day" is how long it takes
					if low(3) == "" || ws[2].post != "" {
						return 3, day(n)
					}
				}
			}
		}
		return 0, ""
	}
	n, ok := count(low(0))
	if !ok || low(2) != "ago" {
		return 0, ""
	}
	switch low(1) {
	case "day", "days":
		return 3, day(-n)
	case "week", "weeks":
		return 3, monday(-n)
	case "month", "months":
		return 3, month(-n)
	case "year", "years":
		if n < at.Year() {
			return 3, year(-n)
		}
	}
	return 0, ""
}

func count(low string) (int, bool) {
	if low == "a" || low == "an" {
		return 1, true
	}
	if n := english.Numbers[low]; n > 0 {
		return n, true
	}
	if n, err := strconv.Atoi(low); err == nil && n > 0 && n <= 400 {
		return n, true
	}
	return 0, false
}
