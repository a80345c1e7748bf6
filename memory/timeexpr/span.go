package timeexpr

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/english"
)

// unitSizes has the years, months and days of units.
var unitSizes = map[string][3]int{"day": {0, 0, 1}, "night": {0, 0, 1}, "week": {0, 0, 7}, "month": {0, 1, 0},
	"year": {1, 0, 0}}

// moved is time.Time.AddDate, except that a day that its month does not have is the last day of the month: a month
// after 31 January is 28 February and not 3 March.
func moved(t time.Time, years, months, days int) time.Time {
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location()).AddDate(years, months, 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1+days)
}

// between reads two times after "between" or "from" at i: "between May and July 2022", "from 5 to 7 May". If the second
// time is missing, it reads the first alone.
func (p *timeParser) between(i int, low string) (TimeWindow, int) {
	joins := func(at int) bool {
		next := p.word(at)
		return low == "between" && next == "and" ||
			low == "from" && (next == "to" || next == "until" || next == "till" || next == "through")
	}
	from, n := p.after(i + 1)
	if n == 0 {
		return p.daysOf(i, joins)
	}
	joint := i + 1 + n
	if joins(joint) {
		if to, m := p.after(joint + 1); m > 0 {
			if w := p.inOrder(from, to, p.yearless(i+1, n), p.yearless(joint+1, m)); w.End.After(w.Start) {
				return w, n + m + 2
			}
		}
	}
	return from, n + 1
}

// daysOf reads two days of one month, of which only the second has the month.
func (p *timeParser) daysOf(i int, joins func(at int) bool) (TimeWindow, int) {
	at := i + 1
	if p.word(at) == "the" {
		at++
	}
	first := english.DayOfMonth(p.word(at))
	if first == 0 || !joins(at+1) {
		return TimeWindow{}, 0
	}
	to, n := p.after(at + 2)
	if n == 0 || to.Kind != WindowDay || first >= to.Start.Day() {
		return TimeWindow{}, 0
	}
	return TimeWindow{to.Start.AddDate(0, 0, first-to.Start.Day()), to.End, WindowSpan}, at + 2 + n - i
}

// inOrder returns the span between two times. A time without a year has the year that puts it next to the other: in
// "from November to February 2023" the first is of 2022, and in "from October 2021 to March" the second of 2022. If
// neither has a year, the second is the most recent one.
func (p *timeParser) inOrder(from, to TimeWindow, anyFrom, anyTo bool) TimeWindow {
	switch {
	case anyFrom:
		from = from.inYear(to.Start.Year())
		if from.Start.After(to.Start) {
			from = from.inYear(to.Start.Year() - 1)
		}
	case anyTo:
		to = to.inYear(from.Start.Year())
		if to.Start.Before(from.Start) {
			to = to.inYear(from.Start.Year() + 1)
		}
	}
	return TimeWindow{from.Start, to.End, WindowSpan}
}

// inYear returns the same time in another year.
func (w TimeWindow) inYear(year int) TimeWindow {
	years := year - w.Start.Year()
	return TimeWindow{w.Start.AddDate(years, 0, 0), w.End.AddDate(years, 0, 0), w.Kind}
}

// yearless reports whether the n words at i are a date, a month, a season or a holiday without a year.
func (p *timeParser) yearless(i, n int) bool {
	words, calendar := p.words[i:i+n], false
	for _, word := range words {
		_, isSeason := seasonNames[word]
		_, isQuarter := quarterNames[word]
		_, isHoliday := holidays[word]
		calendar = calendar || english.Month(word) > 0 || isSeason || isQuarter || isHoliday
		if _, ok := yearOf(word); ok || strings.ContainsAny(word, "-/") {
			return false
		}
	}
	return calendar && !slices.ContainsFunc(words, func(word string) bool { return steps[word] })
}

// steps has words that count from now.
var steps = map[string]bool{"last": true, "past": true, "previous": true, "this": true, "current": true, "next": true,
	"coming": true, "following": true, "ago": true, "earlier": true, "back": true}

// ending reads "before May", "until 2022" and the like at i.
func (p *timeParser) ending(i int) (time.Time, int) {
	low := p.word(i)
	if low != "before" && low != "until" && low != "till" {
		return time.Time{}, 0
	}
	w, n := p.after(i + 1)
	if n == 0 {
		return time.Time{}, 0
	}
	if low == "before" {
		return w.Start, n + 1
	}
	return w.End, n + 1
}

// around reads "week of 5 May" and "weekend of 5 May" at i.
func (p *timeParser) around(i int) (TimeWindow, int) {
	unit := p.word(i)
	if unit != "week" && unit != "weekend" {
		return TimeWindow{}, 0
	}
	w, n := p.after(i + 2)
	if n == 0 || w.Kind != WindowDay {
		return TimeWindow{}, 0
	}
	monday := mondayOf(w.Start)
	if unit == "weekend" {
		return windowFrom(monday.AddDate(0, 0, 5), 0, 0, 2, WindowWeekend), n + 2
	}
	return windowFrom(monday, 0, 0, 7, WindowWeek), n + 2
}

// countedFrom reads "before Christmas" and "after 9 June" at i, after a count of units that has n words with the first
// of these. It returns the whole time between: "two weeks before" may mean the day or the weeks.
func (p *timeParser) countedFrom(i, count int, size [3]int, n int) (TimeWindow, int) {
	w, m := p.after(i + 1)
	if m == 0 {
		return TimeWindow{}, 0
	}
	if p.word(i) == "before" {
		first := dayOf(w.Start)
		return TimeWindow{moved(first, -count*size[0], -count*size[1], -count*size[2]), first, WindowSpan}, n + m
	}
	next := dayOf(w.End.Add(-time.Nanosecond)).AddDate(0, 0, 1)
	return TimeWindow{next, moved(next, count*size[0], count*size[1], count*size[2]), WindowSpan}, n + m
}
