package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/jsonschema"
)

// payloadSchemas names the schema of each type's payload.
var payloadSchemas = map[MemoryType]string{
	TypeEpisodic:   "EpisodicPayload",
	TypeWorking:    "WorkingPayload",
	TypeSemantic:   "SemanticPayload",
	TypeCompetence: "CompetencePayload",
	TypePlanGraph:  "PlanGraphPayload",
}

// Payload is any of the five payloads.
type Payload interface {
	EpisodicPayload | WorkingPayload | SemanticPayload | CompetencePayload | PlanGraphPayload
}

// PayloadOf decodes the payload of a type. It returns a *ValidationError under the path payload if the shape is
// wrong.
func PayloadOf[T Payload](payload json.RawMessage) (T, error) {
	var v T
	if err := decodeStrict(payload, &v); err != nil {
		var zero T
		return zero, underPath("payload", err)
	}
	return v, nil
}

// underPath puts the fields of a *ValidationError under a path.
func underPath(path string, err error) error {
	invalid, ok := err.(*ValidationError) //nolint:errorlint // decodeStrict returns it unwrapped
	if !ok {
		return err
	}
	for i, f := range invalid.Fields {
		if f.Field == "(json)" {
			invalid.Fields[i].Field = path
		} else {
			invalid.Fields[i].Field = path + "." + f.Field
		}
	}
	return invalid
}

// ValidatePayload checks the payload of a record before it is written: its size and nesting, its JSON Schema
// (document 004 §15A), and rules that a schema cannot express. The payload has the names of the schema appendix, as
// in MemoryRecord. Errors are a *ValidationError with paths such as payload.timeline[0].t.
func ValidatePayload(t MemoryType, payload json.RawMessage) error {
	var p check.Problems
	if !t.Valid() {
		p.Add("type", "must be one of %s", check.Names(memoryTypes))
		return p.Err()
	}
	validatePayload(&p, "payload", t, payload)
	return p.Err()
}

func validatePayload(p *check.Problems, path string, t MemoryType, payload json.RawMessage) {
	if len(payload) == 0 {
		p.Add(path, "is required")
		return
	}
	size, ok := check.Scan(payload, path, MaxPayloadDepth, MaxRecordBytes, p)
	if !ok {
		return
	}
	if size > MaxPayloadBytes {
		p.Add(path, "must be at most %d bytes, got %d", MaxPayloadBytes, size)
		return
	}
	tree, err := check.BuildTree(payload)
	object, isObject := tree.(map[string]any)
	if err != nil || !isObject {
		p.Add(path, "must be an object")
		return
	}
	switch kind, ok := object["kind"].(string); {
	case object["kind"] == nil:
		p.Add(path+".kind", "is required")
		return
	case !ok || kind != string(t):
		p.Add(path+".kind", "must be %s, the type of the record", t)
		return
	}
	before := len(p.Fields)
	jsonschema.Check(p, path, payloadSchemas[t], tree)
	if len(p.Fields) > before {
		return
	}
	switch t {
	case TypeEpisodic:
		checkPayload(p, path, payload, checkEpisodic)
	case TypeWorking:
		checkPayload(p, path, payload, checkWorking)
	case TypeSemantic:
		checkPayload(p, path, payload, checkSemantic)
	case TypeCompetence:
		checkPayload(p, path, payload, checkCompetence)
	case TypePlanGraph:
		checkPayload(p, path, payload, checkPlanGraph)
	}
}

func checkPayload[T Payload](
	p *check.Problems,
	path string,
	payload json.RawMessage,
	validate func(*check.Problems, string, *T),
) {
	v, err := PayloadOf[T](payload)
	if err != nil {
		if invalid, ok := err.(*ValidationError); ok { //nolint:errorlint // PayloadOf returns it unwrapped
			p.Fields = append(p.Fields, invalid.Fields...)
		}
		return
	}
	validate(p, path, &v)
}

// ArtifactPrefix is the prefix of a reference to stored bytes. Their SHA-256 follows, as 64 lower-case hexadecimal
// digits. All other references point into the host system.
const ArtifactPrefix = "sha256:"

var artifactRef = regexp.MustCompile(`^` + ArtifactPrefix + `[0-9a-f]{64}$`)

// checkEpisodic checks an episode (document 004 §5): its events must be in order of time, and each dependency of a
// tool call must be another call of the episode.
func checkEpisodic(p *check.Problems, path string, v *EpisodicPayload) {
	for i, event := range v.Timeline {
		at := fmt.Sprintf("%s.timeline[%d]", path, i)
		check.Year(p, at+".t", event.T)
		if i > 0 && event.T.Before(v.Timeline[i-1].T) {
			p.Add(at+".t", "is before the previous event")
		}
		check.Text(p, at+".event_kind", event.EventKind, MaxNameLength)
		check.Text(p, at+".ref", event.Ref, MaxRefLength)
	}
	for i, ref := range v.Artifacts {
		at := fmt.Sprintf("%s.artifacts[%d]", path, i)
		check.Text(p, at, ref, MaxRefLength)
		if strings.HasPrefix(ref, ArtifactPrefix) && !artifactRef.MatchString(ref) {
			p.Add(at, "must be sha256: and 64 lower-case hexadecimal digits")
		}
	}
	g := newGraph(len(v.ToolGraph))
	for i, node := range v.ToolGraph {
		if !g.node(node.ID) {
			p.Add(fmt.Sprintf("%s.tool_graph[%d].id", path, i), "is given twice")
		}
	}
	for i, node := range v.ToolGraph {
		for j, from := range node.DependsOn {
			if !g.edge(from, node.ID) {
				p.Add(fmt.Sprintf("%s.tool_graph[%d].depends_on[%d]", path, i, j), "is not the id of a node")
			}
		}
	}
	if g.cyclic() {
		p.Add(path+".tool_graph", "has a cycle")
	}
}

// checkWorking checks the state of a task (document 004 §6).
func checkWorking(p *check.Problems, path string, v *WorkingPayload) {
	check.Text(p, path+".thread_id", v.ThreadID, MaxNameLength)
	check.Text(p, path+".task_id", v.TaskID, MaxNameLength)
	if v.LastUpdated != nil {
		check.Year(p, path+".last_updated", *v.LastUpdated)
	}
}

// checkSemantic checks a fact (document 004 §7 and §15A.8).
func checkSemantic(p *check.Problems, path string, v *SemanticPayload) {
	for _, f := range []struct {
		field, value string
		limit        int
	}{{"subject", v.Subject, MaxSubjectLength}, {"predicate", v.Predicate, MaxPredicateLength}} {
		if isBlank(f.value) {
			p.Add(path+"."+f.field, "is empty")
		}
		check.Text(p, path+"."+f.field, f.value, f.limit)
	}
	v.Validity.validate(p, path+".validity.")
	checkRefs(p, path+".evidence", v.Evidence)
}

// validate checks when, and under which conditions, a memory is valid (document 004 §15A.8). The zero Validity is
// global.
// path ends in a dot.
func (v *Validity) validate(p *check.Problems, path string) {
	modes := []ValidityMode{ValidGlobal, ValidConditional, ValidTimeboxed}
	if v.Mode != "" && !slices.Contains(modes, v.Mode) {
		p.Add(path+"mode", "must be one of %s", check.Names(modes))
		return
	}
	var conditions map[string]json.RawMessage
	if len(v.Conditions) > 0 {
		if _, ok := check.Scan(v.Conditions, path+"conditions", MaxPayloadDepth, MaxPayloadBytes, p); !ok {
			return
		}
		if json.Unmarshal(v.Conditions, &conditions) != nil || conditions == nil {
			p.Add(path+"conditions", "must be an object")
			return
		}
		if len(conditions) == 0 {
			p.Add(path+"conditions", "is empty")
		}
	}
	switch {
	case v.Mode == ValidConditional && v.Conditions == nil:
		p.Add(path+"conditions", "is required when mode is conditional")
	case v.Mode == ValidTimeboxed && v.Start == nil && v.End == nil:
		p.Add(path+"start", "is required when mode is timeboxed and end is not given")
	case v.Mode == ValidGlobal || v.Mode == "":
		for _, f := range []struct {
			field string
			given bool
		}{{"conditions", len(conditions) > 0}, {"start", v.Start != nil}, {"end", v.End != nil}} {
			if f.given {
				p.Add(path+f.field, "must not be given when mode is global")
			}
		}
	}
	if v.Start != nil {
		check.Year(p, path+"start", *v.Start)
	}
	if v.End != nil {
		check.Year(p, path+"end", *v.End)
		if v.Start != nil && !v.Start.Before(*v.End) {
			p.Add(path+"end", "must be after start")
		}
	}
}

// checkCompetence checks a procedure (document 004 §8).
func checkCompetence(p *check.Problems, path string, v *CompetencePayload) {
	check.Text(p, path+".skill_name", v.SkillName, MaxNameLength)
	if isBlank(v.SkillName) {
		p.Add(path+".skill_name", "is empty")
	}
	for i, step := range v.FallbackSteps {
		if i >= len(v.Fallbacks) || step.Step != v.Fallbacks[i] {
			p.Add(fmt.Sprintf("%s.fallback_steps[%d].step", path, i),
				"must be the text of the fallback at the same position")
		}
	}
	if n := len(v.FallbackSteps); n > 0 && n < len(v.Fallbacks) {
		p.Add(path+".fallback_steps", "must have a step for every fallback")
	}
}

// checkPlanGraph checks a plan (document 004 §9). A plan is a directed graph of actions. It must not have a cycle, so
// that every action can run at some point.
func checkPlanGraph(p *check.Problems, path string, v *PlanGraphPayload) {
	check.Text(p, path+".plan_id", v.PlanID, MaxRefLength)
	check.Text(p, path+".version", v.Version, MaxNameLength)
	check.Text(p, path+".intent", v.Intent, MaxRefLength)
	g := newGraph(len(v.Nodes))
	for i, node := range v.Nodes {
		if !g.node(node.ID) {
			p.Add(fmt.Sprintf("%s.nodes[%d].id", path, i), "is given twice")
		}
	}
	seen := make(map[PlanEdge]bool, len(v.Edges))
	for i, edge := range v.Edges {
		at := fmt.Sprintf("%s.edges[%d]", path, i)
		for _, end := range []struct{ field, id string }{{".from", edge.From}, {".to", edge.To}} {
			if !g.has(end.id) {
				p.Add(at+end.field, "is not the id of a node")
			}
		}
		if seen[edge] {
			p.Add(at, "is given twice")
		}
		seen[edge] = true
		g.edge(edge.From, edge.To)
	}
	if g.cyclic() {
		p.Add(path+".edges", "have a cycle: its nodes could never run")
	}
}

// graph is a directed graph whose nodes are names.
type graph struct {
	out map[string][]string
	in  map[string]int
}

func newGraph(n int) *graph {
	return &graph{out: make(map[string][]string, n), in: make(map[string]int, n)}
}

func (g *graph) has(name string) bool {
	_, ok := g.in[name]
	return ok
}

// node adds a node. It returns false if a node of that name exists.
func (g *graph) node(name string) bool {
	if g.has(name) {
		return false
	}
	g.in[name] = 0
	return true
}

// edge adds an edge between two nodes. It returns false if one of them does not exist.
func (g *graph) edge(from, to string) bool {
	if !g.has(from) || !g.has(to) {
		return false
	}
	g.out[from] = append(g.out[from], to)
	g.in[to]++
	return true
}

// cyclic reports whether the graph has a cycle. It removes nodes without dependencies until there are none. Each
// remaining node is in a cycle or depends on one.
func (g *graph) cyclic() bool {
	waiting := maps.Clone(g.in)
	var free []string
	for name, n := range waiting {
		if n == 0 {
			free = append(free, name)
		}
	}
	left := len(waiting)
	for len(free) > 0 {
		name := free[len(free)-1]
		free = free[:len(free)-1]
		left--
		for _, to := range g.out[name] {
			if waiting[to]--; waiting[to] == 0 {
				free = append(free, to)
			}
		}
	}
	return left > 0
}
