package frame

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/english"
)

// Kind is the kind of a value, such as a date or an amount.
type Kind string

// Kinds of values.
const (
	KindDate     Kind = "date"
	KindTime     Kind = "time"
	KindDuration Kind = "duration"
	KindAmount   Kind = "amount"
	KindPercent  Kind = "percent"
	KindNumber   Kind = "number"
	KindVersion  Kind = "version"
	KindOften    Kind = "frequency"
	KindContact  Kind = "contact" // an address, a telephone number or a path
	KindName     Kind = "name"    // of a person, a place, a tool
	KindTerm     Kind = "term"    // other words
)

// Value is the value that a statement gives for its attribute.
type Value struct {
	Kind     Kind
	Text     string // as in the text
	Key      string // normalized form: equal keys mean equal values
	Category string // of names that are chosen for a purpose; may be empty

	Preposition string // preposition before it; may be empty
	From, To    int    // tokens
}

// Same reports whether two values name the same thing with more or less detail: "Acme" and "Acme Corp" do, "Postgres"
// and "Postgres 16" do not.
func (v Value) Same(o Value) bool {
	if v.Key == o.Key || v.Often() && o.Often() && period(v.Key) == period(o.Key) {
		return true
	}
	if (v.Kind == KindName || v.Kind == KindTerm) && (o.Kind == KindName || o.Kind == KindTerm) {
		a, b := strings.Fields(v.Key), strings.Fields(o.Key)
		return english.Subset(a, b) || english.Subset(b, a)
	}
	return false
}

// Often reports whether a value says how often something is: "every week", "weekly".
func (v Value) Often() bool { return v.Kind == KindOften || v.Category == "FREQUENCY" }

// period returns what "every week" and "weekly" have in common.
func period(key string) string {
	if key == "daili" {
		return "day"
	}
	return strings.TrimPrefix(key, "every ")
}

// SingleKind reports whether a thing has only one value of this kind at a time.
func SingleKind(k Kind) bool {
	switch k {
	case KindOften, KindDate, KindTime, KindDuration, KindAmount, KindPercent, KindNumber, KindVersion, KindContact:
		return true
	}
	return false
}

// bytesPattern matches the units of sizes in bytes.
const bytesPattern = "kb|mb|gb|tb|kib|mib|gib|tib"

var (
	weekAb   = english.Words("mon tue tues wed thu thurs fri sat sun", english.WeekdayPlurals)
	numerals = func() map[string]int {
		out := maps.Clone(english.Numbers)
		out["zero"], out["hundred"], out["dozen"], out["thousand"] = 0, 100, 12, 1000
		return out
	}()
	units = english.Stems(`second minute hour day week month year quarter ms millisecond sec min hr hrs fortnight sprint
		night`)

	dayparts = english.Words("morning mornings afternoon afternoons evening evenings night nights noon")

	currencies = english.Words("usd eur gbp chf dollars dollar euros euro pounds pound bucks k francs yen")

	byteUnits = english.Words(strings.ReplaceAll(bytesPattern, "|", " "))

	timePattern    = regexp.MustCompile(`^(\d{1,2})(?::|h|\.)(\d{2})(am|pm)?$`)
	hourPattern    = regexp.MustCompile(`^(\d{1,2})(am|pm)$`)
	isoPattern     = regexp.MustCompile(`^(\d{4})-(\d{2})-(\d{2})$`)
	ordinalPattern = regexp.MustCompile(`^(\d{1,2})(st|nd|rd|th)$`)
	amountPattern  = regexp.MustCompile(`^[$€£](\d[\d,.]*)(k|m|bn|million)?$|` +
		`^(\d[\d,.]*)(k|m|bn)?[$€£]$|^(\d[\d,.]*)(k)$`)
	numberPattern = regexp.MustCompile(`^#?[\d][\d,]*(\.\d+)?$`)
	unitPattern   = regexp.MustCompile(
		`^(\d[\d,.]*)-?(s|ms|min|mins|h|hr|hrs|d|days|day|weeks|week|months|month|minute|minutes|hour|hours|year|years)$`,
	)
	sizePattern    = regexp.MustCompile(`^(\d[\d,.]*)(` + bytesPattern + `|kg|g|km|cm|mm|rps|qps|x)$`)
	versionPattern = regexp.MustCompile(`^v?\d+(\.\d+|\.x)+[a-z0-9.-]*$|^v\d+$`)
	contactPattern = regexp.MustCompile(
		`^\S+@\S+\.\S+$|^https?://|^[\w.-]+\.(com|org|net|io|dev|ai|internal|local|corp|example)(/\S*)?$|` +
			`^[+]?\d[\d-]{5,}\d$|^/[\w./-]+$|^#[a-z][\w-]+$`,
	)
	quarterPattern = regexp.MustCompile(`^q[1-4]$`)
	yearPattern    = regexp.MustCompile(`^(19|20)\d\d$`)
)

// Month returns the number of a month, or 0. Ambiguous words such as "may" count only with a capital letter.
func Month(t english.Token) int {
	if !t.Cap && t.Is("may", "march", "mar", "dec", "sep", "jan") {
		return 0
	}
	return int(english.Month(t.Low))
}

// TypedValues finds the values whose kind is clear from their form.
func TypedValues(ts []english.Token) []Value {
	var out []Value
	for i := 0; i < len(ts); {
		v, n := typedAt(ts, i)
		if n == 0 {
			i++
			continue
		}
		v.From, v.To = i, i+n
		if v.Text == "" {
			v.Text = textOf(ts[i : i+n])
		}
		out = append(out, v)
		i += n
	}
	return out
}

// valueWords are the words without a digit or a symbol that can begin a value, except those that begin with "mid-".
var valueWords = func() map[string]bool {
	out := english.Words(`tomorrow tonight next end early late mid first second third fourth last beginning start middle
		noon midday midnight half quarter once twice thrice every each`,
		english.MonthNames, english.ShortMonthNames, english.WeekdayNames, english.WeekdayPlurals)
	for w := range weekAb {
		out[w] = true
	}
	for w := range numerals {
		out[w] = true
	}
	return out
}()

// mayBegin reports whether a word can begin a value. Most words cannot, and trying each kind of value takes long.
func mayBegin(low string) bool {
	for i := range len(low) {
		if c := low[i]; '0' <= c && c <= '9' || c == '@' || c == '/' || c == '%' || c == '#' || c == '.' || c == '$' ||
			c >= utf8.RuneSelf { // € and £
			return true
		}
	}
	return valueWords[low] || strings.HasPrefix(low, "mid-")
}

// typedAt returns the value that starts at ts[i] and its number of tokens.
func typedAt(ts []english.Token, i int) (Value, int) {
	if !mayBegin(ts[i].Low) {
		return Value{}, 0
	}
	if v, n := dateAt(ts, i); n > 0 {
		return v, n
	}
	if v, n := timeAt(ts, i); n > 0 {
		return v, n
	}
	if v, n := oftenAt(ts, i); n > 0 {
		return v, n
	}
	t := ts[i]
	low := t.Low
	if !english.HasDigit(low) && numerals[low] == 0 && !strings.ContainsAny(low, "@/%#.$€£") {
		return Value{}, 0 // it does not have the form of a value
	}
	next := func(k int) string {
		if i+k < len(ts) && ts[i+k-1].End == 0 {
			return ts[i+k].Low
		}
		return ""
	}
	nextStem := func(k int) string {
		if i+k < len(ts) && ts[i+k-1].End == 0 {
			return ts[i+k].Stem
		}
		return ""
	}
	if n := digitGroups(ts[i:]); n > 1 {
		return Value{Kind: KindContact, Key: strings.ReplaceAll(textOfLow(ts[i:i+n]), " ", "")}, n
	}
	// The first and last characters exclude most patterns, which take long.
	first, last := low[0], low[len(low)-1]
	counts, letter := '0' <= first && first <= '9', 'a' <= last && last <= 'z'
	switch {
	case (counts || first == '+' || strings.ContainsAny(low, "@/.#")) && contactPattern.MatchString(low) &&
		!isoPattern.MatchString(low):
		return Value{Kind: KindContact, Key: low}, 1
	case strings.HasSuffix(low, "%"):
		return Value{Kind: KindPercent, Key: number(strings.TrimSuffix(low, "%")) + "%"}, 1
	case counts && letter && unitPattern.MatchString(low):
		m := unitPattern.FindStringSubmatch(low)
		return Value{Kind: KindDuration, Key: number(m[1]) + " " + unitKey(m[2])}, 1
	case counts && letter && sizePattern.MatchString(low):
		m := sizePattern.FindStringSubmatch(low)
		return Value{Kind: KindNumber, Key: number(m[1]) + m[2]}, 1
	case (counts || strings.ContainsAny(low, "$€£")) && amountPattern.MatchString(withoutPeriod(low)):
		n := 1
		key := strings.Trim(withoutPeriod(low), "$€£")
		if w := next(1); w == "million" || w == "thousand" || w == "billion" || currencies[w] {
			key, n = key+" "+w, 2
		}
		return Value{Kind: KindAmount, Key: amountKey(key)}, n
	case counts && numberPattern.MatchString(withoutPeriod(low)) && withoutPeriod(low) != low: // "250/min"
		return Value{Kind: KindNumber, Key: number(withoutPeriod(low))}, 1
	case (counts || first == 'v') && versionPattern.MatchString(low):
		return Value{Kind: KindVersion, Key: strings.TrimPrefix(low, "v")}, 1
	}
	count, counted := numerals[low]
	counted = counted && !(t.Cap && i > 0) // "Gym Nine"
	if numberPattern.MatchString(low) || counted && low != "one" && low != "zero" ||
		low == "one" && (units[nextStem(1)] || i > 0 && english.IsVerb(ts[i-1]) && next(1) != "" && next(1) != "of") {
		key := number(strings.TrimPrefix(low, "#"))
		if counted {
			key = strconv.Itoa(count)
		}
		n := 1
		if w := next(1); (w == "hundred" || w == "thousand" || w == "million") && counted != (w == "hundred") ||
			w == "million" || w == "thousand" {
			key, n = amountKey(key+" "+w), 2
		}
		switch w := next(n); {
		case units[nextStem(n)]:
			return Value{Kind: KindDuration, Key: key + " " + unitKey(w)}, n + 1
		case w == "percent":
			return Value{Kind: KindPercent, Key: key + "%"}, n + 1
		case currencies[w]:
			return Value{Kind: KindAmount, Key: key}, n + 1
		case byteUnits[w]:
			return Value{Kind: KindNumber, Key: key + w}, n + 1 // as "50MB"
		}
		return Value{Kind: KindNumber, Key: key}, n
	}
	return Value{}, 0
}

// withoutPeriod drops the period of a rate: "$550/month".
func withoutPeriod(low string) string {
	amount, per, found := strings.Cut(low, "/")
	if found && (units[english.StemOf(per)] || per == "mo" || per == "yr") {
		return amount
	}
	return low
}

// oftenAt reads "once a week", "three times a day" and "every two weeks".
func oftenAt(ts []english.Token, i int) (Value, int) {
	n := 1
	switch t := ts[i]; {
	case t.Is("once", "twice", "thrice"):
	case i+1 < len(ts) && ts[i+1].Low == "times" && (numerals[t.Low] > 0 || numberPattern.MatchString(t.Low)):
		n = 2
	case t.Is("every", "each") && i+1 < len(ts) && !ts[i+1].Is("day", "night", "hour", "time", "minute"):
		k := i + 1
		if numerals[ts[k].Low] > 0 || ts[k].Is("other", "second", "third") || numberPattern.MatchString(ts[k].Low) {
			k++
		}
		if k < len(ts) && units[ts[k].Stem] {
			return Value{Kind: KindOften, Key: textOfLow(ts[i : k+1])}, k + 1 - i
		}
		return Value{}, 0
	default:
		return Value{}, 0
	}
	if k := i + n; k+1 < len(ts) && ts[k].Is("a", "an", "per", "every", "each") && units[ts[k+1].Stem] {
		return Value{Kind: KindOften, Key: textOfLow(ts[i:i+n]) + " " + ts[k+1].Stem}, n + 2
	}
	return Value{}, 0
}

// digitGroups returns the number of tokens at the start that form a telephone number: 0677 120 458.
func digitGroups(ts []english.Token) int {
	n, digits := 0, 0
	for _, t := range ts {
		if strings.Trim(t.Low, "0123456789+()-") != "" || t.Low == "" {
			break
		}
		n++
		digits += len(t.Low)
		if t.End != 0 {
			break
		}
	}
	if n < 2 || digits < 7 {
		return 0
	}
	return n
}

func number(s string) string { return strings.TrimRight(strings.ReplaceAll(s, ",", ""), ".") }

// amountKey returns the normalized form of an amount: 40k, 40,000 and 40 thousand.
func amountKey(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), ",", "")
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(s[len(num):])
	f, err := strconv.ParseFloat(strings.Trim(num, ". "), 64)
	if err != nil {
		return s
	}
	switch strings.Fields(unit + " x")[0] {
	case "k", "thousand":
		f *= 1e3
	case "m", "million":
		f *= 1e6
	case "bn", "billion":
		f *= 1e9
	case "hundred":
		f *= 100
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func unitKey(low string) string {
	switch low {
	case "s", "sec", "secs", "second", "seconds":
		return "second"
	case "min", "mins", "minute", "minutes":
		return "minute"
	case "h", "hr", "hrs", "hour", "hours":
		return "hour"
	case "d", "day", "days":
		return "day"
	}
	return english.StemOf(low)
}

func textOf(ts []english.Token) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.Text
	}
	return strings.Join(out, " ")
}

func textOfLow(ts []english.Token) string { return strings.ToLower(textOf(ts)) }
