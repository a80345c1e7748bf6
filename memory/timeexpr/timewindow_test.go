package timeexpr_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
)

// asked is the time of the questions, a Thursday.
var asked = time.Date(2024, 2, 29, 15, 4, 5, 0, time.UTC)

func dateOf(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	require.NoError(t, err)
	return d
}

func TestParseTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// dates
		"what happened on 7 May 2023?": "day 2023-05-07 2023-05-08",
		"the 7th of May, 2023":         "day 2023-05-07 2023-05-08",
		"May 7, 2023":                  "day 2023-05-07 2023-05-08",
		"on May 7th 2023":              "day 2023-05-07 2023-05-08",
		"2023-05-07":                   "day 2023-05-07 2023-05-08",
		"in the log of 2023/05/07.":    "day 2023-05-07 2023-05-08",
		"15/07/2023":                   "day 2023-07-15 2023-07-16",
		"07/15/2023":                   "day 2023-07-15 2023-07-16",
		"31 Dec 2023":                  "day 2023-12-31 2024-01-01",
		"29 February 2024":             "day 2024-02-29 2024-03-01",
		"on 1 March":                   "day 2023-03-01 2023-03-02",
		"on 29 February":               "day 2024-02-29 2024-03-01",
		"on the 1st of January":        "day 2024-01-01 2024-01-02",
		"at Christmas 2022":            "day 2022-12-24 2022-12-27",
		"on Valentine's day":           "day 2024-02-14 2024-02-15",
		"last Halloween":               "day 2023-10-31 2023-11-01",
		// months, seasons, quarters, years
		"in May 2023":             "month 2023-05-01 2023-06-01",
		"What did Ann do in May?": "month 2023-05-01 2023-06-01",
		"in early May":            "month 2023-05-01 2023-06-01",
		"in february":             "month 2024-02-01 2024-03-01",
		"in December":             "month 2023-12-01 2024-01-01",
		"2023-05":                 "month 2023-05-01 2023-06-01",
		"last May":                "month 2023-05-01 2023-06-01",
		"last January":            "month 2024-01-01 2024-02-01",
		"next May":                "month 2024-05-01 2024-06-01",
		"last summer":             "season 2023-06-01 2023-09-01",
		"in the summer":           "season 2023-06-01 2023-09-01",
		"in summer 2022":          "season 2022-06-01 2022-09-01",
		"the summer of 2022":      "season 2022-06-01 2022-09-01",
		"this summer":             "season 2024-06-01 2024-09-01",
		"last winter":             "season 2022-12-01 2023-03-01",
		"this winter":             "season 2023-12-01 2024-03-01",
		"next winter":             "season 2024-12-01 2025-03-01",
		"Q3 2022":                 "season 2022-07-01 2022-10-01",
		"last quarter":            "season 2023-10-01 2024-01-01",
		"in 2022":                 "year 2022-01-01 2023-01-01",
		"the year 2022":           "year 2022-01-01 2023-01-01",
		"last year":               "year 2023-01-01 2024-01-01",
		"two years ago":           "year 2022-01-01 2023-01-01",
		// counted from now
		"yesterday":                "day 2024-02-28 2024-02-29",
		"what did we do today":     "day 2024-02-29 2024-03-01",
		"last night":               "day 2024-02-28 2024-02-29",
		"this morning":             "day 2024-02-29 2024-03-01",
		"tomorrow":                 "day 2024-03-01 2024-03-02",
		"the day before yesterday": "day 2024-02-27 2024-02-28",
		"three days ago":           "day 2024-02-26 2024-02-27",
		"a couple of days ago":     "day 2024-02-27 2024-02-28",
		"a few days ago":           "day 2024-02-26 2024-02-27",
		"10 days ago":              "day 2024-02-19 2024-02-20",
		"last week":                "week 2024-02-19 2024-02-26",
		"this week":                "week 2024-02-26 2024-03-04",
		"next week":                "week 2024-03-04 2024-03-11",
		"two weeks ago":            "week 2024-02-12 2024-02-19",
		"last month":               "month 2024-01-01 2024-02-01",
		"two months ago":           "month 2023-12-01 2024-01-01",
		"last weekend":             "weekend 2024-02-24 2024-02-26",
		"this weekend":             "weekend 2024-03-02 2024-03-04",
		"last Friday":              "day 2024-02-23 2024-02-24",
		"last Thursday":            "day 2024-02-22 2024-02-23",
		"on Monday":                "day 2024-02-26 2024-02-27",
		"on Thursday":              "day 2024-02-29 2024-03-01",
		"next Thursday":            "day 2024-03-07 2024-03-08",
		"in the last ten days":     "span 2024-02-19 2024-03-01",
		"over the past 2 months":   "span 2023-12-29 2024-03-01",
		// around and between
		"since May 2023":                  "span 2023-05-01 2024-03-01",
		"after 7 May 2023":                "span 2023-05-08 2024-03-01",
		"since yesterday":                 "span 2024-02-28 2024-03-01",
		"before May 2023":                 "span 0001-01-01 2023-05-01",
		"until 2022":                      "span 0001-01-01 2023-01-01",
		"between May and July 2022":       "span 2022-05-01 2022-08-01",
		"from 3 May 2023 to 9 May 2023":   "span 2023-05-03 2023-05-10",
		"between 2020 and 2022":           "span 2020-01-01 2023-01-01",
		"the week before 9 June 2023":     "week 2023-06-02 2023-06-09",
		"the week after 9 June 2023":      "week 2023-06-10 2023-06-17",
		"the day after 9 June 2023":       "day 2023-06-10 2023-06-11",
		"the Friday before 15 July 2023":  "day 2023-07-14 2023-07-15",
		"the weekend before 17 July 2023": "weekend 2023-07-15 2023-07-17",
		"the month before March 2023":     "month 2023-02-01 2023-03-01",
		// between times of which one has no year, or only a day
		"from November to February 2023":          "span 2022-11-01 2023-03-01",
		"between January and December":            "span 2023-01-01 2024-01-01",
		"between May 2022 and July":               "span 2022-05-01 2022-08-01",
		"from October 2021 to March":              "span 2021-10-01 2022-04-01",
		"between last May and January":            "span 2023-05-01 2024-02-01",
		"from 5 to 7 May 2023":                    "span 2023-05-05 2023-05-08",
		"between the 5th and the 7th of May 2023": "span 2023-05-05 2023-05-08",
		"from 9 to 7 May 2023":                    "day 2023-05-07 2023-05-08",
		"since 2021 until 2022":                   "span 2021-01-01 2023-01-01",
		"since last Christmas":                    "span 2023-12-24 2024-03-01",
		// counted from another time
		"two days before Christmas":      "span 2023-12-22 2023-12-24",
		"three weeks after 9 June 2023":  "span 2023-06-10 2023-07-01",
		"a month before 31 March 2023":   "span 2023-02-28 2023-03-31",
		"the month before 31 March 2023": "month 2023-02-28 2023-03-31",
		"the week of 7 June 2023":        "week 2023-06-05 2023-06-12",
		"the weekend of 7 June 2023":     "weekend 2023-06-10 2023-06-12",
		"the last week of May":           "month 2023-05-01 2023-06-01",
		"on the last Sunday in May 2022": "month 2022-05-01 2022-06-01",
		"a year ago today":               "day 2023-02-28 2023-03-01",
		"three weeks ago today":          "day 2024-02-08 2024-02-09",
		"twenty five days ago":           "day 2024-02-04 2024-02-05",
		"twenty-five days ago":           "day 2024-02-04 2024-02-05",
		"seventeen days ago":             "day 2024-02-12 2024-02-13",
		"seventy days ago":               "day 2023-12-21 2023-12-22",
		"eighty-one days ago":            "day 2023-12-10 2023-12-11",
		"forty days ago":                 "day 2024-01-20 2024-01-21",
		"at 2023-05-07T10:20:30Z":        "day 2023-05-07 2023-05-08",
		// none
		"half a year ago":                 "",
		"between 5 and 7 people":          "",
		"":                                "",
		"what may I eat":                  "",
		"who may march":                   "",
		"they march in the second row":    "",
		"recently":                        "",
		"07/05/2023":                      "",
		"31 February 2023":                "month 2023-02-01 2023-03-01",
		"runs on port 2022":               "",
		"version 2023-13-01":              "",
		"a second ago":                    "",
		"the 99 problems":                 "",
		"Sunday roast and Friday deploys": "",
		"spring boot":                     "",
		"the fall of Rome":                "",
		"one week to go":                  "",
		"a mar in the surface":            "",
		"\xff\xfe":                        "",
	} {
		got := timeexpr.ParseTimes(text, asked)
		if want == "" {
			require.Empty(t, got, text)
			continue
		}
		require.Len(t, got, 1, text)
		f := strings.Fields(want)
		require.Equal(t, timeexpr.TimeWindow{Start: dateOf(t, f[1]), End: dateOf(t, f[2]),
			Kind: timeexpr.WindowKind(f[0])}, got[0], text)
	}
	two := timeexpr.ParseTimes("was it in May 2022 or in June 2023?", asked)
	require.Equal(t, []time.Time{dateOf(t, "2022-05-01"), dateOf(t, "2023-06-01")},
		[]time.Time{two[0].Start, two[1].Start})
}

// A month back from the 31st is at the end of the month before.
func TestMonthsHaveDifferentLengths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"in the past 2 months":    "2023-02-28 2023-05-01",
		"over the last 14 months": "2022-02-28 2023-05-01",
		"a year ago today":        "2022-04-30 2022-05-01",
	} {
		got := timeexpr.ParseTimes(text, dateOf(t, "2023-04-30"))
		require.Len(t, got, 1, text)
		require.Equal(t, want, got[0].Start.Format(time.DateOnly)+" "+got[0].End.Format(time.DateOnly), text)
	}
}

func TestWindowsUseTheLocationOfTheQuestion(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("", 9*3600)
	got := timeexpr.ParseTimes("yesterday", time.Date(2024, 3, 1, 0, 30, 0, 0, tokyo))
	require.Equal(t, time.Date(2024, 2, 29, 0, 0, 0, 0, tokyo), got[0].Start)
}

// A window is never empty, and it contains the named date.
func TestWindowContainsNamedDate(t *testing.T) {
	t.Parallel()
	pieces := strings.Fields(`on in the last next this past before after since between and from to until of a few couple two 3 12 2022 2023-02-29 2023-05-07
		may march january dec monday friday weekend week month year day days months ago summer winter q2 christmas eve 7th 31st 29 yesterday today tomorrow night cat`)
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(rapid.Int64Range(-1e9, 5e9).Draw(rt, "now"),
			0).In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(rt, "zone")*3600))
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(rt, "text"), " ")
		for _, w := range timeexpr.ParseTimes(text, now) {
			if !w.End.After(w.Start) || !w.Contains(w.Start) || w.Contains(w.End) || w.Kind == "" {
				rt.Fatalf("%q at %v: %+v", text, now, w)
			}
		}
		d := time.Unix(rapid.Int64Range(0, 4e9).Draw(rt, "day"), 0).In(now.Location())
		for _, form := range []string{"2 January 2006", "January 2, 2006", "2006-01-02", "2006/01/02", "2 Jan 2006"} {
			got := timeexpr.ParseTimes("what was said on "+d.Format(form)+"?", now)
			if len(got) != 1 || !got[0].Contains(d) || got[0].Kind != timeexpr.WindowDay ||
				got[0].End.Sub(got[0].Start) > 25*time.Hour {
				rt.Fatalf("%s: %+v", d.Format(form), got)
			}
		}
		if got := timeexpr.ParseTimes("in "+d.Format("January 2006"),
			now); len(got) != 1 || !got[0].Contains(d) || got[0].Kind != timeexpr.WindowMonth {
			rt.Fatalf("%v: %+v", d, got)
		}
		if got := timeexpr.ParseTimes(fmt.Sprintf("in %d", d.Year()),
			now); len(got) != 1 || !got[0].Contains(d) || got[0].Kind != timeexpr.WindowYear {
			rt.Fatalf("%v: %+v", d, got)
		}
		n := rapid.IntRange(1, 999).Draw(rt, "n")
		ago := now.AddDate(0, 0, -n)
		for unit, size := range map[string]int{"days": 1, "weeks": 7} {
			if got := timeexpr.ParseTimes(fmt.Sprintf("%d %s ago", n/size+1, unit),
				now); len(got) != 1 || got[0].Start.After(now.AddDate(0, 0, -(n/size+1)*size)) {
				rt.Fatalf("%d %s ago, %v: %+v", n/size+1, unit, ago, got)
			}
		}
	})
}

func FuzzParseTimes(f *testing.F) {
	f.Add("between the 7th of May and christmas eve 2022 or last summer, two weeks ago")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range timeexpr.ParseTimes(text, asked) {
			if !w.End.After(w.Start) {
				t.Fatalf("%+v", w)
			}
		}
	})
}

func TestOtherTimesRankLower(t *testing.T) {
	t.Parallel()
	at := func(s string) rank.Evidence {
		return rank.Evidence{ID: uuid.NewSHA1(uuid.Nil, []byte(s)), Score: 0.6,
			Features: rank.Features{OccurredAt: dateOf(t, s)}}
	}
	inside, after, long, before := at("2023-05-20"), at("2023-06-05"), at("2023-06-15"), at("2023-04-30")
	unknown := rank.Evidence{ID: uuid.New(), Score: 0.6}
	may := timeexpr.ParseTimes("in May 2023", asked)
	got := map[time.Time]float64{}
	ranked := timeexpr.Timely([]rank.Evidence{before, long, after, inside, unknown}, may)
	for _, e := range ranked {
		got[e.OccurredAt] = e.Score
	}
	require.Equal(t, 0.6, got[inside.OccurredAt])
	require.Equal(t, 0.6, got[time.Time{}], "a candidate without a time keeps its score")
	require.InDelta(t, 0.6/1.15, got[after.OccurredAt], 1e-9, "events are often mentioned after they happened")
	require.InDelta(t, 0.6/1.3, got[long.OccurredAt], 1e-9, "the full penalty applies after ten days")
	require.InDelta(t, 0.6/1.3, got[before.OccurredAt], 1e-9)
	require.Equal(t, before.Score, 0.6, "the input is unchanged")
	oneDay := timeexpr.Timely([]rank.Evidence{at("2023-05-08"), at("2023-05-09")},
		timeexpr.ParseTimes("on 7 May 2023", asked))
	require.InDelta(t, 0.6/1.15, oneDay[0].Score, 1e-9, "the grace period is at most the length of the window")
	require.InDelta(t, 0.6/1.3, oneDay[1].Score, 1e-9)
	require.Empty(t, timeexpr.Begun(timeexpr.ParseTimes("next week", asked), asked),
		"no window lies entirely in the future")
	require.Len(t, timeexpr.Begun(timeexpr.ParseTimes("this week", asked), asked), 1)
}
