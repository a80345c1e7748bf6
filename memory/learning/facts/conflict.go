package facts

import "github.com/mneme/mneme/memory/change"

// Pair is a fact and a statement that may exclude each other. It is what a model is shown if the rules are not sure.
type Pair struct {
	Number int    `json:"number"` // from 1
	Held   string `json:"held"`
	Said   string `json:"said"`
}

// Verdict is a model's answer about a pair.
type Verdict string

// The verdicts.
const (
	Excludes Verdict = "excludes" // only one of them can hold
	BothHold Verdict = "both"
	Unsure   Verdict = "unsure"
)

// Doubtful reports whether a model may be asked if a change is a conflict at all. It may not if the words leave no
// doubt.
func (u Update) Doubtful() bool {
	return u.Target != "" && (u.Action == Replace && u.Certainty < change.Sure ||
		u.Action == Contest && u.Certainty < change.Likely)
}

// Judged returns a doubtful change after a model's verdict. A model cannot remove a fact. If it says that both hold, a
// replacement becomes a contest, and instead of a contest the statement becomes a new fact. Any other verdict leaves the
// change as it is.
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

// AsNewFact returns the change as a new fact that leaves its target as it is. It is for a target that more agents read
// than the statement.
func (u Update) AsNewFact() Update {
	if u.Action == Reinforce {
		return u
	}
	u.Action, u.Target, u.Rival, u.TargetConditions = New, "", 0, nil
	u.Why = "said in several sessions; more agents read the fact that it would change"
	return u
}
