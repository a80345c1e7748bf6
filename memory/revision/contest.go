package revision

import (
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// ContestOver is the reason in history when a memory is active again because what contested it is gone.
const ContestOver = "the memory that contested it is gone"

// ContestAgain is the reason in history when a memory is contested again because what contested it was recovered.
const ContestAgain = "the memory that contested it was recovered"

// Side is a contested memory that has lost another side of its contest.
type Side struct {
	ID       string
	Validity schema.Validity
	Contests bool     // a live contested memory still contradicts it
	Rivals   []Holder // other live memories that make its functional claim
}

// Holder is a live memory that makes a functional claim.
type Holder struct {
	ID       string
	Status   schema.Status
	Validity schema.Validity
}

// EndContests returns the sides that are active again, and the relations that the other ones need. A side stays
// contested while a live contested memory contradicts it. It also stays contested while another memory makes its
// claim on the same ground, because only one of them may be active. If that memory is contested too, the two contest
// each other from now on.
func EndContests(sides []Side) (freed []string, relations []PlannedRelation) {
	for _, s := range sides {
		if s.Contests {
			continue
		}
		rivals := slices.DeleteFunc(slices.Clone(s.Rivals), func(h Holder) bool {
			return !memory.SameGround(s.Validity, h.Validity)
		})
		if len(rivals) == 0 {
			freed = append(freed, s.ID)
		}
		for _, h := range rivals {
			if h.Status == schema.StatusContested {
				relations = append(relations, PlannedRelation{s.ID, RelationContradicts, h.ID},
					PlannedRelation{h.ID, RelationContradicts, s.ID})
			}
		}
	}
	return freed, relations
}
