package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// SourceStates reports whether the source of a fact says exactly what the fact says, and lasts: the source itself is
// then the memory of the fact.
func SourceStates(fact memory.Fact, source memory.Neighbor) bool {
	return memory.States(source.Type) && source.Says(normalize.Normalize(fact.Content))
}

// TypeOfSource is the type of a source that is not stored, as in shadow mode: what was handed in to be remembered
// lasts, and everything else fades.
func TypeOfSource(kind schema.SourceKind) schema.MemoryType {
	if kind == schema.SourceMemory {
		return schema.TypeSemantic
	}
	return schema.TypeEpisodic
}
