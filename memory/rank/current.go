package rank

import (
	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
)

// StageCurrentness is the annotation of what is out of date.
const StageCurrentness = "currentness"

// Factors of currentness (notes on recall constants).
const (
	currentSuperseded = 0.65
	currentMixed      = 0.85
	currentActive     = 1.03
)

// Supersession describes the revisions of a memory and of the facts extracted from it that the asker may see.
type Supersession struct {
	SupersededBy uuid.UUID // its visible successor; zero: none
	Replaces     bool      // it is the successor of another memory
	Active       int       // number of facts extracted from it that still hold
	Superseded   int       // number of facts extracted from it that were superseded
}

// Currentness says whether the content of a memory still holds: superseded if it was replaced, or all facts extracted
// from it were; mixed if some were; current if it replaced something. Empty means that nothing is known.
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

// Current marks evidence by supersession: a superseded memory is demoted to 0.65 of its score, a partly superseded
// one to 0.85, and one that has replaced another is raised by 0.03 (document 002 Phase 4). Nothing is dropped: a
// question about the past must find superseded memories, marked.
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
