package learner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

// Memory gives an agent advice before it tries something, and takes reports afterwards. Its requests and answers are
// those of the workflows Advise, Report and Consolidate, so that a deployment can replace Rules.
type Memory interface {
	Advise(ctx context.Context, req api.AdviseRequest) (api.AdviseResponse, error)
	Report(ctx context.Context, req api.ReportRequest) error
	Remember(ctx context.Context, s *Session) error
	Consolidate(ctx context.Context) error
}

// Options of Rules.
type Options struct {
	NoConsolidation bool // advice from episodes alone: their outcomes are counted, and nothing is promoted
	Single          bool // the best single episodes are followed: nothing is counted across episodes
	Timelines       bool // single episodes are read from the record that a session becomes, as in a deployment
	Forget          bool // episodes and procedures fade and are removed, by the default decay of their types
	Now             func() time.Time
}

// Rules is a memory of one scope by the rules of learning alone, without a store.
type Rules struct {
	opts       Options
	kept       []trace.Attempt            // by time
	remembered []trace.Attempt            // by time, as advice reads them
	byKey      map[string][]trace.Attempt // the same by problem
	records    map[string]known
	read       map[string]string             // evidence of each group at the last consolidation
	reported   map[string][]evidence.Outcome // by memory id; for a tentative solution, by the id of its episode
	asked      map[string]asked              // by advice id
	next       int
}

type known struct {
	competence.Record
	agents   []string
	evidence []string
	usedAt   time.Time
	salience float64
}

type asked struct {
	candidates []advice.Candidate
	offered    map[string]bool
}

// NewRules returns an empty memory.
func NewRules(o Options) *Rules {
	return &Rules{opts: o, byKey: map[string][]trace.Attempt{}, records: map[string]known{},
		read: map[string]string{}, asked: map[string]asked{}, reported: map[string][]evidence.Outcome{}}
}

// Remember stores a session of an agent.
func (m *Rules) Remember(_ context.Context, s *Session) error {
	clear(m.asked) // the reports of a session come before it ends
	attempts := s.attempts()
	m.kept = append(m.kept, attempts...)
	if m.opts.Timelines {
		var err error
		if attempts, err = s.summarized(); err != nil {
			return err
		}
	}
	m.remembered = append(m.remembered, attempts...)
	for _, a := range attempts {
		m.byKey[a.Key()] = append(m.byKey[a.Key()], a)
	}
	return nil
}

// Advise answers from the procedures that the agent may see, and from single successes with the same problem.
func (m *Rules) Advise(_ context.Context, req api.AdviseRequest) (api.AdviseResponse, error) {
	s := advice.Situation{Task: req.Task, Error: req.Error, Context: req.Context, Preferences: req.Preferences,
		WorkingDir: req.WorkingDir}
	if f := req.Failed; f != nil {
		s.Failed = trace.CallOf(f.Tool, f.Args)
	}
	key := trace.Attempt{Problem: signature.OfError(req.Error)}.Key()
	if m.opts.Single {
		return m.single(s, m.visible(key, req.Principal.Agent))
	}
	var candidates []advice.Candidate
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		r := m.records[id]
		if len(r.agents) == 1 && r.agents[0] != req.Principal.Agent {
			continue // evidence of only one agent is for that agent
		}
		payload := r.Payload
		candidates = append(candidates, advice.Candidate{ID: id, Competence: &payload, Stats: r.Stats,
			Evidence: r.evidence})
	}
	answer := advice.Advise(s, candidates)
	m.next++
	out := api.AdviseResponse{AdviceID: fmt.Sprintf("advice-%d", m.next)}
	if !answer.Sure() {
		attempts := m.visible(key, req.Principal.Agent)
		candidates = append(candidates, m.tentative(s, attempts)...)
		answer = advice.Advise(s, candidates)
		for _, t := range advice.Tried(s, attempts, candidates...) {
			steps, err := stepsOf(t.Steps)
			if err != nil {
				return out, err
			}
			out.DidNotHelp = append(out.DidNotHelp, api.DidNotHelp{Steps: steps, Chance: t.Chance, Episode: t.Episode})
		}
	}
	out.MissingContext = answer.MissingContext
	offered := map[string]bool{}
	if answer.Best != nil {
		best, err := option(*answer.Best)
		if err != nil {
			return out, err
		}
		out.Best, offered[best.MemoryID] = &best, true
	}
	for _, o := range answer.Others {
		other, err := option(o)
		if err != nil {
			return out, err
		}
		out.Others, offered[other.MemoryID] = append(out.Others, other), true
	}
	m.asked[out.AdviceID] = asked{candidates, offered}
	return out, nil
}

// tentative returns candidates that helped before but were not promoted. Their reports belong to the episode that was
// the newest then.
func (m *Rules) tentative(s advice.Situation, attempts []trace.Attempt) []advice.Candidate {
	out := advice.Tentative(s, attempts)
	for i, c := range out {
		var reported []evidence.Outcome
		for _, e := range c.Evidence {
			reported = append(reported, m.reported[e]...)
		}
		out[i].Stats = evidence.Tally(c.Shown, reported)
	}
	return out
}

// newest is the number of episodes read for advice, as in a deployment.
const newest = 20

// visible returns an agent's own attempts at a problem, because sessions are private by default.
func (m *Rules) visible(key, agent string) (out []trace.Attempt) {
	attempts, most := m.byKey[key], newest
	if m.opts.Timelines { // texts that were cut have other keys
		attempts, most = m.remembered, math.MaxInt
	}
	read := map[string]bool{}
	for _, a := range slices.Backward(attempts) {
		if a.Source.Agent != agent || len(read) >= most && !read[a.Episode] {
			continue
		}
		read[a.Episode] = true
		out = append(out, a)
	}
	return out
}

func option(o advice.Option) (api.AdviceOption, error) {
	out := api.AdviceOption{MemoryID: o.ID, Name: o.Name, Type: string(schema.TypeCompetence), Confidence: o.Confidence,
		Tentative: o.Tentative, Evidence: o.Evidence, Missing: o.Missing, Unknown: o.Unknown, Fallbacks: o.Fallbacks,
		FailureModes: o.FailureModes}
	var err error
	out.Steps, err = stepsOf(o.Steps)
	return out, err
}

func stepsOf(steps []advice.Step) (out []api.AdviceStep, err error) {
	for _, s := range steps {
		step := api.AdviceStep{Text: s.Text, Tool: s.Tool, Validation: s.Validation, Optional: s.Optional,
			Missing: s.Missing}
		if len(s.Args) > 0 {
			if err := json.Unmarshal(s.Args, &step.Args); err != nil {
				return nil, fmt.Errorf("arguments of a step: %w", err)
			}
		}
		out = append(out, step)
	}
	return out, nil
}

// Report counts the outcome of following advice.
func (m *Rules) Report(_ context.Context, req api.ReportRequest) error {
	a, ok := m.asked[req.AdviceID]
	if !ok {
		return fmt.Errorf("advice %s is not known", req.AdviceID)
	}
	at := m.opts.Now()
	report := advice.Report{Used: req.Used, Outcome: req.Outcome, Context: req.Context, Agent: req.Principal.Agent,
		Session: req.Session, At: at}
	for _, s := range req.Steps {
		report.Steps = append(report.Steps, advice.StepOutcome{OK: s.OK, Skipped: s.Skipped, Error: s.Error})
	}
	var offered []advice.Candidate
	for _, c := range a.candidates {
		if !a.offered[c.ID] {
			continue
		}
		if o, counts := report.Of(c); counts {
			m.reported[c.ID] = append(m.reported[c.ID], o)
		}
		if r, ok := m.records[c.ID]; ok && !c.Tentative {
			c.Stats = r.Stats
			offered = append(offered, c)
		}
	}
	for _, change := range advice.Apply(report, offered) {
		r := m.records[change.ID]
		r.Stats = change.Stats
		if change.Counted == schema.OutcomeSuccess {
			decay := memory.DefaultDecay(schema.TypeCompetence)
			r.salience, r.usedAt = decay.Reinforce(decay.Salience(r.salience, at.Sub(r.usedAt)), 1), at
		}
		m.records[change.ID] = r
	}
	return nil
}

// Consolidate learns from the groups of attempts with new evidence.
func (m *Rules) Consolidate(context.Context) error {
	if m.opts.Forget {
		m.forget()
	}
	if m.opts.NoConsolidation || m.opts.Single {
		return nil
	}
	var groups promote.Groups
	for _, a := range m.kept {
		if !a.Problem.IsZero() {
			groups.Add(a)
		}
	}
	for _, g := range groups.All() {
		if m.read[g.Key] == g.Set.String() {
			continue // as with a watermark
		}
		m.read[g.Key] = g.Set.String()
		var about []competence.Record
		for _, id := range slices.Sorted(maps.Keys(m.records)) {
			if r := m.records[id]; len(g.Successes) > 0 && r.Payload.Triggers[0].Signal == g.Successes[0].Signal() {
				about = append(about, r.Record)
			}
		}
		deltas, _ := competence.Learn(g, about, evidence.Default())
		for _, d := range deltas {
			m.apply(d)
		}
	}
	return nil
}

func (m *Rules) apply(d competence.Delta) {
	switch d.Action {
	case competence.Keep:
		return
	case competence.Supersede:
		delete(m.records, d.Target)
		d.Target = ""
	}
	r := m.records[d.Target]
	if d.Target == "" {
		m.next++
		d.Target = fmt.Sprintf("procedure-%04d", m.next)
		r = known{usedAt: m.opts.Now(), salience: memory.InitialSalience}
	}
	for _, o := range d.Outcomes { // reports on the tentative candidate now belong to the procedure
		if o.OK && o.Episode != "" {
			m.reported[d.Target] = append(m.reported[d.Target], m.reported[o.Episode]...)
			delete(m.reported, o.Episode)
		}
	}
	r.Record = competence.Record{ID: d.Target, Payload: d.Payload, Evidence: d.Hash,
		Stats: evidence.Tally(d.Outcomes, m.reported[d.Target])}
	r.agents, r.evidence = d.Agents, d.Evidence
	m.records[d.Target] = r
}

// forget drops faded memories.
func (m *Rules) forget() {
	now := m.opts.Now()
	episodes, procedures := memory.DefaultDecay(schema.TypeEpisodic), memory.DefaultDecay(schema.TypeCompetence)
	faded := func(a trace.Attempt) bool {
		return episodes.Salience(memory.InitialSalience, now.Sub(a.At)) < episodes.MinSalience
	}
	m.kept = slices.DeleteFunc(m.kept, faded)
	for key := range m.byKey {
		m.byKey[key] = slices.DeleteFunc(m.byKey[key], faded)
	}
	maps.DeleteFunc(m.records, func(_ string, r known) bool {
		return procedures.Salience(r.salience, now.Sub(r.usedAt)) < procedures.MinSalience
	})
}

// Procedure is a promoted procedure.
type Procedure struct {
	ID     string
	Agents []string // for whom it is; more than one: for everyone
	Recipe []schema.Step
	Chance float64
}

// Procedures returns the promoted procedures.
func (m *Rules) Procedures() (out []Procedure) {
	for _, r := range m.records {
		out = append(out, Procedure{ID: r.ID, Agents: r.agents, Recipe: r.Payload.Recipe, Chance: r.Stats.All.Chance()})
	}
	slices.SortFunc(out, func(a, b Procedure) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Attempts returns the number of stored attempts.
func (m *Rules) Attempts() int { return len(m.kept) }
