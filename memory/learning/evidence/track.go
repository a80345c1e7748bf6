package evidence

import (
	"math"
	"time"
)

// Constants of a track.
const (
	Prior   = 0.5  // success rate assumed before the first trial
	weight  = 2.0  // outcomes as which Prior counts
	keep    = 0.80 // share of earlier outcomes left by each new one: about the last five count
	idle    = 0.85 // the same for each occurrence without a trial
	passed  = 0.97 // the same if the solution need not be tried again
	InPlace = 0.45 // lowest chance of a solution that is offered first
)

// Constants of the model of two states.
const (
	worksRate  = 0.90 // share of successes while it works
	brokenRate = 0.05 // share of successes while it does not work
	turns      = 0.03 // share by which the state moves towards 0.5 before each outcome
	turnsIdle  = 0.11 // the same for each occurrence without a trial
	leads      = 2.0  // initial weight of the model, compared with the mean
	recalled   = 0.90 // share of past predictions left by each outcome
	maxLead    = 4.0
)

// Track is a record of outcomes in which later ones weigh more. Its zero value is that of a procedure never tried.
//
// Two models predict the next outcome. The first is the mean of the last outcomes, which fits a procedure that works
// sometimes. The second assumes that the procedure either works or does not, and that this may change: it recognises a
// change after two failures in a row, the mean only after four. Each model is weighted by its past predictions.
type Track struct {
	Good      float64   `json:"good"` // successes, the earlier ones discounted
	Bad       float64   `json:"bad"`
	Successes int64     `json:"successes"` // all successes, not discounted
	Failures  int64     `json:"failures"`
	LastAt    time.Time `json:"last_at,omitzero"`
	// State is the log odds that the procedure works now, by the model of two states. 0 is even or unknown.
	State float64 `json:"state,omitempty"`
	// Lead is the log likelihood ratio of the predictions of the model of two states to those of the mean.
	Lead float64 `json:"lead,omitempty"`
}

// Observe adds the next outcome.
func (t *Track) Observe(ok bool, at time.Time) {
	mean, state := t.mean(Prior, weight), t.state()
	t.Lead = t.Lead*recalled + likelihood(rateIn(state), ok) - likelihood(mean, ok)
	t.Lead = max(-maxLead, min(maxLead, t.Lead))
	works, broken := worksRate, brokenRate
	if !ok {
		works, broken = 1-works, 1-broken
	}
	t.State = logit(evener(state, turns)) + math.Log(works/broken)
	t.Good, t.Bad = t.Good*keep, t.Bad*keep
	if ok {
		t.Good++
		t.Successes++
	} else {
		t.Bad++
		t.Failures++
	}
	if at.After(t.LastAt) {
		t.LastAt = at
	}
}

// Idle records that the problem occurred and something else was tried.
func (t *Track) Idle() {
	if t.Good+t.Bad == 0 {
		return
	}
	t.State = logit(evener(t.state(), turnsIdle))
	t.Good, t.Bad = t.Good*idle, t.Bad*idle
}

// Pass is like Idle, but outcomes fade more slowly, so that a failed solution is not retried for this reason alone.
func (t *Track) Pass() {
	if t.Good+t.Bad == 0 {
		return
	}
	t.State = logit(evener(t.state(), turns))
	t.Good, t.Bad = t.Good*passed, t.Bad*passed
}

// belief returns the state or, before the first trial, the state in which the chance of a success is base.
func (t Track) belief(base float64) float64 {
	if t.Good+t.Bad == 0 {
		return stateOf(base)
	}
	return t.state()
}

// doubt lowers the probability that the solution works by a share.
func (t *Track) doubt(share float64) {
	t.State = logit(t.state() * (1 - share))
	t.Good *= 1 - share
}

// Trials returns the number of outcomes counted.
func (t Track) Trials() int64 { return t.Successes + t.Failures }

// Rate returns the share of successes, with later outcomes weighted more. It is 0 before the first trial.
func (t Track) Rate() float64 {
	if t.Good == 0 {
		return 0
	}
	return t.Good / (t.Good + t.Bad)
}

// Chance returns the probability that the solution works now, in [0,1].
func (t Track) Chance() float64 { return t.chance(Prior, weight) }

// chance is like Chance with another prior, which counts as weight outcomes.
func (t Track) chance(prior, weight float64) float64 {
	mean := t.mean(prior, weight)
	if t.State == 0 || t.Trials() < 2 {
		return mean // claims and a single outcome are not enough to know the state
	}
	share := weight / (weight + t.Good + t.Bad)
	state := logistic(logit(t.state()) + share*logit(stateOf(prior)))
	w := logistic(t.Lead + math.Log(leads))
	return w*rateIn(state) + (1-w)*mean
}

// mean returns the mean of the posterior of the last outcomes, a Beta distribution.
func (t Track) mean(prior, weight float64) float64 {
	return (prior*weight + t.Good) / (weight + t.Good + t.Bad)
}

// state returns the probability of the working state. For claimed outcomes, and for records older than this model, it
// follows from the share of successes.
func (t Track) state() float64 {
	if n := t.Good + t.Bad; t.State == 0 && n > 0 {
		return stateOf(t.Good / n)
	}
	return logistic(t.State)
}

// InPlace reports whether the solution may be offered first.
func (t Track) InPlace() bool { return t.Chance() >= InPlace }

// rateIn returns the probability of a success if state is the probability of the working state.
func rateIn(state float64) float64 { return brokenRate + (worksRate-brokenRate)*state }

// stateOf returns the inverse of rateIn, limited to [0.01,0.99].
func stateOf(chance float64) float64 {
	return max(0.01, min(0.99, (chance-brokenRate)/(worksRate-brokenRate)))
}

func evener(chance, by float64) float64 { return chance + by*(0.5-chance) }

func likelihood(chance float64, ok bool) float64 {
	if !ok {
		chance = 1 - chance
	}
	return math.Log(chance)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func logit(p float64) float64 { return math.Log(p / (1 - p)) }
