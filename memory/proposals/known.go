package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// SourceStates reports whether the source of a fact is a lasting memory with exactly the fact's text. Then the fact
// needs no separate memory.
func SourceStates(fact memory.Fact, source memory.Neighbor) bool {
	return memory.States(source.Type) && source.Says(normalize.Normalize(fact.Content))
}

// TypeOfSource returns the type of a source that is not stored, as in shadow mode: semantic for an explicit save, and
// otherwise a type that fades.
func TypeOfSource(kind schema.SourceKind) schema.MemoryType {
	if kind == schema.SourceMemory {
		return schema.TypeSemantic
	}
	return schema.TypeEpisodic
}
