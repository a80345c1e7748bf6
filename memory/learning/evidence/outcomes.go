package evidence

import (
	"slices"
	"time"

	"github.com/mneme/mneme/memory/learning/trace"
)

// Outcome is the result of one trial of a solution.
type Outcome struct {
	Agent   string            `json:"agent,omitempty"`
	Session string            `json:"session,omitempty"` // session of the trial; empty: unknown
	Episode string            `json:"episode,omitempty"` // episode that shows the trial; empty: it was reported
	Context map[string]string `json:"context,omitempty"` // context of the situation
	OK      bool              `json:"ok,omitempty"`
	Idle    bool              `json:"idle,omitempty"` // the problem occurred and something else was tried
	At      time.Time         `json:"at"`
}

// Shown returns the outcomes of attempts.
func Shown(attempts []trace.Attempt) []Outcome {
	out := make([]Outcome, len(attempts))
	for i, a := range attempts {
		out[i] = Outcome{Agent: a.Source.Agent, Session: a.Source.Session, Episode: a.Episode,
			Context: a.Setting(), OK: a.Succeeded(), At: a.At}
	}
	return out
}

// Tally counts the outcomes in episodes and the outcomes that agents reported, in chronological order. The first report
// of a session is about its first attempt, and so on. If an episode shows the attempt, the report does not count.
func Tally(shown, reported []Outcome) Stats {
	type session struct{ agent, name string }
	inSession := map[session]int{}
	for _, o := range shown {
		inSession[session{o.Agent, o.Session}]++
	}
	byTime := func(a, b Outcome) int { return a.At.Compare(b.At) }
	all := slices.Clone(shown)
	for _, o := range slices.SortedStableFunc(slices.Values(reported), byTime) {
		if s := (session{o.Agent, o.Session}); !o.Idle && o.Session != "" && inSession[s] > 0 {
			inSession[s]--
			continue
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, byTime)
	var out Stats
	for _, o := range all {
		if o.Idle {
			out.IdleIn(o.Context)
		} else {
			out.ObserveIn(o.Context, o.OK, o.At)
		}
	}
	return out
}
