package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// MayKeep reports whether KeepsTarget can apply to a proposal: it would update or delete a semantic memory.
func MayKeep(p memory.Proposal, target schema.MemoryType) bool {
	return target == schema.TypeSemantic && (p.Action == schema.ActionUpdate || p.Action == schema.ActionDelete)
}

// KeepsTarget reports whether the pipeline may not replace or delete the target of an update or a delete because of a
// fact (revision.KeepsItsPlace). If the decision is that the fact changes the target's statement, earlier repetitions
// and the status contested do not protect the target.
func KeepsTarget(p memory.Proposal, target, fact revision.Standing) bool {
	if !MayKeep(p, target.Type) {
		return false
	}
	if p.Change == memory.ChangeSupersede {
		fact.Sources = max(fact.Sources, target.Sources)
		target.Status = schema.StatusActive
	}
	return revision.KeepsItsPlace(target, fact)
}
