package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/schema"
)

const (
	budget  = 40            // steps for a task: calls of tools, those of the command that failed included
	between = 6 * time.Hour // two tasks
)

var start = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// situation is the actor's knowledge before it tries something.
type situation struct {
	seen
	task    string
	context map[string]string
	at      time.Time
}

// mind tells an actor what to try first. The actor is the same for all minds.
type mind interface {
	// propose returns plans, the best first.
	propose(s situation, right plan) ([]plan, error)
	// tried reports whether the first of the proposed plans helped, and whether the problem was solved in the end.
	tried(s situation, firstHelped, solved bool) error
	// learn stores the session.
	learn(n int, s *learner.Session) error
}

// result is an actor's result at a task.
type result struct {
	family string
	times  int // occurrences of the family before
	tries  int
	steps  int
	first  bool // the first repair tried helped
	solved bool
	told   bool // the first repair tried was proposed
	wrong  plan // the first repair tried, where it did not help
}

// work lets an actor solve a task.
func work(t task, root string, on tools, m mind) (out result, err error) {
	out = result{family: t.family.name, times: t.times}
	p, f, output, err := t.prepare(root, on)
	if err != nil {
		return out, err
	}
	defer func() {
		if removed := p.remove(); err == nil {
			err = removed
		}
	}()
	restore, err := p.keep()
	if err != nil {
		return out, err
	}
	s := situation{seen: look(f.command, output, p.dir, p.home()), context: on.context(t.family.needs),
		task: "Make this command pass: " + f.command, at: start.Add(time.Duration(t.n) * between)}
	session := learner.NewSession("ana", fmt.Sprint("tools-", t.n), s.at)
	session.Asked(s.task)
	session.In(p.dir, s.context)
	session.Called(shell, map[string]string{"cmd": f.command}, output, false)
	proposed, err := m.propose(s, f.right)
	if err != nil {
		return out, err
	}
	plans := slices.Clone(proposed)
	others := ways(s.seen, repairsFor(t.set))
	r := rand.New(rand.NewPCG(t.seed^0x5eed, uint64(t.n)))
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, o := range others {
		if !has(plans, o) {
			plans = append(plans, o)
		}
	}
	firstHelped := false
	for i, try := range plans {
		if out.steps+len(try)+1 > budget {
			continue
		}
		if out.tries > 0 {
			if err := restore(); err != nil {
				return out, err
			}
		}
		helped, steps := attempt(p, f.command, try, session)
		out.tries++
		out.steps += steps
		if out.tries == 1 {
			out.first, out.told = helped, i < len(proposed)
			if !helped {
				out.wrong = try
			}
		}
		firstHelped = firstHelped || i == 0 && helped
		if helped {
			out.solved = true
			break
		}
	}
	outcome := schema.OutcomeFailure
	if out.solved {
		outcome = schema.OutcomeSuccess
	}
	session.Ended(outcome)
	if err := m.tried(s, firstHelped, out.solved); err != nil {
		return out, err
	}
	return out, m.learn(t.n, session)
}

// attempt carries out a plan and runs the command again, unless no part of the plan could be done.
func attempt(p *place, command string, try plan, session *learner.Session) (helped bool, steps int) {
	last, done := "", false
	for _, a := range try {
		a = a.after(last)
		output, ok := p.do(a)
		session.Called(a.tool, a.args, output, ok)
		steps++
		last, done = output, done || ok
	}
	if !done {
		return false, steps
	}
	output, ok := p.run(command)
	session.Called(shell, map[string]string{"cmd": command}, output, ok)
	return ok, steps + 1
}

// after fills in the answer of the previous call.
func (a action) after(last string) action {
	args := map[string]string{}
	for name, v := range a.args {
		args[name] = strings.ReplaceAll(v, "{output}", last)
	}
	return action{a.tool, args}
}
