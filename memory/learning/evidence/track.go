package evidence

import (
	"maps"
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
	related = 3.0  // as how many outcomes the track of all situations counts in one of them

	maxSituations = 64
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

// Chance is the mean of the posterior, a Beta distribution: the chance that it works now.
func (t Track) Chance() float64 { return t.chance(Prior, weight) }

func (t Track) chance(prior, weight float64) float64 {
	return (prior*weight + t.Good) / (weight + t.Good + t.Bad)
}

// InPlace reports whether it may be offered first.
func (t Track) InPlace() bool { return t.Chance() >= InPlace }

// Stats is how something works in all situations and in each of them.
type Stats struct {
	All Track            `json:"all"`
	In  map[string]Track `json:"in,omitempty"` // by situation
}

// Observe takes in the next outcome in a situation, which may be empty. Of more than 64 situations the later ones
// count only in All.
func (s *Stats) Observe(situation string, ok bool, at time.Time) {
	s.All.Observe(ok, at)
	s.in(situation, func(t *Track) { t.Observe(ok, at) })
}

// Idle says that the problem occurred in a situation and something else was tried.
func (s *Stats) Idle(situation string) {
	s.All.Idle()
	if _, known := s.In[situation]; known {
		s.in(situation, (*Track).Idle)
	}
}

func (s *Stats) in(situation string, f func(*Track)) {
	t, known := s.In[situation]
	if situation == "" || !known && len(s.In) >= maxSituations {
		return
	}
	if s.In == nil {
		s.In = map[string]Track{}
	}
	f(&t)
	s.In[situation] = t
}

// Chance is that it works now in a situation: what was seen there, with what was seen everywhere as its prior.
func (s Stats) Chance(situation string) float64 {
	return s.In[situation].chance(s.All.Chance(), related)
}

// InPlace reports whether it may be offered first in a situation.
func (s Stats) InPlace(situation string) bool { return s.Chance(situation) >= InPlace }

// Clone is a copy that does not change with the original.
func (s Stats) Clone() Stats { return Stats{All: s.All, In: maps.Clone(s.In)} }
