package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// KindOmitted is the kind of a timeline entry that replaces omitted events. Its reference is events:FIRST-LAST, their
// sequences in the stream, and its summary counts them by kind.
const KindOmitted = "events.omitted"

const (
	maxSummary = 160 // characters of a summary
	maxFailure = 240 // characters of the summary of a failed call, without the values of other lines
	// maxOtherLines is the number of bytes of these values. More of them do not help: with 640 the repairs of the long
	// diagnostics of gcc, rustc and cargo were the same, and with 320 or 640 fewer of those of g++ were right at once (9
	// of 12, not 11), because more values of one occurrence seemed to be its parameters.
	maxOtherLines = 160
	summaryRead   = 700 // bytes of a text that a summary is made from, so that a secret at the cut is recognised
	omittedTakes  = 260 // approximate bytes of an entry for omitted events
	maxKinds      = 12  // kinds that such an entry counts separately
)

// timeline has the events of a session in ledger order. Less important ones may be only counted.
type timeline struct {
	entries []entry
	cost    int
	last    time.Time // no later entry is before it
	leftOut int
}

// entry is an event of a timeline, with the omitted events before it.
type entry struct {
	seq     int64
	at      time.Time
	kind    string
	ref     string
	summary summary
	weight  weight
	omitted *omitted
}

// omitted counts consecutive events that were omitted.
type omitted struct {
	first, last int64
	at          time.Time // time of the first
	events      int
	kinds       map[string]int
}

// add appends an event. Its time becomes at least that of the entry before, because the order is that of the ledger.
func (t *timeline) add(e ledger.Event, s summary) {
	t.last = later(t.last, e.OccurredAt.UTC())
	added := entry{seq: e.Seq, at: t.last, kind: e.Kind, ref: eventRef(e), summary: s, weight: weightOf(e.Kind)}
	t.entries = append(t.entries, added)
	t.cost += added.cost()
	if t.cost > 2*timelineBytes {
		t.entries, t.leftOut = t.fit(timelineBytes)
		t.cost = 0
		for _, kept := range t.entries {
			t.cost += kept.cost()
		}
	}
}

// weightOf returns the weight of an event by its kind.
func weightOf(kind string) weight {
	switch kind {
	case ledger.KindOutcome, ledger.KindVerdictFinal:
		return ending
	case ledger.KindToolFailed:
		return failure
	case ledger.KindRunStarted, ledger.KindUserInjected, ledger.KindAgentReflected, ledger.KindClueFound,
		ledger.KindJudgeVerdict, ledger.KindArtifact, ledger.KindEnvironment:
		return notable
	}
	return routine
}

// cost returns the approximate size of an entry in a payload.
func (e entry) cost() int {
	const members = 60 // names and the time
	total := members + len(e.kind) + len(e.ref) + e.summary.cost()
	if e.omitted != nil {
		total += omittedTakes
	}
	return total
}

// fit returns the entries that fit into a budget, and the number of omitted events. It does not change t.
func (t *timeline) fit(budget int) ([]entry, int) {
	keep := thin(len(t.entries), budget, omittedTakes, func(i int) int { return t.entries[i].cost() },
		func(i int) weight { return t.entries[i].weight })
	var out []entry
	var gap *omitted
	leftOut := t.leftOut
	for i, e := range t.entries {
		gap = gap.with(e.omitted)
		if !keep[i] {
			gap = gap.with(&omitted{first: e.seq, last: e.seq, at: e.at, events: 1, kinds: map[string]int{e.kind: 1}})
			leftOut++
			continue
		}
		e.omitted, gap = gap, nil
		out = append(out, e)
	}
	return out, leftOut
}

// with returns the union of two adjacent groups of omitted events. It changes neither.
func (o *omitted) with(next *omitted) *omitted {
	if o == nil || next == nil {
		if o == nil {
			return next
		}
		return o
	}
	joined := &omitted{
		first:  o.first,
		last:   next.last,
		at:     o.at,
		events: o.events + next.events,
		kinds:  maps.Clone(o.kinds),
	}
	for _, kind := range slices.Sorted(maps.Keys(next.kinds)) {
		if _, known := joined.kinds[kind]; known || len(joined.kinds) < maxKinds {
			joined.kinds[kind] += next.kinds[kind]
		}
	}
	return joined
}

// events returns the entries in the form of a payload.
func events(entries []entry) []schema.TimelineEvent {
	out := make([]schema.TimelineEvent, 0, len(entries))
	for _, e := range entries {
		if o := e.omitted; o != nil {
			out = append(out, schema.TimelineEvent{T: o.at, EventKind: KindOmitted,
				Ref: fmt.Sprintf("events:%d-%d", o.first, o.last), Summary: o.summary()})
		}
		out = append(out, schema.TimelineEvent{T: e.at, EventKind: e.kind, Ref: e.ref, Summary: e.summary.String()})
	}
	return out
}

// summary returns the counts of omitted events by kind, the most frequent first.
func (o *omitted) summary() string {
	kinds := slices.SortedFunc(maps.Keys(o.kinds), func(a, b string) int {
		if o.kinds[a] != o.kinds[b] {
			return o.kinds[b] - o.kinds[a]
		}
		return strings.Compare(a, b)
	})
	const shown = 5
	parts := make([]string, 0, shown)
	for _, kind := range kinds[:min(len(kinds), shown)] {
		parts = append(parts, fmt.Sprintf("%d %s", o.kinds[kind], kind))
	}
	noun := "events"
	if o.events == 1 {
		noun = "event"
	}
	return fmt.Sprintf("%d %s not shown: %s", o.events, noun, strings.Join(parts, ", "))
}

// summary has the label and the text of an event, not yet masked.
type summary struct {
	label, text string
	failed      bool   // a failed call
	otherLines  string // values of the other lines of its error, none of them a secret
}

func summaryOf(label, text string) summary {
	text = cleanText(text)
	if len(text) > summaryRead {
		text = strings.ToValidUTF8(text[:summaryRead], "")
	}
	return summary{label: label, text: text}
}

func (s summary) cost() int { return min(len(s.label)+len(s.text)+len(s.otherLines), 2*maxSummary) }

// String returns one line of at most maxSummary characters with secrets masked. The line of a failed call is longer.
func (s summary) String() string {
	text, _ := sensitive.Mask(s.text)
	line, label := normalize.CleanLine(text, summaryRead), normalize.CleanLine(s.label, summaryRead)
	switch {
	case label != "" && line != "":
		line = label + ": " + line
	case line == "":
		line = label
	}
	if !s.failed {
		line, _ = normalize.CutChars(line, maxSummary)
		return line
	}
	line, _ = normalize.CutChars(line, maxFailure)
	return strings.TrimSpace(line + " " + normalize.CleanLine(s.otherLines, maxOtherLines))
}
