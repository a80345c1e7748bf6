package views

import (
	"cmp"
	"slices"
	"time"

	"github.com/mneme/mneme/schema/ledger"
)

// Order returns events in ledger order, each once:
//
//   - Within a stream the order is Seq.
//   - Streams are merged by the time at which the ledger recorded an event, then by the stream's name. Because clocks
//     may step back, an event counts as recorded no earlier than the events before it in its stream. An event without
//     a recorded time counts by OccurredAt.
//   - Events that the ledger has not numbered yet (Seq 0) come last, in the order given. Those with a known ID are
//     dropped.
//
// Events of one stream that are already in order are returned unchanged, without a copy.
func Order(events []ledger.Event) []ledger.Event {
	if inOrder(events) {
		return events
	}
	numbered := make([]placed, 0, len(events))
	var fresh []ledger.Event
	for _, e := range events {
		if e.Seq <= 0 {
			fresh = append(fresh, e)
			continue
		}
		numbered = append(numbered, placed{e, recorded(e)})
	}
	slices.SortStableFunc(numbered, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq))
	})
	numbered = slices.CompactFunc(numbered, func(a, b placed) bool { return a.Stream == b.Stream && a.Seq == b.Seq })
	for i := 1; i < len(numbered); i++ {
		if before := numbered[i-1]; before.Stream == numbered[i].Stream && before.at.After(numbered[i].at) {
			numbered[i].at = before.at
		}
	}
	slices.SortFunc(numbered, func(a, b placed) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq))
	})

	out := make([]ledger.Event, 0, len(events))
	for _, p := range numbered {
		out = append(out, p.Event)
	}
	return appendFresh(out, fresh)
}

// placed is an event with the time by which streams are merged.
type placed struct {
	ledger.Event
	at time.Time
}

func recorded(e ledger.Event) time.Time {
	if e.RecordedAt != nil {
		return *e.RecordedAt
	}
	return e.OccurredAt
}

// inOrder reports whether events are of one stream with rising numbers, which is how a stream is read.
func inOrder(events []ledger.Event) bool {
	for i, e := range events {
		if e.Seq <= 0 || i > 0 && (e.Stream != events[i-1].Stream || e.Seq <= events[i-1].Seq) {
			return false
		}
	}
	return true
}

// appendFresh appends events without a number whose ids are new.
func appendFresh(events, fresh []ledger.Event) []ledger.Event {
	if len(fresh) == 0 {
		return events
	}
	known := make(map[string]bool, len(events)+len(fresh))
	for _, e := range events {
		known[e.ID] = true
	}
	for _, e := range fresh {
		if !known[e.ID] {
			known[e.ID] = true
			events = append(events, e)
		}
	}
	return events
}
