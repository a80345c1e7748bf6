package evidence

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants and limits of situations.
const (
	related       = 2.0  // outcomes as which the track of all situations counts in one situation
	remembered    = 0.95 // share of a key's earned weight that each new outcome leaves
	shared        = 0.8  // share of the doubt about one value of a key that applies to its other values
	maxSituations = 64
	maxValues     = 8 // values of one key; further values, as of a build number, are not distinguished
	system        = "os"
)

// Stats has the tracks of a solution for all situations and for single values of context keys. The outcomes show which
// keys matter: each key predicts the next outcome from outcomes with the same value, and earns weight by how much
// better its prediction is than that from all outcomes.
type Stats struct {
	All Track `json:"all"`
	// In has the tracks by situation. The name of a situation is the operating system alone, such as linux, or another
	// key with its value, such as project_kind=service.
	In map[string]Track `json:"in,omitempty"`
	// Earned has the log likelihood ratio of each key's predictions to those from all outcomes.
	// Later outcomes weigh more.
	Earned map[string]float64 `json:"earned,omitempty"`
}

func situation(key, value string) string {
	value = memory.ContextValue(key, value)
	if key == system {
		return value
	}
	return key + "=" + value
}

// Observe adds the next outcome on a system, which may be empty.
func (s *Stats) Observe(os string, ok bool, at time.Time) { s.ObserveIn(onSystem(os), ok, at) }

func onSystem(os string) map[string]string { return map[string]string{system: os} }

// ObserveIn adds the next outcome in a context. Beyond 64 situations or eight values of a key, outcomes of new ones
// count only in All.
func (s *Stats) ObserveIn(context map[string]string, ok bool, at time.Time) {
	log := func(chance float64) float64 {
		if !ok {
			chance = 1 - chance
		}
		return math.Log(chance)
	}
	base := s.All.Chance()
	for _, key := range slices.Sorted(maps.Keys(context)) {
		name := situation(key, context[key])
		t, known := s.In[name]
		if context[key] == "" || !known && !s.admits(key) {
			continue
		}
		if s.In == nil {
			s.In, s.Earned = map[string]Track{}, map[string]float64{}
		}
		if s.Earned == nil {
			s.Earned = map[string]float64{}
		}
		s.Earned[key] = remembered*s.Earned[key] + log(t.chance(base, related)) - log(base)
		before := t.belief(base)
		t.Observe(ok, at)
		s.In[name] = t
		s.doubt(key, name, before-t.state())
	}
	s.All.Observe(ok, at)
}

// Known returns the part of a context whose values have a track.
func (s *Stats) Known(context map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range context {
		if _, known := s.In[situation(key, value)]; known {
			out[key] = value
		}
	}
	return out
}

// doubt lowers the tracks of the other values of a key after one value has lost a share of its probability, because a
// change there may also affect the other values.
func (s *Stats) doubt(key, name string, lost float64) {
	if lost <= 0 {
		return
	}
	for other, t := range s.In {
		if other != name && keyOf(other) == key && t.Trials() > 0 {
			t.doubt(shared * lost)
			s.In[other] = t
		}
	}
}

// keyOf returns the key of a situation.
func keyOf(situation string) string {
	if key, _, ok := strings.Cut(situation, "="); ok {
		return key
	}
	return system
}

// admits reports whether another value of a key may get its own track.
func (s *Stats) admits(key string) bool {
	n := 0
	for name := range s.In {
		if keyOf(name) == key {
			n++
		}
	}
	return len(s.In) < maxSituations && (n < maxValues || key == system)
}

// Idle records that the problem occurred on a system and something else was tried.
func (s *Stats) Idle(os string) { s.IdleIn(onSystem(os)) }

// IdleIn records that the problem occurred in a context and something else was tried.
func (s *Stats) IdleIn(context map[string]string) {
	s.All.Idle()
	for key, value := range context {
		if t, known := s.In[situation(key, value)]; known {
			t.Idle()
			s.In[situation(key, value)] = t
		}
	}
}

// PassIn is like IdleIn, but for a failed solution that need not be tried again: its outcomes fade more slowly, by as
// much as the situation may have changed.
func (s *Stats) PassIn(context map[string]string) {
	s.All.Pass()
	for key, value := range context {
		if t, known := s.In[situation(key, value)]; known {
			t.Pass()
			s.In[situation(key, value)] = t
		}
	}
}

// Chance returns the probability that the solution works now on a system.
func (s Stats) Chance(os string) float64 { return s.ChanceIn(onSystem(os)) }

// ChanceIn returns the probability that the solution works now in a context. It is the mean of the predictions of the
// context's keys and of all outcomes, weighted by their earned weights. At first, all keys together weigh as much as
// all outcomes.
func (s Stats) ChanceIn(context map[string]string) float64 { return s.ChanceWith(context, s.Earned) }

// Earned returns the sum of the earned weights of several solutions of one problem, because a key on which one of them
// depends also matters to the others.
func Earned(all []Stats) map[string]float64 {
	byKey := map[string][]float64{}
	for _, s := range all {
		for key, earned := range s.Earned {
			byKey[key] = append(byKey[key], earned)
		}
	}
	out := make(map[string]float64, len(byKey))
	for key, list := range byKey {
		slices.Sort(list) // the order of solutions does not matter
		for _, earned := range list {
			out[key] += earned
		}
	}
	return out
}

// ChanceWith is like ChanceIn, with other earned weights.
func (s Stats) ChanceWith(context map[string]string, earned map[string]float64) float64 {
	base := s.All.Chance()
	sum, weights := base, 1.0
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(context)) {
		if _, known := s.In[situation(key, context[key])]; known && s.tells(key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		w := math.Exp(min(maxEarned, earned[key])) / float64(len(keys))
		sum, weights = sum+w*s.In[situation(key, context[key])].chance(base, related), weights+w
	}
	return sum / weights
}

// tells reports whether a key can tell situations apart. The form of a situation is the same in most problems, and then
// it must not lower the weight of the other keys.
func (s Stats) tells(key string) bool {
	if !trace.IsForm(key) {
		return true
	}
	values := 0
	for name := range s.In {
		if keyOf(name) == key {
			values++
		}
	}
	return values > 1
}

// Of returns the chance in one situation, by its name in In.
func (s Stats) Of(situation string) float64 { return s.In[situation].chance(s.All.Chance(), related) }

// maxEarned limits an earned weight, so that it stays finite.
const maxEarned = 20

// InPlace reports whether the solution may be offered first on a system.
func (s Stats) InPlace(os string) bool { return s.Chance(os) >= InPlace }

// Clone returns a deep copy.
func (s Stats) Clone() Stats {
	return Stats{All: s.All, In: maps.Clone(s.In), Earned: maps.Clone(s.Earned)}
}
