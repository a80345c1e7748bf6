package timeexpr

import (
	"slices"
	"time"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
)

// StageTime is the stage that lowers memories outside the times that the query names. The channel ChannelTime finds
// memories within them.
const StageTime = "timeliness"

// People talk about events after they happened. A statement shortly after the window is more likely to be about it than
// a later one, and an earlier one is not. On the evaluation conversations, the stage adds about one point of recall@10
// (docs/reference/benchmarks.md).
const (
	outsideWindow  = 1 / 1.3  // factor for other times
	afterWindow    = 1 / 1.15 // factor for times shortly after the window
	maxAfterWindow = 10 * 24 * time.Hour

	// inWindow, times a memory's worth, is the evidence of its time alone. It is low, so that it can answer "what
	// happened yesterday" and still ranks below memories that other words of the query find.
	inWindow = 0.12

	maxTimeWindows = 4   // per query
	maxTimeWords   = 400 // words of a query that are read
)

// WindowKind is the precision of a time expression.
type WindowKind string

// Kinds of windows.
const (
	WindowDay     WindowKind = "day"
	WindowWeekend WindowKind = "weekend"
	WindowWeek    WindowKind = "week"
	WindowMonth   WindowKind = "month"
	WindowSeason  WindowKind = "season" // three months; also a quarter of the year
	WindowYear    WindowKind = "year"
	WindowSpan    WindowKind = "span" // between two times, or open-ended
)

// TimeWindow is the time that an expression names, including Start and excluding End. It is never empty.
type TimeWindow struct {
	Start, End time.Time
	Kind       WindowKind
}

// Contains reports whether t lies in the window.
func (w TimeWindow) Contains(t time.Time) bool { return !t.Before(w.Start) && t.Before(w.End) }

// ParseTimes returns the times that a text names in English, relative to now and in its location: dates with and
// without a year ("on 7 May 2023", "May 7th", "2023-05-07"), months, seasons, quarters, years, fixed holidays ("in
// May", "last summer", "Q3 2022", "in 2022", "at Christmas"), days of the week, and times counted from now
// ("yesterday", "last week", "two months ago", "the past ten days"), each also with "before", "after", "since",
// "until", "between … and", "the week before" and "two days before". Ambiguous texts are ignored: "recently",
// "07/05/2023", "may" where it is not a month.
//
// Libraries that read dates return points in time, not windows and their kinds. They do not know seasons or whether
// "may" is a month.
func ParseTimes(text string, now time.Time) []TimeWindow {
	if y := now.Year(); y < 1000 || y > 9000 {
		return nil
	}
	p := timeParser{now: now, today: dayOf(now)}
	p.words = normalize.Words(text[:min(len(text), 32*maxTimeWords)], "-/")
	p.words = p.words[:min(len(p.words), maxTimeWords)]
	var out []TimeWindow
	for i := 0; i < len(p.words) && len(out) < maxTimeWindows; {
		w, n := p.expression(i)
		if n == 0 {
			i++
			continue
		}
		i += n
		if w.End.After(w.Start) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// Begun returns the windows that have begun by now. No memory can be of a future window.
func Begun(windows []TimeWindow, now time.Time) []TimeWindow {
	return slices.DeleteFunc(slices.Clone(windows), func(w TimeWindow) bool { return w.Start.After(now) })
}

// Timely lowers the score of memories outside the times that the query names.
func Timely(ranked []rank.Evidence, windows []TimeWindow) []rank.Evidence {
	if len(windows) == 0 {
		return ranked
	}
	out := ranked
	for i := range out {
		e := &out[i]
		if e.OccurredAt.IsZero() || e.Channels[rank.ChannelTime] > 0 {
			continue // found by its time; OccurredAt may be another time
		}
		if share := timeliness(e.OccurredAt, windows); share < 1 {
			e.SetMeasured(StageTime, e.Score*share, "of another time: × %.2f", share)
		}
	}
	rank.Rank(out)
	return out
}

// timeliness returns the factor for a memory of time t: 1 in a window, less than 1 elsewhere.
func timeliness(t time.Time, windows []TimeWindow) float64 {
	share := outsideWindow
	for _, w := range windows {
		tail := min(w.End.Sub(w.Start), maxAfterWindow)
		switch {
		case w.Contains(t):
			return 1
		case !t.Before(w.End) && t.Before(w.End.Add(tail)):
			share = max(share, afterWindow)
		}
	}
	return share
}

// TimeScore returns the evidence of a memory whose time is in a window of the query, in [0,1].
func TimeScore(importance float64) float64 { return inWindow * rank.Worth(importance) }
