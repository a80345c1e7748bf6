package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/trace"
)

// Policy has the evidence that a promotion needs.
type Policy struct {
	Least     int     // independent successes
	Witnessed int     // number of these that the ledger must have recorded as they happened
	PerAgent  int     // successes of one agent that count; 0: one of each session
	MinTrust  float64 // [0,1]; observations from a less trusted source do not count
}

// Default returns a policy of three independent successes, at least two of them witnessed. The sessions of one agent
// are independent of each other: an agent that works alone may learn, for itself (see Count.Agents).
func Default() Policy { return Policy{Least: 3, Witnessed: 2, MinTrust: 0.5} }

// Reasons why an observation does not count.
const (
	NotTrusted  = "source_not_trusted"
	Repetition  = "repetition"        // repeats a counted observation word for word
	SameSession = "same_session"      // a session is counted once
	SameOrigin  = "same_origin"       // accounts of one origin are counted once
	AgentShare  = "share_of_an_agent" // more than Policy.PerAgent
)

// Count has the observations that count. Observations that depend on each other count once.
type Count struct {
	Independent []int // indexes of the observations that count
	Witnessed   int
	Agents      []string       // agents of the evidence; if there is only one, the solution is only for that agent
	LeftOut     map[string]int // by reason
}

// Enough reports whether a policy is met.
func (c Count) Enough(p Policy) bool {
	return len(c.Independent) >= p.Least && c.Witnessed >= p.Witnessed
}

// Independent counts attempts. Witnessed attempts count separately from accounts, because any caller can submit an
// account: all accounts of one origin count once, even if they name different agents. A session counts once: witnessed
// attempts come first, so that an account of it cannot replace or repeat them. An attempt that repeats another word for
// word, with the same names, paths and results, does not count, even if another agent reports it.
func Independent(attempts []trace.Attempt, p Policy) Count {
	order := make([]int, len(attempts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := attempts[i], attempts[j]
		return cmp.Or(sourceOrder(a)-sourceOrder(b), a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	out := Count{LeftOut: map[string]int{}}
	seen, perAgent := map[string]bool{}, map[string]int{}
	for _, i := range order {
		a := attempts[i]
		what, session := "what:"+a.Fingerprint(), "session:"+a.Source.Agent+"\x00"+cmp.Or(a.Source.Session, a.Episode)
		origin := "origin:" + cmp.Or(a.Source.Origin, a.Source.Agent)
		why := ""
		switch {
		case !(a.Source.Trust >= p.MinTrust): // negated so that NaN counts as low
			why = NotTrusted
		case seen[what]:
			why = Repetition
		case seen[session]:
			why = SameSession
		case a.Source.Witnessed && p.PerAgent > 0 && perAgent[a.Source.Agent] >= p.PerAgent:
			why = AgentShare
		case !a.Source.Witnessed && seen[origin]:
			why = SameOrigin
		}
		if why != "" {
			out.LeftOut[why]++
			continue
		}
		seen[what], seen[session] = true, true
		if a.Source.Witnessed {
			out.Witnessed++
			perAgent[a.Source.Agent]++
		} else {
			seen[origin] = true
		}
		out.Independent = append(out.Independent, i)
		if a.Source.Witnessed && !slices.Contains(out.Agents, a.Source.Agent) {
			out.Agents = append(out.Agents, a.Source.Agent)
		}
	}
	slices.Sort(out.Independent)
	slices.Sort(out.Agents)
	return out
}

// Against returns the failed attempts that count: those that the ledger witnessed and, of the accounts of one origin,
// the first. An account of a session that the ledger witnessed, in an attempt of either list, does not count.
func Against(failed, others []trace.Attempt, p Policy) []trace.Attempt {
	sessions, origins := map[string]bool{}, map[string]bool{}
	session := func(a trace.Attempt) string { return a.Source.Agent + "\x00" + cmp.Or(a.Source.Session, a.Episode) }
	for _, a := range slices.Concat(failed, others) {
		if a.Source.Witnessed {
			sessions[session(a)] = true
		}
	}
	ordered := slices.SortedStableFunc(slices.Values(failed), func(a, b trace.Attempt) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return slices.DeleteFunc(ordered, func(a trace.Attempt) bool {
		origin := cmp.Or(a.Source.Origin, a.Source.Agent)
		switch {
		case !(a.Source.Trust >= p.MinTrust): // negated so that NaN counts as low
			return true
		case a.Source.Witnessed:
			return false
		case sessions[session(a)] || origins[origin]:
			return true
		}
		origins[origin] = true
		return false
	})
}

// sourceOrder puts witnessed attempts before accounts.
func sourceOrder(a trace.Attempt) int {
	if a.Source.Witnessed {
		return 0
	}
	return 1
}
