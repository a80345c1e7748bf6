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
	said := saidAt{at}
	switch low(0) {
	case "yesterday":
		return 1, said.day(-1)
	case "today", "tonight":
		return 1, said.day(0)
	case "tomorrow":
		return 1, said.day(1)
	case "the":
		switch {
		case low(1) == "day" && low(2) == "before" && low(3) == "yesterday":
			return 4, said.day(-2)
		case low(1) == "day" && low(2) == "after" && low(3) == "tomorrow":
			return 4, said.day(2)
		}
	case "earlier":
		if low(1) == "today" {
			return 2, said.day(0)
		}
	case "last", "this", "next":
		step := map[string]int{"last": -1, "this": 0, "next": 1}[low(0)]
		if date := said.period(step, low(1)); date != "" {
			return 2, date
		}
	case "in":
		n, counted := count(low(1))
		vague := n == 1 && low(1) == "a" // "in a day" is how long it takes
		if counted && !vague && (low(2) == "day" || low(2) == "days") && (low(3) == "" || ws[2].post != "") {
			return 3, said.day(n)
		}
	default:
		if n, counted := count(low(0)); counted && low(2) == "ago" {
			if date := said.ago(n, low(1)); date != "" {
				return 3, date
			}
		}
	}
	return 0, ""
}

// saidAt is the time at which a text was said. Its methods return dates relative to it.
type saidAt struct{ time.Time }

func (at saidAt) day(n int) string { return at.AddDate(0, 0, n).Format(time.DateOnly) }

func (at saidAt) week(n int) string { return "week of " + at.day(7*n-fromMonday(at.Weekday())) }

func (at saidAt) month(n int) string {
	return time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
}

func (at saidAt) year(n int) string { return strconv.Itoa(at.Year() + n) }

// period returns the date of the last (-1), this (0) or the next (1) period of a unit. It returns "" if that is unknown
// or ambiguous.
func (at saidAt) period(step int, unit string) string {
	switch unit {
	case "night":
		if step == -1 {
			return at.day(-1)
		}
		return ""
	case "morning", "afternoon", "evening":
		if step == 0 {
			return at.day(0)
		}
		return ""
	case "week":
		return at.week(step)
	case "month":
		return at.month(step)
	case "year":
		return at.year(step)
	case "weekend":
		wd := at.Weekday()
		if wd == time.Saturday || wd == time.Sunday || step == 1 { // this coming one, or the one after
			return ""
		}
		return "weekend of " + at.day(int(time.Saturday-wd)+7*step)
	}
	wd, ok := english.Weekday(unit)
	if !ok {
		return ""
	}
	today, want := fromMonday(at.Weekday()), fromMonday(wd)
	switch {
	case step == -1 && want >= today: // the nearest one is also that of the last calendar week
		return at.day(want - today - 7)
	case step == 1 && want <= today:
		return at.day(want - today + 7)
	case step == 0 && want >= today:
		return at.day(want - today)
	}
	return ""
}

// ago returns the date n units ago, or "" for an unknown unit.
func (at saidAt) ago(n int, unit string) string {
	switch unit {
	case "day", "days":
		return at.day(-n)
	case "week", "weeks":
		return at.week(-n)
	case "month", "months":
		return at.month(-n)
	case "year", "years":
		if n < at.Year() {
			return at.year(-n)
		}
	}
	return ""
}

// fromMonday returns the number of days between Monday and a weekday.
func fromMonday(wd time.Weekday) int { return (int(wd) + 6) % 7 }

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
