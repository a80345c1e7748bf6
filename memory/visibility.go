package memory

import (
	"slices"

	"github.com/mneme/mneme/schema"
)

// Holding is the owner and the visibility of a memory.
type Holding struct {
	Owner      schema.Principal
	Visibility schema.Visibility
}

// MayLook reports whether a principal may read a memory of its tenant in any state (document 002 "Hybrid Recall"): its
// own memories, global ones, those shared within its project, and those of its policy group. A scope only describes the
// subject of a memory and does not restrict access, unless the principal acts for a user: then it reads only that
// user's memories and those without a scope. This function specifies the SQL condition; a test compares the two.
func MayLook(p schema.Principal, m Holding) bool {
	switch {
	case !p.MayRead(m.Owner.Scope):
		return false
	case m.Owner.Agent == p.Agent, m.Visibility == schema.VisibilityGlobal:
		return true
	case m.Visibility == schema.VisibilityShared:
		return m.Owner.Project == p.Project
	case m.Visibility == schema.VisibilityGroup:
		return m.Owner.PolicyGroup != "" && m.Owner.PolicyGroup == p.PolicyGroup
	}
	return false
}

// MayChange reports whether a principal may change a memory by its id. It must be able to read the memory, and a
// principal that acts for a user may change only that user's memories.
func MayChange(p schema.Principal, m Holding) bool {
	return MayLook(p, m) && p.MayChange(m.Owner.Scope)
}

// byReach lists the visibilities from the fewest readers to the most. Group comes before shared by convention, because
// the agents of a group are chosen one by one.
var byReach = []schema.Visibility{
	schema.VisibilityPrivate,
	schema.VisibilityGroup,
	schema.VisibilityShared,
	schema.VisibilityGlobal,
}

// reach returns the index of a visibility in byReach. An unknown visibility counts as private.
func reach(v schema.Visibility) int { return max(slices.Index(byReach, v), 0) }

// Narrower reports whether a allows fewer readers than b.
func Narrower(a, b schema.Visibility) bool { return reach(a) < reach(b) }

// RevisionHolding returns the default owner and visibility of the new record of a principal's revision (document 004
// §7). The record belongs to the owner of the targets, or to the principal if the targets have several owners or there
// are none. It is as visible as the least visible target.
func RevisionHolding(p schema.Principal, targets []Holding) Holding {
	p = p.Owner()
	out := Holding{Owner: p, Visibility: schema.VisibilityGlobal}
	for i, t := range targets {
		if i == 0 {
			out.Owner = t.Owner
		} else if out.Owner != t.Owner {
			out.Owner = p
		}
		if Narrower(t.Visibility, out.Visibility) {
			out.Visibility = t.Visibility
		}
	}
	return out
}

// InTheOpen reports whether a new record may be added to or replace the targets of a principal's revision. It may if
// the targets of other agents neither disappear from their owners' view nor become visible to more readers.
func InTheOpen(p schema.Principal, record Holding, targets []Holding) bool {
	foreign := slices.DeleteFunc(slices.Clone(targets), func(t Holding) bool { return t.Owner.Agent == p.Agent })
	if len(foreign) == 0 {
		return true
	}
	least := foreign[0].Visibility
	for _, t := range foreign {
		if !MayLook(t.Owner, record) {
			return false
		}
		if Narrower(t.Visibility, least) {
			least = t.Visibility
		}
	}
	return record.Visibility == least
}

// Hides reports whether an existing memory, known, would hide another in a principal's revision that replaces or
// contests the other with it. This is so if the other belongs to another agent, and that agent or other readers of its
// memories could not read known. The principal may hide its own memories.
func Hides(p schema.Principal, known, other Holding) bool {
	return other.Owner.Agent != p.Agent &&
		(!MayLook(other.Owner, known) || Narrower(known.Visibility, other.Visibility))
}
