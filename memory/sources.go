package memory

import "github.com/mneme/mneme/schema"

// VerdictSource is the agent or the user whose verdicts on a memory that others read too count as those of one source.
// They do not confirm each other.
type VerdictSource struct {
	Agent string
	User  string // name of the agent's user; empty: the agent, with all its users
}

// VerdictSourceOf returns the source of a principal's verdicts on a memory: the agent if other agents read the memory,
// and the user if only the agent and its users do. It returns false if every verdict counts, because no one else reads
// the memory, or because the memory is the agent's own and the verdict is the agent's.
func VerdictSourceOf(p schema.Principal, m Holding) (VerdictSource, bool) {
	switch {
	case m.Visibility != schema.VisibilityPrivate:
		return VerdictSource{Agent: p.Agent}, true
	case !MayChange(p, m): // a user of the agent
		return VerdictSource{Agent: p.Agent, User: p.User}, true
	}
	return VerdictSource{}, false
}

// Agreed returns how many of a source's equal results count for others: as many as another source has, and at least
// one. So one source alone changes little for the others.
func Agreed(own, others int) int { return min(own, max(1, others)) }
