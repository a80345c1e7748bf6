package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Limits of an expanded plan.
const (
	maxDepth = 4   // procedures within procedures
	maxNodes = 300 // nodes
)

// Errors of Order and Expand.
var (
	ErrCycle    = errors.New("the plan has a cycle")
	ErrTooLarge = errors.New("the plan is too large")
)

// Order returns the nodes in topological order. Nodes that do not depend on each other keep the order of the plan.
// Parallel edges count once. It returns ErrCycle if there is a cycle.
func Order(p schema.PlanGraphPayload) ([]schema.PlanNode, error) {
	place := make(map[string]int, len(p.Nodes))
	for i, n := range p.Nodes {
		place[n.ID] = i
	}
	waits := make([]map[int]bool, len(p.Nodes))
	next := make([]map[int]bool, len(p.Nodes))
	for i := range p.Nodes {
		waits[i], next[i] = map[int]bool{}, map[int]bool{}
	}
	for _, e := range p.Edges {
		from, ok := place[e.From]
		to, known := place[e.To]
		if ok && known {
			waits[to][from], next[from][to] = true, true
		}
	}
	out := make([]schema.PlanNode, 0, len(p.Nodes))
	done := make([]bool, len(p.Nodes))
	for range p.Nodes {
		at := -1
		for i := range p.Nodes {
			if !done[i] && len(waits[i]) == 0 {
				at = i
				break
			}
		}
		if at < 0 {
			return nil, ErrCycle
		}
		done[at] = true
		for to := range next[at] {
			delete(waits[to], at)
		}
		out = append(out, p.Nodes[at])
	}
	return out, nil
}

// Expand returns a plan in which nodes that are procedures are replaced by the steps of the procedures. A node whose
// procedure is unknown is kept. It returns ErrTooLarge for a plan of more than 300 nodes, or of procedures nested more
// than four levels deep.
func Expand(
	p schema.PlanGraphPayload,
	lookup func(name string) (align.Procedure, bool),
) (schema.PlanGraphPayload, error) {
	for range maxDepth {
		next, changed, err := expandOnce(p, lookup)
		if err != nil || !changed {
			return next, err
		}
		p = next
	}
	if _, changed, _ := expandOnce(p, lookup); changed {
		return schema.PlanGraphPayload{}, ErrTooLarge
	}
	return p, nil
}

func expandOnce(
	p schema.PlanGraphPayload,
	lookup func(name string) (align.Procedure, bool),
) (schema.PlanGraphPayload, bool, error) {
	if _, err := Order(p); err != nil {
		return schema.PlanGraphPayload{}, false, err
	}
	out := p
	out.Nodes, out.Edges = nil, nil
	first, last, changed := map[string]string{}, map[string]string{}, false
	var inside []schema.PlanEdge
	for _, n := range p.Nodes {
		first[n.ID], last[n.ID] = n.ID, n.ID
		name, ok := strings.CutPrefix(n.Op, ProcedureOp)
		var procedure align.Procedure
		if ok {
			procedure, ok = lookup(name)
		}
		if !ok || len(procedure.Steps) == 0 {
			out.Nodes = append(out.Nodes, n)
			continue
		}
		changed = true
		given := map[string]string{}
		_ = json.Unmarshal(n.Params, &given) // parameters of other programs may not be strings
		for i, s := range procedure.Steps {
			id := fmt.Sprintf("%s.%d", n.ID, i+1)
			node := schema.PlanNode{ID: id, Op: s.Tool, Params: renamed(s, given), Guards: guards(s)}
			if node.Guards == nil {
				node.Guards = n.Guards
			}
			if i == 0 {
				first[n.ID] = id
			} else {
				inside = append(inside, schema.PlanEdge{From: last[n.ID], To: id, Kind: schema.EdgeControl})
			}
			last[n.ID] = id
			out.Nodes = append(out.Nodes, node)
		}
		if len(out.Nodes) > maxNodes {
			return schema.PlanGraphPayload{}, false, ErrTooLarge
		}
	}
	for _, e := range p.Edges {
		out.Edges = append(out.Edges, schema.PlanEdge{From: last[e.From], To: first[e.To], Kind: e.Kind})
	}
	out.Edges = append(out.Edges, inside...)
	if out.Edges == nil {
		out.Edges = []schema.PlanEdge{}
	}
	return out, changed, nil
}

// renamed returns the templates of a step with parameters replaced by the values that the plan gives.
func renamed(s align.Step, given map[string]string) json.RawMessage {
	texts := map[string]string{}
	for path, t := range s.Args {
		var b strings.Builder
		for _, part := range t.Parts {
			v, ok := given[part.Param]
			switch {
			case part.Param == "":
				b.WriteString(align.Template{Parts: []align.Part{part}}.String())
			case ok:
				b.WriteString(v)
			default:
				b.WriteString("{" + part.Param + "}")
			}
		}
		texts[path] = b.String()
	}
	if len(texts) == 0 {
		return nil
	}
	out, _ := json.Marshal(texts) // of texts
	return out
}

// Mermaid returns a plan as a Mermaid flow chart. Data edges are dotted, and guards are part of the nodes.
func Mermaid(p schema.PlanGraphPayload) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	id := map[string]string{}
	for i, n := range p.Nodes {
		id[n.ID] = fmt.Sprintf("n%d", i)
		label := escaped(n.Op)
		if text := words(n.Params); text != "" {
			label += ": " + text
		}
		if text := words(n.Guards); text != "" {
			label += "<br>if " + text
		}
		left, right := `["`, `"]`
		switch {
		case strings.HasPrefix(n.Op, ProcedureOp):
			left, right = `[["`, `"]]`
		case len(n.Guards) > 0:
			left, right = `{{"`, `"}}`
		}
		fmt.Fprintf(&b, "    %s%s%s%s\n", id[n.ID], left, label, right)
	}
	for _, e := range p.Edges {
		arrow := "-->"
		if e.Kind == schema.EdgeData {
			arrow = "-. data .->"
		}
		if id[e.From] != "" && id[e.To] != "" {
			fmt.Fprintf(&b, "    %s %s %s\n", id[e.From], arrow, id[e.To])
		}
	}
	return b.String()
}

// words returns an object as the text of a label.
func words(raw json.RawMessage) string {
	var members map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &members) != nil {
		return ""
	}
	var parts []string
	for key, v := range members {
		text := fmt.Sprint(v)
		if len(members) > 1 || key != "cmd" && key != "command" {
			text = key + " " + text
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return escaped(strings.Join(parts, ", "))
}

// escaped returns a text in one line, escaped for a label.
func escaped(text string) string {
	line, _ := normalize.CutChars(normalize.CleanLine(text, 400), 80)
	return strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "'", "#", "#35;").Replace(line)
}
