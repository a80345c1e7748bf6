package session

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Shares of the size of a payload (schema.MaxPayloadBytes), in bytes. The environment has its own limit. The rest is a
// reserve, because the sizes of entries are estimates.
const (
	timelineBytes = 140_000
	graphBytes    = 100_000
	artifactBytes = 24_000

	maxArtifacts = 300
	maxFailing   = 1_000 // tools whose last call failed
)

// Closing is the reason why a session is closed.
type Closing string

// The ways in which a session closes.
const (
	Finished Closing = "finished" // its agent or the caller ended it
	Idle     Closing = "idle"     // no event occurred for a long time
)

// Episode is the record of a closed session.
type Episode struct {
	Payload     schema.EpisodicPayload `json:"payload"`
	Sensitivity schema.Sensitivity     `json:"sensitivity"` // the highest of the events
	Events      int                    `json:"events"`
	FirstSeq    int64                  `json:"first_seq"`
	LastSeq     int64                  `json:"last_seq"`

	EventsLeftOut int `json:"events_left_out,omitempty"` // counted, but not shown in the timeline
	CallsLeftOut  int `json:"calls_left_out,omitempty"`  // not in the tool graph
}

// Accumulator builds an episode from the events of a session. Create it with NewAccumulator. It is not stored, but
// rebuilt from the ledger page by page: the same events always give the same episode.
//
// Its memory is bounded for sessions of any length (about 20 MB, most of it the index of values):
//
//   - The timeline has up to about 140,000 bytes, some 500 events. Of a longer session it keeps the first eighth and
//     the last quarter. Between them it keeps endings first, then failures, then texts of users, judges and
//     reflections, then the rest. Of a group that fits only in part, it keeps every k-th event. An entry of kind
//     events.omitted counts the omitted events between two others. A session is thinned whenever it has grown to twice
//     the limit, so that the older of two similar events is omitted first.
//   - The tool graph has up to about 100,000 bytes of calls, by the same rule: failures before calls with dependencies
//     or without a result, and these before the rest. ToolGraph returns the whole graph, for an artifact.
//   - Artifacts are the first 300 distinct references.
type Accumulator struct {
	stream      string
	seq         int64
	first       int64
	events      int
	sensitivity schema.Sensitivity
	timeline    timeline
	graph       *Graph
	environment environment
	results     results

	artifacts     []string
	artifactBytes int
	named         map[string]bool
}

// NewAccumulator returns an accumulator of the events of one stream that one agent may see.
func NewAccumulator(stream string) *Accumulator {
	return &Accumulator{
		stream:      stream,
		graph:       NewGraph(graphBytes),
		named:       map[string]bool{},
		sensitivity: schema.SensitivityLow,
	}
}

// Close returns the episode of a whole session. Events with a sequence number may be in any order and repeated; then
// events without one are ignored. If no event has a number, they are numbered in the given order, each id once.
func Close(stream string, events []ledger.Event, why Closing) (Episode, bool) {
	a := NewAccumulator(stream)
	for _, e := range inOrder(events) {
		a.Add(e)
	}
	return a.Episode(why)
}

// inOrder returns events sorted by sequence number.
func inOrder(events []ledger.Event) []ledger.Event {
	numbered := slices.ContainsFunc(events, func(e ledger.Event) bool { return e.Seq != 0 })
	out := make([]ledger.Event, 0, len(events))
	if numbered {
		out = append(out, events...)
		slices.SortStableFunc(out, func(a, b ledger.Event) int { return cmp.Compare(a.Seq, b.Seq) })
		return out
	}
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.ID] {
			seen[e.ID] = true
			e.Seq = int64(len(out) + 1)
			out = append(out, e)
		}
	}
	return out
}

// Add adds the next event. It returns false and changes nothing for an event of another stream or one that is not after
// the last one.
func (a *Accumulator) Add(e ledger.Event) bool {
	if e.Stream != a.stream || e.Seq <= a.seq || e.ID == "" || e.Kind == "" {
		return false
	}
	if a.events == 0 {
		a.first = e.Seq
	}
	a.seq = e.Seq
	a.events++
	if sensitive.Rank(e.Sensitivity) > sensitive.Rank(a.sensitivity) {
		a.sensitivity = e.Sensitivity
	}
	tool := a.graph.Add(e)
	a.timeline.add(e, summarize(e, tool))
	a.results.add(e, tool)
	switch e.Kind {
	case ledger.KindEnvironment:
		if env, ok := ledger.Payload[schema.Environment](e); ok {
			a.environment.merge(env)
		}
	case ledger.KindToolReturned, ledger.KindToolFailed:
		result, _ := ledger.Payload[ledger.ToolResult](e)
		a.addArtifacts(result.Artifacts)
	default:
		text, _ := ledger.Payload[ledger.Text](e)
		a.addArtifacts(text.Artifacts)
	}
	return true
}

// addArtifacts adds references in order, each once. It omits references that do not fit into a record or have a secret.
func (a *Accumulator) addArtifacts(refs []string) {
	for _, ref := range refs {
		switch {
		case a.named[ref] || len(a.artifacts) >= maxArtifacts || a.artifactBytes+len(ref) > artifactBytes:
			continue
		case !validArtifact(ref):
			continue
		}
		a.named[ref] = true
		a.artifacts = append(a.artifacts, ref)
		a.artifactBytes += len(ref)
	}
}

func validArtifact(ref string) bool {
	if ref == "" || ref != cleanText(ref) || utf8.RuneCountInString(ref) > schema.MaxRefLength {
		return false
	}
	if digits, content := strings.CutPrefix(ref, schema.ArtifactPrefix); content {
		return len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
	}
	_, secret := sensitive.Mask(ref)
	return !secret
}

// Episode returns the episode of the events so far, or false if there was none. The accumulator does not change.
//
// A closed episode never changes: later events belong to another episode, from a new accumulator that begins after
// LastSeq.
func (a *Accumulator) Episode(why Closing) (Episode, bool) {
	if a.events == 0 {
		return Episode{}, false
	}
	out := Episode{Sensitivity: a.sensitivity, Events: a.events, FirstSeq: a.first, LastSeq: a.seq}
	out.Payload = schema.EpisodicPayload{Kind: schema.TypeEpisodic, Artifacts: slices.Clone(a.artifacts),
		Environment: a.environment.payload(), Outcome: a.results.outcome(why, a.graph.waiting)}
	out.Payload.ToolGraph, out.CallsLeftOut = a.graph.Nodes()
	for budget := timelineBytes; ; budget /= 2 {
		kept, leftOut := a.timeline.fit(budget)
		out.Payload.Timeline, out.EventsLeftOut = events(kept), leftOut
		if budget < timelineBytes/64 || fits(out.Payload) {
			return out, true
		}
	}
}

// fits reports whether a payload is short enough for a record.
func fits(p schema.EpisodicPayload) bool {
	encoded, err := json.Marshal(p)
	if err != nil {
		return true // validation reports the error
	}
	var problems check.Problems
	size, _ := check.Scan(encoded, "payload", schema.MaxPayloadDepth, schema.MaxRecordBytes, &problems)
	return size <= schema.MaxPayloadBytes
}

// results has the results of the calls of a session.
type results struct {
	said     schema.Outcome // outcome in the last run.ended
	finished int
	failed   bool            // the last call to finish failed
	failing  map[string]bool // tools whose last call failed
}

func (r *results) add(e ledger.Event, tool string) {
	switch e.Kind {
	case ledger.KindRunStarted:
		r.said = ""
	case ledger.KindOutcome:
		if end, ok := ledger.Payload[ledger.Outcome](e); ok && end.Outcome.Valid() {
			r.said = end.Outcome
		}
	case ledger.KindToolReturned, ledger.KindToolFailed:
		r.finished++
		r.failed = e.Kind == ledger.KindToolFailed
		if !r.failed {
			delete(r.failing, tool)
		} else if len(r.failing) < maxFailing {
			if r.failing == nil {
				r.failing = map[string]bool{}
			}
			r.failing[tool] = true
		}
	}
}

// outcome returns the outcome of a session: the one in run.ended or, without it
//
//   - partial, if the session became idle: it was not finished
//   - failure, if the last call that finished has failed
//   - success, if the last call of every tool succeeded and each call has a result
//   - partial otherwise: no tool was used, a tool failed and was not used again, or results are missing
func (r *results) outcome(why Closing, waiting int) schema.Outcome {
	switch {
	case r.said != "":
		return r.said
	case why == Idle || r.finished == 0:
		return schema.OutcomePartial
	case r.failed:
		return schema.OutcomeFailure
	case len(r.failing) == 0 && waiting == 0:
		return schema.OutcomeSuccess
	}
	return schema.OutcomePartial
}
