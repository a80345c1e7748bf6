package align

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of Learn.
const (
	requiredShare = 0.75 // a step in at least this share of the attempts is required
	optionalShare = 0.34 // a step in at least this share is kept as optional or conditional
	maxAligned    = 24   // newest attempts that a procedure is made from
	maxKinds      = 8    // values in a condition of a step
	maxExamples   = 3    // of the values of a parameter
)

// Procedure has the steps that several attempts share.
type Procedure struct {
	Steps  []Step  `json:"steps"`
	Params []Param `json:"params,omitempty"`
	From   int     `json:"from"` // number of attempts that it was made from
}

// Step is one step of a procedure.
type Step struct {
	Tool string              `json:"tool"`
	Args map[string]Template `json:"args,omitempty"` // by path
	// When has the values of context keys for which the step is taken. If empty, it is always taken.
	When     map[string][]string `json:"when,omitempty"`
	Optional bool                `json:"optional,omitempty"` // some attempts lack it, and no context key explains why
	Needs    []int               `json:"needs,omitempty"`    // steps whose results it uses
	Support  int                 `json:"support"`            // number of attempts that have the step
}

// Param is a value that varied between the attempts.
type Param struct {
	Name     string   `json:"name"`
	From     string   `json:"from,omitempty"` // its binding, or FromCaller
	Or       []string `json:"or,omitempty"`   // bindings of other sources that gave the same values, the best first
	Examples []string `json:"examples,omitempty"`
}

// Learn makes a procedure from attempts, which are in order of time. It returns false if they have no step in common.
func Learn(attempts []trace.Attempt) (Procedure, bool) {
	attempts = attempts[max(0, len(attempts)-maxAligned):]
	var sequences [][]trace.Step
	for _, a := range attempts {
		sequences = append(sequences, a.Done())
	}
	if len(sequences) == 0 {
		return Procedure{}, false
	}
	out := Procedure{From: len(attempts)}
	var kept []column
	required := 0
	for _, c := range columns(sequences) {
		share := float64(len(c)) / float64(len(attempts))
		if share < optionalShare || len(c) == 1 && len(attempts) > 2 {
			continue
		}
		if share >= requiredShare {
			required++
		}
		kept = append(kept, c)
	}
	if required == 0 {
		return Procedure{}, false
	}
	l := learner{attempts: attempts, echoed: map[string]bool{}, taken: map[string]bool{}, byTexts: map[string]string{}}
	for _, a := range attempts {
		l.known = append(l.known, KnownOf(a.Problem, a.Intent, a.Situation))
	}
	place := make([]map[string]int, len(attempts)) // for each attempt: steps of the procedure by id
	for i := range place {
		place[i] = map[string]int{}
	}
	for n, c := range kept {
		step := Step{Tool: c.any().Tool, Args: l.args(c), Support: len(c)}
		if float64(len(c)) < requiredShare*float64(len(attempts)) || len(c) < len(attempts) {
			step.When = l.when(c)
			step.Optional = step.When == nil && float64(len(c)) < requiredShare*float64(len(attempts))
		}
		step.Needs = needs(c, place)
		for i, s := range c {
			l.known[i].Returned(n, s.Results)
			l.echoes(n, s)
			place[i][s.ID] = n
		}
		out.Steps = append(out.Steps, step)
	}
	out.Params = l.params
	return out, true
}

type learner struct {
	attempts []trace.Attempt
	echoed   map[string]bool // bindings to results that the arguments of their steps already contain
	known    []Known
	params   []Param
	taken    map[string]bool
	byTexts  map[string]string // names of parameters, by binding or by their texts in the attempts
}

func (l *learner) args(c column) map[string]Template {
	paths := map[string]int{}
	for _, s := range c {
		for path := range s.Args {
			paths[path]++
		}
	}
	who := slices.Sorted(maps.Keys(c))
	out := map[string]Template{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if float64(paths[path]) < requiredShare*float64(len(c)) {
			continue
		}
		var values []string
		var known []Known
		kind, ids := "", strings.Builder{}
		for _, i := range who {
			if s, ok := c[i].Args[path]; ok {
				values, known, kind = append(values, s.Text), append(known, l.known[i]), cmp.Or(kind, s.Type)
				ids.WriteString("\x00" + string(rune(i)))
			}
		}
		out[path] = l.template(values, known, kind, ids.String())
	}
	return out
}

func (l *learner) template(values []string, known []Known, kind, ids string) Template {
	out := Template{Type: kind}
	text := func(s string) {
		if s == "" {
			return
		}
		if n := len(out.Parts) - 1; n >= 0 && out.Parts[n].Param == "" {
			out.Parts[n].Text += s
		} else {
			out.Parts = append(out.Parts, Part{Text: s})
		}
	}
	parts := compounds(known, values)
	if len(known) > 1 && len(parts) == 1 {
		parts = l.flows(known, values)
	}
	for _, part := range parts {
		if part.from != FromCaller {
			out.Parts = append(out.Parts, Part{Param: l.param(part, known, ids)})
			continue
		}
		for _, p := range split(part.texts) {
			if p.constant {
				text(p.texts[0])
				continue
			}
			for _, p := range pieces(known, p) {
				if p.constant {
					text(p.texts[0])
				} else {
					out.Parts = append(out.Parts, Part{Param: l.param(p, known, ids)})
				}
			}
		}
	}
	return out
}

// param returns the name of a parameter. It reuses a parameter with the same binding or, for FromCaller, with the same
// texts in the same attempts.
func (l *learner) param(p piece, known []Known, ids string) string {
	key := cmp.Or(p.from, "\x00"+ids+"\x00"+strings.Join(p.texts, "\x00"))
	if name, ok := l.byTexts[key]; ok {
		return name
	}
	name := nameOf(p.from, l.taken)
	examples := slices.Compact(slices.Sorted(slices.Values(p.texts)))
	l.params = append(l.params, Param{Name: name, From: p.from, Or: others(known, p),
		Examples: examples[:min(len(examples), maxExamples)]})
	l.byTexts[key] = name
	return name
}

// when returns the first context key whose values separate the attempts with the step from those without, and the
// values with the step. It returns nil if there is none.
func (l *learner) when(c column) map[string][]string {
	keys := map[string]bool{}
	for _, a := range l.attempts {
		for key := range a.Situation.Context {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		with, without, all := map[string]bool{}, map[string]bool{}, true
		for i, a := range l.attempts {
			v, ok := a.Situation.Context[key]
			v, all = memory.ContextValue(key, v), all && ok
			if _, took := c[i]; took {
				with[v] = true
			} else {
				without[v] = true
			}
		}
		apart := all && len(without) > 0 && len(with) <= maxKinds && len(with) < len(c)
		for v := range with {
			apart = apart && !without[v]
		}
		if apart {
			return map[string][]string{key: slices.Sorted(maps.Keys(with))}
		}
	}
	return nil
}

// needs returns the steps whose results a step uses in at least half of the attempts that have it.
func needs(c column, place []map[string]int) []int {
	count := map[int]int{}
	for i, s := range c {
		seen := map[int]bool{}
		for _, id := range s.DependsOn {
			if at, ok := place[i][id]; ok && !seen[at] {
				seen[at] = true
				count[at]++
			}
		}
	}
	var out []int
	for _, at := range slices.Sorted(maps.Keys(count)) {
		if 2*count[at] >= len(c) {
			out = append(out, at)
		}
	}
	return out
}

// Takes reports whether a step is taken in a context. A condition on a key that the context lacks counts as fulfilled.
func (s Step) Takes(context map[string]string) bool {
	for key, values := range s.When {
		if v, ok := context[key]; ok && !slices.Contains(values, memory.ContextValue(key, v)) {
			return false
		}
	}
	return true
}

// Required reports whether the procedure needs the step in the context.
func (s Step) Required(context map[string]string) bool { return !s.Optional && s.Takes(context) }

// Replay reports whether an attempt followed the procedure, whatever its outcome: it has the steps that are required in
// its situation, in order, with the arguments that the procedure would fill in. In a successful attempt the check is
// one of its steps. In a failed one the check is the call that failed again, which Replay adds as the last step.
func (p Procedure) Replay(a trace.Attempt) bool {
	done, at := a.Done(), 0
	if a.Failed() && a.Checked && a.Situation.Failed != nil {
		done = append(done, *a.Situation.Failed)
	}
	if !p.resembles(done, a.Situation.Context) { // cheaper than KnownOf
		return false
	}
	known := KnownOf(a.Problem, a.Intent, a.Situation)
	said := map[string]string{} // values of the caller's parameters, as far as the attempt shows them
	for n, s := range p.Steps {
		found := -1
		for j := at; j < len(done) && found < 0; j++ {
			if p.made(s, done[j], known, said) {
				found = j
			}
		}
		switch {
		case found >= 0:
			known.Returned(n, done[found].Results)
			at = found + 1
		case s.Required(a.Situation.Context):
			return false
		}
	}
	return true
}

// resembles reports whether the required steps occur in order, with any values of the parameters.
func (p Procedure) resembles(done []trace.Step, context map[string]string) bool {
	at := 0
	for _, s := range p.Steps {
		if !s.Required(context) {
			continue
		}
		for at < len(done) && !s.resembles(done[at]) {
			at++
		}
		if at == len(done) {
			return false
		}
		at++
	}
	return true
}

func (s Step) resembles(done trace.Step) bool {
	if s.Tool != done.Tool {
		return false
	}
	for path, t := range s.Args {
		arg, ok := done.Args[path]
		if !ok {
			return false
		}
		if _, ok := t.Match(arg.Text); !ok {
			return false
		}
	}
	return true
}

// made reports whether done is step s with the known values filled in. It adds the caller's values to said.
func (p Procedure) made(s Step, done trace.Step, known Known, said map[string]string) bool {
	if s.Tool != done.Tool {
		return false
	}
	found := map[string]string{}
	for path, t := range s.Args {
		arg, ok := done.Args[path]
		if !ok {
			return false
		}
		filled := Template{Type: t.Type} // with the known values as constants
		for _, part := range t.Parts {
			if q := p.param(part.Param); part.Param != "" && q.From != FromCaller {
				want, ok := known.of(q)
				if !ok {
					return false
				}
				part = Part{Text: want}
			}
			filled.Parts = append(filled.Parts, part)
		}
		values, ok := filled.merged().Match(arg.Text)
		if !ok {
			return false
		}
		for name, v := range values {
			if before, ok := said[name]; ok && before != v {
				return false
			}
			found[name] = v
		}
	}
	maps.Copy(said, found)
	return true
}

func (p Procedure) param(name string) Param {
	for _, q := range p.Params {
		if q.Name == name {
			return q
		}
	}
	return Param{Name: name, From: FromCaller}
}
