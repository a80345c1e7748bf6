package facts

import "github.com/mneme/mneme/memory/frame"

// Pair is a fact and a statement of which the rules are not sure that they cannot both hold, as a model is shown them.
type Pair struct {
	Number int    `json:"number"` // from 1
	Held   string `json:"held"`
	Said   string `json:"said"`
}

// Verdict is what a model says about a pair.
type Verdict string

// The verdicts.
const (
	Excludes Verdict = "excludes" // only one of them can hold
	BothHold Verdict = "both"
	Unsure   Verdict = "unsure"
)

// Doubtful reports whether a model may be asked if a change is a conflict at all: where the words leave no doubt, it
// is.
func (u Update) Doubtful() bool {
	return u.Target != "" && (u.Action == Replace && u.Certainty < frame.Sure ||
		u.Action == Contest && u.Certainty < frame.Likely)
}

// Judged is a doubtful change after a model's verdict. A model takes no fact away: if it says that both hold, what
// would be replaced is contested, and what would be contested stays as it is, with the statement as a new fact. Any
// other verdict leaves the change to the weights.
func (u Update) Judged(v Verdict) Update {
	if v != BothHold || !u.Doubtful() {
		return u
	}
	switch u.Action {
	case Replace:
		u.Action, u.Why = Contest, "a model says that both hold"
	case Contest:
		u.Action, u.Target, u.Why = New, "", "said in several sessions; a model says that both hold"
	}
	return u
}
