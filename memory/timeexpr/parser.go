package timeexpr

import (
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/english"
)

// timeParser reads time expressions from a text's words.
type timeParser struct {
	now, today time.Time
	words      []string
}

func dayOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// word returns the word at i, or "" if there is none.
func (p *timeParser) word(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i]
}

// expression reads a whole expression at i and returns its number of words, or 0 if there is none.
func (p *timeParser) expression(i int) (TimeWindow, int) {
	switch low := p.word(i); low {
	case "between", "from":
		return p.between(i, low)
	case "since", "after":
		if w, n := p.after(i + 1); n > 0 {
			start := w.Start
			if low == "after" {
				start = w.End
			}
			if end, m := p.ending(i + n + 1); m > 0 && end.After(start) {
				return TimeWindow{start, end, WindowSpan}, n + m + 1
			}
			if start.Before(p.now) {
				return TimeWindow{start, p.today.AddDate(0, 0, 1), WindowSpan}, n + 1
			}
			return w, n + 1
		}
	case "before", "until", "till":
		if end, n := p.ending(i); n > 0 {
			return TimeWindow{time.Time{}, end, WindowSpan}, n
		}
	case "day", "week", "weekend", "month", "year":
		if w, n := p.adjacent(i); n > 0 {
			return w, n
		}
	}
	if _, ok := english.Weekday(p.word(i)); ok {
		if w, n := p.adjacent(i); n > 0 {
			return w, n
		}
	}
	return p.simple(i)
}

// after reads a simple expression after a word such as "since". It skips up to two of the words "the", "on" and "in".
func (p *timeParser) after(i int) (TimeWindow, int) {
	skipped := 0
	for skipped < 2 && (p.word(i+skipped) == "the" || p.word(i+skipped) == "on" || p.word(i+skipped) == "in") {
		skipped++
	}
	if w, n := p.simple(i + skipped); n > 0 {
		return w, n + skipped
	}
	return TimeWindow{}, 0
}

// adjacent reads "week before 9 June", "day after Christmas", "Friday before 15 July 2023", "week of 5 May".
func (p *timeParser) adjacent(i int) (TimeWindow, int) {
	side := p.word(i + 1)
	if side == "of" {
		return p.around(i)
	}
	if side != "before" && side != "after" {
		return TimeWindow{}, 0
	}
	w, n := p.after(i + 2)
	if n == 0 {
		return TimeWindow{}, 0
	}
	n += 2
	first, last := dayOf(w.Start), dayOf(w.End.Add(-time.Nanosecond))
	day, isDay := english.Weekday(p.word(i))
	unit := p.word(i)
	if unit == "weekend" {
		day, isDay = time.Saturday, true
	}
	if isDay {
		at := first.AddDate(0, 0, -1)
		step := -1
		if side == "after" {
			at, step = last.AddDate(0, 0, 1), 1
		}
		for at.Weekday() != day {
			at = at.AddDate(0, 0, step)
		}
		if unit == "weekend" {
			return windowFrom(at, 0, 0, 2, WindowWeekend), n
		}
		return windowFrom(at, 0, 0, 1, WindowDay), n
	}
	size := unitSizes[unit]
	kind := map[string]WindowKind{"day": WindowDay, "week": WindowWeek, "month": WindowMonth, "year": WindowYear}[unit]
	if side == "before" {
		return TimeWindow{moved(first, -size[0], -size[1], -size[2]), first, kind}, n
	}
	return windowFrom(last.AddDate(0, 0, 1), size[0], size[1], size[2], kind), n
}

// windowFrom returns the window that starts at a day and lasts the given years, months and days.
func windowFrom(start time.Time, years, months, days int, kind WindowKind) TimeWindow {
	return TimeWindow{start, moved(start, years, months, days), kind}
}

// mondayOf returns the Monday of the week of a day.
func mondayOf(day time.Time) time.Time { return day.AddDate(0, 0, -(int(day.Weekday())+6)%7) }

// simple reads one time at i.
func (p *timeParser) simple(i int) (TimeWindow, int) {
	for _, read := range []func(int) (TimeWindow, int){p.numeric, p.relative, p.counted, p.dated, p.named} {
		if w, n := read(i); n > 0 {
			return w, n
		}
	}
	return TimeWindow{}, 0
}

// numeric reads "2023-05-07", "2023/05/07", "2023-05", and dates whose day cannot be a month, such as "15/07/2023".
func (p *timeParser) numeric(i int) (TimeWindow, int) {
	word := p.word(i)
	if date, _, ok := strings.Cut(word, "t"); ok && len(date) == len(time.DateOnly) {
		word = date // 2023-05-07T10:20:30Z
	}
	parts := strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == '/' })
	n := make([]int, len(parts))
	for k, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil {
			return TimeWindow{}, 0
		}
		n[k] = v
	}
	switch {
	case len(n) == 3 && len(parts[0]) == 4:
		return p.day(n[0], n[1], n[2])
	case len(n) == 3 && len(parts[2]) == 4 && n[0] > 12:
		return p.day(n[2], n[1], n[0])
	case len(n) == 3 && len(parts[2]) == 4 && (n[1] > 12 || n[0] == n[1]):
		return p.day(n[2], n[0], n[1])
	case len(n) == 2 && len(parts[0]) == 4 && n[1] >= 1 && n[1] <= 12:
		if _, ok := yearOf(parts[0]); ok {
			return windowFrom(p.first(n[0], time.Month(n[1])), 0, 1, 0, WindowMonth), 1
		}
	}
	return TimeWindow{}, 0
}

// day returns the window of a date if the date exists.
func (p *timeParser) day(year, month, day int) (TimeWindow, int) {
	if year < 1900 || year > 2100 || month < 1 || month > 12 || day < 1 {
		return TimeWindow{}, 0
	}
	start := time.Date(year, time.Month(month), day, 0, 0, 0, 0, p.now.Location())
	if start.Day() != day {
		return TimeWindow{}, 0
	}
	return windowFrom(start, 0, 0, 1, WindowDay), 1
}

func (p *timeParser) first(year int, month time.Month) time.Time {
	return time.Date(year, month, 1, 0, 0, 0, 0, p.now.Location())
}

// relative reads expressions relative to now that have no number.
func (p *timeParser) relative(i int) (TimeWindow, int) {
	days := func(n int) TimeWindow { return windowFrom(p.today.AddDate(0, 0, n), 0, 0, 1, WindowDay) }
	switch p.word(i) {
	case "yesterday":
		return days(-1), 1
	case "today", "tonight":
		return days(0), 1
	case "tomorrow":
		return days(1), 1
	case "day":
		if p.word(i+1) == "before" && p.word(i+2) == "yesterday" {
			return days(-2), 3
		}
		return TimeWindow{}, 0
	case "last", "past", "previous":
		return p.stepped(i, -1)
	case "this", "current":
		return p.stepped(i, 0)
	case "next", "coming", "following":
		return p.stepped(i, 1)
	}
	return TimeWindow{}, 0
}

// stepped reads the unit after "last", "this" and "next".
func (p *timeParser) stepped(i, step int) (TimeWindow, int) {
	monday := mondayOf(p.today)
	unit := p.word(i + 1)
	if before := p.word(i + 2); step < 0 && (before == "of" || before == "in") && english.Month(p.word(i+3)) > 0 {
		return TimeWindow{}, 0 // the last week of May
	}
	if _, ok := holidays[unit]; ok && step < 0 {
		w, n := p.named(i + 1)
		return w, n + 1
	}
	switch unit {
	case "night":
		if step <= 0 {
			return windowFrom(p.today.AddDate(0, 0, step), 0, 0, 1, WindowDay), 2
		}
	case "morning", "afternoon", "evening":
		if step == 0 {
			return windowFrom(p.today, 0, 0, 1, WindowDay), 2
		}
	case "week":
		return windowFrom(monday.AddDate(0, 0, 7*step), 0, 0, 7, WindowWeek), 2
	case "weekend":
		// On a weekend, "this weekend" is the current one and "last weekend" the previous one.
		return windowFrom(monday.AddDate(0, 0, 5+7*step), 0, 0, 2, WindowWeekend), 2
	case "month":
		return windowFrom(p.first(p.now.Year(), p.now.Month()+time.Month(step)), 0, 1, 0, WindowMonth), 2
	case "quarter":
		first := (p.now.Month()-1)/3*3 + 1
		return windowFrom(p.first(p.now.Year(), first+time.Month(3*step)), 0, 3, 0, WindowSeason), 2
	case "year":
		return windowFrom(p.first(p.now.Year()+step, time.January), 1, 0, 0, WindowYear), 2
	}
	if day, ok := english.Weekday(unit); ok {
		ahead := (int(day) - int(p.today.Weekday()) + 7) % 7 // days to the next one, 0 if it is today
		switch {
		case step < 0:
			ahead -= 7
		case step > 0 && ahead == 0:
			ahead = 7
		}
		return windowFrom(p.today.AddDate(0, 0, ahead), 0, 0, 1, WindowDay), 2
	}
	if month := english.Month(unit); month > 0 {
		year := p.now.Year() + step
		switch {
		case step < 0 && month < p.now.Month(), step > 0 && month > p.now.Month():
			year = p.now.Year()
		}
		return windowFrom(p.first(year, month), 0, 1, 0, WindowMonth), 2
	}
	if first, ok := seasonNames[unit]; ok {
		w := p.season(p.now.Year()+1, first)
		for w.End.After(p.now) { // the latest that has ended
			w = p.season(w.Start.Year()-1, first)
		}
		if next := p.season(w.Start.Year()+1, first); step >= 0 {
			if w = next; step > 0 && next.Contains(p.now) {
				w = p.season(next.Start.Year()+1, first)
			}
		}
		return w, 2
	}
	return TimeWindow{}, 0
}

func (p *timeParser) season(year int, first time.Month) TimeWindow {
	return windowFrom(p.first(year, first), 0, 3, 0, WindowSeason)
}

// counted reads "two months ago", "a couple of weeks ago", and "ten days" after "last" or "past".
func (p *timeParser) counted(i int) (TimeWindow, int) {
	at, rolling := i, false
	if low := p.word(i); low == "last" || low == "past" || low == "previous" {
		at, rolling = i+1, true
	}
	count, n := number(p.words[min(at, len(p.words)):])
	if n == 0 || count < 1 || count > 1_000 || p.word(i-1) == "half" {
		return TimeWindow{}, 0
	}
	unit := strings.TrimSuffix(p.word(at+n), "s")
	n += at - i + 1
	var back func(int) time.Time
	switch unit {
	case "day", "night":
		back = func(k int) time.Time { return p.today.AddDate(0, 0, -k) }
	case "week":
		back = func(k int) time.Time { return p.today.AddDate(0, 0, -7*k) }
	case "month":
		back = func(k int) time.Time { return p.first(p.now.Year(), p.now.Month()-time.Month(k)) }
	case "year":
		if count > 900 {
			return TimeWindow{}, 0
		}
		back = func(k int) time.Time { return p.first(p.now.Year()-k, time.January) }
	default:
		return TimeWindow{}, 0
	}
	size := unitSizes[unit]
	if rolling {
		return TimeWindow{moved(p.today, -count*size[0], -count*size[1], -count*size[2]), p.today.AddDate(0, 0, 1),
			WindowSpan}, n
	}
	switch low := p.word(i + n); {
	case low == "before", low == "after":
		return p.countedFrom(i+n, count, size, n+1)
	case low != "ago" && low != "earlier" && low != "back":
		return TimeWindow{}, 0
	case p.word(i+n+1) == "today":
		return windowFrom(moved(p.today, -count*size[0], -count*size[1], -count*size[2]), 0, 0, 1, WindowDay), n + 2
	}
	start := back(count)
	switch unit {
	case "week":
		return windowFrom(mondayOf(start), 0, 0, 7, WindowWeek), n + 1
	case "month":
		return windowFrom(start, 0, 1, 0, WindowMonth), n + 1
	case "year":
		return windowFrom(start, 1, 0, 0, WindowYear), n + 1
	}
	return windowFrom(start, 0, 0, 1, WindowDay), n + 1
}

// dated reads a month with a day or a year, such as "7 May 2023", "7th of May", "May 7th, 2023" or "May 2023". It also
// reads a month alone, and a season or quarter with a year or after "in" or "during". A month whose name has another
// meaning, such as "march", or three letters is read alone only after a preposition of time.
func (p *timeParser) dated(i int) (TimeWindow, int) {
	if day := english.DayOfMonth(p.word(i)); day > 0 {
		at := i + 1
		if p.word(at) == "of" {
			at++
		}
		if month := english.Month(p.word(at)); month > 0 {
			return p.dateOf(i, at+1-i, day, month)
		}
	}
	if month := english.Month(p.word(i)); month > 0 {
		if day := english.DayOfMonth(p.word(i + 1)); day > 0 {
			return p.dateOf(i, 2, day, month)
		}
		if year, n := p.year(i + 1); n > 0 {
			return windowFrom(p.first(year, month), 0, 1, 0, WindowMonth), 1 + n
		}
		if alsoWords[p.word(i)] && !timePrepositions[p.word(i-1)] ||
			len(p.word(i)) == 3 && !timePrepositions[p.word(i-1)] {
			return TimeWindow{}, 0
		}
		w := windowFrom(p.first(p.now.Year(), month), 0, 1, 0, WindowMonth)
		if w.Start.After(p.now) {
			w = windowFrom(p.first(p.now.Year()-1, month), 0, 1, 0, WindowMonth)
		}
		return w, 1
	}
	first, isSeason := seasonNames[p.word(i)]
	if quarter, ok := quarterNames[p.word(i)]; ok {
		first, isSeason = quarter, true
	}
	if isSeason {
		if year, n := p.year(i + 1); n > 0 {
			return p.season(year, first), 1 + n
		}
		if before := p.word(i - 1); before == "in" || before == "during" ||
			before == "the" && (p.word(i-2) == "in" || p.word(i-2) == "during") {
			w := p.season(p.now.Year(), first)
			if w.Start.After(p.now) {
				w = p.season(p.now.Year()-1, first)
			}
			return w, 1
		}
	}
	return TimeWindow{}, 0
}

// dateOf completes a day and a month, read from the n words at i, with the year that follows. Without a year, it
// uses the latest one in which the day has passed.
func (p *timeParser) dateOf(i, n, day int, month time.Month) (TimeWindow, int) {
	if year, m := p.year(i + n); m > 0 {
		if w, ok := p.day(year, int(month), day); ok > 0 {
			return w, n + m
		}
		return TimeWindow{}, 0
	}
	for back := range 9 { // the latest 29 February may be eight years ago
		if w, ok := p.day(p.now.Year()-back, int(month), day); ok > 0 && !w.Start.After(p.now) {
			return w, n
		}
	}
	return TimeWindow{}, 0
}

// year reads a year at i, optionally after "of" or "in".
func (p *timeParser) year(i int) (int, int) {
	n := 1
	if low := p.word(i); low == "of" || low == "in" {
		i, n = i+1, 2
	}
	year, ok := yearOf(p.word(i))
	if !ok {
		return 0, 0
	}
	return year, n
}

// named reads years and days of the week after words that show that a time is meant, and holidays.
func (p *timeParser) named(i int) (TimeWindow, int) {
	low, before := p.word(i), p.word(i-1)
	if year, ok := yearOf(low); ok && (timePrepositions[before] || before == "the" || before == "year" ||
		before == "of") {
		return windowFrom(p.first(year, time.January), 1, 0, 0, WindowYear), 1
	}
	if day, ok := english.Weekday(low); ok &&
		(before == "on" || before == "since" || before == "by" || before == "until") {
		back := (int(p.today.Weekday()) - int(day) + 7) % 7
		return windowFrom(p.today.AddDate(0, 0, -back), 0, 0, 1, WindowDay), 1
	}
	if h, ok := holidays[low]; ok {
		n := 1
		if p.word(i+n) == "s" { // Valentine's
			n++
		}
		if next := p.word(i + n); next == "day" || next == "eve" {
			n++
		}
		around := func(year int) TimeWindow {
			return windowFrom(time.Date(year, h.month, h.day, 0, 0, 0, 0, p.now.Location()), 0, 0, h.days, WindowDay)
		}
		if year, m := p.year(i + n); m > 0 {
			return around(year), n + m
		}
		w := around(p.now.Year())
		if w.Start.After(p.now) {
			w = around(p.now.Year() - 1)
		}
		return w, n
	}
	return TimeWindow{}, 0
}
