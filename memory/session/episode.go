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

// How the size of a payload (schema.MaxPayloadBytes) is divided, in bytes. The environment has its own bound, and the
// rest covers estimates that were too low.
const (
	timelineBytes = 140_000
	graphBytes    = 100_000
	artifactBytes = 24_000

	maxArtifacts = 300
	maxFailing   = 1_000 // tools whose last call failed
)

// Closing says why a session is closed.
type Closing string

// The ways in which a session closes.
const (
	Finished Closing = "finished" // its agent or the caller says that it is over
	Idle     Closing = "idle"     // nothing happened for long
)

// Episode is what is kept of a session that was closed.
type Episode struct {
	Payload     schema.EpisodicPayload `json:"payload"`
	Sensitivity schema.Sensitivity     `json:"sensitivity"` // the highest of the events
	Events      int                    `json:"events"`
	FirstSeq    int64                  `json:"first_seq"`
	LastSeq     int64                  `json:"last_seq"`

	EventsLeftOut int `json:"events_left_out,omitempty"` // counted, but not shown in the timeline
	CallsLeftOut  int `json:"calls_left_out,omitempty"`  // not in the tool graph
}

// Accumulator takes in the events of a session one after another and makes an episode of them. The zero Accumulator is
// not ready; use NewAccumulator. It is not meant to be stored: it is rebuilt from the ledger page by page, and the same
// events always make the same episode.
//
// What it keeps is bounded, whatever the length of the session (about 20 MB, most of it the index of values):
//
//   - The timeline keeps up to about 140,000 bytes, some 500 events. Of more, it keeps the first eighth and the last
//     quarter, of those between them the endings, then failures, then what users, judges and reflections say, then the
//     rest; of what fits only in part, every k-th. What is left out between two events is counted in one entry of kind
//     events.omitted. Since a session is thinned whenever it has grown to twice the room, the older of two similar
//     events goes first.
//   - The tool graph keeps up to about 100,000 bytes of calls by the same rule: failures before calls with
//     dependencies or without a result, and these before the rest. ToolGraph makes the whole graph, for an artifact.
//   - Artifacts are the first 300 that were named, each once.
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

// Close makes the episode of a whole session at once. Events that the ledger has numbered may come in any order and
// more than once; events without a number among them are ignored. If none has a number, they are numbered in the
// given order, each id once.
func Close(stream string, events []ledger.Event, why Closing) (Episode, bool) {
	a := NewAccumulator(stream)
	for _, e := range inOrder(events) {
		a.Add(e)
	}
	return a.Episode(why)
}

// inOrder are events by their sequence.
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

// Add takes in the next event. It reports false, and changes nothing, for an event of another stream and for one that
// is not after the last one.
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

// addArtifacts notes references in order, each once. One that a record cannot hold or that gives a secret away is
// left out.
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

// Episode closes the session as it is. It reports false if there was no event. The accumulator does not change.
//
// An episode never changes: what happens after it was closed belongs to another one, from a new accumulator that
// begins after LastSeq.
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
		return true // validation says what is wrong
	}
	var problems check.Problems
	size, _ := check.Scan(encoded, "payload", schema.MaxPayloadDepth, schema.MaxRecordBytes, &problems)
	return size <= schema.MaxPayloadBytes
}

// results are what is known of how the calls of a session went.
type results struct {
	said     schema.Outcome // by the last run.ended
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

// outcome is how a session ended. The outcome in run.ended counts; without it
//
//   - a session that became idle is partial: it was not finished;
//   - failure, if the last call to finish failed: nothing was done about it;
//   - success, if the last call of every tool succeeded and no call is without a result;
//   - else partial: no tool was used, a tool failed and was not used again, or results are missing.
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
