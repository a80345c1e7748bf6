package frame

import (
	"strconv"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// dateAt returns the date that starts at ts[i] and its number of tokens.
func dateAt(ts []english.Token, i int) (Value, int) {
	t := ts[i]
	at := func(k int) english.Token {
		if i+k < len(ts) && ts[i+k-1].End != '.' && ts[i+k-1].End != ';' {
			return ts[i+k]
		}
		return english.Token{}
	}
	date := func(key string, n int) (Value, int) { return Value{Kind: KindDate, Key: key}, n }
	digit := english.HasDigit(t.Low)
	switch low := t.Low; {
	case digit && isoPattern.MatchString(low):
		m := isoPattern.FindStringSubmatch(low)
		return date(m[2]+"-"+m[3], 1)
	case Month(t) > 0:
		if d := english.DayOfMonth(at(1).Low); d > 0 && t.End == 0 {
			n := 2
			if yearPattern.MatchString(at(2).Low) {
				n = 3
			}
			return date(monthDay(Month(t), d), n)
		}
		n := 1
		if yearPattern.MatchString(at(1).Low) {
			n = 2
		}
		return date(monthDay(Month(t), 0), n)
	case digit && english.DayOfMonth(low) > 0 && t.End == 0 &&
		(Month(at(1)) > 0 || at(1).Low == "of" && Month(at(2)) > 0):
		n := 2
		if at(1).Low == "of" {
			n = 3
		}
		m := Month(at(n - 1))
		if yearPattern.MatchString(at(n).Low) {
			n++
		}
		return date(monthDay(m, english.DayOfMonth(low)), n)
	case digit && ordinalPattern.MatchString(low) && (i == 0 || ts[i-1].Is("the", "on")) &&
		!strings.HasPrefix(at(1).Low, "fl"):
		return date("00-"+low, 1)
	case (english.Weekdays[low] > 0 || weekAb[low] && t.Cap) && t.End == 0 && dayparts[at(1).Low]:
		return date("day:"+low[:min(3, len(low))]+" "+at(1).Stem, 2)
	case english.Weekdays[low] > 0, english.Weekdays[strings.TrimSuffix(low, "s")] > 0, weekAb[low] && t.Cap:
		return date("day:"+strings.TrimSuffix(low, "s")[:min(3, len(low))], 1)
	case digit && quarterPattern.MatchString(low):
		return date(low, 1)
	case digit && yearPattern.MatchString(low) && i > 0 && (english.Prepositions[ts[i-1].Low] || ts[i-1].Low == "be"):
		return date(low, 1)
	case low == "tomorrow" || low == "tonight":
		return date(low, 1)
	case t.Is("first", "second", "third", "fourth", "last", "beginning", "start", "middle") && t.End == 0:
		n := 0 // "the last week of August", "the middle of May"
		if at(1).Is("week", "weekend", "half") || english.Weekdays[at(1).Low] > 0 {
			n = 1
		} else if !t.Is("beginning", "start", "middle") {
			break
		}
		if at(n+1).Low == "of" && Month(at(n+2)) > 0 {
			return date(textOfLow(ts[i:i+n+3]), n+3)
		}
	case (low == "next" || low == "end" || low == "early" || low == "late" || low == "mid") && at(1).Low != "":
		n := 1
		if at(1).Low == "of" {
			n = 2
		}
		for english.Articles[at(n).Low] || at(n).Low == "next" {
			n++
		}
		if w := at(n); units[w.Stem] && w.Stem != "night" || Month(w) > 0 ||
			w.Is("summer", "spring", "autumn", "fall", "winter") {
			return date(textOfLow(ts[i:i+n+1]), n+1)
		}
	case strings.HasPrefix(low, "mid-") && len(low) > 5:
		return date(low, 1)
	}
	return Value{}, 0
}

func monthDay(m, d int) string { return strconv.Itoa(m) + "-" + strconv.Itoa(d) }

// timeAt returns the time of day that starts at ts[i] and its number of tokens.
func timeAt(ts []english.Token, i int) (Value, int) {
	low := ts[i].Low
	next := ""
	if i+1 < len(ts) && ts[i].End == 0 {
		next = ts[i+1].Low
	}
	clock := func(hour, minute string, half string, n int) (Value, int) {
		h, err := strconv.Atoi(hour)
		if err != nil || h > 24 {
			return Value{}, 0
		}
		if half == "pm" && h < 12 {
			h += 12
		}
		return Value{Kind: KindTime, Key: strconv.Itoa(h) + ":" + minute}, n
	}
	digit := english.HasDigit(low)
	if !digit && numerals[low] == 0 && low != "noon" && low != "midday" && low != "midnight" && low != "half" &&
		low != "quarter" {
		return Value{}, 0
	}
	half := strings.ReplaceAll(next, ".", "")
	if half != "am" && half != "pm" {
		half = ""
	}
	switch {
	case low == "noon" || low == "midday":
		return clock("12", "00", "", 1)
	case low == "midnight":
		return clock("0", "00", "", 1)
	case digit && hourPattern.MatchString(low):
		m := hourPattern.FindStringSubmatch(low)
		return clock(m[1], "00", m[2], 1)
	case digit && timePattern.MatchString(low) && (strings.Contains(low, ":") || half != "" ||
		i > 0 && ts[i-1].Is("at", "to")):
		m := timePattern.FindStringSubmatch(low)
		if half != "" {
			return clock(m[1], m[2], half, 2)
		}
		return clock(m[1], m[2], m[3], 1)
	case dayHalf(ts, i) != "" && (numberPattern.MatchString(low) || numerals[low] > 0):
		if n := numerals[low]; n > 0 {
			low = strconv.Itoa(n)
		}
		return clock(low, "00", dayHalf(ts, i), 4)
	case half != "" && (numberPattern.MatchString(low) || numerals[low] > 0):
		if n := numerals[low]; n > 0 {
			low = strconv.Itoa(n)
		}
		return clock(low, "00", half, 2)
	case next == "o'clock" || next == "oclock":
		if n := numerals[low]; n > 0 {
			low = strconv.Itoa(n)
		}
		return clock(low, "00", "", 2)
	case (low == "half" || low == "quarter") && (next == "past" || next == "to") && i+2 < len(ts):
		hour := ts[i+2].Low
		if n := numerals[hour]; n > 0 {
			hour = strconv.Itoa(n)
		}
		return clock(hour, low+next, "", 3)
	case i > 0 && ts[i-1].Is("at", "until") && (numberPattern.MatchString(low) || numerals[low] > 0) &&
		!units[english.StemOf(next)] && next != "percent":
		if n := numerals[low]; n > 0 {
			low = strconv.Itoa(n)
		}
		if n, err := strconv.Atoi(low); err == nil && n <= 24 &&
			(next == "" || english.Prepositions[next] || english.Fillers[next] ||
				english.Weekdays[strings.TrimSuffix(next, "s")] > 0 ||
				english.NowCues[next] || next == "sharp" || next == "every" || next == "each") {
			return clock(low, "00", "", 1)
		}
	}
	return Value{}, 0
}

// dayHalf returns "am" or "pm" if "in the morning", "in the evening" or the like follows the number at i, and ""
// otherwise.
func dayHalf(ts []english.Token, i int) string {
	if i+3 >= len(ts) || ts[i].End != 0 || ts[i+1].Low != "in" || ts[i+2].Low != "the" {
		return ""
	}
	switch ts[i+3].Low {
	case "morning":
		return "am"
	case "afternoon", "evening":
		return "pm"
	}
	return ""
}
