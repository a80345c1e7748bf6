package compress

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Constants of compression.
const (
	MinAge      = 7 * 24 * time.Hour // younger episodes are not summarized
	LeastOld    = 3                  // least number of episodes in a summary
	MostOld     = 20                 // greatest number of episodes in a summary
	MaxSummary  = 8_000              // bytes of a summary
	maxLine     = 200                // characters of a line of a summary
	newestStays = 2                  // episodes of a thread that are never compressed
)

// Episode is an episode with the fields that compression needs.
type Episode struct {
	ID          string
	Thread      string // of a conversation, a task or a run; empty: none
	At          time.Time
	Pinned      bool
	Summarised  bool // a summary was derived from it
	Sensitivity schema.Sensitivity
	Payload     schema.EpisodicPayload
}

// Batches divides the episodes of one thread into batches of three to twenty, each for one summary, in chronological
// order. It omits episodes that are pinned, summarised or younger than MinAge, and the newest two of the thread.
func Batches(episodes []Episode, now time.Time) [][]Episode {
	sorted := slices.Clone(episodes)
	slices.SortStableFunc(sorted, func(a, b Episode) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	sorted = sorted[:max(0, len(sorted)-newestStays)]
	var old []Episode
	for _, e := range sorted {
		if !e.Pinned && !e.Summarised && e.Thread != "" && e.Thread == sorted[0].Thread && now.Sub(e.At) >= MinAge {
			old = append(old, e)
		}
	}
	var out [][]Episode
	for len(old) >= LeastOld {
		n := min(len(old), MostOld)
		if rest := len(old) - n; rest > 0 && rest < LeastOld {
			n -= LeastOld
		}
		out = append(out, old[:n])
		old = old[n:]
	}
	return out
}

// Summary is the summary of several episodes.
type Summary struct {
	Text        string
	From, To    time.Time
	Sources     []string // ids of the episodes that are in it
	LeftOut     []string // ids of the episodes that did not fit, for another summary
	Sensitivity schema.Sensitivity
}

// Summarise returns the summary of a batch. For each episode it has the day, the outcome, the request, the texts of
// failures and endings, and other names and numbers that must be kept. Episodes that do not fit are omitted as a whole.
func Summarise(batch []Episode) (Summary, bool) {
	out := Summary{Sensitivity: schema.SensitivityLow}
	var b strings.Builder
	for _, e := range batch {
		text := section(e)
		if b.Len()+len(text) > MaxSummary {
			out.LeftOut = append(out.LeftOut, e.ID)
			continue
		}
		b.WriteString(text)
		if out.Sources == nil {
			out.From = e.At
		}
		out.To = e.At
		out.Sources = append(out.Sources, e.ID)
		if sensitive.Rank(e.Sensitivity) > sensitive.Rank(out.Sensitivity) {
			out.Sensitivity = e.Sensitivity
		}
	}
	out.Text = strings.TrimSpace(b.String())
	return out, len(out.Sources) > 0
}

// section returns the part of a summary for one episode.
func section(e Episode) string {
	var lines []string
	said := ""
	add := func(text string) {
		if line, _ := normalize.CutChars(normalize.CleanLine(text, 4*maxLine), maxLine); line != "" {
			lines = append(lines, "- "+line)
			said += " " + line
		}
	}
	for _, event := range e.Payload.Timeline {
		if telling[event.EventKind] {
			add(event.Summary)
		}
	}
	var missing []string
	for _, want := range must(e) {
		if !contains(said, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		lines = append(lines, "- also: "+strings.Join(missing, ", "))
	}
	return fmt.Sprintf("%s %s (%s):\n%s\n", e.At.UTC().Format(time.DateOnly), OutcomeWord(e.Payload.Outcome), e.ID,
		strings.Join(lines, "\n"))
}

// OutcomeWord returns the word for an outcome in a summary.
func OutcomeWord(o schema.Outcome) string {
	if o == "" {
		return "ended without an outcome"
	}
	return string(o)
}

// telling has the kinds of events whose words a summary keeps. Calls and results of tools are only in the episode.
var telling = map[string]bool{
	ledger.KindRunStarted: true, ledger.KindUserInjected: true, ledger.KindToolFailed: true, ledger.KindOutcome: true,
	ledger.KindVerdictFinal: true, ledger.KindAgentReflected: true, ledger.KindClueFound: true,
	ledger.KindJudgeVerdict: true,
}

var (
	numbers = regexp.MustCompile(`[$€£]?\b\d[\d.,:/-]*\d%?|[$€£]?\b\d%?`)
	// names matches capitalised words, and words with the marks of paths, addresses and identifiers.
	names = regexp.MustCompile(`\b[A-Z][\p{L}\d]*[\p{L}\d]\b|[\p{L}\d]+(?:[_/@.][\p{L}\d~-]+)+`)
)

// starters has words that begin sentences and are not names.
var starters = normalize.Set(`the a an i we you it this that these those please use fix add run make set build create
	update delete remove check why how what when where who is are was were do does did can could should would my our your
	in on at for from to of and or but if then also not no yes error failed user started ended said observed believes`)

// must returns the names and numbers that a summary of an episode must keep: those in failures, endings and the texts
// of users and judges, without secrets.
func must(e Episode) []string {
	var out []string
	take := func(w string) {
		if w = strings.Trim(w, ".,:/-"); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, event := range e.Payload.Timeline {
		if !telling[event.EventKind] {
			continue
		}
		_, text, found := strings.Cut(event.Summary, ": ") // without the label: "user: ..."
		if !found {
			text = event.Summary
		}
		text, _ = sensitive.Mask(text)
		for _, n := range numbers.FindAllString(text, -1) {
			take(n)
		}
		for _, n := range names.FindAllString(text, -1) {
			if !starters[normalize.Lower(n)] {
				take(n)
			}
		}
	}
	const most = 60
	return out[:min(len(out), most)]
}

// contains reports whether a text contains a word that is not part of a longer one.
func contains(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		if !joins(text, from-1, -1) && !joins(text, to, 1) {
			return true
		}
		at = from + 1
	}
}

// numbersOf returns the numbers of a text, without marks at their ends.
func numbersOf(text string) []string {
	found := numbers.FindAllString(text, -1)
	for i, n := range found {
		found[i] = strings.Trim(n, ".,:/-")
	}
	return found
}

// joins reports whether the byte at an index continues a word or a number. A mark does only if a digit follows it.
func joins(text string, at, step int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	word := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= 0x80 || text[i] >= '0' && text[i] <= '9' ||
			text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	return word(at) || (text[at] == '.' || text[at] == ',') && digit(at+step) && digit(at-step)
}

// Reasons of refusals of summaries.
const (
	Empty        = "empty"
	NotShorter   = "not_shorter"
	LosesName    = "loses_names_or_numbers"
	LosesOutcome = "loses_outcomes"
	Invents      = "has_numbers_of_no_source"
)

// Problem is the reason why a summary is refused.
type Problem struct {
	Reason  string
	Missing []string // names, numbers or outcomes that are lost or invented
}

// Check refuses a summary that is empty, is longer than 8,000 bytes, loses a name, a number or an
// outcome of its sources, or has a number that no source has.
func Check(summary string, sources []Episode) (Problem, bool) {
	text := strings.TrimSpace(summary)
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) ||
		len(sources) == 0 {
		return Problem{Reason: Empty}, false
	}
	if len(text) > MaxSummary {
		return Problem{Reason: NotShorter}, false
	}
	var missing, outcomes []string
	known, uncited := "", text // the numbers within ids count on neither side
	count := map[string]int{}
	for _, e := range sources {
		for _, want := range must(e) {
			if !contains(text, want) && !slices.Contains(missing, want) {
				missing = append(missing, want)
			}
		}
		count[OutcomeWord(e.Payload.Outcome)]++
		uncited = strings.ReplaceAll(uncited, e.ID, "")
		known += " " + e.At.UTC().Format(time.DateOnly)
		for _, event := range e.Payload.Timeline {
			known += " " + event.Summary
		}
	}
	if len(missing) > 0 {
		return Problem{LosesName, missing}, false
	}
	for word := range count {
		if !strings.Contains(normalize.Lower(text), word) {
			outcomes = append(outcomes, word)
		}
	}
	if len(outcomes) > 0 {
		slices.Sort(outcomes)
		return Problem{LosesOutcome, outcomes}, false
	}
	given := numbersOf(known)
	var invented []string
	for _, n := range numbersOf(uncited) {
		if len(n) > 1 && !slices.Contains(given, n) && !contains(known, n) {
			invented = append(invented, n)
		}
	}
	if len(invented) > 0 {
		return Problem{Invents, invented}, false
	}
	return Problem{}, true
}
