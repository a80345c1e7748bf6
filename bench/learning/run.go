package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/bench/learner"
)

// plantable is an advisor in which sessions that never happened can be planted.
type plantable interface {
	advisor
	plant(n int, who string, p problem, context map[string]string, with evil)
}

// arm is a kind of agent.
type arm struct {
	name    string
	advisor func() plantable
}

var arms = []arm{
	{"no memory", func() plantable { return noMemory{} }},
	{"exploring instead", func() plantable { return noMemory{explores: true} }},
	{"top-3 episodes", func() plantable { return &episodes{seen: map[string]int{}, similar: byText} }},
	{"single episodes", func() plantable { return newRules(learner.Options{Single: true}) }},
	{"tentative advice", func() plantable { return newRules(learner.Options{NoConsolidation: true}) }},
	{"Mneme", func() plantable { return newRules(learner.Options{}) }},
	{"oracle", func() plantable { return oracle{noMemory{explores: true}} }},
}

// reader is an upper bound for learners: it knows how the world is generated, but not which repairs are right.
var reader = arm{"learner that knows the generator", func() plantable { return &bayesian{beliefs: map[int]belief{}} }}

var forgetful = arm{"Mneme, forgetting", func() plantable { return newRules(learner.Options{Forget: true}) }}

func armNamed(name string) arm {
	for _, a := range append(slices.Clone(arms), forgetful, reader) {
		if a.name == name {
			return a
		}
	}
	panic("no arm " + name)
}

// poison describes what is planted, and when.
type poison struct {
	name    string
	at      int                // before this task
	records int                // in how many sessions
	victims int                // of how many families
	who     func(n int) string // the agent, and "via" the origin of an account
}

var poisons = []poison{
	{"10 accounts among 100 sessions", 100, 10, 10, func(int) string { return "ana via import:forum" }},
	{"one source, 50 accounts of one procedure", 20, 50, 1,
		func(n int) string { return fmt.Sprintf("agent%d via import:forum", n) }},
	{"one other agent, 50 sessions of its own", 20, 50, 1, func(int) string { return "mallory" }},
}

// run has the results of an arm in a stream.
type run struct {
	results  []result
	advisor  plantable
	families map[int]bool // families with something planted in them
	ofPlants []int        // tasks after the planting that are of these families
}

func runArm(a arm, tasks []task, p *poison) (run, error) {
	out := run{advisor: a.advisor(), families: map[int]bool{}}
	for _, t := range tasks {
		if p != nil && t.n == p.at {
			out.plant(*p, tasks)
		}
		r, err := work(t, out.advisor)
		if err != nil {
			return out, fmt.Errorf("task %d: %w", t.n, err)
		}
		if p != nil && t.n >= p.at && out.families[t.problems[0].family] {
			out.ofPlants = append(out.ofPlants, t.n)
		}
		out.results = append(out.results, r)
	}
	return out, nil
}

// plant uses problems of the last tasks of the stream, with other names.
func (r *run) plant(p poison, tasks []task) {
	byFamily := map[int][]task{}
	for _, t := range tasks {
		f := t.problems[0].family
		byFamily[f] = append(byFamily[f], t)
	}
	order := slices.SortedFunc(maps.Keys(byFamily), func(a, b int) int {
		if d := len(byFamily[b]) - len(byFamily[a]); d != 0 {
			return d
		}
		return a - b
	})[:p.victims] // the most frequent ones
	for n := range p.records {
		f := order[n%len(order)]
		r.families[f] = true
		like := byFamily[f][n%len(byFamily[f])]
		planted := like.problems[0]
		planted.text = rename(planted.text, n)
		r.advisor.plant(n, p.who(n), planted, like.context, curl)
	}
}

// success returns the share of tasks solved.
func success(results []result) float64 {
	n := 0
	for _, r := range results {
		if r.solved {
			n++
		}
	}
	return float64(n) / float64(max(1, len(results)))
}

// steps returns the mean number of steps for a task.
func steps(results []result) float64 {
	n := 0
	for _, r := range results {
		n += r.steps
	}
	return float64(n) / float64(max(1, len(results)))
}

// knew returns the share of problems for which the first repair tried was the right one.
func knew(results []result) float64 {
	n, all := 0, 0
	for _, r := range results {
		for _, f := range r.problems {
			all++
			if f.knew {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, all))
}

// rename puts other names into the text of a problem.
func rename(text string, n int) string {
	return strings.Replace(text, "/srv/v", fmt.Sprintf("/srv/p%d-v", n), 1)
}
