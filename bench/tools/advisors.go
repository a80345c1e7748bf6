package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/bench/learner"
	"github.com/mneme/mneme/bench/tools/families"
	"github.com/mneme/mneme/schema"
)

// noMemory knows nothing.
type noMemory struct{}

func (noMemory) propose(situation, families.Plan) ([]families.Plan, error) { return nil, nil }
func (noMemory) tried(situation, bool, bool) error                         { return nil }
func (noMemory) learn(int, *learner.Session) error                         { return nil }

// oracle knows what is right.
type oracle struct{ noMemory }

func (oracle) propose(_ situation, right families.Plan) ([]families.Plan, error) {
	return []families.Plan{right}, nil
}

// advised gets advice from Mneme, by its rules in this process.
type advised struct {
	memory learner.Memory
	now    time.Time
	answer api.AdviseResponse
}

// follow is the minimum confidence at which an actor tries advice that is not the first choice.
const follow = 0.3

var ana = schema.Principal{Tenant: "bench", Agent: "ana"}

func newAdvised(o learner.Options) *advised {
	m := &advised{now: start}
	o.Now = func() time.Time { return m.now }
	m.memory = learner.NewRules(o)
	return m
}

func (m *advised) propose(s situation, _ families.Plan) ([]families.Plan, error) {
	m.now = s.at
	args, err := json.Marshal(map[string]string{"cmd": s.Command})
	if err != nil {
		return nil, err
	}
	m.answer, err = m.memory.Advise(context.Background(),
		api.AdviseRequest{Principal: ana, Task: s.task, Error: s.Output, Context: s.context, WorkingDir: s.Dir,
			Failed: &api.FailedCall{Tool: families.Shell, Args: args}})
	if err != nil {
		return nil, err
	}
	options := m.answer.Others
	if m.answer.Best != nil {
		options = slices.Concat([]api.AdviceOption{*m.answer.Best}, options)
	}
	var out []families.Plan
	for i, o := range options {
		if i > 0 && o.Confidence < follow {
			continue
		}
		if p := planOf(o.Steps, s.Command); len(p) > 0 && !families.Has(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// planOf converts the steps of advice to calls. The command that failed is run after a plan anyway. A parameter
// without a value gets that command if its argument is named so, or else the answer of the previous call.
func planOf(steps []api.AdviceStep, command string) (out families.Plan) {
	for _, s := range steps {
		if s.Optional {
			continue
		}
		a := families.Action{Tool: s.Tool, Args: map[string]string{}}
		for name, v := range s.Args {
			text := fmt.Sprint(v)
			for _, parameter := range s.Missing {
				by := "{output}"
				if strings.HasPrefix(parameter, "cmd") {
					by = command
				}
				text = strings.ReplaceAll(text, "{"+parameter+"}", by)
			}
			a.Args[name] = text
		}
		if a.Tool != families.Shell || a.Args["cmd"] != command {
			out = append(out, a)
		}
	}
	return out
}

func (m *advised) tried(s situation, firstHelped, solved bool) error {
	report := api.ReportRequest{Principal: ana, AdviceID: m.answer.AdviceID, Outcome: schema.OutcomeFailure,
		Context: s.context}
	helped := solved
	if m.answer.Best != nil {
		report.Used, helped = m.answer.Best.MemoryID, firstHelped
	}
	if helped {
		report.Outcome = schema.OutcomeSuccess
	}
	return m.memory.Report(context.Background(), report)
}

func (m *advised) learn(_ int, s *learner.Session) error {
	if err := m.memory.Remember(context.Background(), s); err != nil {
		return err
	}
	// The schedule consolidates every hour, so that it has run before the next task.
	m.now = m.now.Add(time.Hour)
	return m.memory.Consolidate(context.Background())
}

// arm is a kind of actor.
type arm struct {
	name    string
	advisor func() advisor
}

var arms = []arm{
	{"no memory", func() advisor { return noMemory{} }},
	{"Mneme", func() advisor { return newAdvised(learner.Options{Timelines: true}) }},
	{"Mneme, whole sessions", func() advisor { return newAdvised(learner.Options{}) }},
	{"oracle", func() advisor { return oracle{} }},
}
