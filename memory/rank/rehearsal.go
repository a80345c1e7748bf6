package rank

import (
	"math"
	"slices"
	"time"
)

// StageRehearse is the rehearsal boost.
const StageRehearse = "rehearse"

// Constants of rehearsal (notes on recall constants).
const (
	rehearseWeight       = 0.1
	rehearseHalfLifeDays = 30
)

// Rehearse raises what was recalled often and lately: s × (1 + 0.1·ln(n+1)·0.5^(days/30)) after n accesses,
// the last of them so many days ago (document 002 Phase 4). What was never accessed keeps its score.
func Rehearse(evidence []Evidence, now time.Time) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if e.Accesses <= 0 || e.LastAccessed.IsZero() {
			continue
		}
		days := max(0, now.Sub(e.LastAccessed).Hours()/24)
		e.Set(
			StageRehearse,
			e.Score*(1+rehearseWeight*math.Log(float64(e.Accesses)+1)*math.Pow(0.5, days/rehearseHalfLifeDays)),
			"recalled before",
		)
	}
	Rank(out)
	return out
}
