package main

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/schema"
)

const (
	budget   = 8 // steps for each problem of a task
	asking   = 2 // steps that a memory costs a problem: to ask, and to tell
	checking = "make app"
)

// mind is what tells an agent what to try. Its memory is what arms differ in; the agent is the same.
type mind interface {
	// cost is how many steps of the budget are kept for it, and whether it uses them.
	cost() (steps int, used bool)
	// propose returns what to try first at a problem, the best first.
	propose(t task, p problem) ([][]string, error)
	// tried says how the first of what was proposed went, and whether the problem was solved after all.
	tried(t task, p problem, firstHelped, solved bool) error
	// learn takes in what was done at a task.
	learn(t task, s *learner.Session, solutions map[int][]string) error
}

// result is what an agent did at a task.
type result struct {
	solved bool
	steps  int
	limit  int
	first  []first
}

// first is how the first repair tried at a problem went.
type first struct {
	where   string
	changed bool
	since   int
	knew    bool // the first repair tried was the right one
	solved  bool
}

// work lets an agent try to solve a task.
func work(t task, m mind) (out result, err error) {
	s := learner.NewSession("ana", fmt.Sprint(t.n), t.at)
	s.Asked("Build the app.")
	s.In(t.dir, t.context)
	solutions := map[int][]string{}
	out.limit, out.solved = budget*len(t.problems), true
	left, unused := out.limit, 0
	for i, p := range t.problems {
		if i == 0 {
			s.Did("shell", checking, p.text)
		}
		kept, used := m.cost()
		if kept > left {
			out.solved = false
			break
		}
		left -= kept
		if !used {
			unused += kept
		}
		f, err := try(t, i, m, s, &left, solutions)
		if err != nil {
			return out, err
		}
		out.first = append(out.first, f)
		if !f.solved {
			out.solved = false
			break
		}
	}
	out.steps = out.limit - left - unused
	outcome := schema.OutcomeSuccess
	if !out.solved {
		outcome = schema.OutcomeFailure
	}
	s.Ended(outcome)
	return out, m.learn(t, s, solutions)
}

// try tries repairs at one problem of a task: what memory proposes, and then others in the order of chance.
func try(t task, i int, m mind, s *learner.Session, left *int, solutions map[int][]string) (first, error) {
	p := t.problems[i]
	out := first{where: p.where, changed: p.changed, since: p.since}
	proposed, err := m.propose(t, p)
	if err != nil {
		return out, err
	}
	plans := slices.Clone(proposed)
	for _, n := range p.order {
		plans = append(plans, p.repairs[n])
	}
	var done [][]string
	rights, firstHelped := 0, false
	for n, plan := range plans {
		again := slices.ContainsFunc(done, func(d []string) bool { return same(d, plan) })
		if len(plan)+1 > *left || again && n >= len(proposed) {
			continue
		}
		*left -= len(plan) + 1
		for _, cmd := range plan {
			s.Did("shell", cmd, "")
		}
		right := p.helps(plan)
		if len(done) == 0 {
			out.knew = right
		}
		helped := right && !p.misfire[min(rights, len(p.misfire)-1)] || p.vanish == len(done)
		if right {
			rights++
		}
		firstHelped = firstHelped || n == 0 && helped
		done = append(done, plan)
		if helped {
			out.solved, solutions[i] = true, plan
			next := ""
			if i+1 < len(t.problems) {
				next = t.problems[i+1].text
			}
			s.Did("shell", checking, next)
			break
		}
		s.Did("shell", checking, p.text)
	}
	return out, m.tried(t, p, firstHelped, out.solved)
}
