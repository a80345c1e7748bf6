package advice_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// story collects the events of one session of an agent.
type story struct {
	agent  string
	n      int
	calls  int
	events []ledger.Event
}

func newStory(agent string, n int) *story { return &story{agent: agent, n: n} }

func (s *story) stream() string { return fmt.Sprintf("run/%s-%d", s.agent, s.n) }

func (s *story) add(kind string, payload any) *story {
	encoded, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	i := len(s.events) + 1
	s.events = append(s.events, ledger.Event{ID: fmt.Sprintf("%s-%d-%d", s.agent, s.n, i), Stream: s.stream(),
		Seq:   int64(i),
		Agent: s.agent, Kind: kind, Payload: encoded,
		OccurredAt: start.Add(time.Duration(s.n)*time.Hour + time.Duration(i)*time.Second)})
	return s
}

func (s *story) says(text string) *story {
	return s.add(ledger.KindUserInjected, ledger.Text{Text: text})
}

func (s *story) in(os, dir string, context map[string]string) *story {
	raw, _ := json.Marshal(context)
	return s.add(ledger.KindEnvironment, schema.Environment{OS: os, WorkingDir: dir, Context: raw})
}

// does appends a shell call. An empty problem means success.
func (s *story) does(cmd, problem string) *story {
	if problem == "" {
		return s.returns(cmd, "ok")
	}
	s.calls++
	id := fmt.Sprintf("c%d", s.calls)
	args, _ := json.Marshal(map[string]string{"cmd": cmd})
	s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: "shell", Args: args})
	return s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Error: problem, DurationMS: 20})
}

// returns appends a successful shell call with its result.
func (s *story) returns(cmd, result string) *story {
	s.calls++
	id := fmt.Sprintf("c%d", s.calls)
	args, _ := json.Marshal(map[string]string{"cmd": cmd})
	s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: "shell", Args: args})
	answer, _ := json.Marshal(result)
	return s.add(ledger.KindToolReturned, ledger.ToolResult{CallID: id, Result: answer, DurationMS: 20})
}

func (s *story) ends(outcome schema.Outcome) *story {
	return s.add(ledger.KindOutcome, ledger.Outcome{Outcome: outcome})
}

func (s *story) meta() trace.Meta {
	return trace.Meta{Episode: s.stream(), Source: trace.Source{Agent: s.agent, Session: s.stream(), Origin: s.agent,
		Witnessed: true, Trust: 0.9}}
}

// attempts returns the attempts of the session, read from its events.
func (s *story) attempts() []trace.Attempt {
	t := trace.NewSession(s.meta())
	for _, e := range s.events {
		t.Add(e)
	}
	return t.Attempts()
}

// fromEpisode returns the attempts of the session, read from its episode.
func (s *story) fromEpisode(t require.TestingT) []trace.Attempt {
	episode, ok := session.Close(s.stream(), s.events, session.Finished)
	require.True(t, ok)
	return trace.OfEpisode(s.meta(), episode.Payload)
}

// memoryOf holds the memory of a scope, as a store would.
type memoryOf struct {
	groups  promote.Groups
	records map[string]competence.Record
	plans   map[string]plan.Record
	tracks  map[string]evidence.Stats // of plans
	next    int
	read    map[string]string // evidence of each group when it was last consolidated
}

func newMemory() *memoryOf {
	return &memoryOf{records: map[string]competence.Record{}, plans: map[string]plan.Record{},
		tracks: map[string]evidence.Stats{}, read: map[string]string{}}
}

func (m *memoryOf) remember(attempts ...trace.Attempt) {
	for _, a := range attempts {
		m.groups.Add(a)
	}
}

func (m *memoryOf) id() string {
	m.next++
	return fmt.Sprintf("m%03d", m.next)
}

// consolidate learns from all groups and applies the deltas. It returns the number of deltas that changed a record.
func (m *memoryOf) consolidate(t require.TestingT) int {
	changes := 0
	for _, g := range m.groups.All() {
		if m.read[g.Key] == g.Set.String() {
			continue // already consolidated
		}
		m.read[g.Key] = g.Set.String()
		var known []competence.Record
		var plans []plan.Record
		for _, id := range sortedKeys(m.records) {
			known = append(known, m.records[id])
		}
		for _, id := range sortedKeys(m.plans) {
			plans = append(plans, m.plans[id])
		}
		if len(g.Key) > 6 && g.Key[:6] == "error:" {
			deltas, _ := competence.Learn(g, m.about(known, g), evidence.Default())
			for _, d := range deltas {
				valid(t, schema.TypeCompetence, d.Payload)
				changes += m.apply(d)
			}
			continue
		}
		var skills []plan.Skill
		for _, k := range known {
			skills = append(skills, plan.Skill{Name: k.Payload.SkillName, Procedure: align.OfRecipe(k.Payload.Recipe)})
		}
		deltas, _ := plan.Learn(g, plans, skills, evidence.Default())
		for _, d := range deltas {
			valid(t, schema.TypePlanGraph, d.Payload)
			if d.Action == plan.Keep {
				continue
			}
			changes++
			id := d.Target
			if id == "" {
				id = m.id()
			}
			m.plans[id] = plan.Record{ID: id, Payload: d.Payload, Evidence: d.Hash}
			m.tracks[id] = evidence.Stats{All: d.Track}
		}
	}
	return changes
}

// about returns the procedures for the problem of a group.
func (m *memoryOf) about(known []competence.Record, g *promote.Group) (out []competence.Record) {
	for _, k := range known {
		if len(g.Successes) > 0 && k.Payload.Triggers[0].Signal == g.Successes[0].Signal() {
			out = append(out, k)
		}
	}
	return out
}

func (m *memoryOf) apply(d competence.Delta) int {
	switch d.Action {
	case competence.Keep:
		return 0
	case competence.Supersede:
		delete(m.records, d.Target)
	case competence.Update:
		m.records[d.Target] = competence.Record{ID: d.Target, Payload: d.Payload, Evidence: d.Hash, Stats: d.Stats}
		return 1
	}
	id := m.id()
	m.records[id] = competence.Record{ID: id, Payload: d.Payload, Evidence: d.Hash, Stats: d.Stats}
	return 1
}

func (m *memoryOf) candidates() (out []advice.Candidate) {
	for _, id := range sortedKeys(m.records) {
		r := m.records[id]
		out = append(out, advice.Candidate{ID: id, Competence: &r.Payload, Stats: r.Stats})
	}
	for _, id := range sortedKeys(m.plans) {
		p := m.plans[id]
		out = append(out, advice.Candidate{ID: id, Plan: &p.Payload, Stats: m.tracks[id]})
	}
	return out
}

// report counts an outcome. It concerns only candidates for the same problem.
func (m *memoryOf) report(r advice.Report, signal string) {
	var offered []advice.Candidate
	for _, c := range m.candidates() {
		if c.Competence != nil && c.Competence.Triggers[0].Signal == signal {
			offered = append(offered, c)
		}
	}
	for _, change := range advice.Apply(r, offered) {
		record := m.records[change.ID]
		record.Stats = change.Stats
		m.records[change.ID] = record
	}
}

func valid(t require.TestingT, kind schema.MemoryType, payload any) {
	encoded, err := json.Marshal(payload)
	require.NoError(t, err)
	require.NoError(t, schema.ValidatePayload(kind, encoded))
}
