package evidence

import (
	"time"
)

// Constants of a track. With them, something that always worked has a chance of 0.86, after one failure 0.71, after two
// 0.60, after three 0.51, and after four 0.44, below InPlace. Something that always failed is back in its place after
// three successes. What is out of its place and not tried moves towards Prior with every occurrence of the problem in
// which something else was tried, so that it gets another chance after at most twenty of them.
const (
	Prior   = 0.5  // chance of what was never tried, and as how many outcomes it counts:
	weight  = 2.0  // of the prior
	keep    = 0.80 // of the earlier outcomes, with each new one: about the last five count
	idle    = 0.85 // of the earlier outcomes, with each occurrence without a trial
	InPlace = 0.45 // chance from which on something learned is offered first
)

// Track is a record of outcomes in which later ones weigh more. Its zero value is that of what was never tried.
type Track struct {
	Good      float64   `json:"good"` // outcomes, the earlier ones discounted
	Bad       float64   `json:"bad"`
	Successes int64     `json:"successes"` // all, as they were counted
	Failures  int64     `json:"failures"`
	LastAt    time.Time `json:"last_at,omitzero"`
}

// Observe takes in the next outcome.
func (t *Track) Observe(ok bool, at time.Time) {
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

// Idle says that the problem occurred and something else was tried.
func (t *Track) Idle() { t.Good, t.Bad = t.Good*idle, t.Bad*idle }

// Trials are the outcomes that were counted.
func (t Track) Trials() int64 { return t.Successes + t.Failures }

// Rate is the share of successes, later outcomes weighing more; 0 for what was never tried.
func (t Track) Rate() float64 {
	if t.Good == 0 {
		return 0
	}
	return t.Good / (t.Good + t.Bad)
}

// Chance is the mean of the posterior, a Beta distribution: the chance that it works now.
func (t Track) Chance() float64 { return t.chance(Prior, weight) }

func (t Track) chance(prior, weight float64) float64 {
	return (prior*weight + t.Good) / (weight + t.Good + t.Bad)
}

// InPlace reports whether it may be offered first.
func (t Track) InPlace() bool { return t.Chance() >= InPlace }
