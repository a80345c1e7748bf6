package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// MayKeep reports whether a proposal has a target that may keep its place (KeepsTarget): it would be replaced or
// deleted, and it states something.
func MayKeep(p memory.Proposal, target schema.MemoryType) bool {
	return target == schema.TypeSemantic && (p.Action == schema.ActionUpdate || p.Action == schema.ActionDelete)
}

// KeepsTarget reports whether the target of an update or a delete is not the pipeline's to replace or delete on the
// word of a fact (revision.KeepsItsPlace). Where the decision is that the fact changes what the target says, it does
// not count for the target how often it was said before the change, nor that it is contested.
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
