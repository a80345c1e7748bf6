package main

import (
	"slices"

	"github.com/mneme/mneme/bench/learner"
)

// bayesian is a learner that knows how the world is generated, but not which repairs are right. It knows that one
// repair is right for one value of a key and another for the other values, or one for all values; how often the right
// repair does not help; and that a family may change once. It keeps a probability for each such hypothesis. It fails
// only because of the search and of chance, so its result is an upper bound for learners.
type bayesian struct {
	noMemory
	beliefs map[int]belief
}

// hypothesis is a possible rule of a family: repair a is right if key has the value, and b otherwise.
type hypothesis struct {
	key, value string
	a, b       int
	changed    bool
}

type belief map[hypothesis]float64

const changing = 0.01 // chance that a family has changed since its last occurrence: one of four in 25

func (h hypothesis) right(context map[string]string) int {
	if h.key == "" || context[h.key] == h.value {
		return h.a
	}
	return h.b
}

// newBelief returns the belief before the first occurrence.
func newBelief() belief {
	out := belief{}
	for a := range repairs {
		out[hypothesis{a: a, b: a}] = 1.0 / 3 / repairs
		for _, c := range context[:3] {
			for _, v := range c.values {
				for b := range repairs {
					if a != b {
						out[hypothesis{key: c.key, value: v, a: a, b: b}] = 2.0 / 9 / float64(len(c.values)) /
							(repairs * (repairs - 1))
					}
				}
			}
		}
	}
	return out
}

// turn updates the belief for the time between two occurrences.
func (b belief) turn() {
	into := map[[2]string][]hypothesis{}
	for h, p := range b {
		if h.changed || p == 0 {
			continue
		}
		b[h] = p * (1 - changing)
		at := [2]string{h.key, h.value}
		if into[at] == nil {
			for a := range repairs {
				for o := range repairs {
					if (a == o) == (h.key == "") {
						into[at] = append(into[at], hypothesis{h.key, h.value, a, o, true})
					}
				}
			}
		}
		var free []hypothesis
		for _, n := range into[at] {
			if n.a != h.a && n.a != h.b && n.b != h.a && n.b != h.b {
				free = append(free, n)
			}
		}
		for _, n := range free {
			b[n] += p * changing / float64(len(free))
		}
	}
}

// observe updates the belief with the outcome of a repair.
func (b belief) observe(context map[string]string, repair int, helped bool) {
	total := 0.0
	for h, p := range b {
		chance := vanishing / 2
		if h.right(context) == repair {
			chance = 1 - misfires
		}
		if !helped {
			chance = 1 - chance
		}
		b[h] = p * chance
		total += b[h]
	}
	for h := range b {
		b[h] /= total
	}
}

func (b belief) chances(context map[string]string) (out [repairs]float64) {
	for h, p := range b {
		out[h.right(context)] += p
	}
	return out
}

// propose returns the repairs by their probability, each computed as if the ones before it had failed.
func (m *bayesian) propose(t task, p problem) ([][]string, error) {
	b := m.beliefs[p.family]
	if b == nil {
		b = newBelief()
		m.beliefs[p.family] = b
	}
	b.turn()
	supposed := belief{}
	for h, chance := range b {
		supposed[h] = chance
	}
	var out [][]string
	left := budget - memoryCost
	for left >= 2 {
		chances := supposed.chances(t.context)
		best := -1
		for _, n := range p.order {
			if len(p.repairs[n])+1 <= left && (best < 0 || chances[n] > chances[best]+1e-9) {
				best = n
			}
		}
		if best < 0 {
			break
		}
		out = append(out, p.repairs[best])
		left -= len(p.repairs[best]) + 1
		supposed.observe(t.context, best, false)
	}
	return out, nil
}

func (*bayesian) cost() (int, bool) { return memoryCost, true }

func (m *bayesian) learn(t task, _ *learner.Session, all map[int]done) error {
	for i, p := range t.problems {
		did := all[i]
		for n, plan := range did.tried {
			repair := slices.IndexFunc(p.repairs, func(r []string) bool { return same(r, plan) })
			m.beliefs[p.family].observe(t.context, repair, did.helped && n == len(did.tried)-1)
		}
	}
	return nil
}
