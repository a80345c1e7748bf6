package rank

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
)

// Channel names in results, timings and switches.
const (
	ChannelText   = "text"
	ChannelVector = "vector"
	ChannelHints  = "hints"  // prospective hints written at ingest
	ChannelClaims = "claims" // structured claims
	ChannelGraph  = "graph"  // traversal from the entities that the query names
	ChannelTime   = "time"   // time expressions in the query
)

// Evidence is one candidate of a recall: the channels' results for it and, after authorisation, its Features.
//
// It is large, and a recall has some five hundred candidates. The stages that are on by default therefore change and
// return the slice that they get; the caller must not use the old slice.
type Evidence struct {
	ID       uuid.UUID
	Channels map[string]float64 // each channel's calibrated score, [0,1]
	Terms    uint64             // bit i is set if it contains the i-th term of the text plan
	Score    float64            // [0,1], after the last stage

	Currentness  schema.Currentness // set by StageCurrentness; empty: unknown
	SupersededBy uuid.UUID          // set by StageCurrentness; zero: none that the asker may see
	Replaces     bool               // set by StageCurrentness: it replaced another memory
	Newer        uuid.UUID          // a later statement about the same thing, set by StageLatest; zero: none
	newerAt      time.Time
	Relevance    float64 // [0,1], set by StageRelevance; 0: unknown
	near         float64 // [0,1], nearness to the question in a trained space; 0: unknown

	Features
	Steps []Step // the score after each stage
}

// Features has the data of an authorised memory that stages may use without reading its content.
type Features struct {
	Type        schema.MemoryType
	Category    schema.Category
	Status      schema.Status
	Agent       string
	Session     string // the agent's name for the session
	Speaker     string
	OccurredAt  time.Time
	Importance  float64
	Bytes       int         // length of the content
	Conditional bool        // it is true only under conditions
	Source      uuid.UUID   // the memory from which this fact was extracted; zero: none
	Others      []uuid.UUID // further memories that state this fact
	Words       int64       // a hash of the content's words; 0: unknown

	// Only rehearsal uses these; it reads them itself.
	Accesses     int64
	LastAccessed time.Time // zero: never
}

// passed reports whether a stage scored the evidence.
func (e *Evidence) passed(stage string) bool {
	return slices.ContainsFunc(e.Steps, func(s Step) bool { return s.Stage == stage })
}

// HeldUntil returns the time of a later statement about the same thing, or nil if none is known.
func (e *Evidence) HeldUntil() *time.Time {
	if e.newerAt.IsZero() {
		return nil
	}
	at := e.newerAt
	return &at
}

// Step is the score after a stage. Explained formats its reason, because few steps are shown.
type Step struct {
	Stage    string
	Score    float64
	why      string
	measured bool // why is a format for value
	value    float64
}

// Set sets the score to that of a stage, limited to [0,1], and records the step.
func (e *Evidence) Set(stage string, score float64, why string) {
	e.set(Step{Stage: stage, Score: score, why: why})
}

// SetMeasured is Set with a reason that is a format for one value.
func (e *Evidence) SetMeasured(stage string, score float64, why string, value float64) {
	e.set(Step{Stage: stage, Score: score, why: why, value: value, measured: true})
}

func (e *Evidence) set(s Step) {
	e.Score = min(1, max(0, s.Score))
	s.Score = e.Score
	if e.Steps == nil {
		e.Steps = make([]Step, 0, usualSteps)
	}
	e.Steps = append(e.Steps, s)
}

// Explained returns the steps with their reasons.
func (e *Evidence) Explained() []schema.ScoreStep {
	if e.Steps == nil {
		return nil
	}
	out := make([]schema.ScoreStep, len(e.Steps))
	for i, s := range e.Steps {
		why := s.why
		if s.measured {
			why = fmt.Sprintf(s.why, s.value)
		}
		out[i] = schema.ScoreStep{Stage: s.Stage, Score: s.Score, Why: why}
	}
	return out
}

// Rank sorts evidence, best first. Ties are broken by vector score, then by id, so that equal requests get equal
// answers.
func Rank(evidence []Evidence) {
	type placed struct {
		score float64
		from  int // index before sorting
	}
	order := make([]placed, len(evidence)) // sorted instead of evidence, which is large
	for i := range evidence {
		order[i] = placed{evidence[i].Score, i}
	}
	slices.SortFunc(order, func(x, y placed) int {
		if c := cmp.Compare(y.score, x.score); c != 0 {
			return c
		}
		a, b := &evidence[x.from], &evidence[y.from]
		return cmp.Or(cmp.Compare(b.Channels[ChannelVector], a.Channels[ChannelVector]), compareIDs(a.ID, b.ID))
	})
	for i := range order { // apply the permutation cycle by cycle, so that each element is moved once
		if order[i].from == i {
			continue
		}
		first, to := evidence[i], i
		for order[to].from != i {
			from := order[to].from
			evidence[to], order[to].from = evidence[from], to
			to = from
		}
		evidence[to], order[to].from = first, to
	}
}

// usualSteps is the number of stages that score a candidate outside the first places.
const usualSteps = 4

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
