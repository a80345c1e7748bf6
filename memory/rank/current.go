package rank

import (
	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
)

// StageCurrentness is the stage that marks superseded memories.
const StageCurrentness = "currentness"

// Factors of currentness (notes on recall constants).
const (
	currentSuperseded = 0.65
	currentMixed      = 0.85
	currentActive     = 1.03
)

// Supersession describes the revisions of a memory and of its extracted facts, as far as the asker may see them.
type Supersession struct {
	SupersededBy uuid.UUID // the visible successor; zero: none
	Replaces     bool      // it is the successor of another memory
	Active       int       // number of facts extracted from it that still hold
	Superseded   int       // number of facts extracted from it that were superseded
}

// Currentness returns whether the content of a memory is still true: superseded if it or all facts extracted from it
// were replaced, mixed if some of the facts were, current if it replaced another memory. It returns "" if nothing is
// known.
func (s Supersession) Currentness(status schema.Status) schema.Currentness {
	switch {
	case status == schema.StatusSuperseded, s.Superseded > 0 && s.Active == 0:
		return schema.CurrentnessSuperseded
	case s.Superseded > 0:
		return schema.CurrentnessMixed
	case s.Replaces:
		return schema.CurrentnessCurrent
	}
	return ""
}

// Current marks evidence by supersession. The score of a superseded memory is multiplied by 0.65, that of a partly
// superseded one by 0.85, and that of one that has replaced another by 1.03 (document 002 Phase 4). Nothing is dropped,
// because questions about the past need superseded memories.
func Current(evidence []Evidence, supersessions map[uuid.UUID]Supersession) []Evidence {
	out := evidence
	for i := range out {
		e := &out[i]
		s := supersessions[e.ID]
		e.Currentness, e.SupersededBy, e.Replaces = s.Currentness(e.Status), s.SupersededBy, s.Replaces
		switch e.Currentness {
		case schema.CurrentnessSuperseded:
			e.Set(StageCurrentness, currentSuperseded*e.Score, "superseded")
		case schema.CurrentnessMixed:
			e.Set(StageCurrentness, currentMixed*e.Score, "superseded in part")
		case schema.CurrentnessCurrent:
			e.Set(StageCurrentness, currentActive*e.Score, "replaced another")
		}
	}
	Rank(out)
	return out
}
