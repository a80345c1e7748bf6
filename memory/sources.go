package memory

import "github.com/mneme/mneme/schema"

// Judge is the source of verdicts on a memory that others read too. Its verdicts do not confirm each other.
type Judge struct {
	Agent string
	User  string // name of the agent's user; empty: the agent, with all its users
}

// JudgeOf returns the source of a principal's verdicts on a memory: the agent if other agents read the memory, and the
// user if only the agent and its users do. It returns false if all verdicts count, because no one else reads the
// memory, or because the agent itself judges its own.
func JudgeOf(p schema.Principal, m Holding) (Judge, bool) {
	switch {
	case m.Visibility != schema.VisibilityPrivate:
		return Judge{Agent: p.Agent}, true
	case !MayChange(p, m): // a user of the agent
		return Judge{Agent: p.Agent, User: p.User}, true
	}
	return Judge{}, false
}

// Agreed returns how many of a source's equal results count for others: as many as another source has, and at least
// one. So one source alone changes little for the others.
func Agreed(own, others int) int { return min(own, max(1, others)) }
