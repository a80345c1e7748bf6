package evidence

import (
	"slices"
	"time"

	"github.com/mneme/mneme/memory/learning/trace"
)

// Outcome is the result of one trial of a solution.
type Outcome struct {
	ID      string            `json:"id,omitempty"` // of a report; may be empty
	Agent   string            `json:"agent,omitempty"`
	User    string            `json:"user,omitempty"`    // UserKey of the agent's user who reported; empty for the agent itself
	Session string            `json:"session,omitempty"` // session of the trial; empty: unknown
	Episode string            `json:"episode,omitempty"` // episode that shows the trial; empty: it was reported
	Context map[string]string `json:"context,omitempty"` // context of the situation
	OK      bool              `json:"ok,omitempty"`
	Idle    bool              `json:"idle,omitempty"` // the problem occurred and something else was tried
	At      time.Time         `json:"at"`
	Based   bool              `json:"based,omitempty"` // of a report: the base of Reports.On includes it already
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

// Tally counts the outcomes in episodes and the outcomes that agents reported, in chronological order, except those
// that the episodes show (Unshown).
func Tally(shown, reported []Outcome) Stats {
	return inOrder(shown, Unshown(shown, reported))
}

// inOrder counts the outcomes of both lists by their time.
func inOrder(shown, reported []Outcome) Stats {
	all := slices.Concat(shown, reported)
	slices.SortStableFunc(all, byTime)
	var out Stats
	out.Add(all)
	return out
}

func byTime(a, b Outcome) int { return a.At.Compare(b.At) }

// Add adds outcomes in their order.
func (s *Stats) Add(outcomes []Outcome) {
	for _, o := range outcomes {
		if o.Idle {
			s.IdleIn(o.Context)
		} else {
			s.ObserveIn(o.Context, o.OK, o.At)
		}
	}
}

// Unshown returns the reports that no episode shows, by their time. The first report of a session is about its first
// attempt, and so on. If an episode shows the attempt, the report does not count.
func Unshown(shown, reported []Outcome) []Outcome {
	type session struct{ agent, name string }
	inSession := map[session]int{}
	for _, o := range shown {
		inSession[session{o.Agent, o.Session}]++
	}
	var out []Outcome
	for _, o := range slices.SortedStableFunc(slices.Values(reported), byTime) {
		if s := (session{o.Agent, o.Session}); !o.Idle && o.Session != "" && inSession[s] > 0 {
			inSession[s]--
			continue
		}
		out = append(out, o)
	}
	return out
}
