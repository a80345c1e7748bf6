package competence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Limits of a procedure's record.
const (
	maxFailureModes = 8
	maxFallbacks    = 4
	maxMode         = 300 // characters of a failure mode or a fallback
)

// Action is the kind of a delta.
type Action string

// The actions of deltas.
const (
	Add       Action = "add"
	Update    Action = "update"    // outcomes and the fields that depend on them; the steps do not change
	Supersede Action = "supersede" // other steps or conditions: a new version; the old one can still be read
	Keep      Action = "keep"      // no change: the evidence or the result is the same
)

// Record is a stored procedure.
type Record struct {
	ID       string
	Payload  schema.CompetencePayload
	Evidence string         // hash of its evidence
	Stats    evidence.Stats // of all outcomes so far, including those of the evidence
	Wider    bool           // more agents read it than the evidence: only its figures may change
	Shared   bool           // all agents of the project read it: evidence of one agent does not replace it
}

// Delta is one change of the stored procedures.
type Delta struct {
	Action     Action
	Target     string // the record that is updated, superseded or kept
	Payload    schema.CompetencePayload
	Confidence float64
	Stats      evidence.Stats
	Outcomes   []evidence.Outcome // in the evidence
	// Agents has the agents that contributed evidence. If there is only one, only that agent gets the procedure.
	Agents      []string
	Evidence    []string // ids of episodes
	Helped      []string // ids of all episodes in which the solution helped: it was advised by their ids before
	Others      []string // ids of other episodes whose words the payload may repeat: as a failure mode or a fallback
	Hash        string   // hash of the evidence
	Sensitivity schema.Sensitivity
	Why         string

	wider bool // the target is Wider
}

// Learn returns the changes of the stored procedures that follow from a group of attempts at one problem. known has the
// procedures for the problem under all conditions. Solutions that the gate or stored procedures reject are returned as
// refusals.
func Learn(g *promote.Group, known []Record, p evidence.Policy) ([]Delta, []promote.Refusal) {
	solutions, refused := promote.Solutions(g, p)
	described := *g
	described.Failures = slices.DeleteFunc(slices.Clone(g.Failures), func(a trace.Attempt) bool {
		return !(a.Source.Trust >= p.MinTrust) // negated so that NaN counts as low
	})
	g = &described
	var out []Delta
	taken := map[string]bool{}
	for i, s := range solutions {
		d := delta(g, s, known, taken)
		if d.Action != Keep {
			d.describe(g, s, solutions, i)
			if err := check(d.Payload); err != nil {
				refused = append(refused, promote.Refusal{Key: g.Key, Reason: NotARecord, Attempts: len(s.Attempts)})
				continue
			}
		}
		taken[d.Target] = true
		out = append(out, d)
	}
	return out, refused
}

// NotARecord is the reason of a refusal: the procedure does not fit into a record.
const NotARecord = "payload_not_valid"

func check(p schema.CompetencePayload) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return schema.ValidatePayload(schema.TypeCompetence, encoded)
}

// delta compares a solution with the known procedures.
func delta(g *promote.Group, s promote.Candidate, known []Record, taken map[string]bool) Delta {
	out := Delta{Action: Add, Agents: s.Count.Agents, Evidence: s.Evidence, Hash: s.Hash,
		Why: "a solution that is not known"}
	out.covers(s.Attempts)
	out.covers(s.Against)
	out.Stats, out.Outcomes, out.Helped = stats(s), s.Outcomes(), s.Helped
	out.Payload.Version = "1"
	for _, k := range known {
		if taken[k.ID] {
			continue
		}
		procedure := align.OfRecipe(k.Payload.Recipe)
		conditions := conditionsOf(k.Payload, s)
		switch {
		case k.Evidence == s.Hash && k.Evidence != "" && !hasNewReports(k):
			return Delta{Action: Keep, Target: k.ID, Payload: k.Payload, Hash: s.Hash, Stats: k.Stats,
				Why: "the same evidence"}
		case align.Same(procedure, s.Procedure) && conditions.Equal(s.Conditions):
			out.Action, out.Target, out.Why = Update, k.ID, "more evidence for the same procedure"
			out.Payload, out.wider = k.Payload, k.Wider
			if k.Evidence != "" && !k.Wider { // a record that was put keeps its recipe as it is
				out.Payload.Recipe = s.Procedure.WithExamples(k.Payload.Recipe)
			}
			if k.Stats.All.Trials() >= out.Stats.All.Trials() {
				out.Stats = k.Stats.Clone() // reports count these outcomes too, and outcomes without an episode
			}
			return out
		case out.Action == Add && !k.Wider && (!k.Shared || len(out.Agents) > 1) &&
			!conditions.Disjoint(s.Conditions) && alike(procedure, s.Procedure):
			out.Action, out.Target, out.Why = Supersede, k.ID, "other steps or conditions of the same procedure"
			out.Payload.Version = next(k.Payload.Version)
			out.Payload.FailureModes = k.Payload.FailureModes
		}
	}
	return out
}

// covers makes the delta at least as sensitive as attempts, and adds their episodes to Others unless they are evidence.
func (d *Delta) covers(attempts []trace.Attempt) {
	for _, a := range attempts {
		if sensitive.Rank(a.Sensitivity) > sensitive.Rank(d.Sensitivity) {
			d.Sensitivity = a.Sensitivity
		}
		if !slices.Contains(d.Evidence, a.Episode) && !slices.Contains(d.Others, a.Episode) {
			d.Others = append(d.Others, a.Episode)
		}
	}
}

// hasNewReports reports whether outcomes of a stored procedure were reported that its record does not have yet.
func hasNewReports(k Record) bool {
	p := k.Payload.Performance
	return p != nil && k.Stats.All.Trials() > p.SuccessCount+p.FailureCount
}

// stats returns the outcomes of a solution, in all situations and by situation.
func stats(s promote.Candidate) evidence.Stats {
	var out evidence.Stats
	all := slices.Concat(s.Attempts, s.Against)
	slices.SortStableFunc(all, func(a, b trace.Attempt) int { return a.At.Compare(b.At) })
	for _, a := range all {
		out.ObserveIn(a.Setting(), a.Succeeded(), a.At)
	}
	return out
}

// Situation returns the name of the situation for which outcomes are counted separately: the operating system.
func Situation(context map[string]string) string { return memory.ContextValue("os", context["os"]) }

// conditionsOf returns the conditions of the trigger for the solution's problem.
func conditionsOf(p schema.CompetencePayload, s promote.Candidate) promote.Conditions {
	for _, t := range p.Triggers {
		if len(s.Attempts) > 0 && t.Signal != s.Attempts[0].Signal() && len(p.Triggers) > 1 {
			continue
		}
		return Conditions(t.Conditions)
	}
	return nil
}

// Conditions returns the conditions of a trigger or a step.
func Conditions(raw json.RawMessage) promote.Conditions {
	var members map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	out := promote.Conditions{}
	for key, v := range members {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			out[key] = append(out[key], memory.ContextValue(key, fmt.Sprint(e)))
		}
		slices.Sort(out[key])
	}
	return out
}

// alike reports whether two procedures are variants of one: most of their steps have the same tools and similar
// arguments.
func alike(a, b align.Procedure) bool {
	return align.Alike(steps(a), steps(b)) >= promote.SameSolution
}

func steps(p align.Procedure) []trace.Step {
	out := make([]trace.Step, 0, len(p.Steps))
	for _, s := range p.Steps {
		step := trace.Step{Tool: s.Tool, Args: map[string]trace.Scalar{}}
		for path, t := range s.Args {
			step.Args[path] = trace.Scalar{Text: t.String(), Type: t.Type}
		}
		out = append(out, step)
	}
	return out
}

func next(version string) string {
	n, err := strconv.Atoi(strings.Split(cmp.Or(version, "1"), ".")[0])
	if err != nil {
		return version + ".1"
	}
	return strconv.Itoa(n + 1)
}

// describe fills in the payload.
func (d *Delta) describe(g *promote.Group, s promote.Candidate, all []promote.Candidate, self int) {
	p, first := &d.Payload, s.Attempts[0]
	p.Kind = schema.TypeCompetence
	d.Confidence = d.Stats.All.Chance()
	if d.Action != Update {
		trigger := schema.Trigger{Signal: first.Signal()}
		if len(s.Conditions) > 0 {
			trigger.Conditions, _ = json.Marshal(align.Conditions(s.Conditions)) // strings: no error
		}
		p.SkillName = skillName(first, s.Conditions)
		p.Triggers = []schema.Trigger{trigger}
		p.Recipe = recipe(s)
		p.RequiredTools = nil
		for _, step := range s.Procedure.Steps {
			if step.Tool != "" && !slices.Contains(p.RequiredTools, step.Tool) {
				p.RequiredTools = append(p.RequiredTools, step.Tool)
			}
		}
	}
	p.Performance = performance(d.Stats.All, slices.Concat(s.Attempts, s.Against))
	if d.wider {
		return
	}
	d.covers(g.Failures)
	p.FailureModes = union(p.FailureModes, failureModes(g, s), maxFailureModes)
	var fallbacks []string
	for i, other := range all {
		if i != self {
			d.covers(other.Attempts)
			fallbacks = append(fallbacks, sentence(other.Procedure, other.Conditions))
		}
	}
	if len(p.FallbackSteps) == 0 {
		p.Fallbacks = union(p.Fallbacks, fallbacks, maxFallbacks)
	}
}

// skillName returns a name for a procedure, from its problem and conditions.
func skillName(a trace.Attempt, c promote.Conditions) string {
	var words []string
	name := ""
	if !a.Problem.IsZero() {
		words, name = a.Problem.Words, "fix"
	} else {
		words = normalize.Words(a.Intent, "'")
		words = slices.DeleteFunc(words, func(w string) bool { return normalize.SignalFillers[w] })
	}
	parts := slices.Clone(words[:min(len(words), 8)])
	if name != "" {
		parts = append([]string{name}, parts...)
	}
	for _, key := range []string{"project_kind", "os"} {
		parts = append(parts, c[key]...)
	}
	return normalize.FirstChars(strings.Map(func(r rune) rune {
		if r == ' ' || r == '<' || r == '>' || r == '-' {
			return '_'
		}
		return r
	}, normalize.Lower(strings.Join(parts, "_"))), schema.MaxNameLength)
}

// CallPasses is the validation of a repair.
const CallPasses = "the call that had failed returns without an error"

// recipe returns the steps. The last one has the validation.
func recipe(s promote.Candidate) []schema.Step {
	out := s.Procedure.Recipe()
	checked := 0
	for _, a := range s.Attempts {
		if a.Checked {
			checked++
		}
	}
	for i := range out {
		out[i].Step, _ = normalize.CutChars(out[i].Step, maxMode)
		out[i].Validation = "returns without an error"
	}
	if 2*checked > len(s.Attempts) {
		out[len(out)-1].Validation = CallPasses
	}
	return out
}

// failureModes returns failed steps with their errors, and failed solutions, the most frequent first.
func failureModes(g *promote.Group, s promote.Candidate) []string {
	count := map[string]int{}
	var order []string
	note := func(text string) {
		text, _ = sensitive.Mask(text)
		text, _ = normalize.CutChars(normalize.CleanLine(text, 4*maxMode), maxMode)
		if count[text] == 0 {
			order = append(order, text)
		}
		count[text]++
	}
	for _, a := range s.Attempts {
		for _, step := range a.Steps {
			if step.Failed && !step.Error.IsZero() {
				note(fmt.Sprintf("%s may fail: %s", step.Tool, step.Error.Text))
			}
		}
	}
	if len(s.Against) > 0 {
		note("does not always help: the same error came back")
	}
	for _, q := range openQuestions(g) {
		for range q.sessions {
			note("not known when it failed: " + q.text)
		}
	}
	for _, members := range align.Clusters(g.Failures, promote.SameSolution) {
		var failed []trace.Attempt
		for _, i := range members {
			if !s.Procedure.Replay(g.Failures[i]) {
				failed = append(failed, g.Failures[i])
			}
		}
		if p, ok := align.Learn(failed); ok {
			for range failed {
				note("did not help: " + sentence(p, nil))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	return order[:min(len(order), maxFailureModes)]
}

// question is a question that was open when attempts failed.
type question struct {
	text     string
	sessions map[string]bool
}

// openQuestions returns the questions that were open after failures in at least two sessions and after no success.
func openQuestions(g *promote.Group) []*question {
	key := func(text string) string { return strings.Join(normalize.Words(text, "'"), " ") }
	settled := map[string]bool{}
	for _, a := range g.Successes {
		for _, q := range a.Open {
			settled[key(q)] = true
		}
	}
	byKey := map[string]*question{}
	var out []*question
	for _, a := range g.Failures {
		for _, text := range a.Open {
			k := key(text)
			if k == "" || settled[k] {
				continue
			}
			if byKey[k] == nil {
				byKey[k] = &question{text: text, sessions: map[string]bool{}}
				out = append(out, byKey[k])
			}
			byKey[k].sessions[a.Source.Agent+"\x00"+cmp.Or(a.Source.Session, a.Episode)] = true
		}
	}
	return slices.DeleteFunc(out, func(q *question) bool { return len(q.sessions) < 2 })
}

// sentence returns a procedure in one line.
func sentence(p align.Procedure, c promote.Conditions) string {
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, s.String())
	}
	text := strings.Join(parts, "; then ")
	if len(c) > 0 {
		conditions, _ := json.Marshal(align.Conditions(c)) // strings: no error
		text += " (where " + string(conditions) + ")"
	}
	text, _ = sensitive.Mask(text)
	text, _ = normalize.CutChars(normalize.CleanLine(text, 4*maxMode), maxMode)
	return text
}

// union returns a list with missing elements added, up to limit. It keeps all elements of the list.
func union(list, more []string, limit int) []string {
	out := slices.Clone(list)
	for _, m := range more {
		if len(out) < limit && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func performance(t evidence.Track, attempts []trace.Attempt) *schema.Performance {
	out := &schema.Performance{}
	t.Fill(out)
	total, n := 0.0, 0
	for _, a := range attempts {
		took := 0.0
		for _, s := range a.Steps {
			took += float64(s.Took.Microseconds()) / 1_000
		}
		if took > 0 {
			total, n = total+took, n+1
		}
	}
	if n > 0 {
		mean := total / float64(n)
		out.AvgLatencyMS = &mean
	}
	return out
}
