package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Shape is the type of a source judged by its form: a task in progress, a procedure or a plan (document 004 §15.5).
// The zero Shape means that the form shows no type.
type Shape struct {
	Type    schema.MemoryType
	Payload json.RawMessage // a valid payload of the type
}

// Limits of a text with a shape.
const (
	maxShapeLines = 60
	maxShapeLine  = 500 // characters
	maxShapeTitle = 120
)

// ShapeOf returns the shape of a source: steps that name their tools are a competence, the state of a task is working
// memory, nodes with dependencies are a plan graph. It considers only the form of the whole text, JSON or lines, not
// its meaning. A text with any other content has no shape. Tool output is data and never has a shape.
func ShapeOf(kind schema.SourceKind, content string) Shape {
	content = strings.TrimSpace(content)
	if kind == schema.SourceToolOutput || content == "" {
		return Shape{}
	}
	var read func() any
	if strings.HasPrefix(content, "{") {
		read = func() any { return shapeOfObject(content) }
	} else {
		lines := linesOf(content)
		if len(lines) < 2 || len(lines) > maxShapeLines {
			return Shape{}
		}
		read = func() any {
			if p := taskOf(lines); p != nil {
				return p
			}
			if p := procedureOf(lines); p != nil {
				return p
			}
			return planOf(lines)
		}
	}
	return shaped(read())
}

// ShapedAs returns the payload of a text whose type a policy rule sets: by its shape or, without one, line by line.
func ShapedAs(t schema.MemoryType, kind schema.SourceKind, content string) (json.RawMessage, bool) {
	if s := ShapeOf(kind, content); s.Type == t {
		return s.Payload, true
	}
	lines := linesOf(content)
	lines = lines[:min(len(lines), maxShapeLines)]
	var s Shape
	switch {
	case len(lines) == 0:
	case t == schema.TypeCompetence:
		p := &schema.CompetencePayload{
			Kind:      t,
			SkillName: normalize.FirstChars(lines[0], maxShapeTitle),
			Triggers:  []schema.Trigger{{Signal: normalize.FirstChars(lines[0], maxShapeTitle)}},
		}
		for _, line := range lines {
			p.Recipe = append(p.Recipe, stepOf(line))
		}
		s = shaped(p)
	case t == schema.TypePlanGraph:
		p := &schema.PlanGraphPayload{
			Kind:    t,
			PlanID:  normalize.FirstChars(lines[0], maxShapeTitle),
			Version: "1",
			Intent:  normalize.FirstChars(lines[0], maxShapeTitle),
			Edges:   []schema.PlanEdge{},
		}
		for i, line := range lines {
			p.Nodes = append(p.Nodes, schema.PlanNode{ID: fmt.Sprint(i + 1),
				Op: normalize.FirstChars(line, maxShapeLine)})
			if i > 0 {
				p.Edges = append(p.Edges, schema.PlanEdge{From: fmt.Sprint(i), To: fmt.Sprint(i + 1),
					Kind: schema.EdgeControl})
			}
		}
		s = shaped(p)
	}
	return s.Payload, s.Payload != nil
}

// shaped returns the shape of a payload, or the zero Shape if the payload is nil or invalid.
func shaped(payload any) Shape {
	var t schema.MemoryType
	switch p := payload.(type) {
	case *schema.WorkingPayload:
		if p != nil {
			t = schema.TypeWorking
		}
	case *schema.CompetencePayload:
		if p != nil {
			t = schema.TypeCompetence
		}
	case *schema.PlanGraphPayload:
		if p != nil {
			t = schema.TypePlanGraph
		}
	}
	if t == "" {
		return Shape{}
	}
	encoded, err := json.Marshal(payload)
	if err != nil || schema.ValidatePayload(t, encoded) != nil {
		return Shape{}
	}
	return Shape{Type: t, Payload: encoded}
}

// shapeOfObject returns the payload of a JSON object that has its members, or nil.
func shapeOfObject(content string) any {
	var o struct {
		State    schema.TaskState `json:"state"`
		TaskID   string           `json:"task_id"`
		ThreadID string           `json:"thread_id"`
		Name     string           `json:"name"`
		Skill    string           `json:"skill_name"`
		Intent   string           `json:"intent"`
		Steps    []schema.Step    `json:"steps"`
		Recipe   []schema.Step    `json:"recipe"`
		PlanID   string           `json:"plan_id"`
		Nodes    []struct {
			schema.PlanNode
			DependsOn []string `json:"depends_on"`
		} `json:"nodes"`
		Edges []schema.PlanEdge `json:"edges"`
	}
	if json.Unmarshal([]byte(content), &o) != nil {
		return nil
	}
	steps := slices.Concat(o.Recipe, o.Steps)
	switch {
	case len(o.Nodes) > 1:
		p := &schema.PlanGraphPayload{
			Kind:    schema.TypePlanGraph,
			PlanID:  cmp.Or(o.PlanID, o.Name, o.Intent),
			Version: "1",
			Intent:  cmp.Or(o.Intent, o.Name),
			Edges:   o.Edges,
		}
		for _, node := range o.Nodes {
			if node.Op == "" {
				return nil
			}
			p.Nodes = append(p.Nodes, node.PlanNode)
			for _, before := range node.DependsOn {
				p.Edges = append(p.Edges, schema.PlanEdge{From: before, To: node.ID})
			}
		}
		for i := range p.Edges {
			if p.Edges[i].Kind == "" {
				p.Edges[i].Kind = schema.EdgeControl
			}
		}
		if len(p.Edges) > 0 && p.PlanID != "" {
			return p
		}
	case len(steps) > 1 && slices.ContainsFunc(steps, func(s schema.Step) bool { return s.Tool != "" }):
		if name := cmp.Or(o.Skill, o.Name, o.Intent); name != "" {
			return &schema.CompetencePayload{
				Kind:          schema.TypeCompetence,
				SkillName:     name,
				Triggers:      []schema.Trigger{{Signal: name}},
				Recipe:        steps,
				RequiredTools: toolsOf(steps),
			}
		}
	case o.TaskID+o.ThreadID != "" && slices.Contains(openStates, o.State):
		p := &schema.WorkingPayload{}
		if json.Unmarshal([]byte(content), p) != nil {
			return nil
		}
		p.Kind = schema.TypeWorking
		return p
	}
	return nil
}

var (
	stepLine = regexp.MustCompile(`^(?:\d{1,2}[.)]|[Ss]tep \d{1,2}[:.]|[-*•])\s+(\S.*)$`)
	toolName = regexp.MustCompile(
		"`\\$?\\s*([A-Za-z0-9_./-]+)[^`]*`|\\((?:tool|using): ?([A-Za-z0-9_./-]+)\\)|^\\$ ([A-Za-z0-9_./-]+)",
	)
	heading   = regexp.MustCompile(`(?i)^(?:how to |to |procedure\b|runbook\b|recipe\b|skill\b).*|.*:$`)
	fallback  = regexp.MustCompile(`(?i)^(?:if (?:that|it|this) fails|otherwise|fallback)[:,]?\s+(\S.*)$`)
	keyedLine = regexp.MustCompile(`^([A-Za-z][A-Za-z ]{1,20}):\s*(.*)$`)
	planHead  = regexp.MustCompile(`(?i)^plan(?: graph)?(?: ([\w.-]+))?:\s*(\S.*)?$`)
	arrow     = regexp.MustCompile(`\s*(?:-->|->|→|=>)\s*`)
	nodeLine  = regexp.MustCompile(`^([\w.-]{1,40}):\s+(.+?)(?:\s*\((?:after|needs|depends on):? ([\w., -]+)\))?$`)
	nodeName  = regexp.MustCompile(`^[\w.-]{1,40}$`)
)

// procedureOf reads a heading and steps. At least half of the steps, and at least two, must name a tool.
func procedureOf(lines []string) *schema.CompetencePayload {
	title := lines[0]
	if !heading.MatchString(title) || stepLine.MatchString(title) || len([]rune(title)) > maxShapeTitle {
		return nil
	}
	p := &schema.CompetencePayload{
		Kind:      schema.TypeCompetence,
		SkillName: strings.TrimRight(title, ": "),
		Triggers:  []schema.Trigger{{Signal: strings.TrimRight(title, ": ")}},
	}
	tools := 0
	for _, line := range lines[1:] {
		if m := fallback.FindStringSubmatch(line); m != nil && len(p.Recipe) > 0 {
			p.Fallbacks = append(p.Fallbacks, m[1])
			continue
		}
		m := stepLine.FindStringSubmatch(line)
		if m == nil || len(p.Fallbacks) > 0 {
			return nil
		}
		step := stepOf(m[1])
		if step.Tool != "" {
			tools++
		}
		p.Recipe = append(p.Recipe, step)
	}
	if tools < 2 || 2*tools < len(p.Recipe) {
		return nil
	}
	p.RequiredTools = toolsOf(p.Recipe)
	return p
}

// stepOf returns one step, with the tool that the text names.
func stepOf(text string) schema.Step {
	step := schema.Step{Step: normalize.FirstChars(text, maxShapeLine)}
	for _, name := range toolName.FindStringSubmatch(text) {
		if name != "" && !strings.ContainsAny(name, "`( $") {
			step.Tool = normalize.FirstChars(name, maxShapeTitle)
		}
	}
	return step
}

func toolsOf(steps []schema.Step) []string {
	var out []string
	for _, step := range steps {
		if step.Tool != "" && !slices.Contains(out, step.Tool) {
			out = append(out, step.Tool)
		}
	}
	return out
}

// openStates has the states of a task that is not finished. A finished task needs no working memory.
var openStates = []schema.TaskState{schema.TaskPlanning, schema.TaskExecuting, schema.TaskBlocked, schema.TaskWaiting}

// taskStates maps words to the state of a task.
var taskStates = map[string]schema.TaskState{
	"planning":    schema.TaskPlanning,
	"planned":     schema.TaskPlanning,
	"executing":   schema.TaskExecuting,
	"in progress": schema.TaskExecuting,
	"running":     schema.TaskExecuting,
	"blocked":     schema.TaskBlocked,
	"waiting":     schema.TaskWaiting,
}

// taskOf reads lines with keys: a task or thread, its state, and details of it. Any other line makes it return nil.
func taskOf(lines []string) *schema.WorkingPayload {
	p := &schema.WorkingPayload{Kind: schema.TypeWorking}
	var list *[]string // the list to which bullets are added
	for _, line := range lines {
		m := keyedLine.FindStringSubmatch(line)
		if m == nil {
			item := stepLine.FindStringSubmatch(line)
			if item == nil || list == nil {
				return nil
			}
			*list = append(*list, item[1])
			continue
		}
		value := strings.TrimRight(m[2], ".")
		list = nil
		switch strings.ToLower(m[1]) {
		case "task", "task id":
			p.TaskID = normalize.FirstChars(m[2], maxShapeTitle)
		case "thread", "thread id":
			p.ThreadID = normalize.FirstChars(m[2], maxShapeTitle)
		case "state", "status", "task state":
			if p.State = taskStates[strings.ToLower(value)]; p.State == "" {
				return nil
			}
		case "next", "next actions", "next steps", "next action", "next step":
			list = &p.NextActions
		case "open", "open questions", "questions", "open question":
			list = &p.OpenQuestions
		case "summary", "context":
			p.ContextSummary = m[2]
		default:
			return nil
		}
		if list != nil && m[2] != "" {
			*list = append(*list, m[2])
		}
	}
	if p.State == "" || p.TaskID+p.ThreadID == "" {
		return nil
	}
	return p
}

// planOf reads a heading "Plan: …" followed by nodes and dependencies. Any other line makes it return nil.
func planOf(lines []string) *schema.PlanGraphPayload {
	head := planHead.FindStringSubmatch(lines[0])
	if head == nil {
		return nil
	}
	p := &schema.PlanGraphPayload{
		Kind:    schema.TypePlanGraph,
		PlanID:  cmp.Or(head[1], normalize.FirstChars(head[2], maxShapeTitle), "plan"),
		Version: "1",
		Intent:  normalize.FirstChars(head[2], maxShapeLine),
	}
	at := map[string]int{}
	node := func(name, op string) {
		i, ok := at[name]
		if !ok {
			i = len(p.Nodes)
			at[name] = i
			p.Nodes = append(p.Nodes, schema.PlanNode{ID: name, Op: name})
		}
		if op != "" {
			p.Nodes[i].Op = normalize.FirstChars(op, maxShapeLine)
		}
	}
	edge := func(from, to string) {
		node(from, "")
		node(to, "")
		e := schema.PlanEdge{From: from, To: to, Kind: schema.EdgeControl}
		if !slices.Contains(p.Edges, e) {
			p.Edges = append(p.Edges, e)
		}
	}
	for _, line := range lines[1:] {
		if m := stepLine.FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		if names := arrow.Split(line, -1); len(names) > 1 {
			for i, name := range names {
				if !nodeName.MatchString(name) {
					return nil
				}
				if i > 0 {
					edge(names[i-1], name)
				}
			}
			continue
		}
		m := nodeLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		node(m[1], m[2])
		for before := range strings.SplitSeq(m[3], ",") {
			if before = strings.TrimSpace(before); before != "" {
				edge(before, m[1])
			}
		}
	}
	if len(p.Nodes) < 2 || len(p.Edges) == 0 {
		return nil
	}
	return p
}

// linesOf returns the lines of a text, trimmed, without empty ones.
func linesOf(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
