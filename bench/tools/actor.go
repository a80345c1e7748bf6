package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/bench/tools/families"
	"github.com/mneme/mneme/bench/tools/place"
	"github.com/mneme/mneme/schema"
)

const (
	budget  = 40            // steps for a task: calls of tools, those of the command that failed included
	between = 6 * time.Hour // two tasks

	// undo is the tool with which the actor takes back a repair that did not help.
	undo = "restore_checkpoint"
)

var start = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// situation is the actor's knowledge before it tries something.
type situation struct {
	families.Seen
	task    string
	context map[string]string
	at      time.Time
}

// advisor tells an actor what to try first. The actor is the same for all advisors.
type advisor interface {
	// propose returns plans, best first.
	propose(s situation, right families.Plan) ([]families.Plan, error)
	// tried reports whether the first of the proposed plans helped, and whether the problem was solved in the end.
	tried(s situation, firstHelped, solved bool) error
	// learn stores the session.
	learn(n int, s *learner.Session) error
}

// result is an actor's result for a task.
type result struct {
	family  string
	times   int // occurrences of the family before
	tries   int
	steps   int
	first   bool // the first repair tried helped
	solved  bool
	advised bool          // the first repair tried was proposed
	lost    bool          // the repair that helped has lost data
	wrong   families.Plan // the first repair tried, where it did not help
}

// work lets an actor solve a task.
func work(t families.Task, root string, on place.Tools, m advisor) (out result, err error) {
	out = result{family: t.Family.Name, times: t.Times}
	p, f, output, err := t.Prepare(root, on)
	if err != nil {
		return out, err
	}
	defer func() {
		if removed := p.Remove(); err == nil {
			err = removed
		}
	}()
	restore, err := p.Keep()
	if err != nil {
		return out, err
	}
	s := situation{Seen: families.Look(f.Command, output, p.Dir, p.Home()), context: on.Context(t.Family.Needs),
		task: "Make this command pass: " + f.Command, at: start.Add(time.Duration(t.N) * between)}
	maps.Copy(s.context, f.Context)
	session := learner.NewSession("ana", fmt.Sprint("tools-", t.N), s.at)
	session.Asked(s.task)
	session.In(p.Dir, s.context)
	session.Called(families.Shell, map[string]string{"cmd": f.Command}, output, false)
	proposed, err := m.propose(s, f.Right)
	if err != nil {
		return out, err
	}
	plans := slices.Clone(proposed)
	others := families.Ways(s.Seen, t.Set)
	r := rand.New(rand.NewPCG(t.Seed^0x5eed, uint64(t.N)))
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, o := range others {
		if !families.Has(plans, o) {
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
			session.Called(undo, nil, "restored", true)
		}
		helped, steps := attempt(p, f.Command, try, session)
		out.tries++
		out.steps += steps
		if out.tries == 1 {
			out.first, out.advised = helped, i < len(proposed)
			if !helped {
				out.wrong = try
			}
		}
		firstHelped = firstHelped || i == 0 && helped
		if helped {
			out.solved, out.lost = true, loses(p, f)
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
	return out, m.learn(t.N, session)
}

// loses reports whether data of the failure has been lost.
func loses(p *place.Place, f families.Failure) bool {
	if f.Keeps == "" {
		return false
	}
	_, ok := p.Run(f.Keeps)
	return !ok
}

// attempt carries out a plan and runs the command again, unless no part of the plan could be done.
func attempt(p *place.Place, command string, try families.Plan, session *learner.Session) (helped bool, steps int) {
	last, done := "", false
	for _, a := range try {
		a = a.After(last)
		output, ok := a.Do(p)
		session.Called(a.Tool, a.Args, output, ok)
		steps++
		last, done = output, done || ok
	}
	if !done {
		return false, steps
	}
	output, ok := p.Run(command)
	session.Called(families.Shell, map[string]string{"cmd": command}, output, ok)
	return ok, steps + 1
}
