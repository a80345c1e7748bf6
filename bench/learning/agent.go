package main

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/schema"
)

const (
	budget     = 8 // steps for each problem of a task
	memoryCost = 2 // steps that a memory costs for each problem: to ask, and to report
	checking   = "make app"
)

// advisor tells an agent what to try. Arms differ only in their advisor; the agent is the same.
type advisor interface {
	// cost returns the number of steps of the budget that are reserved for the advisor, and whether it uses them.
	cost() (steps int, used bool)
	// propose returns repairs for a problem, best first.
	propose(t task, p problem) ([][]string, error)
	// failed returns repairs that were tried for such a problem and did not help, the most promising first.
	failed(t task, p problem) [][]string
	// tried reports the outcomes of the proposals that were tried, by number: whether each helped. solved reports
	// whether any repair helped.
	tried(t task, p problem, outcomes map[int]bool, solved bool) error
	// learn stores what was done in a task.
	learn(t task, s *learner.Session, all map[int]done) error
}

// done has the repairs that were tried for a problem. If one helped, it is the last.
type done struct {
	tried  [][]string
	helped bool
}

// result is an agent's result for a task.
type result struct {
	solved   bool
	steps    int
	limit    int
	problems []problemResult
}

// problemResult is the outcome of the repairs that were tried for a problem.
type problemResult struct {
	where    string
	family   int
	which    int // the right repair
	before   int // the one that was right at the beginning
	changed  bool
	since    int  // occurrences in this situation since the change
	knew     bool // the first repair tried was the right one
	solved   bool
	proposed []int // by memory: numbers of repairs, -1 for other commands
	tried    []int
}

// work lets an agent try to solve a task.
func work(t task, m advisor) (out result, err error) {
	s := learner.NewSession("ana", fmt.Sprint(t.n), t.at)
	s.Asked("Build the app.")
	s.In(t.dir, t.context)
	all := map[int]done{}
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
		f, err := try(t, i, m, s, &left, all)
		if err != nil {
			return out, err
		}
		out.problems = append(out.problems, f)
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
	return out, m.learn(t, s, all)
}

// guesses returns the repairs in the agent's own order, except that repairs known to have failed come last.
func guesses(p problem, failed [][]string) (out [][]string) {
	at := func(plan []string) int {
		return slices.IndexFunc(failed, func(f []string) bool { return same(f, plan) })
	}
	for _, n := range p.order {
		out = append(out, p.repairs[n])
	}
	slices.SortStableFunc(out, func(a, b []string) int { return at(a) - at(b) })
	return out
}

// try tries repairs for one problem of a task: first the proposals of the memory, then the rest in the order of
// guesses.
func try(t task, i int, m advisor, s *learner.Session, left *int, all map[int]done) (problemResult, error) {
	p := t.problems[i]
	out := problemResult{where: p.where, family: p.family, which: p.which, before: p.before,
		changed: p.changed, since: p.since}
	proposed, err := m.propose(t, p)
	if err != nil {
		return out, err
	}
	number := func(plan []string) int {
		return slices.IndexFunc(p.repairs, func(r []string) bool { return same(r, plan) })
	}
	for _, plan := range proposed {
		out.proposed = append(out.proposed, number(plan))
	}
	plans := slices.Clone(proposed)
	plans = append(plans, guesses(p, m.failed(t, p))...)
	var did [][]string
	rights, outcomes := 0, map[int]bool{}
	for n, plan := range plans {
		again := slices.ContainsFunc(did, func(d []string) bool { return same(d, plan) })
		if len(plan)+1 > *left || again && n >= len(proposed) {
			continue
		}
		*left -= len(plan) + 1
		for _, cmd := range plan {
			s.Did("shell", cmd, "")
		}
		right := p.helps(plan)
		if len(did) == 0 {
			out.knew = right
		}
		helped := right && !p.misfire[min(rights, len(p.misfire)-1)] || p.vanish == len(did)
		if right {
			rights++
		}
		if n < len(proposed) {
			outcomes[n] = helped
		}
		did, out.tried = append(did, plan), append(out.tried, number(plan))
		if helped {
			out.solved = true
			next := ""
			if i+1 < len(t.problems) {
				next = t.problems[i+1].text
			}
			s.Did("shell", checking, next)
			break
		}
		s.Did("shell", checking, p.text)
	}
	all[i] = done{did, out.solved}
	return out, m.tried(t, p, outcomes, out.solved)
}
