package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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

// LeastSteps is the smallest number of steps of a plan.
const LeastSteps = 3

// ProcedureOp is the prefix of the operation of a node that is a procedure; its name follows.
const ProcedureOp = "procedure:"

// Action is the kind of a delta.
type Action string

// The actions of deltas.
const (
	Add       Action = "add"
	Update    Action = "update" // the metrics only
	Supersede Action = "supersede"
	Keep      Action = "keep"
)

// Record is a stored plan.
type Record struct {
	ID       string
	Payload  schema.PlanGraphPayload
	Evidence string // hash of its evidence
	Stats    evidence.Stats
	Wider    bool // more agents read it than the evidence: only its metrics may change
	Shared   bool // all agents of the project read it: evidence of one agent does not replace it
}

// Skill is a stored procedure that plans may use as a node.
type Skill struct {
	Name      string
	Procedure align.Procedure
}

// Delta is one change of the stored plans.
type Delta struct {
	Action      Action
	Target      string
	Payload     schema.PlanGraphPayload
	Confidence  float64
	Track       evidence.Track
	Outcomes    []evidence.Outcome // in the evidence
	Agents      []string           // the agents that may use it
	Evidence    []string
	Hash        string
	Sensitivity schema.Sensitivity
	Why         string
}

// Learn returns the changes of the stored plans for a task that follow from a group of attempts at it.
func Learn(g *promote.Group, known []Record, skills []Skill, p evidence.Policy) ([]Delta, []promote.Refusal) {
	solutions, refused := promote.Solutions(g, p)
	var out []Delta
	taken := map[string]bool{}
	for _, s := range solutions {
		required := 0
		for _, step := range s.Procedure.Steps {
			if !step.Optional {
				required++
			}
		}
		if required < LeastSteps {
			refused = append(refused, promote.Refusal{Key: g.Key, Reason: promote.TooShort, Attempts: len(s.Attempts)})
			continue
		}
		d := delta(s, known, skills, taken)
		encoded, err := json.Marshal(d.Payload)
		if err != nil || schema.ValidatePayload(schema.TypePlanGraph, encoded) != nil {
			refused = append(refused, promote.Refusal{Key: g.Key, Reason: NotARecord, Attempts: len(s.Attempts)})
			continue
		}
		taken[d.Target] = true
		out = append(out, d)
	}
	return out, refused
}

// NotARecord is the reason of a refusal: the plan does not fit into a record.
const NotARecord = "payload_not_valid"

func delta(s promote.Candidate, known []Record, skills []Skill, taken map[string]bool) Delta {
	out := Delta{Action: Add, Confidence: s.Track.Chance(), Track: s.Track, Agents: s.Count.Agents,
		Evidence: s.Evidence,
		Outcomes: s.Outcomes(), Hash: s.Hash, Why: "a plan that is not known"}
	for _, a := range s.Attempts {
		if sensitive.Rank(a.Sensitivity) > sensitive.Rank(out.Sensitivity) {
			out.Sensitivity = a.Sensitivity
		}
	}
	out.Payload = Payload(s, skills)
	for _, k := range known {
		conditions := ConditionsOf(k.Payload)
		switch {
		case taken[k.ID]:
		case k.Evidence != "" && k.Evidence == s.Hash:
			out.Action, out.Target, out.Payload, out.Why = Keep, k.ID, k.Payload, "the same evidence"
			if hasNewReports(k) {
				out.Action, out.Why = Update, "reported outcomes of the same plan"
				out.count(k, s)
			}
			return out
		case conditions.Equal(s.Conditions) && SameGraph(k.Payload, out.Payload):
			inputs := out.Payload.InputsSchema
			out.Action, out.Target, out.Payload, out.Why = Update, k.ID, k.Payload, "more evidence for the same plan"
			out.count(k, s)
			if k.Evidence != "" && !k.Wider && !bytes.Contains(k.Payload.InputsSchema, []byte(`"examples"`)) {
				out.Payload.InputsSchema = inputs // an erasure removed the examples
			}
			return out
		case out.Action == Add && !k.Wider && (!k.Shared || len(out.Agents) > 1) &&
			!conditions.Disjoint(s.Conditions) && likeSteps(k.Payload, s.Procedure):
			out.Action, out.Target, out.Why = Supersede, k.ID, "other steps or conditions of the same plan"
			out.Payload.PlanID = k.Payload.PlanID
			n, _ := strconv.Atoi(k.Payload.Version) // a version that is not a number counts as 0
			out.Payload.Version = strconv.Itoa(n + 1)
		}
	}
	return out
}

// hasNewReports reports whether outcomes of a stored plan were reported that its record does not have yet.
func hasNewReports(k Record) bool {
	m := k.Payload.Metrics
	return m != nil && k.Stats.All.Trials() > m.SuccessCount+m.FailureCount
}

// count sets the outcomes of a stored plan: those of the evidence, or the stored ones, which include the reported ones,
// if these are more.
func (d *Delta) count(k Record, s promote.Candidate) {
	if k.Stats.All.Trials() >= d.Track.Trials() {
		d.Track = k.Stats.All
	}
	d.Confidence = d.Track.Chance()
	d.Payload.Metrics = metrics(d.Track, s.Attempts)
}

// SameGraph reports whether two plans have the same nodes and edges.
func SameGraph(a, b schema.PlanGraphPayload) bool {
	encode := func(p schema.PlanGraphPayload) string {
		raw, _ := json.Marshal([]any{p.Nodes, p.Edges}) // has only valid JSON: no error
		var compact any
		_ = json.Unmarshal(raw, &compact)
		raw, _ = json.Marshal(compact)
		return string(raw)
	}
	return encode(a) == encode(b)
}

func likeSteps(known schema.PlanGraphPayload, p align.Procedure) bool {
	same := 0
	for _, n := range known.Nodes {
		for _, s := range p.Steps {
			if s.Tool == n.Op && string(params(s)) == string(n.Params) {
				same++
				break
			}
		}
	}
	return 2*same >= max(len(known.Nodes), len(p.Steps))
}

// ConditionsOf returns the conditions among the constraints of a plan.
func ConditionsOf(p schema.PlanGraphPayload) promote.Conditions {
	var list []json.RawMessage
	if json.Unmarshal(p.Constraints, &list) != nil {
		list = []json.RawMessage{p.Constraints}
	}
	var out promote.Conditions
	for _, one := range list {
		var members map[string]any
		if json.Unmarshal(one, &members) != nil {
			continue
		}
		for key, v := range members {
			values, ok := v.([]any)
			if !ok {
				values = []any{v}
			}
			for _, e := range values {
				if out == nil {
					out = promote.Conditions{}
				}
				out[key] = append(out[key], memory.ContextValue(key, fmt.Sprint(e)))
			}
			slices.Sort(out[key])
		}
	}
	return out
}

// Payload returns the plan graph of a solution. A sequence of steps that is a stored procedure becomes one node.
func Payload(s promote.Candidate, skills []Skill) schema.PlanGraphPayload {
	first := s.Attempts[0]
	out := schema.PlanGraphPayload{Kind: schema.TypePlanGraph, Version: "1",
		Intent: normalize.CleanLine(first.Signal(), schema.MaxIntentLength)}
	parts := normalize.Words(out.Intent, "'")
	for _, key := range slices.Sorted(maps.Keys(s.Conditions)) {
		parts = append(parts, s.Conditions[key]...)
	}
	out.PlanID = normalize.FirstChars(strings.ReplaceAll(strings.Join(parts, "_"), " ", "_"), schema.MaxNameLength)
	out.Constraints = constraints(s)
	out.InputsSchema = inputs(s.Procedure)

	place := make([]int, len(s.Procedure.Steps)) // node of each step
	for i := 0; i < len(place); {
		skill, n := skillAt(s.Procedure, i, skills)
		node := schema.PlanNode{ID: "s" + strconv.Itoa(len(out.Nodes)+1)}
		step := s.Procedure.Steps[i]
		if n > 0 {
			node.Op, node.Params = ProcedureOp+skill.Name, skillParams(s.Procedure, i, skill)
		} else {
			n = 1
			node.Op, node.Params = cmp.Or(step.Tool, "unknown"), params(step)
			node.Guards = guards(step)
		}
		for j := i; j < i+n; j++ {
			place[j] = len(out.Nodes)
		}
		out.Nodes = append(out.Nodes, node)
		i += n
	}
	out.Edges = edges(s.Procedure, place, out.Nodes)
	last := out.Nodes[len(out.Nodes)-1].ID
	out.OutputsSchema, _ = json.Marshal(map[string]any{"type": "object",
		"properties": map[string]any{last: map[string]any{"description": "the result of the last node"}}}) // of texts
	out.Metrics = metrics(s.Track, s.Attempts)
	return out
}

// constraints returns the conditions and, as texts, the sensitivity and the agents of the evidence.
func constraints(s promote.Candidate) json.RawMessage {
	var list []any
	if len(s.Conditions) > 0 {
		list = append(list, align.Conditions(s.Conditions))
	}
	most := schema.SensitivityLow
	for _, a := range s.Attempts {
		if sensitive.Rank(a.Sensitivity) > sensitive.Rank(most) {
			most = a.Sensitivity
		}
	}
	list = append(list, "sensitivity: "+string(most), "agents: "+strings.Join(s.Count.Agents, ", "))
	out, _ := json.Marshal(list) // of texts
	return out
}

func inputs(p align.Procedure) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, q := range p.Params {
		if strings.HasPrefix(q.From, "step.") {
			continue
		}
		property := map[string]any{"type": "string", "examples": q.Examples}
		if q.From == align.FromCaller {
			required = append(required, q.Name)
		} else {
			property["x-from"] = q.From
		}
		properties[q.Name] = property
	}
	out, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	return out
}

// params returns the templates of a step by path: texts with parameters in braces.
func params(s align.Step) json.RawMessage {
	if len(s.Args) == 0 {
		return nil
	}
	texts := map[string]string{}
	for path, t := range s.Args {
		texts[path] = t.String()
	}
	out, _ := json.Marshal(texts) // of texts
	return out
}

func guards(s align.Step) json.RawMessage {
	switch {
	case len(s.When) > 0:
		out, _ := json.Marshal(align.Conditions(s.When)) // of texts
		return out
	case s.Optional:
		return json.RawMessage(`{"optional":true}`)
	}
	return nil
}

// skillAt returns the longest stored procedure of at least two steps that equals the steps from i on, and its length.
func skillAt(p align.Procedure, i int, skills []Skill) (best Skill, n int) {
	for _, s := range skills {
		k := len(s.Procedure.Steps)
		if k < 2 || k <= n || i+k > len(p.Steps) || i == 0 && k == len(p.Steps) {
			continue
		}
		same := true
		for j, want := range s.Procedure.Steps {
			step := p.Steps[i+j]
			same = same && step.Tool == want.Tool && len(step.When) == 0 && !step.Optional && sameShape(step, want)
		}
		if same {
			best, n = s, k
		}
	}
	return best, n
}

// Procedure returns the steps of a plan in topological order. Results of steps that the inputs name become parameters
// without a binding.
func Procedure(p schema.PlanGraphPayload) (align.Procedure, error) {
	nodes, err := Order(p)
	if err != nil {
		return align.Procedure{}, err
	}
	var out align.Procedure
	for _, n := range nodes {
		s := align.Step{Tool: n.Op, Optional: string(n.Guards) == `{"optional":true}`}
		texts := map[string]string{}
		_ = json.Unmarshal(n.Params, &texts) // parameters in plans of others that are not texts are ignored
		for path, text := range texts {
			if s.Args == nil {
				s.Args = map[string]align.Template{}
			}
			s.Args[path] = align.ParseTemplate(text, "string")
		}
		if len(n.Guards) > 0 && !s.Optional {
			s.When = ConditionsOf(schema.PlanGraphPayload{Constraints: n.Guards})
		}
		out.Steps = append(out.Steps, s)
	}
	var in struct {
		Properties map[string]struct {
			From string `json:"x-from"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(p.InputsSchema, &in) // plans of others may have any schema
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		out.Params = append(out.Params, align.Param{Name: name, From: in.Properties[name].From})
	}
	return out, nil
}

// sameShape reports whether two steps have the same templates, ignoring parameters and the texts in their places.
func sameShape(a, b align.Step) bool {
	return maps.EqualFunc(a.Args, b.Args, func(x, y align.Template) bool {
		if x.Type != y.Type {
			return false
		}
		if x.Constant() {
			text, _ := x.Fill(nil)
			_, ok := y.Match(text)
			return ok
		}
		if len(x.Parts) != len(y.Parts) {
			return false
		}
		for i := range x.Parts {
			if x.Parts[i].Text != y.Parts[i].Text || (x.Parts[i].Param == "") != (y.Parts[i].Param == "") {
				return false
			}
		}
		return true
	})
}

// skillParams returns the values of a procedure's parameters in a plan.
func skillParams(p align.Procedure, i int, s Skill) json.RawMessage {
	given := map[string]string{}
	for j, want := range s.Procedure.Steps {
		for path, t := range want.Args {
			own := p.Steps[i+j].Args[path]
			if own.Constant() {
				text, _ := own.Fill(nil)
				values, _ := t.Match(text)
				maps.Copy(given, values)
				continue
			}
			for k, part := range t.Parts {
				if part.Param != "" {
					given[part.Param] = "{" + own.Parts[k].Param + "}"
				}
			}
		}
	}
	if len(given) == 0 {
		return nil
	}
	out, _ := json.Marshal(given) // of texts
	return out
}

// edges connects each node with the nodes whose results it uses, and with the previous node, unless such an edge
// exists.
func edges(p align.Procedure, place []int, nodes []schema.PlanNode) []schema.PlanEdge {
	seen := map[schema.PlanEdge]bool{}
	out := []schema.PlanEdge{}
	add := func(from, to int, kind schema.EdgeKind) {
		e := schema.PlanEdge{From: nodes[from].ID, To: nodes[to].ID, Kind: kind}
		if from != to && !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	for i, s := range p.Steps {
		for _, n := range s.Needs {
			add(place[n], place[i], schema.EdgeData)
		}
		for _, t := range s.Args {
			for _, part := range t.Parts {
				for _, q := range p.Params {
					if q.Name != part.Param {
						continue
					}
					if n, ok := stepOf(q.From); ok && n < i {
						add(place[n], place[i], schema.EdgeData)
					}
				}
			}
		}
		if i > 0 && !seen[schema.PlanEdge{From: nodes[place[i-1]].ID, To: nodes[place[i]].ID, Kind: schema.EdgeData}] {
			add(place[i-1], place[i], schema.EdgeControl)
		}
	}
	slices.SortStableFunc(out, func(a, b schema.PlanEdge) int {
		return cmp.Or(len(a.To)-len(b.To), strings.Compare(a.To, b.To), len(a.From)-len(b.From),
			strings.Compare(a.From, b.From), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return out
}

// stepOf returns the step whose result a binding names.
func stepOf(from string) (int, bool) {
	rest, ok := strings.CutPrefix(from, "step.")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return n, err == nil
}

func metrics(t evidence.Track, attempts []trace.Attempt) *schema.Performance {
	out := &schema.Performance{}
	t.Fill(out)
	total, timed := 0.0, 0
	for _, a := range attempts {
		if took := latency(a); took > 0 {
			total, timed = total+took, timed+1
		}
	}
	if timed > 0 {
		mean := total / float64(timed)
		out.AvgLatencyMS = &mean
	}
	return out
}

func latency(a trace.Attempt) float64 {
	total := 0.0
	for _, s := range a.Steps {
		total += float64(s.Took.Microseconds()) / 1_000
	}
	return total
}
